"""Scenes without a model: atoms are grouped by the topic and the names they share. The same atoms, the same scenes.

A scene remembers all its members; its body shows those of most weight that fit, each with its id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from agentmem.longterm.atom_types import rank
from agentmem.longterm.citations import cited_ids
from agentmem.longterm.profile import Profile, free_name
from agentmem.longterm.scene_format import DELETED, END, START, Scene
from agentmem.longterm.scenes import SUMMARY_CHARS, Built, weight_of
from agentmem.longterm.similarity import statement
from agentmem.longterm.words import content_words, keywords, language, most_common, names, stem
from agentmem.settings.longterm import Persona as PersonaSettings
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Atom, Scope

LINE_CHARS = 300
ENOUGH = 1.5  # weight of shared words that puts an atom into a scene: one word that says something, or a name
WORD_WEIGHT, NAME_WEIGHT, PLAIN_WEIGHT = 1.5, 2.0, 0.5
LABEL_WEIGHT = ENOUGH  # what was said in one scene of a conversation stays together
_PLAIN = """
bought buy collect decid decide enjoy feel found hate job live love loves lov mov move moved new number own plan play
prefer start started studi visit want work bought last next great big small old young lot week weekend month morning
evening night today tomorrow yesterday
"""
PLAIN = frozenset(map(stem, _PLAIN.split()))  # words that many topics share
HEADINGS = {
    "persona": ("Facts and preferences", "事实与偏好"),
    "instruction": ("Rules", "规则"),
    "episodic": ("Events and plans", "事件与计划"),
    "work_method": ("Methods", "方法"),
    "work_fact": ("Facts", "事实"),
    "work_task": ("Tasks", "任务"),
    "work_artifact": ("Artifacts", "产物"),
}


@dataclass
class _Group:
    """One scene while it is built. ``words`` counts the content words of its members."""

    file: str
    title: str
    members: list[str]
    heat: int = 0
    created: str = ""
    updated: str = ""
    words: Counter[str] = field(default_factory=Counter)
    labels: set[str] = field(default_factory=set)
    touched: bool = False


class RulesSceneBuilder:
    """See ``SceneBuilder``."""

    name = "rules"

    def __init__(self, store: MemoryStore, scope: Scope, settings: PersonaSettings) -> None:
        self.store = store
        self.scope = scope
        self.settings = settings

    def build(
        self, profile: Profile, scenes: Sequence[Scene], changed: Sequence[Atom], state: dict[str, Any], now: str
    ) -> Built:
        """See ``SceneBuilder``. Never raises ``ModelError``."""
        groups = _groups(scenes, state.get("scenes", []))
        live = {atom.id: atom for atom in self.store.atoms(self.scope, [id for g in groups for id in g.members])}
        for group in groups:
            kept = [id for id in group.members if id in live]
            group.touched = kept != group.members
            group.members = kept
            for id in kept:
                _learn(group, live[id])
        before = {atom.id: group for group in groups for atom in changed if atom.id in group.members}
        for atom in changed:
            if atom.superseded_by is None and atom.id not in before:
                live[atom.id] = atom
                self._place(groups, atom, profile)
        rows = [group for group in groups if group.members]
        for group in rows:
            if group.touched:
                group.heat += 1
                group.updated = now
                group.created = group.created or now
        built = tuple(_scene(group, live, self.settings.max_scene_chars) for group in rows)
        return Built(built, {"scenes": [_row(group) for group in rows]})

    def _place(self, groups: list[_Group], atom: Atom, profile: Profile) -> None:
        """Into the scene it shares most with, else into a new one; with no room for one, two old ones are joined."""
        said = statement(atom.content)
        words, own = said.words - {said.subject}, {name.lower() for name in names(atom.content)}
        scored = [(_likeness(group, words, own, atom.scene), -i) for i, group in enumerate(groups) if group.members]
        best, place = max(scored, default=(0.0, 0))
        if best >= ENOUGH:
            group = groups[-place]
        else:
            if len([g for g in groups if g.members]) >= self.settings.max_scenes:
                _join_closest(groups)
            title = _title(atom)
            group = _Group(free_name(title, [g.file for g in groups]), title, [])
            groups.append(group)
        group.members.append(atom.id)
        group.touched = True
        _learn(group, atom)


def _likeness(group: _Group, words: AbstractSet[str], own: set[str], label: str) -> float:
    shared = words & group.words.keys()
    score = sum(PLAIN_WEIGHT if w in PLAIN else NAME_WEIGHT if w in own else WORD_WEIGHT for w in shared)
    return score + (LABEL_WEIGHT if label and label in group.labels else 0.0)


def _learn(group: _Group, atom: Atom) -> None:
    group.words.update(set(keywords(atom.content)))
    if atom.scene:
        group.labels.add(atom.scene)


def _join_closest(groups: list[_Group]) -> None:
    """The two scenes that share most words become one; without any shared word, the two smallest."""
    rows = [group for group in groups if group.members]
    pairs = [(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :]]
    if not pairs:
        return
    keep, gone = max(
        pairs,
        key=lambda pair: (
            len(set(pair[0].words) & set(pair[1].words)),
            -(len(pair[0].members) + len(pair[1].members)),
        ),
    )
    keep.members.extend(gone.members)
    keep.words.update(gone.words)
    keep.labels |= gone.labels
    keep.heat += gone.heat
    keep.created = min(filter(None, (keep.created, gone.created)), default="")
    keep.touched = True
    groups.remove(gone)


def _title(atom: Atom) -> str:
    if language(atom.content) == "zh":
        return atom.scene or atom.content[:16]
    words = (word.lower() for word in [*names(atom.content), *content_words(atom.content)])
    subject = statement(atom.content).subject
    return " ".join(most_common((word for word in words if word != subject), 3)) or atom.scene or "scene"


def _scene(group: _Group, live: Mapping[str, Atom], limit: int) -> Scene:
    atoms = [live[id] for id in group.members]
    tongue = 1 if sum(language(atom.content) == "zh" for atom in atoms) * 2 > len(atoms) else 0
    shown = _that_fit(atoms, limit, group.title, tongue)
    parts = [f"# {_line(group.title)}"]
    for kind, headings in HEADINGS.items():
        of_kind = [atom for atom in atoms if atom.type == kind]
        rows = [atom for atom in shown if atom.type == kind]
        if not rows:
            continue
        rows.sort(key=_order(kind))
        count = f" ({len(rows)}/{len(of_kind)})" if len(rows) < len(of_kind) else ""
        parts.append(f"\n## {headings[tongue]}{count}\n" + "\n".join(map(statement_line, rows)))
    top = max(atoms, key=weight_of)
    return Scene(
        filename=group.file,
        summary=_line(top.content)[:SUMMARY_CHARS],
        body="\n".join(parts),
        heat=group.heat,
        created=group.created,
        updated=group.updated,
    )


def statement_line(atom: Atom) -> str:
    """One atom as a line of a document, with its id."""
    text = _line(atom.content)
    return f"- {text if len(text) <= LINE_CHARS else text[: LINE_CHARS - 1] + '…'} [{atom.id}]"


def _that_fit(atoms: Sequence[Atom], limit: int, title: str, tongue: int) -> list[Atom]:
    """The atoms of most weight whose lines, with all headings they may need, stay within the limit."""
    kinds = {atom.type for atom in atoms}
    room = limit - len(title) - 4 - sum(len(HEADINGS[kind][tongue]) + 20 for kind in kinds if kind in HEADINGS)
    kept = []
    for atom in sorted(atoms, key=weight_of, reverse=True):
        size = len(statement_line(atom)) + 1
        if size <= room:
            kept.append(atom)
            room -= size
    return kept


def _order(kind: str) -> Any:
    if kind == "episodic":
        return lambda atom: (atom.timestamps[:1] or ("9999",), atom.created, atom.seq)
    return lambda atom: (-rank(atom.priority), atom.seq)


def _line(text: str) -> str:
    for mark in (DELETED, START, END):
        text = text.replace(mark, mark.strip("[]-"))
    return " ".join(text.split())


def _groups(scenes: Sequence[Scene], rows: Sequence[Mapping[str, Any]]) -> list[_Group]:
    """The scenes as they are on disk, with the members that the state knows: another builder may have written some,
    and somebody may have deleted others."""
    known = {str(row["file"]): row for row in rows}
    found = [_read(known[scene.filename]) for scene in scenes if scene.filename in known]
    for scene in scenes:
        if scene.filename not in known:
            heading = next((line for line in scene.body.split("\n") if line.startswith("# ")), scene.filename)
            members = cited_ids(scene.body)
            title = heading.removeprefix("# ")
            found.append(_Group(scene.filename, title, members, scene.heat, scene.created, scene.updated))
    return found


def _read(row: Mapping[str, Any]) -> _Group:
    return _Group(
        file=str(row["file"]),
        title=str(row["title"]),
        members=list(row["members"]),
        heat=int(row["heat"]),
        created=str(row["created"]),
        updated=str(row["updated"]),
    )


def _row(group: _Group) -> dict[str, Any]:
    return {
        "file": group.file,
        "title": group.title,
        "members": group.members,
        "heat": group.heat,
        "created": group.created,
        "updated": group.updated,
    }
