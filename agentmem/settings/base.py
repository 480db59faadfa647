"""What all groups share: upstream spelling of names, strict types, no unknown keys, frozen.

A field is written in snake_case and read from, and shown as, the upstream camelCase. The string under a field is its
documentation. ``own(...)`` marks a setting that upstream does not have.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


def upstream_name(field: str) -> str:
    """``l0l1_retention_days`` -> ``l0l1RetentionDays``."""
    first, *rest = field.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


class Group(BaseModel):
    """A group of settings."""

    model_config = ConfigDict(
        alias_generator=upstream_name,
        populate_by_name=True,
        extra="forbid",
        strict=True,
        frozen=True,
        use_attribute_docstrings=True,
        protected_namespaces=(),
    )


def own(default: Any = ..., **limits: Any) -> Any:
    """A field of ours, with the same limits as ``pydantic.Field``; the reference table marks it."""
    return Field(default, json_schema_extra={"own": True}, **limits)


def unused(default: Any = ..., **limits: Any) -> Any:
    """An upstream setting that is read and checked, and has no effect here; the reference table marks it."""
    return Field(default, json_schema_extra={"unused": True}, **limits)


def is_own(field: Any) -> bool:
    """True for a field declared with ``own``."""
    return isinstance(field.json_schema_extra, dict) and bool(field.json_schema_extra.get("own"))


def is_unused(field: Any) -> bool:
    """True for a field declared with ``unused``."""
    return isinstance(field.json_schema_extra, dict) and bool(field.json_schema_extra.get("unused"))
