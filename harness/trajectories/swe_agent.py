"""SWE-agent ``.traj``: the old text form, and function calling. The conversation stands in ``history``.

Source: SWE-agent's own samples. Demonstrations were part of the prompt and keep the kind ``demo``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentmem.messages import Message
from harness.trajectories.draft import Draft, Format, is_message_list, mapping, objects, optional, resolved
from harness.trajectories.openai_chat import chat_message


def _matches(record: Any) -> bool:
    if not isinstance(record, dict) or "trajectory" not in record:
        return False
    return is_message_list(record.get("history")) or (record.get("history") == [] and "info" in record)


def _parse(record: Any) -> Draft:
    messages: list[Message] = []
    answered = False
    for number, row in enumerate(objects(record, "history", "message")):
        message = _message(row, number, answered)
        answered = answered or (message.role == "assistant" and message.kind != "demo")
        messages.append(message)
    info = mapping(record.get("info"))
    config = _decoded(record.get("replay_config"))
    status = optional(info.get("exit_status"))
    return Draft(
        messages,
        id=optional(record.get("instance_id")) or optional(mapping(config.get("problem_statement")).get("id")),
        agent="SWE-agent",
        model=optional(mapping(mapping(config.get("agent")).get("model")).get("name")),
        outcome=resolved(record.get("resolved"), {"exit_status": status} if status else None),
    )


def _message(row: dict[str, Any], number: int, answered: bool) -> Message:
    """One row of the history; ``answered`` says that the model has spoken before it, demonstrations apart."""
    message = chat_message(row, number)
    if message.role == "tool":
        ids = row.get("tool_call_ids")
        call_id = optional(ids[0]) if isinstance(ids, list) and ids else message.tool_call_id
        return Message("tool", message.content, tool_call_id=call_id, name=message.name, kind="observation")
    if row.get("is_demo") is True and message.role != "system":
        return Message(message.role, message.content, message.tool_calls, kind="demo")
    if message.role == "user":
        return Message("user", message.content, kind="observation" if answered else "task")
    return message


def _decoded(config: object) -> Mapping[str, Any]:
    """The replay configuration, which newer versions write as JSON text."""
    if isinstance(config, str):
        try:
            return mapping(json.loads(config))
        except ValueError:
            return {}
    return mapping(config)


FORMAT = Format("swe-agent", "SWE-agent .traj", _matches, _parse)
