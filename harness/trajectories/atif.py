"""ATIF ``trajectory.json`` of Harbor: steps of system, user and agent, each agent step with its calls and results.

Source: the Agent Trajectory Interchange Format, RFC 0001 of the Harbor project, versions 1.0 to 1.7. Steps that were
copied from an earlier trajectory were in the prompt without being calls of this run: they get the kind ``demo``.
Embedded sub-agent trajectories are other conversations and are left out.
"""

from __future__ import annotations

import json
from typing import Any

from agentmem.messages import Message, ToolCall
from harness.trajectories.draft import (
    Draft,
    Format,
    Malformed,
    arguments_of,
    describe,
    first_text,
    mapping,
    objects,
    optional,
    resolved,
    text_of,
)

SCHEMA = "ATIF-v"


def _matches(record: Any) -> bool:
    return isinstance(record, dict) and str(record.get("schema_version", "")).startswith(SCHEMA)


def _parse(record: Any) -> Draft:
    messages: list[Message] = []
    for number, step in enumerate(objects(record, "steps", "step")):
        messages += _step(step, number)
    agent = mapping(record.get("agent"))
    extra = mapping(record.get("extra"))
    names = [name for name in (optional(agent.get("name")), optional(agent.get("version"))) if name]
    return Draft(
        messages,
        id=first_text(extra, ("task_id", "instance_id", "task_name")),
        suite=first_text(extra, ("suite", "dataset")),
        agent=" ".join(names) or None,
        model=optional(agent.get("model_name")),
        outcome=resolved(extra.get("resolved")),
    )


def _step(step: dict[str, Any], number: int) -> list[Message]:
    source = step.get("source")
    text = text_of(step.get("message"))
    kind = "demo" if step.get("is_copied_context") is True else None
    calls: tuple[ToolCall, ...] = ()
    if source == "system":
        first = [Message("system", text)] if text else []
    elif source == "user":
        first = [Message("user", text, kind=kind)]
    elif source == "agent":
        calls = _calls(step, number)
        first = [Message("assistant", text, calls, kind=kind)]
    else:
        raise Malformed(f"{describe(source)} as the source of step {number}")
    observation = step.get("observation")
    if not isinstance(observation, dict) or observation.get("results") is None:
        return first
    results = objects(observation, "results", f"result of step {number}, result")
    return first + [_result(result, bool(calls)) for result in results]


def _calls(step: dict[str, Any], number: int) -> tuple[ToolCall, ...]:
    if not step.get("tool_calls"):
        return ()
    return tuple(_call(call, number) for call in objects(step, "tool_calls", f"tool call of step {number}, call"))


def _call(call: object, number: int) -> ToolCall:
    about = mapping(call)
    if not isinstance(about.get("function_name"), str):
        raise Malformed(f"{describe(call)} as a tool call of step {number}")
    return ToolCall(str(about.get("tool_call_id") or ""), about["function_name"], arguments_of(about.get("arguments")))


def _result(result: dict[str, Any], called: bool) -> Message:
    content = result.get("content")
    if content is None and result.get("subagent_trajectory_ref"):
        content = json.dumps({"subagent_trajectory_ref": result["subagent_trajectory_ref"]}, ensure_ascii=False)
    call_id = optional(result.get("source_call_id"))
    if call_id is None and not called:  # an action outside the tool calling protocol
        return Message("user", text_of(content), kind="observation")
    return Message("tool", text_of(content), tool_call_id=call_id, kind="observation")


FORMAT = Format("atif", "ATIF trajectory.json", _matches, _parse)
