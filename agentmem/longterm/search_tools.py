"""The tools that a model may call: ``memory_search`` and ``conversation_search``. They answer with record ids."""

from __future__ import annotations

import json
from typing import Any

from agentmem.errors import AgentMemError
from agentmem.longterm.recall import Recaller
from agentmem.longterm.search_text import as_text
from agentmem.store.records import Scope

LIMIT, MOST = 5, 20  # results: usual and most (memory_core.md B16)
DOWN = "Memory search is not available now. Do not call it again in this turn; answer with what you have."


def tools() -> list[dict[str, Any]]:
    """Both tools in OpenAI's schema."""
    limit = {"type": "integer", "minimum": 1, "maximum": MOST, "description": f"Results, {LIMIT} if not given."}
    query = {"type": "string", "description": "What to look for: words, names, a question."}
    return [
        _tool(
            "memory_search",
            "Search what is remembered of earlier conversations: facts, preferences, instructions, events.",
            {
                "query": query,
                "limit": limit,
                "type": {"type": "string", "description": "Only memories of this type, such as persona."},
                "scene": {"type": "string", "description": "Only memories of scenes whose name holds this."},
            },
        ),
        _tool(
            "conversation_search",
            "Search the messages of earlier conversations, word for word, with speaker and time.",
            {
                "query": query,
                "limit": limit,
                "session": {"type": "string", "description": "Only messages of this session."},
            },
        ),
    ]


def call(recaller: Recaller, scope: Scope, name: str, arguments: str) -> str:
    """Run a tool with the arguments as the model wrote them (JSON). Mistakes and failures are answered in words."""
    known = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in tools()}
    if name not in known:
        return f"There is no tool {name!r}: use {' or '.join(known)}."
    try:
        given = json.loads(arguments or "{}")
    except ValueError as error:
        return f"The arguments of {name} are no JSON: {error}."
    wrong = _wrong(given, known[name])
    if wrong:
        return f"{name}: {wrong}."
    limit = given.get("limit", LIMIT)
    try:
        if name == "memory_search":
            found = recaller.search(scope, given["query"], limit, given.get("type"), given.get("scene"))
        else:
            found = recaller.search_conversations(scope, given["query"], limit, given.get("session"))
    except AgentMemError:
        return DOWN
    return as_text(found)


def _tool(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": ["query"], "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _wrong(given: Any, properties: dict[str, Any]) -> str | None:
    if not isinstance(given, dict):
        return f"the arguments must be an object with {', '.join(properties)}"
    unknown = sorted(set(given) - set(properties))
    if unknown:
        return f"unknown argument {unknown[0]!r}, expected {', '.join(properties)}"
    if not isinstance(given.get("query"), str) or not given["query"].strip():
        return "query must be a text that is not empty"
    limit = given.get("limit", LIMIT)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        return f"limit must be a whole number from 1 to {MOST}, got {limit!r}"
    for name in ("type", "scene", "session"):
        if name in given and given[name] is not None and not isinstance(given[name], str):
            return f"{name} must be a text, got {given[name]!r}"
    return None
