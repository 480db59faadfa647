"""Reads what servers say about tokens into one shape: ``prompt`` includes ``cached``; absent is None, never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentmem.messages import Message
from agentmem.tokens import Counter
from harness.types import Usage


def read_usage(raw: Any) -> Usage:
    """The ``usage`` object of a response.

    Knows the names of OpenAI (``prompt_tokens`` with ``prompt_tokens_details.cached_tokens``), DeepSeek
    (``prompt_cache_hit_tokens``) and Anthropic (``input_tokens`` without ``cache_read_input_tokens`` and
    ``cache_creation_input_tokens``). Whether ``prompt_tokens`` holds the cached ones is settled by ``total_tokens``
    where there is one. A usage of zeros is no usage.
    """
    if not isinstance(raw, Mapping):
        return Usage()
    if "input_tokens" in raw and "prompt_tokens" not in raw:
        return _anthropic(raw)
    prompt, completion = _number(raw, "prompt_tokens"), _number(raw, "completion_tokens")
    cached = _number(raw, "prompt_tokens_details", "cached_tokens")
    if cached is None:
        cached = _number(raw, "prompt_cache_hit_tokens")
    reasoning = _number(raw, "completion_tokens_details", "reasoning_tokens")
    if not prompt and not completion:
        return Usage()
    if prompt is not None and cached and _apart(prompt, cached, completion or 0, _number(raw, "total_tokens")):
        prompt += cached
    return _reported(prompt, cached, completion, reasoning)


def counted_usage(prompt: Sequence[Message], answer: Message, counter: Counter) -> Usage:
    """The usage of a call as we count it, for servers that do not say."""
    return Usage(
        prompt=counter.total(prompt),
        completion=counter.message(answer),
        prompt_from="counted",
        completion_from="counted",
    )


def _apart(prompt: int, cached: int, completion: int, total: int | None) -> bool:
    """True when the cached tokens were left out of the prompt tokens."""
    if total is not None and total in (prompt + completion, prompt + cached + completion):
        return total != prompt + completion
    return cached > prompt


def _anthropic(raw: Mapping[str, Any]) -> Usage:
    fresh, completion = _number(raw, "input_tokens"), _number(raw, "output_tokens")
    cached, written = _number(raw, "cache_read_input_tokens"), _number(raw, "cache_creation_input_tokens")
    if fresh is None and completion is None:
        return Usage()
    if cached is None and written is None:  # OpenAI's Responses shape: cached tokens are part of the input
        cached = _number(raw, "input_tokens_details", "cached_tokens")
        return _reported(fresh, cached, completion, _number(raw, "output_tokens_details", "reasoning_tokens"))
    return _reported((fresh or 0) + (cached or 0) + (written or 0), cached, completion, None)


def _reported(prompt: int | None, cached: int | None, completion: int | None, reasoning: int | None) -> Usage:
    return Usage(
        prompt=prompt,
        cached=cached,
        completion=completion,
        reasoning=reasoning,
        prompt_from="missing" if prompt is None else "reported",
        cached_from="missing" if cached is None else "reported",
        completion_from="missing" if completion is None else "reported",
    )


def _number(raw: Mapping[str, Any], *path: str) -> int | None:
    value: Any = raw
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        return None
    return int(value)
