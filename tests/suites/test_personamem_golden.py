"""Parity of the PersonaMem parser and request layout with the published ones."""

from __future__ import annotations

from typing import Any

import pytest

from agentmem.messages import Message
from suites.personamem.request import folds_system, merge, request
from suites.personamem.score import read
from tests.golden import golden_cases

pytestmark = pytest.mark.golden


def messages(raw: list[dict[str, Any]]) -> list[Message]:
    return [Message(message["role"], message["content"]) for message in raw]


def plain(found: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in found]


@pytest.mark.parametrize("case", golden_cases("personamem.jsonl", "extract_option"))
def test_extract_option(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    if not expected["ok"]:
        with pytest.raises(AttributeError):
            read(given["model_response"], given["correct_answer"])
        return
    found = read(given["model_response"], given["correct_answer"])
    assert found.correct == expected["correct"]
    assert found.text == expected["extracted_text"]


@pytest.mark.parametrize("case", golden_cases("personamem.jsonl", "merge_system_into_user"))
def test_merge(case: dict[str, Any]) -> None:
    assert plain(merge(messages(case["input"]["messages"]))) == case["expected"]


@pytest.mark.parametrize("case", golden_cases("personamem.jsonl", "request_layout"))
def test_request_layout(case: dict[str, Any]) -> None:
    given = case["input"]
    found = request(
        messages(given["context"]),
        given["question"],
        given["all_options"],
        fold_system=folds_system(given["model"]),
    )
    assert plain(found) == case["expected"]["messages"]
