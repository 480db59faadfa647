"""Outcomes of PersonaMem, LoCoMo, LongMemEval and AA-LCR answers: the bucket, and what ``guarded`` mode mends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.types import Outcome
from suites.aalcr import score as aalcr
from suites.locomo import score as locomo
from suites.longmemeval import score as longmemeval
from suites.outcomes import Mode, bucket
from suites.personamem import score as personamem
from tests.suites.judges import Scripted

MODES: tuple[Mode, Mode] = ("reference", "guarded")

# PersonaMem


def chosen(reply: str | None, gold: str = "(c)") -> tuple[str, str]:
    first, second = (bucket(personamem.score(reply, gold, mode=mode)) for mode in MODES)
    return first, second


@pytest.mark.parametrize("reply", ["<final_answer>(c)", "c", "**(c)**", "<final_answer> C.", "$\\boxed{c}$", "（c）"])
def test_personamem_plain_answers_pass_in_both_modes(reply: str) -> None:
    assert chosen(reply) == ("passed", "passed")


def test_personamem_the_article_is_no_option() -> None:
    assert chosen("I am not sure, maybe a walk.", "(a)") == ("passed", "unparsable")


def test_personamem_a_contraction_is_no_option() -> None:
    assert chosen("<final_answer>I'd choose it", "(d)") == ("passed", "unparsable")


def test_personamem_reasoning_is_not_the_answer() -> None:
    assert chosen("<think>(a)? (b)?</think>(c)") == ("wrong", "passed")


def test_personamem_two_options_are_wrong() -> None:
    assert chosen("<final_answer>(c), not (a)") == ("wrong", "wrong")


def test_personamem_empty_is_missing_and_no_option_unparsable() -> None:
    assert chosen(None) == chosen(" ") == ("missing", "missing")
    assert chosen("none of these") == ("unparsable", "unparsable")


def test_personamem_a_bad_gold_answer_is_a_scorer_error() -> None:
    assert chosen("(c)", "(c) Try jazz") == ("scorer_error", "scorer_error")


@given(st.text(max_size=40), st.sampled_from("abcd"))
def test_personamem_guarded_never_finds_more_than_the_text_shows(reply: str, letter: str) -> None:
    found = personamem.read_guarded(reply, f"({letter})")
    assert all(option in reply.lower() for option in found.options)
    assert found.correct == (found.options == {letter})


# LoCoMo


def locomo_row(category: int, **fields: Any) -> dict[str, Any]:
    return {"question": "q", "category": category, "evidence": [], **fields}


def test_locomo_released_adversarial_rows_are_scored_in_guarded_mode() -> None:
    row = locomo_row(5, adversarial_answer="x")
    assert [bucket(locomo.score("not mentioned", row, mode=mode)) for mode in MODES] == ["scorer_error", "passed"]
    assert bucket(locomo.score("x", row, mode="guarded")) == "wrong"


def test_locomo_buckets() -> None:
    assert bucket(locomo.score("7 May", locomo_row(2, answer="7 May"))) == "passed"
    assert bucket(locomo.score("May", locomo_row(2, answer="7 May"))) == "wrong"
    assert bucket(locomo.score("", locomo_row(2, answer="7 May"))) == "missing"
    assert bucket(locomo.score("x", locomo_row(4))) == "scorer_error"
    assert bucket(locomo.score("x", locomo_row(9, answer="x"))) == "scorer_error"
    assert bucket(locomo.score("x", locomo_row(4, answer="x", metric="bertscore"))) == "scorer_error"


def test_locomo_partial_credit_is_kept() -> None:
    outcome = locomo.score("7 May", locomo_row(4, answer="7 May 2023"))
    assert outcome.score == pytest.approx(0.8)
    assert outcome.passed is False


def test_locomo_means_keep_the_adversarial_questions_apart() -> None:
    rows = [locomo_row(1, answer="x"), locomo_row(5, answer="x")]
    assert locomo.means(rows, [0.5, 1.0]) == {"all": 0.75, "answerable": 0.5, "multi-hop": 0.5, "adversarial": 1.0}


@given(st.text(max_size=30), st.text(max_size=30), st.sampled_from([1, 2, 3, 4, 5]))
def test_locomo_scores_stay_between_0_and_1(answer: str, gold: str, category: int) -> None:
    assert 0 <= locomo.points(answer, locomo_row(category, answer=gold)) <= 1


def test_locomo_an_empty_retrieval_recalls_nothing() -> None:
    assert locomo.evidence_recall(["D1:3"], []) == 0.0
    assert locomo.evidence_recall(["D1:3"], None) == 1.0
    assert locomo.evidence_recall(["D1:3", "D2:1"], ["S2"]) == 0.5


# LongMemEval

QUESTION = {"question_id": "1", "question_type": "multi-session", "question": "Q?", "answer": "A"}


def longmem(mode: Mode, *replies: str | None, question: dict[str, Any] | None = None) -> tuple[Outcome, Scripted]:
    judge = Scripted(*replies)
    return longmemeval.score("an answer", question or QUESTION, judge=judge, mode=mode), judge


@pytest.mark.parametrize("reply", ["no, not yesterday", "Eyes only", "no yes"])
def test_longmemeval_guarded_reads_the_first_word(reply: str) -> None:
    assert longmem("reference", reply)[0].passed is True
    assert longmem("guarded", reply)[0].passed is not True


def test_longmemeval_guarded_asks_again_and_then_gives_up() -> None:
    outcome, judge = longmem("guarded", "Correct", "**Yes**")
    assert (outcome.passed, len(judge.heard)) == (True, 2)
    outcome, judge = longmem("guarded", "Correct")
    assert (bucket(outcome), len(judge.heard)) == ("judge_error", 3)
    assert longmem("reference", "Correct")[0].passed is False


def test_longmemeval_a_judge_that_is_down_is_no_wrong_answer() -> None:
    for mode in MODES:
        assert bucket(longmem(mode, None)[0]) == "judge_error"


def test_longmemeval_no_answer_is_not_judged() -> None:
    judge = Scripted("yes")
    assert bucket(longmemeval.score("  ", QUESTION, judge=judge)) == "missing"
    assert judge.heard == []


def test_longmemeval_an_unknown_type_is_a_scorer_error() -> None:
    outcome, judge = longmem("reference", "yes", question=QUESTION | {"question_type": "riddle"})
    assert (bucket(outcome), judge.heard) == ("scorer_error", [])


def test_longmemeval_abstention_replaces_the_type() -> None:
    outcome, judge = longmem("guarded", "yes", question=QUESTION | {"question_id": "7_abs_2"})
    assert outcome.detail["abstention"] is True
    assert "cannot answer" in judge.heard[0][0].content


# AA-LCR


def lcr(mode: Mode, protocol: aalcr.Protocol, *replies: str | None, answer: str = "42") -> tuple[Outcome, Scripted]:
    judge = Scripted(*replies)
    return aalcr.score(answer, "Q?", "42", judge=judge, protocol=protocol, mode=mode), judge


@pytest.mark.parametrize(
    "reply", ["CORRECTLY", "Correct/Incorrect", "CORRECT\nINCORRECT", "CORRECT - matches", "correct"]
)
def test_aalcr_guarded_takes_the_one_word_only(reply: str) -> None:
    assert lcr("reference", "1.0", reply)[0].passed is True
    outcome, judge = lcr("guarded", "1.0", reply)
    assert (bucket(outcome), len(judge.heard)) == ("judge_error", 3)


def test_aalcr_negation_passes_the_word_match_only() -> None:
    judge = Scripted("NOT CORRECT")
    outcome = aalcr.score("42", "Q?", "42", judge=judge, parser="evalscope_word_match")
    assert outcome.passed is True
    assert lcr("guarded", "1.0", "NOT CORRECT", "INCORRECT")[0].passed is False


@pytest.mark.parametrize(
    "reply",
    [
        '{"verdict": "CORRECT", "why": 1}',
        '["CORRECT"]',
        '```json\n{"verdict": "CORRECT"}\n```',
        '{"verdict": true}',
        "CORRECT",
    ],
)
def test_aalcr_1_1_takes_the_object_with_one_key_only(reply: str) -> None:
    assert bucket(lcr("guarded", "1.1", reply)[0]) == "judge_error"


def test_aalcr_1_1_has_a_system_message_and_its_own_hash() -> None:
    outcome, judge = lcr("guarded", "1.1", ' {"verdict": "INCORRECT"}\n')
    assert bucket(outcome) == "wrong"
    assert [message.role for message in judge.heard[0]] == ["system", "user"]
    assert outcome.detail["protocol"] == "1.1"
    assert (
        outcome.detail["judge"]["prompt_sha256"] != lcr("guarded", "1.0", "CORRECT")[0].detail["judge"]["prompt_sha256"]
    )


def test_aalcr_a_blank_answer_is_not_judged() -> None:
    outcome, judge = lcr("guarded", "1.0", "CORRECT", answer=" \n")
    assert (bucket(outcome), judge.heard) == ("missing", [])


def test_aalcr_a_judge_that_is_down_is_no_wrong_answer() -> None:
    for mode in MODES:
        assert bucket(lcr(mode, "1.0", None)[0]) == "judge_error"
