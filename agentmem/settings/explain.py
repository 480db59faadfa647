"""Turns what pydantic found wrong into one line that names key, value and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

HIDDEN = "(hidden)"


def explain(model: type[BaseModel], error: Any) -> str:
    """One line for one item of ``ValidationError.errors()`` of a model of groups."""
    path = [str(part) for part in error["loc"]]
    key = ".".join(path) or "configuration"
    if error["type"] == "extra_forbidden":
        return f"{key}: unknown setting; {_nearest(model, path)}"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ").removeprefix("String should ")
    if isinstance(error["input"], Mapping) and error["type"] == "value_error":
        return f"{key}: {message}"  # two settings that do not fit each other
    if error["type"].startswith("model"):
        message = "a group of settings"
    value = HIDDEN if _is_secret(path[-1] if path else "") else repr(error["input"])
    return f"{key}: got {value}, expected {message}"


def hide_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values with every non-empty key replaced, in groups as well."""
    hidden: dict[str, Any] = {}
    for name, value in values.items():
        inner = hide_secrets(value) if isinstance(value, Mapping) else value
        hidden[name] = HIDDEN if _is_secret(name) and value else inner
    return hidden


def _is_secret(name: str) -> bool:
    return name.lower().replace("_", "").endswith("apikey")


def _nearest(model: type[BaseModel], path: list[str]) -> str:
    names = _names(model, path[:-1])
    near = difflib.get_close_matches(path[-1], names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {'.'.join([*path[:-1], near[0]])}?"
    return f"known here: {', '.join(names)}"


def _names(model: type[BaseModel], path: list[str]) -> list[str]:
    for part in path:
        field = next(f for name, f in model.model_fields.items() if part in (f.alias, name))
        assert isinstance(field.annotation, type)  # unknown keys are only reported inside groups
        model = field.annotation
    return [field.alias or name for name, field in model.model_fields.items()]
