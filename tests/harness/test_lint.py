"""The lint finds every way in which a prompt can be broken, and nothing in a legal one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentmem.messages import Message, ToolCall
from harness.errors import LintError
from harness.ledger import common_prefix
from harness.lint import check, problems
from tests.histories import output, request, runs, says, system

CALLS = (ToolCall("a", "bash", "{}"), ToolCall("b", "bash", "{}"))
LEGAL = [
    system(),
    request("fix it"),
    Message("assistant", "", CALLS),
    Message("tool", "out a", tool_call_id="a"),
    Message("tool", "out b", tool_call_id="b"),
    says("now the next"),
    request("and this"),
]


def test_legal_prompts_pass() -> None:
    assert problems(LEGAL, LEGAL) == []
    assert problems([request("no system"), runs("ls"), output("x")]) == []


MUTATIONS = {
    "the prompt is empty": [],
    "nothing but a system message": LEGAL[:1],
    "has role assistant, not user": [LEGAL[0], *LEGAL[2:]],
    "before the results of b": [*LEGAL[:4], *LEGAL[5:]],
    "for which there is no call": [*LEGAL[:2], *LEGAL[3:]],
    "the last call has no result": LEGAL[:4],
    "a second system message": [*LEGAL, system()],
    "the assistant's own": LEGAL[:6],
    "does not stand in its text": [*LEGAL, Message("user", "see it", refs=("refs/1.txt",))],
}


@pytest.mark.parametrize("said", MUTATIONS)
def test_each_kind_of_broken_prompt_is_named(said: str) -> None:
    assert any(said in problem for problem in problems(MUTATIONS[said]))


@pytest.mark.parametrize("prompt", [*MUTATIONS.values(), LEGAL, LEGAL[:5]])
def test_what_stood_in_a_legal_prompt_before_need_not_be_looked_at_again(prompt: list[Message]) -> None:
    assert problems(prompt, LEGAL, common_prefix(LEGAL, prompt)) == problems(prompt, LEGAL)


def test_a_result_given_twice_is_found() -> None:
    assert problems([*LEGAL[:5], LEGAL[4], *LEGAL[5:]])


def test_system_and_last_request_are_compared_with_the_history() -> None:
    changed = [replace(LEGAL[0], content="be long"), *LEGAL[1:]]
    assert problems(changed, LEGAL) == ["the system message was changed or left out"]
    assert "the last request of the user was left out" in problems([*LEGAL[:5], output("x")], LEGAL)


def test_the_error_names_the_arm() -> None:
    with pytest.raises(LintError, match=r"arm .mine. assembled a prompt that no provider would accept: .*empty"):
        check("mine", [], LEGAL)
