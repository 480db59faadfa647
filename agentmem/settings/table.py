"""Writes docs/config.md: every setting with type, default, range and meaning. ``python -m agentmem.settings.table``."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from typing import Any, Literal, TypeGuard, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from agentmem.config import Config
from agentmem.settings.base import is_own, is_unused

HEAD = """# Configuration

Written by `python -m agentmem.settings.table > docs/config.md`; a test checks that it is current.

Names, groups and defaults are those of TencentDB-Agent-Memory. A setting marked **ours** does not exist there. One
marked **no effect** is read and checked, so that an existing configuration loads, and does nothing here. A wrong type,
a value out of range or an unknown name is an error that names the key, the value and what would be right.

Files are JSON or TOML: `Config.load(path)`. In code a setting is written in snake_case:
`config.recall.max_results` is `recall.maxResults`.
"""


def table() -> str:
    """The whole page."""
    parts = [HEAD]
    parts.extend(_section("Top level", "", Config, groups=False))
    for name, field in Config.model_fields.items():
        if _is_group(field.annotation):
            parts.extend(_section(f"`{field.alias or name}`", f"{field.alias or name}.", field.annotation))
    return "\n".join(parts) + "\n"


def _section(title: str, prefix: str, model: Any, groups: bool = True) -> Iterator[str]:
    yield f"## {title}\n"
    if groups and model.__doc__:
        yield model.__doc__.strip() + "\n"
    yield "| Setting | Type | Default | Range | Meaning |"
    yield "| --- | --- | --- | --- | --- |"
    yield from _rows(prefix, model, groups)
    yield ""


def _rows(prefix: str, model: type[BaseModel], groups: bool = True) -> Iterator[str]:
    for name, field in model.model_fields.items():
        alias = field.alias or name
        if _is_group(field.annotation):
            if groups:
                yield from _rows(f"{prefix}{alias}.", field.annotation)
            continue
        mark = "**ours** " if is_own(field) else "**no effect** " if is_unused(field) else ""
        meaning = " ".join((field.description or "").split())
        cells = (f"`{prefix}{alias}`", _type(field.annotation), _default(field), _range(field), mark + meaning)
        yield "| " + " | ".join(cells) + " |"


def _is_group(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(annotation))
    if get_origin(annotation) in (Union, types.UnionType):
        return " or ".join(_type(part) for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) is list:
        return f"list of {_type(get_args(annotation)[0])}"
    if get_origin(annotation) is dict:
        return "object"
    return {bool: "boolean", int: "integer", float: "number", str: "text"}[annotation]


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "not set"
    return f"`{value:g}`" if isinstance(value, float) else f"`{json.dumps(value)}`"


def _range(field: FieldInfo) -> str:
    signs: dict[type, tuple[str, str]] = {Ge: ("≥", "ge"), Gt: (">", "gt"), Le: ("≤", "le"), Lt: ("<", "lt")}
    found = []
    for limit in field.metadata:
        if type(limit) in signs:
            sign, attribute = signs[type(limit)]
            found.append(f"{sign} {getattr(limit, attribute):,}")
    return ", ".join(found)


if __name__ == "__main__":
    sys.stdout.write(table())
