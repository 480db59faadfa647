"""Known wrong gold answers: a live run is counted with and without them, and only the figures with them change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentmem.llm.fakeserver import FakeServer
from harness.cli import build
from suites.sources import read_rows
from tests.data import data_path

ASKED = "conv-26/q005"  # its gold answer says Sunday where the conversation says Saturday
LEFT_OUT = "conv-26/q056"


def played(data: Path, out: Path, limit: str, answer: str) -> dict[str, object]:
    """The summary of a run in which the model always gives one answer."""
    options = ["--data", str(data), "--limit", limit, "--window", "3000", "--out", str(out)]
    with FakeServer(lambda request: answer) as server:
        command = ["run", "--suite", "locomo", "--model", "m", "--base-url", server.url, *options]
        build()(command, standalone_mode=False)
    summary: dict[str, object] = json.loads((out / "summary.json").read_text())
    return summary


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    """The first conversation of the released file, with one session, and the questions up to the last concerned."""
    sample = read_rows(data_path("locomo/locomo10.json.gz"))[0]
    kept = ("speaker_a", "speaker_b", "session_1", "session_1_date_time")
    sample["conversation"] = {key: sample["conversation"][key] for key in kept}
    sample["qa"] = sample["qa"][:57]
    (tmp_path / "locomo10.json").write_text(json.dumps([sample]))
    return tmp_path


def test_scores_come_with_and_without_the_errata(
    conversation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = played(conversation, tmp_path / "run", "57", "The Saturday before 25 May 2023")
    errata = summary["errata"]
    assert isinstance(errata, dict)
    assert errata["changed"] == [ASKED, LEFT_OUT]
    both = errata["arms"]["full"]
    without, corrected = both["without"]["tasks"], both["with"]["tasks"]
    assert (without["attempted"], corrected["attempted"]) == (57, 56)
    assert (without["passed"], corrected["passed"]) == (0, 1)
    assert both["with"]["score"] > both["without"]["score"]
    recipe = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert recipe["data"]["errata 1"] == errata["sha256"]
    said = capsys.readouterr().out
    assert "with the gold answers of errata 1" in said and ASKED in said
    text = (tmp_path / "run" / "report.md").read_text()
    assert "with the gold answers of errata 1" in text and "57 tasks in 2 sessions of" in text
    build()(["report", str(tmp_path / "run")], standalone_mode=False)
    assert "mean score" in (tmp_path / "run" / "report.html").read_text()  # F1 says more than tasks passed


def test_errata_for_another_question_are_not_applied_and_that_is_said(
    conversation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = json.loads((conversation / "locomo10.json").read_text())
    rows[0]["qa"][5]["question"] += "?"
    (conversation / "locomo10.json").write_text(json.dumps(rows))
    errata = played(conversation, tmp_path / "run", "57", "Sunday")["errata"]
    assert isinstance(errata, dict) and ASKED in errata["not_applied"]
    assert "errata 1 not applied" in capsys.readouterr().out


def test_a_run_without_a_concerned_question_says_nothing(conversation: Path, tmp_path: Path) -> None:
    assert played(conversation, tmp_path / "run", "2", "Sunday")["errata"] is None
