"""Judges: charged to the task, repeated, probed; a judge that is down is not a wrong answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentmem.llm.fakeserver import Answer, FakeServer, Request, failure
from agentmem.messages import Message
from harness.errors import JudgeFailed
from harness.judging import ModelJudge, agreement, charged_to, combine, run_probes
from harness.live import execute, make_recipe, plan
from harness.models.openai import OpenAIModel, Settings
from harness.models.scripted import Scripted, playlist
from harness.runlog import read_rows, read_tasks
from harness.types import Outcome, Probe, Usage
from suites.answering import Answering
from tests.harness.live_parts import COUNTER, Riddles, options, parts, quiet

ASKED = (Message("user", "Is it right?"),)


def judge(server: FakeServer) -> ModelJudge:
    return ModelJudge(OpenAIModel(Settings("j", server.url, retries=1), counter=COUNTER, sleep=lambda seconds: None))


def test_every_request_of_a_judge_is_charged() -> None:
    charged: list[tuple[Usage, str | None]] = []
    with FakeServer([failure(500), "yes"]) as server, charged_to(lambda usage, error: charged.append((usage, error))):
        assert judge(server).ask(ASKED) == "yes"
    assert [error is None for _, error in charged] == [False, True]


@pytest.mark.parametrize("answer", [failure(500), Answer("ye", finish="length")])
def test_a_judge_that_is_down_or_cut_off_gives_no_verdict(answer: Answer) -> None:
    charged: list[object] = []
    with FakeServer(lambda request: answer) as server, charged_to(lambda usage, error: charged.append(error)):
        with pytest.raises(JudgeFailed):
            judge(server).ask(ASKED)
        assert len(charged) == len(server.served)


def scored(passed: bool) -> Outcome:
    return Outcome("scored", passed, float(passed))


def test_the_majority_of_repeated_gradings_counts() -> None:
    unjudged = Outcome("unjudged", error="no reply")
    assert combine([scored(True), scored(False), scored(True)]).passed is True
    assert combine([scored(True), scored(False), unjudged]).passed is False  # a tie is not a pass
    assert combine([scored(True), unjudged]).detail["votes"] == [True, None]
    assert combine([unjudged, unjudged]).state == "unjudged"
    assert combine([scored(True), scored(False), scored(True)]).score == pytest.approx(2 / 3)


def test_agreement_and_flip_rate() -> None:
    details: list[dict[str, Any]] = [
        {"votes": [True, True, True]},
        {"votes": [True, False, True]},
        {"votes": [None, True]},
        {},
    ]
    assert agreement(details) == {"graded": 2, "agreement": pytest.approx((1 + 2 / 3) / 2), "flip_rate": 0.5}
    assert agreement([{}]) == {"graded": 0, "agreement": None, "flip_rate": None}


def test_probes_find_a_judge_that_says_yes_to_everything() -> None:
    probes = [Probe(f"p{n}", (Message("user", f"probe {n}"),), n % 2 == 0) for n in range(10)]
    verdict = {"yes": True, "no": False}.get

    def honest(request: Request) -> str:
        return "yes" if int(request.last.split()[-1]) % 2 == 0 else "no"

    with FakeServer(honest) as server:
        assert run_probes(judge(server), probes, verdict).trusted
    with FakeServer(lambda request: "yes") as server:
        found = run_probes(judge(server), probes, verdict)
    assert not found.trusted and found.right == 5 and found.wrong == ("p1", "p3", "p5", "p7", "p9")
    with FakeServer(lambda request: "perhaps") as server:
        assert len(run_probes(judge(server), probes, verdict).unjudged) == 10


class Graded(Riddles):
    """Riddles whose answers a judge grades."""

    def __init__(self, count: int, by: ModelJudge) -> None:
        super().__init__(count)
        self._by = by

    def environment(self, task: Any, folder: Path) -> Any:
        """Asks the judge."""

        def grade(answer: str) -> Outcome:
            try:
                reply = self._by.ask((Message("user", answer),))
            except JudgeFailed as error:
                return Outcome("unjudged", error=str(error))
            return scored(reply == "yes")

        return Answering(grade)


def test_a_run_charges_its_judge_and_counts_what_it_did_not_judge(tmp_path: Path) -> None:
    replies = iter(["yes", "no", "yes", "yes", "yes", "yes"])
    script = lambda request: failure(500) if request.last == "2" else next(replies)  # noqa: E731
    with FakeServer(script) as server:
        suite = Graded(3, judge(server))
        model = Scripted("m", playlist([Message("assistant", str(n)) for n in range(3)]), COUNTER)
        given = options(judge="j", judge_repeats=3)
        sessions = plan(suite, given)
        recipe = make_recipe(suite, sessions, {}, given)
        summary = execute(parts(suite, model, tmp_path, judge_repeats=3), sessions, recipe, given, 1, quiet, {})
        asked = len(server.served)
    rows = {row.task: row for row in read_tasks(tmp_path)}
    assert rows["t0"].passed and rows["t0"].detail["votes"] == [True, False, True]
    assert rows["t2"].state == "unjudged"
    assert summary["judging"] == {"graded": 2, "agreement": pytest.approx(5 / 6), "flip_rate": 0.5}
    counts = summary["arms"][0]["tasks"]
    assert (counts["attempted"], counts["unjudged"], counts["passed"]) == (3, 1, 2)
    purposes = [row["purpose"] for _, row in read_rows(tmp_path / "calls.jsonl")]
    assert purposes.count("judge") == asked
    # what a judge cost is never part of an arm's tokens
    assert summary["arms"][0]["calls"] == 3
