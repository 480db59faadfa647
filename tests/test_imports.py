"""Imports point one way, and nothing heavy is imported before it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PUBLIC = ("agentmem.messages", "agentmem.tokens", "agentmem.errors", "agentmem")  # what anybody may use
FOR_SUITES = ("harness.types", "harness.protocols", "harness.errors")
HEAVY = (
    "openai",
    "scipy",
    "matplotlib",
    "numpy",
    "apsw",
    "dateparser",
    "nltk",
    "jinja2",
    "tiktoken",
    "rich",
    "swebench",
)


def imports(path: Path) -> set[str]:
    """Every module a file imports, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def files(package: str) -> list[Path]:
    """The sources of a package."""
    return sorted((ROOT / package).rglob("*.py"))


def test_agentmem_knows_nothing_of_the_harness_and_the_suites() -> None:
    for path in files("agentmem"):
        assert not [name for name in imports(path) if name.split(".")[0] in ("harness", "suites")], path


def test_suites_use_only_records_and_protocols_of_the_harness() -> None:
    for path in files("suites"):
        for name in imports(path):
            if name.startswith("harness"):
                assert name in FOR_SUITES, f"{path} imports {name}"
            if name.startswith("agentmem"):
                assert name in PUBLIC, f"{path} imports {name}"


def loaded_by(statement: str) -> set[str]:
    """Top-level modules loaded after a statement in a fresh interpreter."""
    code = f"{statement}\nimport sys\nprint(' '.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import agentmem", "import harness.cli; harness.cli.build()"])
def test_nothing_heavy_is_imported_before_it_is_used(statement: str) -> None:
    allowed = {"rich"} if "cli" in statement else set()  # typer itself may load rich
    assert loaded_by(statement) & set(HEAVY) - allowed == set()
