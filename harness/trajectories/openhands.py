"""OpenHands ``output.jsonl``: one evaluated instance a line, its ``history`` a list of action and observation events.

Source: output files of OpenHands 0.35. An agent's action carries the model's whole answer in ``tool_call_metadata``;
actions of the same answer are one message. An action without it (older runs) becomes a call with its arguments, and
its observation is found by ``cause``. Book-keeping events (state changes, condensation) are left out.
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
    calls_of,
    describe,
    mapping,
    optional,
    resolved,
    text_of,
    word,
)

SILENT_ACTIONS = frozenset({"recall", "change_agent_state", "null", "condensation", "condensation_request"})
SILENT_OBSERVATIONS = frozenset({"agent_state_changed", "null", "agent_condensation"})
THOUGHTS = ("thought", "final_thought")


def _matches(record: Any) -> bool:
    if not isinstance(record, dict) or not isinstance(record.get("history"), list):
        return False
    events = _flat(record["history"])
    if not events:
        return "metadata" in record and "instance_id" in record
    return all(isinstance(event, dict) and ("action" in event or "observation" in event) for event in events[:3])


def _parse(record: Any) -> Draft:
    reader = _Events()
    for number, event in enumerate(_events(record)):
        if not isinstance(event, dict):
            raise Malformed(f"{describe(event)} as event {number}")
        reader.add(event, number)
    metadata = mapping(record.get("metadata"))
    names = ["OpenHands", reader.version, optional(metadata.get("agent_class"))]
    test_result = mapping(record.get("test_result"))
    report = mapping(record.get("report")) or mapping(test_result.get("report"))
    verdict = report.get("resolved", record.get("resolved"))
    error = optional(record.get("error"))
    return Draft(
        reader.messages,
        id=optional(record.get("instance_id")),
        suite=optional(metadata.get("dataset")),
        agent=" ".join(name for name in names if name),
        model=optional(mapping(metadata.get("llm_config")).get("model")),
        outcome=resolved(verdict, {"error": error} if error else None),
    )


def _events(record: Any) -> list[Any]:
    """The history: events, or in old runs pairs of an action and its observation."""
    history = mapping(record).get("history")
    if not isinstance(history, list):
        raise Malformed(describe(record) if history is None else f"{describe(history)} as 'history'")
    return _flat(history)


def _flat(history: list[Any]) -> list[Any]:
    return [event for entry in history for event in (entry if isinstance(entry, list) else [entry])]


class _Events:
    """Turns events into messages, one after the other."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.version: str | None = None
        self._answers: set[str] = set()  # ids of model answers that are already a message
        self._own: dict[str, str] = {}  # event id (as text) of an action without metadata -> the id its call was given

    def add(self, event: dict[str, Any], number: int) -> None:
        """Take one event."""
        if "observation" in event:
            self._observation(event)
            return
        action = word(event.get("action"))
        args = mapping(event.get("args"))
        if action == "system":
            self.version = optional(args.get("openhands_version")) or self.version
            self.messages.append(Message("system", text_of(args.get("content"))))
        elif action in SILENT_ACTIONS:
            return
        elif action == "message":
            role, metadata = event.get("source"), event.get("tool_call_metadata")
            if role == "agent" and metadata:
                self._answer(mapping(metadata), number)
            else:
                self.messages.append(Message("assistant" if role == "agent" else "user", text_of(args.get("content"))))
        elif event.get("source") == "agent":
            metadata = mapping(event.get("tool_call_metadata"))
            if metadata:
                self._answer(metadata, number)
            else:
                self._action(event, action, number)

    def _answer(self, metadata: Any, number: int) -> None:
        """The model's answer behind an action; further actions of the same answer add nothing."""
        response = mapping(metadata.get("model_response"))
        answer = optional(response.get("id"))
        if answer is not None and answer in self._answers:
            return
        if answer is not None:
            self._answers.add(answer)
        choices = response.get("choices")
        message = mapping(mapping(choices[0]).get("message")) if isinstance(choices, list) and choices else {}
        calls = calls_of(message.get("tool_calls"), number)
        if not calls:
            name = optional(metadata.get("function_name"))
            if name is None:
                raise Malformed(f"{describe(metadata)} as the tool call of event {number}")
            calls = (ToolCall(str(metadata.get("tool_call_id") or ""), name, "{}"),)
        self.messages.append(Message("assistant", text_of(message.get("content")), calls))

    def _action(self, event: dict[str, Any], action: str, number: int) -> None:
        args = dict(mapping(event.get("args")))
        thoughts = [text_of(args.pop(key, None)) for key in THOUGHTS]
        place = str(event.get("id", number))
        call_id = self._own[place] = f"event_{place}"
        call = ToolCall(call_id, action, arguments_of(args))
        self.messages.append(Message("assistant", "\n".join(filter(None, thoughts)), (call,)))

    def _observation(self, event: dict[str, Any]) -> None:
        kind = word(event.get("observation"))
        if kind == "recall":
            text = _recalled(mapping(event.get("extras")))
            if text:
                self.messages.append(Message("user", text, kind="observation"))
            return
        if kind in SILENT_OBSERVATIONS:
            return
        content = text_of(event.get("content"))
        metadata = mapping(event.get("tool_call_metadata"))
        call_id = optional(metadata.get("tool_call_id")) or self._own.get(str(event.get("cause")))
        if call_id is None:
            self.messages.append(Message("user", content, kind="observation"))
            return
        name = optional(metadata.get("function_name"))
        failed = kind == "error"
        self.messages.append(
            Message("tool", content, tool_call_id=call_id, name=name, kind="observation", is_error=failed)
        )


def _recalled(extras: Any) -> str:
    """The instructions and notes that a recall put into the prompt; the frame around them is not recorded."""
    texts = [text_of(_plain(extras.get(key))) for key in ("repo_instructions", "additional_agent_instructions")]
    notes = _plain(extras.get("microagent_knowledge"))
    if isinstance(notes, list):
        texts += [text_of(mapping(note).get("content")) for note in notes]
    return "\n\n".join(text for text in texts if text)


def _plain(value: object) -> object:
    """A value that some versions write as JSON text inside a string."""
    if isinstance(value, str) and value[:1] in ('"', "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


FORMAT = Format("openhands", "OpenHands output.jsonl", _matches, _parse)
