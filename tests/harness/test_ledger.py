"""The ledger against three tasks computed by hand. ``words(n)`` has n tokens, a message n + 4."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.tokens import TokenCounter
from harness.engines.registry import parse_arm
from harness.ledger import denominators
from harness.replay import play, prepare
from harness.summary import arm_record
from harness.types import Call, TaskRow, Trajectory
from tests.histories import output, request, runs, says, session, system, trajectory, words

RUNS = 13  # tokens of runs("ls"): its text has 9

FIRST = trajectory(
    "one", system(words(6)), request(words(16)), runs("ls"), output(words(97)), says(words(1)), passed=True
)
SECOND = trajectory("two", system(words(6)), request(words(26)), says(words(6)), passed=False)
THIRD = trajectory("three", request(words(36)), runs("ls"), output(words(47)), says(words(11)))


def played(
    arm: str, *tasks: Trajectory, window: int = 200_000, folder: Path = Path()
) -> list[tuple[TaskRow, list[Call]]]:
    """Play tasks as one session."""
    counter = TokenCounter()
    prepared = prepare(session(*tasks))
    return list(play(prepared, "s000", parse_arm(arm), window, counter, folder))


def test_words_and_commands_have_the_tokens_the_arithmetic_below_rests_on() -> None:
    counter = TokenCounter()
    assert [counter.text(words(n)) for n in (1, 6, 97)] == [1, 6, 97]
    assert counter.message(runs("ls")) == RUNS


def test_full_adds_everything_up() -> None:
    rows = played("full", FIRST, SECOND, THIRD)
    prompts = [[call.usage.prompt for call in calls] for _, calls in rows]
    # system 10, request 20 | + command 13, output 101 || + answer 5, request 30 || + answer 10, request 40 | + 13 + 51
    assert prompts == [[30, 144], [179], [229, 293]]
    completions = [[call.usage.completion for call in calls] for _, calls in rows]
    assert completions == [[RUNS, 5], [10], [RUNS, 15]]
    # each prompt begins with the whole prompt before it
    assert [[call.usage.cached for call in calls] for _, calls in rows] == [[0, 30], [144], [179, 229]]


def test_isolated_keeps_the_system_message_alone() -> None:
    rows = played("isolated", FIRST, SECOND, THIRD)
    assert [[call.usage.prompt for call in calls] for _, calls in rows] == [[30, 144], [40], [50, 114]]
    assert [[call.usage.cached for call in calls] for _, calls in rows] == [[0, 30], [10], [10, 50]]


def test_the_oldest_step_goes_and_a_request_goes_with_its_last_step() -> None:
    # 95 % of 240 is 228: at the third task's first call (229) the first step of the first task goes
    rows = played("full:fill=0.95", FIRST, SECOND, THIRD, window=240)
    assert [[call.usage.prompt for call in calls] for _, calls in rows] == [
        [30, 144],
        [179],
        [229 - 114, 229 - 114 + 64],
    ]


def test_the_summary_record_adds_up() -> None:
    record = arm_record("full", [row for row, _ in played("full", FIRST, SECOND, THIRD)])
    assert record["prompt_tokens"] == 30 + 144 + 179 + 229 + 293
    assert record["completion_tokens"] == RUNS + 5 + 10 + RUNS + 15
    assert record["tokens"] == record["prompt_tokens"] + record["completion_tokens"]
    cached = 30 + 144 + 179 + 229
    assert record["cached_tokens"] == cached
    assert record["cost"] == pytest.approx(
        (record["prompt_tokens"] - cached) + 0.1 * cached + 4 * record["completion_tokens"]
    )
    assert record["peak_prompt"] == 293
    assert record["tasks"] == {
        "attempted": 3, "errored": 0, "scored": 2, "unparsable": 0, "judged": 0, "unjudged": 0, "missing": 1, "passed": 1,
    }  # fmt: skip


def test_rows_that_were_never_sent_are_left_out() -> None:
    from agentmem.messages import Message

    judged = Message("user", words(500), kind="judge")
    submission = Message("user", words(500), kind="submission")
    task = trajectory("one", *FIRST.messages, judged, submission)
    assert [call.usage for _, calls in played("full", task) for call in calls] == [
        call.usage for _, calls in played("full", FIRST) for call in calls
    ]


def test_a_run_without_tasks_has_no_outcome() -> None:
    assert denominators([]).passed is None
    assert denominators([]).error_rate == 0.0


def test_play_gives_the_same_rows_twice(tmp_path: Path) -> None:
    for arm in ("full", "mask:last=1", "isolated", "summary:trigger=0.001,keep=50,size=60", "agentmem"):
        one = played(arm, FIRST, SECOND, THIRD, folder=tmp_path / "one")
        two = played(arm, FIRST, SECOND, THIRD, folder=tmp_path / "two")
        assert one == two, arm


def test_summary_charges_its_own_call() -> None:
    rows = played("summary:trigger=0.15,keep=50,size=60", FIRST, SECOND, THIRD, window=1_000)
    memory = [call for _, calls in rows for call in calls if call.purpose == "memory"]
    # at 15 % of 1,000 the second task's first prompt (179) is summarised; the call reads the part it replaces
    assert len(memory) >= 1
    assert memory[0].usage.prompt == 144
    assert sum(row.memory_prompt_tokens for row, _ in rows) == sum(call.usage.prompt or 0 for call in memory)
