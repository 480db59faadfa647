"""What the documents show is what there is: their Python runs, the commands they name exist, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.cli import build

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^[ $]*(?:\S*\/)?agentmem-bench ([a-z]+)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def test_the_short_term_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = PYTHON.findall((ROOT / "docs" / "offload.md").read_text())
    found: dict[str, object] = {}
    exec(compile(code, "docs/offload.md", "exec"), found)
    assert [message.role for message in found["prompt"]] == ["system", "user"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_links_exist(page: Path) -> None:
    app = build()
    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    known |= {str(group.name) for group in app.registered_groups}
    text = page.read_text()
    assert set(COMMAND.findall(text)) <= known
    for link in LINK.findall(text):
        assert (page.parent / link).exists(), link
