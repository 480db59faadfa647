"""The kinds of atoms, their bands of priority, and the names models use for them. memory_core.md B8."""

from __future__ import annotations

from agentmem.settings.longterm import PromptMode

CHAT_TYPES = ("persona", "episodic", "instruction")
WORK_TYPES = ("work_fact", "work_task", "work_method", "work_artifact")
TYPES = CHAT_TYPES + WORK_TYPES
ALIASES = {"episode": "episodic", "instruct": "instruction", "preference": "persona"}
GLOBAL_RULE = -1  # priority of an instruction that holds always and everywhere
FLOORS = {"persona": 50, "episodic": 60, "instruction": 70} | dict.fromkeys(WORK_TYPES, 70)
UNSAID = {"persona": 60, "episodic": 60, "instruction": 75} | dict.fromkeys(WORK_TYPES, 75)
WORK_KEYS = {
    "work_fact": ("work_object", "status"),
    "work_task": ("owner", "deadline", "status"),
    "work_method": ("scope", "method_type"),
    "work_artifact": ("artifact_type", "artifact_ref"),
}


def types_of(mode: PromptMode) -> tuple[str, ...]:
    """The types that an extraction in that mode may give."""
    return WORK_TYPES if mode == "code" else CHAT_TYPES


def atom_type(name: str) -> str | None:
    """The type a name stands for, in any letter case, aliases included; None when it is unknown."""
    plain = name.strip().lower()
    return plain if plain in TYPES else ALIASES.get(plain)


def rank(priority: int) -> int:
    """Priority for sorting, higher first: a global rule stands above everything."""
    return 1_000 if priority == GLOBAL_RULE else priority


def settle_priority(kind: str, given: int | None) -> int | None:
    """The priority of an atom: within its bands, the type's own when none was given, None when it is too low to keep.

    Only an instruction may be -1.
    """
    if given is None:
        return UNSAID[kind]
    if given == GLOBAL_RULE and kind == "instruction":
        return given
    return min(given, 100) if given >= FLOORS[kind] else None
