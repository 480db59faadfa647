"""Recipes: everything that decides a result, as one frozen record, its hash, and what differs between two."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import agentmem
from harness.types import Arm, Recipe

PACKAGES = ("agentmem", "harness", "suites")


def canonical(recipe: Recipe) -> str:
    """The recipe as JSON with sorted keys; the bytes that are hashed."""
    return json.dumps(asdict(recipe), sort_keys=True, ensure_ascii=True, allow_nan=False, indent=1) + "\n"


def sha256(recipe: Recipe) -> str:
    """Hash of the recipe, in hex."""
    return hashlib.sha256(canonical(recipe).encode()).hexdigest()


def load(text: str) -> Recipe:
    """Read a recipe that ``canonical`` wrote."""
    data = json.loads(text)
    data["arms"] = tuple(Arm(**arm) for arm in data["arms"])
    data["tasks"] = tuple(data["tasks"])
    return Recipe(**data)


def differences(one: Recipe, other: Recipe) -> dict[str, tuple[Any, Any]]:
    """The fields in which two recipes differ, by dotted name, with both values."""
    return _differences("", asdict(one), asdict(other))


@cache
def code() -> dict[str, str]:
    """Version of this package and a hash over its sources, so that changed code is another recipe."""
    return {"version": agentmem.__version__, "sha256": sources_sha256(*PACKAGES)}


def sources_sha256(*folders: str) -> str:
    """Hash over the sources and templates in some folders of this installation."""
    digest = hashlib.sha256()
    root = Path(agentmem.__file__).resolve().parent.parent
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """Hash of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _differences(prefix: str, one: Any, other: Any) -> dict[str, tuple[Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        found: dict[str, tuple[Any, Any]] = {}
        for key in sorted(one.keys() | other.keys()):
            found |= _differences(f"{prefix}.{key}" if prefix else str(key), one.get(key), other.get(key))
        return found
    return {} if one == other else {prefix: (one, other)}
