"""The embedded suites live: an engine that forgets fails tasks without any model, one that remembers does not."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.embedded import SUITES, Live, play
from harness.engines import registry
from harness.report.embedded import table
from harness.runlog import read_tasks
from harness.tables import to_text
from harness.types import TaskRow

UNLIMITED = 10_000_000
Summaries = Mapping[str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def amnesia(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The test double as somebody else would install an engine: a distribution with an entry point."""
    if "amnesia" in registry.names():
        yield
        return
    folder = tmp_path_factory.mktemp("site")
    info = folder / "amnesia_double-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: amnesia-double\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\namnesia = harness.engines.amnesia:Amnesia\n")
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    registry.names.cache_clear()
    yield
    sys.path.remove(str(folder))
    registry.names.cache_clear()
    registry.engine_class.cache_clear()


@pytest.fixture(scope="module")
def summaries(amnesia: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Full with an unlimited window, the memory, and the test double, over all four suites."""
    arms = tuple(registry.parse_arm(name) for name in ("full", "agentmem", "amnesia"))
    folder = tmp_path_factory.mktemp("live")
    live = Live(arms, window=UNLIMITED, tasks=4, jobs=2)
    return {suite: play(suite, live, folder / suite, lambda done, total, what: None) for suite in SUITES}


def record(summaries: Summaries, suite: str, arm: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(one for one in summaries[suite]["arms"] if one["arm"] == arm)
    return found


def rate(summaries: Summaries, arm: str, suites: tuple[str, ...] = SUITES) -> float:
    counts = [record(summaries, suite, arm)["tasks"] for suite in suites]
    return sum(one["passed"] or 0 for one in counts) / sum(one["attempted"] for one in counts)


def tokens(summaries: Summaries, arm: str) -> int:
    return sum(int(record(summaries, suite, arm)["tokens"]) for suite in SUITES)


def test_full_with_an_unlimited_window_passes_everything(summaries: Summaries) -> None:
    assert [rate(summaries, "full", (suite,)) for suite in SUITES] == [1.0] * len(SUITES)


def test_an_engine_that_loses_evidence_fails(summaries: Summaries) -> None:
    assert rate(summaries, "amnesia") <= 0.6
    for suite in SUITES:
        assert rate(summaries, "amnesia", (suite,)) <= 0.6, suite


def test_the_memory_passes_with_a_quarter_of_the_tokens(summaries: Summaries) -> None:
    assert rate(summaries, "agentmem") >= 0.99
    assert tokens(summaries, "agentmem") <= tokens(summaries, "full") / 4


def test_nothing_errs_and_controls_tell_right_from_wrong(summaries: Summaries) -> None:
    for suite, summary in summaries.items():
        assert [one["tasks"]["errored"] for one in summary["arms"]] == [0] * len(summary["arms"]), suite
        controls = [one["arm"] for one in summary["arms"] if one["arm"].startswith("control: ")]
        assert rate(summaries, controls[0], (suite,)) == 1.0
        assert min(rate(summaries, control, (suite,)) for control in controls) == 0.0


def test_every_run_says_that_no_model_took_part(summaries: Summaries) -> None:
    for summary in summaries.values():
        assert summary["agent"] == "scripted agent"
        assert "no language model" in summary["labels"][0]
    text = to_text([table(summaries, [])])
    assert "scripted agents (no language model)" in text
    for row in ("full", "agentmem", "amnesia"):
        assert row in text


def test_a_clear_at_each_task_costs_exactly_the_questions_about_earlier_chats(tmp_path: Path) -> None:
    live = Live((registry.parse_arm("isolated"),))
    found = {suite: play(suite, live, tmp_path / suite, lambda *_: None) for suite in ("aalcr", "personamem")}
    assert rate(found, "isolated", ("aalcr",)) == 1.0
    assert rate(found, "isolated", ("personamem",)) == 0.0


def test_a_window_that_is_too_small_for_the_chats_costs_answers(tmp_path: Path) -> None:
    live = Live((registry.parse_arm("full"),), window=6_000)
    found = {"personamem": play("personamem", live, tmp_path / "run", lambda *_: None)}
    assert 0.0 < rate(found, "full", ("personamem",)) < 1.0


def test_two_runs_are_equal_in_everything_but_their_folder(tmp_path: Path) -> None:
    live = Live(tuple(map(registry.parse_arm, ("mask", "agentmem"))), jobs=2)

    def played(name: str) -> list[TaskRow]:
        play("widesearch", live, tmp_path / name, lambda *_: None)
        return sorted(read_tasks(tmp_path / name), key=lambda row: (row.arm, row.task))

    assert played("one") == played("two")


def test_a_finished_run_is_not_played_again(tmp_path: Path) -> None:
    live = Live((registry.parse_arm("full"),))
    first = play("aalcr", live, tmp_path / "run", lambda *_: None)
    said: list[str] = []
    again = play("aalcr", live, tmp_path / "run", lambda done, total, what: said.append(what))
    assert again["arms"] == first["arms"]
    assert said == []


def bench(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("agentmem-bench")), "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def test_one_suite_from_the_command_line(tmp_path: Path) -> None:
    done = bench("--suite", "aalcr", "--arm", "full", "--arm", "isolated", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "16 of 16 (100 %)" in done.stdout
    assert "no language model took part" in done.stdout
    assert (tmp_path / "run" / "aalcr" / "report.md").is_file()


def test_the_recording_and_all_suites_from_the_command_line(tmp_path: Path) -> None:
    wanted = ("--tasks", "4", "--live-tasks", "2", "--arm", "full", "--arm", "isolated", "--out", "run")
    done = bench(*wanted, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for suite in SUITES:
        assert suite in done.stdout
        assert (tmp_path / "run" / "live" / suite / "summary.json").is_file()
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["schema"] == "agentmem-run/1"
    assert set(summary["live"]) == set(SUITES)
    assert summary["live"]["personamem"]["full"]["tasks"]["passed"] == 24


def test_an_unknown_suite_is_one_line(tmp_path: Path) -> None:
    done = bench("--suite", "aalrc", cwd=tmp_path)
    assert done.returncode == 3
    assert "unknown suite 'aalrc': expected aalcr" in done.stderr
    assert "Traceback" not in done.stderr
