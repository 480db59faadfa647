"""Turns off a model's reasoning: which field each kind of server wants in the request body (memory_core.md C5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.errors import ConfigError

STYLES = ("vllm", "deepseek", "dashscope", "openai", "anthropic", "kimi", "gemini")


def without_thinking(body: Mapping[str, Any], style: bool | str | None) -> dict[str, Any]:
    """The request body with reasoning turned off; a body without a list of messages comes back unchanged.

    ``style`` is False or None (nothing), True (as ``vllm``) or one of ``STYLES``. Raises ``ConfigError`` for another.
    """
    changed = dict(body)
    if style is None or style is False or not isinstance(body.get("messages"), list):
        return changed
    name = "vllm" if style is True else style
    if name == "vllm":
        changed["chat_template_kwargs"] = {**(body.get("chat_template_kwargs") or {}), "enable_thinking": False}
    elif name in ("deepseek", "dashscope"):
        changed["enable_thinking"] = False
    elif name == "openai":
        changed["reasoning_effort"] = "low"
    elif name in ("anthropic", "kimi"):
        changed["thinking"] = {"type": "disabled"}
    elif name == "gemini":
        changed["thinking_config"] = {"thinking_budget": 0}
    else:
        raise ConfigError(f"disableThinking: got {style!r}, expected true, false or one of {', '.join(STYLES)}")
    return changed
