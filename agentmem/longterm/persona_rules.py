"""A persona without a model: the atoms of most weight, under a few headings, each with its id."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentmem.longterm.persona_trigger import Trigger
from agentmem.longterm.scene_format import Scene
from agentmem.longterm.scenes import weight_of
from agentmem.longterm.scenes_rules import statement_line
from agentmem.longterm.words import language
from agentmem.settings.longterm import PromptMode
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Atom, Scope

WHO = frozenset({"name", "age", "home", "origin", "work", "role", "trait", "contact", "kin", "allergy"})
Chapter = tuple[tuple[str, str], Callable[[Atom], bool]]


def _who(atom: Atom) -> bool:
    return atom.type == "persona" and (atom.metadata.get("rule") in WHO or atom.priority >= 80)


CHAT: tuple[Chapter, ...] = (
    (("Who they are", "基本情况"), _who),
    (("What they like", "喜好与生活"), lambda atom: atom.type == "persona" and not _who(atom)),
    (("How to work with them", "相处与协作规则"), lambda atom: atom.type == "instruction"),
    (("What is going on", "近况"), lambda atom: atom.type == "episodic"),
)
WORK: tuple[Chapter, ...] = (
    (("Principles and rules", "原则与规则"), lambda atom: atom.type == "work_method"),
    (("Facts and decisions", "事实与决定"), lambda atom: atom.type == "work_fact"),
    (
        ("Open tasks", "未完成的任务"),
        lambda atom: atom.type == "work_task" and atom.metadata.get("status") not in ("done", "cancelled"),
    ),
    (("Artifacts", "产物"), lambda atom: atom.type == "work_artifact"),
)


class RulesPersonaBuilder:
    """See ``PersonaBuilder``. The same atoms, the same text."""

    name = "rules"

    def __init__(self, store: MemoryStore, scope: Scope, mode: PromptMode) -> None:
        self.store = store
        self.scope = scope
        self.mode = mode

    def write(self, before: str, scenes: Sequence[Scene], trigger: Trigger, limit: int) -> str:
        """See ``PersonaBuilder``. Never raises."""
        atoms = [atom for atom in self.store.atoms(self.scope) if not atom.metadata.get("flagged")]
        chapters = WORK if self.mode == "code" else CHAT
        tongue = 1 if sum(language(atom.content) == "zh" for atom in atoms) * 2 > len(atoms) else 0
        title = (("How work is done here", "协作准则"), ("Profile", "用户画像"))[self.mode != "code"][tongue]
        room = limit - len(title) - 4 - sum(len(names[tongue]) + 6 for names, _ in chapters)
        chosen: dict[int, list[Atom]] = {}
        for atom in sorted(atoms, key=weight_of, reverse=True):
            place = next((i for i, (_, belongs) in enumerate(chapters) if belongs(atom)), None)
            size = len(statement_line(atom)) + 1
            if place is not None and size <= room:
                chosen.setdefault(place, []).append(atom)
                room -= size
        parts = [f"# {title}"]
        for place in sorted(chosen):
            lines = "\n".join(map(statement_line, chosen[place]))
            parts.append(f"\n## {chapters[place][0][tongue]}\n{lines}")
        return "\n".join(parts)
