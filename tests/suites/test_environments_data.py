"""Live suites over the real data: how many tasks there are, and what the controls beside the arms get."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from agentmem.tokens import TokenCounter, cache_folder
from harness.protocols import SuiteContext
from harness.sandbox import opener
from harness.suites import open_suite
from tests.data import data_root
from tests.suites.judges import Scripted
from tests.suites.widesearch_stub import StubJudge

NOW = 1_756_684_800.0  # 2025-09-01


def suite(name: str, judge: Any = None, **options: str) -> Any:
    context = SuiteContext(
        data_root(), cache_folder(), TokenCounter(), opener("none"), judge, "guarded", lambda: NOW, options
    )
    return open_suite(name, context)


def passed(suite: Any, control: str, every: int = 1) -> float:
    """Share of the tasks that a control passes, over every n-th task."""
    tasks = suite.tasks()[::every]
    return sum(bool(suite.control(control, task).passed) for task in tasks) / len(tasks)


def test_personamem_options_leak_their_length() -> None:
    found = suite("personamem")
    assert len(found.tasks()) == 589
    assert (
        0.45 < passed(found, "longest option") < 0.6
    )  # chance is 0.25: which is why this control stands in every table
    assert 0.2 < passed(found, "random") < 0.3


def test_personamem_contexts_are_played_whole_and_once() -> None:
    found = suite("personamem")
    last = found.tasks()[-1]
    episodes = found.episodes(last)
    assert sum(len(one.messages) for one in episodes) == len(found.question(last.id).context)
    assert not [m for one in episodes for m in one.messages if m.role == "system"]


def test_locomo_conversations_are_played_with_dates() -> None:
    found = suite("locomo", categories="1+2+4")
    assert len(found.tasks()) == 1_444
    episodes = found.episodes(found.tasks()[0])
    assert all(message.content.startswith("[") for one in episodes for message in one.messages)
    assert passed(found, "refusal", every=10) == 0


def test_aalcr_documents_come_through_tools() -> None:
    from agentmem.messages import ToolCall

    found = suite("aalcr", Scripted("INCORRECT"))
    tasks = found.tasks()
    assert len(tasks) == 98 and all(len(message.content) < 4_000 for task in tasks for message in task.prompt)
    box = found.environment(tasks[0], data_root())
    listed = box.execute(ToolCall("c", "list_documents", "{}")).content.split("\n")
    assert listed and all(line.endswith("pages)") for line in listed)
    assert box.finish("some answer").passed is False
    assert len(found.probes()) == 20


@pytest.mark.slow
def test_widesearch_gold_tables_pass_but_for_cells_that_no_markdown_can_hold() -> None:
    found = suite("widesearch", StubJudge())
    tasks = found.tasks()
    assert len(tasks) == 132
    lost = [task.id for task in tasks if not found.control("gold table", task).passed]
    assert all(_has_line_break(found.gold(task)) for task in lost)  # a line break or a pipe in a cell
    assert len(lost) == 22
    assert passed(found, "empty table", every=4) == 0.0


def _has_line_break(table: str) -> bool:
    return any("\n" in cell or "|" in cell for line in csv.reader(io.StringIO(table)) for cell in line)


def test_a_judge_of_tables_is_probed_with_cells_beside_themselves_and_beside_others() -> None:
    found = suite("widesearch", StubJudge())
    probes = found.probes()
    assert [probe.right for probe in probes] == [True, False] * 10
    assert all("idx_0" in probe.prompt[0].content for probe in probes)
    assert found.read_verdict('```json\n{"idx_0": 1}\n```') is True
    assert found.read_verdict('```json\n{"idx_0": "1"}\n```') is None


@pytest.mark.parametrize(("name", "file"), [("aalcr", "user_1.0"), ("widesearch", "grade"), ("longmemeval", "default")])
def test_official_judge_prompts_are_taken_from_a_folder_and_known_by_their_hash(
    name: str, file: str, tmp_path: Path
) -> None:
    own = suite(name, Scripted("yes"))
    fields = {"user_1.0": "{question} {gold} {answer}", "grade": "{criterion} {pairs}"}
    (tmp_path / f"{file}.txt").write_text(fields.get(file, "{question} {answer} {response}") + " the official words")
    official = suite(name, Scripted("yes"), judge_prompts=str(tmp_path))
    changed = {key for key in own.sha256 if own.sha256[key] != official.sha256[key]}
    assert changed == {f"judge prompt {file}"}
    assert any("the official words" in probe.prompt[-1].content for probe in official.probes())
