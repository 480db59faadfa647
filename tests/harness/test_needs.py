"""Needs, repairs and what counts as visible, recoverable and lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.messages import Message, ToolCall
from agentmem.tokens import TokenCounter
from harness.engines.registry import parse_arm
from harness.needs import action, identifiers, task_needs
from harness.replay import play, prepare
from harness.types import Call
from tests.histories import output, request, runs, says, session, system, trajectory, words


def test_identifiers_are_runs_of_four_characters_and_numbers_of_three_digits() -> None:
    text = "get_item x1 foo abc4 12 123 4567 9lives _priv a-long-name 3.1415 v1_2"
    assert identifiers(text) == {"get_item", "abc4", "123", "4567", "_priv", "long", "name", "1415", "v1_2"}


def test_the_action_is_the_last_fenced_block_or_the_values_of_the_tool_calls() -> None:
    assert action(says("```bash\nfirst\n```\nthen\n```bash\nsecond\n```")) == "second\n"
    assert action(says("no command")) == ""
    calls = (ToolCall("id_of_call", "edit_file", '{"path": "a\\nimport_me.py", "lines": [120, 130]}'),)
    assert identifiers(action(Message("assistant", "", calls))) == {
        "edit_file",
        "path",
        "import_me",
        "lines",
        "120",
        "130",
    }


def test_a_need_first_stood_in_a_tool_output_of_the_same_task() -> None:
    messages = [
        request("please fix given_name"),
        runs("ls own_word"),
        output("seen_only_here given_name own_word"),
        runs("cat seen_only_here given_name own_word never_seen"),
    ]
    found = task_needs(messages)
    assert found[1] == ()
    assert [(need.identifier, need.holders) for need in found[3]] == [("seen_only_here", (2,))]


def calls_of(arm: str, *tasks: list[Message], folder: Path) -> list[Call]:
    """All calls of some tasks played in one session."""
    recorded = [trajectory(f"t{number}", *messages) for number, messages in enumerate(tasks)]
    played = play(prepare(session(*recorded)), "s000", parse_arm(arm), 200_000, TokenCounter(), folder)
    return [call for _, calls in played for call in calls]


LONG = "secret_name " + words(195)  # an output of about 200 tokens
TASK = [system(), request("go"), runs("one"), output(LONG), runs("two"), output(words(5)), runs("cat secret_name")]


def test_a_masked_need_is_lost_and_costs_the_call_again_and_the_whole_output(tmp_path: Path) -> None:
    last = calls_of("mask:last=1", TASK, folder=tmp_path)[-1]
    assert (last.needs, last.missing, last.lost) == (1, ("secret_name",), ("secret_name",))
    size = TokenCounter().message(output(LONG))
    assert (last.fetched, last.repair_calls) == (size, 1)
    assert last.repairs == (last.usage.prompt or 0) + size


def test_a_need_behind_a_pointer_costs_the_call_again_and_a_slice(tmp_path: Path) -> None:
    big = [*TASK[:3], output("secret_name " + words(3_000)), *TASK[4:]]
    arm = "agentmem:keep_results=1,extract=20,names=0,batch=0,result=20"
    last = calls_of(arm, big, folder=tmp_path)[-1]
    if last.missing:  # the extract may well have kept it; then there is nothing to repair
        assert last.lost == ()
        assert last.fetched == 400
        assert last.repairs == (last.usage.prompt or 0) + 400
    else:
        assert last.repairs == 0


def test_two_needs_of_one_source_are_fetched_once_and_two_sources_twice(tmp_path: Path) -> None:
    one = [
        system(),
        request("go"),
        runs("a"),
        output("alpha_name beta_name"),
        runs("b"),
        output("c"),
        runs("alpha_name beta_name"),
    ]
    two = [system(), request("go"), runs("a"), output("alpha_name"), runs("b"), output("beta_name"), runs("c"), output("d"),
           runs("alpha_name beta_name")]  # fmt: skip
    assert calls_of("mask:last=1", one, folder=tmp_path)[-1].repair_calls == 1
    assert calls_of("mask:last=1", two, folder=tmp_path)[-1].repair_calls == 2


@pytest.mark.parametrize("arm", ["full", "isolated"])
def test_what_stays_in_the_prompt_needs_no_repair(arm: str, tmp_path: Path) -> None:
    assert all(call.repairs == 0 and not call.missing for call in calls_of(arm, TASK, TASK[1:], folder=tmp_path))


def test_the_text_of_another_task_does_not_support_an_action(tmp_path: Path) -> None:
    other = [system(), request("first"), runs("x"), output("y"), says("the secret_name is everywhere")]
    last = calls_of("mask:last=1", other, TASK[1:], folder=tmp_path)[-1]
    assert last.missing == ("secret_name",)
