"""mini-swe-agent ``.traj.json``: format 1 (text protocol), 1.1 (text or tool calls) and the bare lists before them.

Source: mini-swe-agent 2.4.6, ``agents/default.py`` and ``models/utils``. A closing message that repeats the
submission, or says why the run ended, was never sent to the model: it gets the kind ``submission``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.messages import Message, ToolCall
from harness.trajectories.draft import (
    Draft,
    Format,
    Malformed,
    arguments_of,
    describe,
    is_message_list,
    mapping,
    objects,
    optional,
    resolved,
    text_of,
)
from harness.trajectories.openai_chat import chat_message

OBSERVATION = "<returncode>"
FINISHED = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")


def _matches(record: Any) -> bool:
    if isinstance(record, dict):
        info = mapping(record.get("info"))
        named = str(record.get("trajectory_format", "")).startswith("mini-swe-agent")
        return named or ("mini_version" in info and isinstance(record.get("messages"), list))
    return is_message_list(record) and any(
        row["role"] == "user" and text_of(row.get("content")).startswith(OBSERVATION) for row in record
    )


def _parse(record: Any) -> Draft:
    rows = objects(record, "messages" if isinstance(record, dict) else None, "message")
    about = mapping(record)
    info = mapping(about.get("info"))
    messages: list[Message] = []
    answered = False
    for number, row in enumerate(rows):
        messages.append(_message(row, number, answered))
        answered = answered or messages[-1].role == "assistant"
    if messages and _is_closing(messages, info):
        messages[-1] = Message("user", messages[-1].content, kind="submission")
    version = optional(info.get("mini_version"))
    config = mapping(info.get("config"))
    status = optional(info.get("exit_status"))
    return Draft(
        messages,
        id=optional(about.get("instance_id")),
        agent=f"mini-swe-agent {version}" if version else "mini-swe-agent",
        model=optional(mapping(config.get("model")).get("model_name")),
        outcome=resolved(about.get("resolved"), {"exit_status": status} if status else None),
    )


def _message(row: dict[str, Any], number: int, answered: bool) -> Message:
    """One recorded message; ``answered`` says that the model has spoken before it."""
    if row.get("object") == "response":
        return _response(row, number)
    if row.get("type") == "function_call_output":
        return Message(
            "tool", text_of(row.get("output")), tool_call_id=optional(row.get("call_id")), kind="observation"
        )
    if row.get("role") == "exit":
        return Message("user", text_of(row.get("content")), kind="submission")
    message = chat_message(row, number)
    if message.role != "user":
        return message
    interrupt = str(mapping(row.get("extra")).get("interrupt_type", ""))
    if interrupt.startswith("User"):  # a person spoke up
        return message
    return Message("user", message.content, kind="observation" if answered else "task")


def _response(row: dict[str, Any], number: int) -> Message:
    """One answer of OpenAI's Responses API: texts and calls stand in its ``output``, reasoning is left out."""
    said: list[str] = []
    calls: list[ToolCall] = []
    for item in objects(row, "output", f"output item of message {number}, item"):
        if item.get("type") == "message":
            said.append(text_of(item.get("content")))
        elif item.get("type") == "function_call":
            if not isinstance(item.get("name"), str):
                raise Malformed(f"{describe(item)} as a tool call of message {number}")
            call_id = str(item.get("call_id") or item.get("id") or "")
            calls.append(ToolCall(call_id, item["name"], arguments_of(item.get("arguments"))))
    return Message("assistant", "\n".join(said), tuple(calls))


def _is_closing(messages: list[Message], info: Mapping[str, Any]) -> bool:
    """True when the last message was written after the run had ended."""
    last = messages[-1]
    if last.kind != "observation" or last.role != "user":
        return False
    if info.get("exit_status") and last.content == info.get("submission"):
        return True
    answer = messages[-2]
    submitted = answer.role == "assistant" and any(word in answer.content for word in FINISHED)
    return submitted and not last.content.startswith(OBSERVATION)


FORMAT = Format("mini-swe-agent", "mini-swe-agent .traj.json", _matches, _parse)
