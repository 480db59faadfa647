"""Prompt templates are filled once, known by their hash, and replaced by files; a judge is asked again, then given up."""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.messages import Message
from harness.errors import DataError, ModelRefused
from suites.aalcr.judge import TEMPLATES as AALCR
from suites.aalcr.score import score as aalcr_score
from suites.judging import Judged, Template, ask, templates_from
from suites.longmemeval.judge import TEMPLATES as LONGMEMEVAL
from suites.longmemeval.score import score as longmemeval_score
from suites.widesearch.judge import TEMPLATES as WIDESEARCH
from suites.widesearch.score import score as widesearch_score
from tests.suites.judges import Refused, Scripted

ASK = (Message("user", "?"),)


@given(st.text(), st.text())
def test_values_are_put_in_once_and_never_read_again(a: str, b: str) -> None:
    template = Template("{a}|{b}|{c}|{ a }|{}", ("a", "b"))
    assert template.render(a=a, b=b) == f"{a}|{b}|{{c}}|{{ a }}|{{}}"


@pytest.mark.parametrize("templates", [AALCR, LONGMEMEVAL, WIDESEARCH])
def test_every_own_prompt_holds_each_of_its_fields_once(templates: dict[str, Template]) -> None:
    for template in templates.values():
        for field in template.fields:
            assert template.text.count(f"{{{field}}}") == 1
        filled = template.render(**{field: f"<{field}>" for field in template.fields})
        assert all(f"<{field}>" in filled for field in template.fields)


def test_a_file_replaces_a_prompt_and_its_hash(tmp_path: Path) -> None:
    (tmp_path / "align.txt").write_text("words: {answer} / {gold}", encoding="utf-8")
    templates = templates_from(tmp_path, WIDESEARCH)
    assert templates["align"].sha256 == hashlib.sha256(b"words: {answer} / {gold}").hexdigest()
    assert templates["align"].sha256 != WIDESEARCH["align"].sha256
    assert templates["grade"] == WIDESEARCH["grade"]


def test_a_prompt_file_without_a_field_is_refused(tmp_path: Path) -> None:
    (tmp_path / "align.txt").write_text("words: {answer}", encoding="utf-8")
    with pytest.raises(DataError, match=r"align\.txt lacks the field \{gold\}"):
        templates_from(tmp_path, WIDESEARCH)


def test_a_folder_without_prompts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected one of align\.txt, grade\.txt"):
        templates_from(tmp_path, WIDESEARCH)


def test_asked_again_until_the_reply_is_usable() -> None:
    judge = Scripted(None, "huh", "7")
    reply = ask(judge, ASK, lambda text: int(text) if text.isdigit() else None, prompt_sha256="p", attempts=3)
    assert (reply.verdict, reply.replies, reply.failure) == (7, ("huh", "7"), None)
    assert len(judge.heard) == 3


def test_given_up_after_the_last_attempt_with_the_reason() -> None:
    judge = Scripted("huh", None)
    reply: Judged[int] = ask(judge, ASK, lambda text: None, prompt_sha256="p", attempts=3)
    assert reply.verdict is None
    assert reply.failure == "no reply: scripted: down"
    assert reply.record() == {"prompt_sha256": "p", "replies": ["huh"], "failure": "no reply: scripted: down"}
    assert len(judge.heard) == 3


def test_a_wrong_key_is_the_users_to_mend_and_no_outcome() -> None:
    question = {"question_id": "1", "question_type": "multi-session", "question": "Q?", "answer": "A"}
    rules = {"required": ["name"], "unique_columns": ["name"], "eval_pipeline": {"name": {"metric": ["exact_match"]}}}
    table = "```markdown\n| Name |\n|---|\n| A |\n```"
    with pytest.raises(ModelRefused):
        widesearch_score(table, "Name\nA\n", rules, judge=Refused(), now=datetime(2025, 1, 1))
    with pytest.raises(ModelRefused):
        aalcr_score("42", "Q?", "42", judge=Refused())
    with pytest.raises(ModelRefused):
        longmemeval_score("42", question, judge=Refused())
