"""The hand-written material: domains, each with modules, tests and bugs, read from ``templates/``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from harness.errors import DataError

SHARED = ("noise", "project")


@dataclass(frozen=True)
class Bug:
    """A place in a correct module and what is planted there.

    ``fails`` names the tests that break, as ``role.Class.method``. All texts may hold ``{{placeholders}}``.
    """

    kind: str
    module: str
    correct: str
    broken: str
    fails: tuple[str, ...]
    title: str
    issue: str


@dataclass(frozen=True)
class Module:
    """A source file: its role in the domain, the file names it may get, its folder's role, its text and tests."""

    role: str
    names: tuple[str, ...]
    group: str
    source: str
    test: str | None


@dataclass(frozen=True)
class Domain:
    """A small library in one field. ``names`` maps a placeholder to the identifiers it may become."""

    name: str
    about: str
    packages: tuple[str, ...]
    api: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
    modules: tuple[Module, ...]
    bugs: tuple[Bug, ...]


@cache
def domains() -> tuple[Domain, ...]:
    """Every domain, by name."""
    folders = sorted(_root().iterdir(), key=lambda item: item.name)
    return tuple(_domain(folder) for folder in folders if folder.is_dir() and folder.name not in SHARED)


@cache
def noise() -> tuple[Module, ...]:
    """Modules every repository draws some of; they have nothing to do with any bug."""
    return _domain(_root() / "noise").modules


@cache
def project_files() -> Mapping[str, str]:
    """Templates of the files around a package (README and the like), by the path they get."""
    found: dict[str, str] = {}
    for item in sorted((_root() / "project").iterdir(), key=lambda item: item.name):
        found[item.name.removesuffix(".tmpl").replace("__", "/")] = item.read_text(encoding="utf-8")
    return found


@cache
def words() -> Mapping[str, tuple[str, ...]]:
    """Sample words by sort: persons, things, places."""
    return {sort: tuple(found) for sort, found in _toml(_root() / "words.toml").items()}


def _root() -> Traversable:
    return files(__package__) / "templates"


def _toml(source: Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(source.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"embedded tasks: cannot read {source}: {error}") from error


def _domain(folder: Traversable) -> Domain:
    facts = _toml(folder / "domain.toml")
    return Domain(
        name=folder.name,
        about=facts.get("about", ""),
        packages=tuple(facts.get("packages", ())),
        api=tuple(facts.get("api", ())),
        names={key: tuple(values) for key, values in facts.get("names", {}).items()},
        modules=tuple(_module(folder, role, found) for role, found in facts["modules"].items()),
        bugs=tuple(Bug(**{**bug, "fails": tuple(bug["fails"])}) for bug in facts.get("bugs", ())),
    )


def _module(folder: Traversable, role: str, facts: Mapping[str, Any]) -> Module:
    test = folder / f"test_{role}.py.tmpl"
    return Module(
        role=role,
        names=tuple(facts["names"]),
        group=facts["group"],
        source=(folder / f"{role}.py.tmpl").read_text(encoding="utf-8"),
        test=test.read_text(encoding="utf-8") if test.is_file() else None,
    )
