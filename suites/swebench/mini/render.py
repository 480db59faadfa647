"""Turns a domain into one concrete repository: names, file layout and words are drawn, templates filled in."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from harness.errors import DataError
from suites.swebench.mini.domains import Domain, Module, noise, project_files, words

_PLACEHOLDER = re.compile(r"\{\{([A-Za-z][\w.]*)\}\}")

GROUPS: Mapping[str, tuple[str, ...]] = {
    "core": ("core", "model", "engine"),
    "io": ("io", "formats", "adapters"),
    "view": ("views", "output", "reporting"),
    "util": ("util", "support", "common"),
}


@dataclass(frozen=True)
class Layout:
    """Where things lie. ``tests`` is the folder of the tests, ``{pkg}`` in it stands for the package."""

    name: str
    source: str
    grouped: bool
    tests: str


LAYOUTS = (
    Layout("flat", "", False, "tests"),
    Layout("grouped", "", True, "tests"),
    Layout("src", "src/", False, "tests"),
    Layout("src-grouped", "src/", True, "tests"),
    Layout("inside", "", True, "{pkg}/tests"),
)


class Filler:
    """Fills templates in. ``values`` maps lower-case keys; ``{{Key}}`` gives CamelCase and ``{{KEY}}`` capitals."""

    def __init__(self, values: Mapping[str, str], where: str) -> None:
        self._values = dict(values)
        self._where = where

    def __call__(self, template: str) -> str:
        """The template with every placeholder replaced. Raises ``DataError`` for an unknown one."""
        return _PLACEHOLDER.sub(self._value, template)

    def _value(self, match: re.Match[str]) -> str:
        key = match[1]
        try:
            value = self._values[key.lower()]
        except KeyError:
            raise DataError(f"embedded tasks: unknown placeholder {key!r} in {self._where}") from None
        letters = key.rpartition(".")[2]
        if letters.isupper():
            return value.upper()
        if letters[0].isupper():
            return "".join(part[:1].upper() + part[1:] for part in value.split("_"))
        return value


@dataclass(frozen=True)
class Repository:
    """A rendered, still correct repository. ``sources`` and ``tests`` map a module's role to its file's path."""

    package: str
    layout: Layout
    files: Mapping[str, str]
    sources: Mapping[str, str]
    tests: Mapping[str, str]
    fill: Filler

    @property
    def test_folder(self) -> str:
        """The folder of the tests, relative to the repository."""
        return self.layout.tests.format(pkg=self.package)


def render(domain: Domain, rng: random.Random) -> Repository:
    """Draw one repository of ``domain``. Same state of ``rng``, same bytes."""
    package = rng.choice(domain.packages)
    layout = rng.choice(LAYOUTS)
    names = {key: rng.choice(choices) for key, choices in domain.names.items()}
    chosen = [*domain.modules, *rng.sample(noise(), rng.randint(5, 8))]
    stems = {module.role: rng.choice(module.names) for module in chosen}
    groups = {group: rng.choice(choices) for group, choices in GROUPS.items()}
    homes = {m.role: _home(package, layout, groups[m.group], stems[m.role]) for m in chosen}

    values = {
        **names,
        **_words(rng),
        "pkg": package,
        "version": f"{rng.randint(0, 3)}.{rng.randint(1, 14)}.{rng.randint(0, 9)}",
    }
    values |= {f"m.{role}": path.removesuffix(".py").replace("/", ".") for role, path in homes.items()}
    fill = Filler(values, domain.name)
    values |= {f"api{i}": fill(name) for i, name in enumerate(domain.api, 1)} | {"about": fill(domain.about)}
    values |= {"upcoming": rng.choice(("January", "April", "June", "September", "November"))}
    fill = Filler(values, domain.name)

    sources = {role: layout.source + path for role, path in homes.items()}
    folder = layout.tests.format(pkg=package)
    tests = {m.role: f"{folder}/test_{stems[m.role]}.py" for m in chosen if m.test is not None}
    files = {path: fill(text) for path, text in project_files().items()}
    files |= _modules(chosen, sources, tests, fill)
    files |= _inits(files, layout, package, fill(domain.about))
    return Repository(package, layout, dict(sorted(files.items())), sources, tests, fill)


def _home(package: str, layout: Layout, group: str, stem: str) -> str:
    return f"{package}/{group}/{stem}.py" if layout.grouped else f"{package}/{stem}.py"


def _words(rng: random.Random) -> dict[str, str]:
    drawn: dict[str, str] = {}
    for sort, choices in words().items():
        for number, word in enumerate(rng.sample(choices, 5), 1):
            drawn[f"w.{sort}{number}"] = word
    return drawn


def _modules(
    chosen: list[Module], sources: Mapping[str, str], tests: Mapping[str, str], fill: Filler
) -> dict[str, str]:
    found: dict[str, str] = {}
    for module in chosen:
        if sources[module.role] in found:
            raise DataError(f"embedded tasks: two modules would both be {sources[module.role]}")
        found[sources[module.role]] = fill(module.source)
        if module.test is not None:
            found[tests[module.role]] = fill(module.test)
    return found


def _inits(files: Mapping[str, str], layout: Layout, package: str, about: str) -> dict[str, str]:
    """An ``__init__.py`` for every package; that of the tests finds the sources in a ``src`` layout."""
    found: dict[str, str] = {}
    folder = layout.tests.format(pkg=package)
    for path in files:
        parent = PurePosixPath(path).parent
        if path.endswith(".py") and str(parent).startswith((layout.source + package, folder)):
            found.setdefault(f"{parent}/__init__.py", "")
    found[f"{layout.source}{package}/__init__.py"] = f'"""{about}"""\n'
    if layout.source:
        found[f"{folder}/__init__.py"] = (
            "import sys\nfrom pathlib import Path\n\n"
            'sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))\n'
        )
    return found
