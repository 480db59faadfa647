"""A control that must fail: the gold patch, with functions of the file it changes made to raise."""

from __future__ import annotations

import ast
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path

from harness.errors import EnvironmentFailed
from suites.swebench.sdist.build import Built
from suites.swebench.sdist.explorer import touched
from suites.swebench.sdist.grade import fresh_copy
from suites.swebench.sdist.instances import Instance

RAISE = 'raise RuntimeError("broken on purpose")'


def breaking_patch(instance: Instance, built: Built, functions: Collection[str] = ()) -> str:
    """The gold patch and a ``raise`` in front of every function of the first file it changes, or of those named."""
    with tempfile.TemporaryDirectory(prefix="agentmem-break-") as folder:
        work = fresh_copy(built, Path(folder) / "repo")
        _git(work, "apply", "--whitespace=nowarn", "-", given=instance.patch)
        file = work / next(name for name in sorted(touched(instance.patch)) if name.endswith(".py"))
        file.write_text(broken(file.read_text(encoding="utf-8"), functions), encoding="utf-8")
        _git(work, "add", "-A", ".")
        return _git(work, "diff", "--cached", "--binary", "HEAD")


def broken(source: str, functions: Collection[str] = ()) -> str:
    """The source with a raise as the first statement of its functions, or of those named."""
    lines = source.splitlines(keepends=True)
    bodies = [
        node.body[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (not functions or node.name in functions)
    ]
    for first in sorted(bodies, key=lambda node: -node.lineno):
        line = lines[first.lineno - 1]
        if line[: first.col_offset].strip():  # the body stands behind the colon
            continue
        lines.insert(first.lineno - 1, f"{' ' * first.col_offset}{RAISE}\n")
    return "".join(lines)


def _git(work: Path, *arguments: str, given: str | None = None) -> str:
    ran = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *arguments], cwd=work, input=given, capture_output=True, text=True
    )
    if ran.returncode:
        raise EnvironmentFailed(f"git {' '.join(arguments)}: {ran.stderr[-300:]}")
    return ran.stdout
