"""Vorflux span export: ``llm_call``, ``tool_call`` and ``judge_call`` entries in the order of time.

Source: the public runs of piyushhhxyz/vorflux-swe-benchmarks. Results carry no ids and sub-agents interleave, so a
result is matched to a declared call by name and arguments; what was never declared becomes an observation.
"""

from __future__ import annotations

from typing import Any

from agentmem.messages import Message
from harness.trajectories.draft import (
    Draft,
    Format,
    Malformed,
    calls_of,
    describe,
    mapping,
    objects,
    optional,
    text_of,
    word,
)

SPANS = frozenset({"llm_call", "tool_call", "judge_call"})


def _matches(record: Any) -> bool:
    entries = record.get("trajectory") if isinstance(record, dict) else None
    if not isinstance(entries, list) or not entries:
        return False
    return all(isinstance(entry, dict) and word(entry.get("type")) in SPANS for entry in entries[:3])


def _parse(record: Any) -> Draft:
    messages: list[Message] = []
    arguments: dict[int, Any] = {}
    for number, entry in enumerate(objects(record, "trajectory", "entry")):
        kind = entry.get("type")
        if kind == "llm_call":
            for asked in objects(entry, "task_prompt", "prompt message") if entry.get("task_prompt") else ():
                if asked.get("role") == "user":
                    messages.append(Message("user", text_of(asked.get("content")), kind="task"))
            output = mapping(entry.get("output"))
            calls = calls_of(output.get("tool_calls"), number)
            messages.append(Message("assistant", text_of(output.get("content")), calls))
        elif kind == "tool_call":
            arguments[len(messages)] = entry.get("arguments")
            name = optional(entry.get("tool"))
            messages.append(Message("tool", _output(entry.get("result")), name=name, kind="observation"))
        elif kind == "judge_call":
            messages.append(Message("assistant", text_of(mapping(entry.get("output")).get("content")), kind="judge"))
        else:
            raise Malformed(f"{describe(kind)} as the type of entry {number}")
    return Draft(messages, id=optional(record.get("instance_id")), agent="vorflux", arguments=arguments)


def _output(result: object) -> str:
    """What the tool printed: standard output, and standard error behind a line that says so."""
    if not isinstance(result, dict) or "stdout" not in result:
        return text_of(result)
    errors = text_of(result.get("stderr"))
    return text_of(result["stdout"]) + (f"\n[stderr]\n{errors}" if errors else "")


FORMAT = Format("vorflux", "Vorflux span export", _matches, _parse)
