"""Reads a model's extraction answer and checks it against the messages it was shown. memory_core.md B8."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentmem.errors import BadAnswer
from agentmem.llm.jsonrepair import find_items
from agentmem.longterm.atom_types import atom_type, settle_priority, types_of
from agentmem.longterm.extraction import Draft, Extracted, Window, tally

UNKNOWN_SCENE = "未知情境"  # upstream's name for a scene without one; never shown to people here
PLAIN_PRIORITY = 50
TIME_KEYS = ("activity_start_time", "activity_end_time")


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as the model wrote it. ``priority`` is None when it gave none that is a number."""

    content: str
    type: str
    priority: int | None
    sources: tuple[str, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SceneAnswer:
    """One scene as the model wrote it."""

    name: str
    message_ids: tuple[str, ...]
    memories: tuple[Memory, ...]


def parse_scenes(answer: str) -> list[SceneAnswer]:
    """The scenes of an answer; an empty list only when the model wrote one.

    A memory that stands in the list by itself is taken as a scene without a name. Raises ``BadAnswer`` when there is
    no list of objects, when it is cut off, or when an object in place of a list is no scene.
    """
    found = find_items(answer)
    if not found.complete:
        raise BadAnswer(f"the answer is cut off after {len(found.value)} whole scenes")
    if len(found.value) == 1 and not {"scene_name", "memories", "content"} & set(found.value[0]) and found.value[0]:
        raise BadAnswer(f"expected scenes, got an object with {', '.join(map(str, found.value[0]))[:80]}")
    return [_scene(item) for item in found.value]


def drafts_of(scenes: list[SceneAnswer], window: Window) -> Extracted:
    """The memories that hold against the window.

    Dropped, and counted: a type that the mode does not know, a priority below its band, a text without any source
    among the new messages (its scene's messages count as sources when its own do not exist), and what is over the
    limit. Ids that do not exist are removed.
    """
    known = {turn.id for turn in window.new}
    drafts: list[Draft] = []
    dropped: list[str] = []
    for scene in scenes:
        for memory in scene.memories:
            kind = atom_type(memory.type)
            priority = settle_priority(kind, memory.priority) if kind else None
            named = tuple(dict.fromkeys(id for id in memory.sources if id in known))
            sources = named or tuple(dict.fromkeys(id for id in scene.message_ids if id in known))
            if kind not in types_of(window.mode):
                dropped.append("type")
            elif priority is None:
                dropped.append("priority")
            elif not sources:
                dropped.append("no source")
            elif len(drafts) >= window.limit:
                dropped.append("over the limit")
            else:
                assert kind is not None  # it is one of the mode's types
                name = "" if scene.name == UNKNOWN_SCENE else scene.name
                times = _times(memory.metadata)
                drafts.append(Draft(memory.content.strip(), kind, priority, name, sources, memory.metadata, times))
    names = [scene.name for scene in scenes if scene.name and scene.name != UNKNOWN_SCENE]
    return Extracted(tuple(drafts), names[-1] if names else window.scene, tally(dropped))


def _scene(item: Mapping[str, Any]) -> SceneAnswer:
    memories = item.get("memories")
    if "memories" not in item and isinstance(item.get("content"), str):
        memories = [item]
    read = [_memory(memory) for memory in memories if isinstance(memory, dict)] if isinstance(memories, list) else []
    name = item.get("scene_name")
    return SceneAnswer(
        name=name if isinstance(name, str) else UNKNOWN_SCENE,
        message_ids=_ids(item.get("message_ids")),
        memories=tuple(memory for memory in read if memory is not None),
    )


def _memory(item: Mapping[str, Any]) -> Memory | None:
    content = item.get("content")
    if not isinstance(content, str) or not content.strip():
        return None
    kind = item.get("type", "episodic")
    priority = item.get("priority")
    is_number = isinstance(priority, int | float) and not isinstance(priority, bool)
    metadata = item.get("metadata")
    return Memory(
        content=content,
        type=kind if isinstance(kind, str) else scalar_text(kind) or "",
        priority=round(priority) if is_number else None,  # type: ignore[arg-type]  # a number: just tested
        sources=_ids(item.get("source_message_ids")),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _ids(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(text for text in map(scalar_text, value) if text)


def scalar_text(value: Any) -> str | None:
    """A text or number as text, as JavaScript would write it; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) else repr(value)
    return None


def _times(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    given = [metadata.get(key) for key in TIME_KEYS]
    return tuple(sorted({time for time in given if isinstance(time, str) and time.strip()}))
