"""From a statement of the persona to what was said: persona -> scene -> atom -> message -> evidence, and each alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentmem.errors import RecordNotFound
from agentmem.longterm.citations import lines_of
from agentmem.longterm.profile import Profile
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Atom, Scope, Turn


@dataclass(frozen=True, slots=True)
class AtomTrace:
    """An atom, the scenes that name it, the messages it rests on, the atoms it replaced, and the evidence its
    messages point to."""

    atom: Atom
    scenes: tuple[str, ...]
    turns: tuple[Turn, ...]
    replaced: tuple[Atom, ...] = ()

    @property
    def refs(self) -> tuple[str, ...]:
        """Pointers to evidence, without repeats."""
        return tuple(dict.fromkeys(ref for turn in self.turns for ref in turn.refs))


@dataclass(frozen=True, slots=True)
class StatementTrace:
    """One line of a persona or a scene, and what each id behind it leads to. ``missing`` ids exist no more."""

    text: str
    document: str
    atoms: tuple[AtomTrace, ...]
    missing: tuple[str, ...] = ()


class Tracer:
    """Follows pointers of one scope."""

    def __init__(self, store: MemoryStore, scope: Scope, profile: Profile) -> None:
        self.store = store
        self.scope = scope
        self.profile = profile
        self._scenes = {scene.filename: scene.body for scene in profile.scenes()}

    def persona(self) -> list[StatementTrace]:
        """Every line of the persona, in order; empty without one."""
        return self._document("persona.md", self.profile.persona() or "")

    def scene(self, filename: str) -> list[StatementTrace]:
        """Every line of a scene. Raises ``RecordNotFound``."""
        body = self._scenes.get(filename)
        if body is None:
            raise RecordNotFound(f"no scene {filename!r}; there are: {', '.join(self._scenes) or 'none'}")
        return self._document(filename, body)

    def atom(self, id: str) -> AtomTrace:
        """One atom, live or superseded. Raises ``RecordNotFound``."""
        atom = self.store.atom(self.scope, id)
        scenes = tuple(name for name, body in self._scenes.items() if f"{id}" in _ids(body))
        return AtomTrace(atom, scenes, tuple(self.store.turns(self.scope, atom.sources)), self._replaced(atom))

    def follow(self, name: str) -> list[StatementTrace]:
        """Whatever a name stands for: ``persona``, the file of a scene, the id of an atom or of a message.

        Raises ``RecordNotFound``.
        """
        if name in ("persona", "persona.md"):
            return self.persona()
        if name in self._scenes:
            return self.scene(name)
        found = self.store.atoms(self.scope, [name], superseded=True)
        if found:
            return [StatementTrace(found[0].content, "atom", (self.atom(name),))]
        turn = self.store.turn(self.scope, name)
        atoms = self.store.atoms_resting_on(self.scope, [turn.id])
        return [StatementTrace(turn.content, "message", tuple(self.atom(atom.id) for atom in atoms))]

    def _document(self, name: str, text: str) -> list[StatementTrace]:
        found = []
        for line in lines_of(text):
            if line.is_frame:
                continue
            atoms = {atom.id: atom for atom in self.store.atoms(self.scope, list(line.ids), superseded=True)}
            traces = tuple(self.atom(id) for id in line.ids if id in atoms)
            missing = tuple(id for id in line.ids if id not in atoms)
            found.append(StatementTrace(line.text.strip().lstrip("-* ").strip(), name, traces, missing))
        return found

    def _replaced(self, atom: Atom) -> tuple[Atom, ...]:
        everything = self.store.atoms(self.scope, superseded=True) if atom.version else []
        return tuple(other for other in everything if other.superseded_by == atom.id)


def _ids(body: str) -> set[str]:
    return {id for line in lines_of(body) for id in line.ids}


def as_text(traces: Sequence[StatementTrace]) -> str:
    """Traces for people, as an indented list."""
    rows = []
    for trace in traces:
        rows.append(trace.text)
        for found in trace.atoms:
            state = f", replaced by {found.atom.superseded_by}" if found.atom.superseded_by else ""
            rows.append(f"  atom {found.atom.id} ({found.atom.type}, priority {found.atom.priority}{state})")
            rows.append(f"    in {', '.join(found.scenes) or 'no scene'}")
            for turn in found.turns:
                who = turn.speaker or turn.role
                rows.append(
                    f"    message {turn.id} ({who}, session {turn.session}): {' '.join(turn.content.split())[:200]}"
                )
                rows.extend(f"      evidence {ref}" for ref in turn.refs)
            rows.extend(f"    replaced {old.id}: {old.content}" for old in found.replaced)
        rows.extend(f"  atom {id}: gone" for id in trace.missing)
    return "\n".join(rows)
