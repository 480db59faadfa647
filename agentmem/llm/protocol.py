"""What the memory needs of a language model, and what a call cost. ``None`` is "the server did not say", never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentmem.messages import Message, ToolCall


@dataclass(frozen=True, slots=True)
class Tokens:
    """Usage as the server reported it. ``prompt`` includes ``cached``."""

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. ``task`` names its purpose ("l1-extraction"); ``timeout`` is in seconds; unset limits are the
    model's own. ``tools`` are in OpenAI's schema; an empty tuple is left out of the request."""

    messages: tuple[Message, ...]
    task: str
    timeout: float | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    tools: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. ``finish`` is the server's word for why it ended; "length" means that the text was cut off."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str | None = None
    tokens: Tokens = field(default_factory=Tokens)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a call, failed ones too: every one may have been charged. ``seconds`` is wall time."""

    task: str
    model: str
    tokens: Tokens
    seconds: float
    error: str | None = None


class LanguageModel(Protocol):
    """A chat model. May be called from any thread."""

    name: str

    def ask(self, request: Ask) -> Reply:
        """Answer. Raises ``ModelUnavailable`` (try later), ``ModelRejected`` (no use), ``ContextOverflow``, or
        ``BadAnswer`` when it answered nothing."""
        ...

    def spent(self) -> list[Attempt]:
        """Every attempt since the last time somebody asked, failed ones included."""
        ...
