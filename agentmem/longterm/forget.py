"""Forgetting: a scope or single records leave rows, indexes, vectors, files and whatever was derived from them, and
the result counts what is left, which must be nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from agentmem.longterm.citations import cited_ids, lines_of, supported
from agentmem.longterm.journal import Journal
from agentmem.longterm.keys import scope_key, state_key
from agentmem.longterm.profile import Profile, free_name
from agentmem.longterm.scene_format import Scene
from agentmem.longterm.scenes import SUMMARY_CHARS, live_ids
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Atom, Scope, Turn

PAGE = 1_000
LEAST_TEXT = 20  # characters of a text that is searched for in files


class EvidenceFiles(Protocol):
    """What is needed of the evidence store."""

    def forget(self, ref: str) -> None:
        """Remove a text; one that is not there is no error."""
        ...

    def __contains__(self, ref: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was removed, and how often it still occurs, by place. ``complete`` is the proof."""

    turns: int = 0
    atoms: int = 0
    lines: int = 0
    evidence: int = 0
    left: dict[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """True when nothing is left anywhere."""
        return not any(self.left.values())


class Forgetter:
    """Works on one open memory. Nothing else may run meanwhile; the caller sees to that."""

    def __init__(self, store: MemoryStore, journal: Journal, evidence: EvidenceFiles, root: Path) -> None:
        self.store = store
        self.journal = journal
        self.evidence = evidence
        self.root = root

    def scope(self, scope: Scope) -> Forgotten:
        """Forget everything of a user, agent and team."""
        turns = list(self._all_turns(scope))
        atoms = self.store.atoms(scope, superseded=True)
        refs = self._only_here(scope, turns, turns)
        with self.store.transaction():
            self.store.delete_scope(scope)
            for key in self._state_keys(scope):
                self.store.set_state(key, None)
        lines = self.journal.forget(scope, lambda line: True)
        Profile(self.root, scope).remove()
        self._drop(refs)
        self.store.scrub()
        left = dict(self.store.traces(scope).counts)
        gone = [turn.id for turn in turns] + [atom.id for atom in atoms]
        left |= self._left_in_files(scope, gone, refs, [t.content for t in turns] + [a.content for a in atoms])
        left["states"] = len(self._state_keys(scope))
        return Forgotten(len(turns), len(atoms), lines, len(refs), left)

    def records(self, scope: Scope, ids: Sequence[str], sources: bool = False) -> Forgotten:
        """Forget turns and atoms by id, and what rests on them.

        With a turn go the atoms that rest on it; with an atom go those it replaced and those that replaced it, since
        they hold its words. ``sources`` forgets the turns an atom rests on as well. Unknown ids are ignored.
        """
        turns = self.store.turns(scope, ids)
        atoms = self._related(scope, self.store.atoms(scope, ids, superseded=True), turns)
        if sources:
            more = {id for atom in atoms for id in atom.sources}
            turns = list({turn.id: turn for turn in [*turns, *self.store.turns(scope, sorted(more))]}.values())
            atoms = self._related(scope, atoms, turns)
        gone = [turn.id for turn in turns] + [atom.id for atom in atoms]
        refs = self._only_here(scope, turns, list(self._all_turns(scope)))
        with self.store.transaction():
            self.store.delete_turns(scope, [turn.id for turn in turns])
            self.store.delete_atoms(scope, [atom.id for atom in atoms])
            self._prune_states(scope, set(gone))
        lines = self.journal.forget(scope, lambda line: _names(line, set(gone)))
        self._rewrite(scope)
        self._drop(refs)
        self.store.scrub()  # last: everything before it may have left pages behind
        left = dict(self.store.traces(scope, gone).counts)
        left |= self._left_in_files(scope, gone, refs, [t.content for t in turns] + [a.content for a in atoms])
        return Forgotten(len(turns), len(atoms), lines, len(refs), left)

    def _related(self, scope: Scope, atoms: Sequence[Atom], turns: Sequence[Turn]) -> list[Atom]:
        found = {atom.id: atom for atom in atoms}
        found |= {atom.id: atom for atom in self.store.atoms_resting_on(scope, [turn.id for turn in turns])}
        every = self.store.atoms(scope, superseded=True) if found else []
        grown = True
        while grown:
            grown = False
            for atom in every:
                near = atom.superseded_by in found or any(other.superseded_by == atom.id for other in found.values())
                if near and atom.id not in found:
                    found[atom.id] = atom
                    grown = True
        return list(found.values())

    def _rewrite(self, scope: Scope) -> None:
        """Scenes and persona without lines whose atoms are gone; earlier versions hold them, so they go too.

        Title, file name and summary of a scene that lost a line may stem from it, so they are taken from what is left.
        """
        profile = Profile(self.root, scope)
        before = profile.scenes()
        persona = profile.persona()
        live = live_ids(self.store, scope, [*(scene.body for scene in before), persona or ""])
        kept: list[Scene] = []
        renamed: dict[str, tuple[str, str]] = {}
        for scene in before:
            body, lost = supported(scene.body, live, strict=True)
            if not cited_ids(body):
                continue
            if lost:
                taken = [other.filename for other in [*before, *kept]]
                named = _named_anew(replace(scene, body=body), profile, taken)
                renamed[scene.filename] = (named.filename, named.summary)
                scene = named
            kept.append(scene)
        profile.write_scenes(kept)
        if persona is not None:
            profile.write_persona(supported(persona, live, strict=True)[0])
        profile.drop_backups()
        self._change_scene_rows(scope, lambda row: _with_name(row, renamed))

    def _prune_states(self, scope: Scope, gone: set[str]) -> None:
        def without(row: dict[str, Any]) -> dict[str, Any]:
            return {**row, "members": [id for id in row["members"] if id not in gone]}

        self._change_scene_rows(scope, without)
        for key, state in self.store.states(state_key("l1", scope) + "/").items():
            self.store.set_state(key, {**state, "scene": ""})  # the name of a scene is made of its words

    def _change_scene_rows(self, scope: Scope, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        state = self.store.state(state_key("scenes", scope))
        if state is not None:
            rows = [row for row in map(change, state.get("scenes", [])) if row["members"]]
            self.store.set_state(state_key("scenes", scope), {**state, "scenes": rows})

    def _only_here(self, scope: Scope, gone: Sequence[Turn], every: Sequence[Turn]) -> set[str]:
        """Evidence that only these turns point to, in this scope and in all others."""
        ids = {turn.id for turn in gone}
        refs = {ref for turn in gone for ref in turn.refs}
        refs -= {ref for turn in every if turn.id not in ids for ref in turn.refs}
        for other in self.store.scopes():
            if refs and other != scope:
                refs -= {ref for turn in self._all_turns(other) for ref in turn.refs}
        return refs

    def _drop(self, refs: Iterable[str]) -> None:
        for ref in refs:
            self.evidence.forget(ref)

    def _all_turns(self, scope: Scope) -> Iterable[Turn]:
        cursor = 0
        while page := self.store.turns_after(scope, cursor, PAGE):
            yield from page
            cursor = page[-1].seq

    def _state_keys(self, scope: Scope) -> list[str]:
        mine = scope_key(scope)
        return [key for key in self.store.states() if key.split("/")[1:2] == [mine]]

    def _left_in_files(
        self, scope: Scope, ids: Sequence[str], refs: Iterable[str], contents: Iterable[str]
    ) -> dict[str, int]:
        """Occurrences of ids and of whole texts; a text of a word or two may well be said elsewhere too."""
        profile = Profile(self.root, scope)
        texts = [path.read_text(encoding="utf-8") for path in profile.folder.rglob("*") if path.is_file()]
        wanted = set(ids)
        long = {" ".join(content.split()) for content in contents if len(content) >= LEAST_TEXT}
        in_journal = sum(
            _is_named(line, scope, wanted) for kind in ("conversations", "records") for line in self.journal.lines(kind)
        )
        return {
            "profile files": sum(id in text for text in texts for id in wanted),
            "texts in profile files": sum(content in text for text in texts for content in long),
            "journal": in_journal,
            "evidence": sum(ref in self.evidence for ref in refs),
        }


def _named_anew(scene: Scene, profile: Profile, taken: Sequence[str]) -> Scene:
    first = next(line.text.lstrip("-* ") for line in lines_of(scene.body) if not line.is_frame)
    title = " ".join(first.split()[:5])[:40]
    body = "\n".join(f"# {title}" if line.startswith("# ") else line for line in scene.body.split("\n"))
    return replace(scene, filename=free_name(title, taken), summary=first[:SUMMARY_CHARS], body=body)


def _with_name(row: dict[str, Any], renamed: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    if row["file"] not in renamed:
        return row
    file, summary = renamed[row["file"]]
    return {**row, "file": file, "title": " ".join(summary.split()[:5])[:40]}


def _names(line: dict[str, Any], gone: set[str]) -> bool:
    return line.get("id") in gone or bool(set(line.get("sources", ())) & gone) or line.get("superseded_by") in gone


def _is_named(line: dict[str, Any], scope: Scope, ids: set[str]) -> bool:
    mine = (line.get("userId"), line.get("agentId"), line.get("teamId")) == (scope.user, scope.agent, scope.team)
    return mine and _names(line, ids)
