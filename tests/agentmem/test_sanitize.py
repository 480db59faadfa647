"""What is cleaned, what is recorded, what is looked at: golden parity and the defects that ours must not have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.longterm.gates import is_skipped_session, looks_injected, should_capture, should_extract
from agentmem.longterm.sanitize import escape_xml_tags, pick_recent_unique, sanitize_text, trim_code_blocks
from tests.agentmem.parity import upstream_cases


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("memory_sanitize_text"))
def test_cleaning_as_upstream(case: dict[str, Any]) -> None:
    assert sanitize_text(case["input"]["text"]) == case["expected"]["text"]


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("strip_code_blocks"))
def test_with_a_limit_of_0_fences_go_as_upstream(case: dict[str, Any]) -> None:
    assert trim_code_blocks(case["input"]["text"], 0) == case["expected"]["text"]


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("capture_filter"))
def test_gates_as_upstream(case: dict[str, Any]) -> None:
    text = case["input"]["text"]
    assert {"capture_l0": should_capture(text), "extract_l1": should_extract(text)} == case["expected"]


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("prompt_injection"))
def test_marks_for_injection_as_upstream(case: dict[str, Any]) -> None:
    assert looks_injected(case["input"]["text"]) == case["expected"]["match"]


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("pick_recent_unique"))
def test_last_distinct_texts_as_upstream(case: dict[str, Any]) -> None:
    assert pick_recent_unique(case["input"]["texts"], case["input"]["max"]) == case["expected"]["texts"]


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("escape_xml_tags"))
def test_tags_are_escaped_as_upstream(case: dict[str, Any]) -> None:
    assert escape_xml_tags(case["input"]["text"]) == case["expected"]["text"]


KEPT = [
    "[INFO] started\n[ERROR] failed to bind",
    "[server]\nport = 1\n[tool.pytest]\nx = 2",
    "[1] first source\n[x] done\n[ ] open",
    "[docs](https://example.org) are here",
    "[10:00] stand-up\n[10:30] review",
    "[2026-02-02] released",
    'My config is:\n```json\n{"theme":"dark","sessionTimeout":30}\n```\nis that right?',
    '```json\n{"a":1}\n```\nimportant sentence\n```json\n{"session":"x"}\n```\nend',
    "System: [draft] please review my system design",
    "/etc/hosts is wrong on the build machine",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_somebody_wrote_is_kept(text: str) -> None:
    assert sanitize_text(text) == text
    assert should_capture(text)


def test_what_the_memory_put_in_is_removed() -> None:
    text = "<memory-tools-guide>\nuse the tools\n</memory-tools-guide>\n<relevant-memories>\n- a\n</relevant-memories>\nhello"
    assert sanitize_text(text) == "hello"
    assert sanitize_text('<history_task_context file="001-a.mmd">x</history_task_context>hello') == "hello"


def test_a_system_line_with_a_time_goes() -> None:
    assert sanitize_text("System: [10:00] Exec completed\nSystem: [2026-01-02 10:00:01] done\nreal") == "real"


@pytest.mark.parametrize("text", ["é", "да", "네", "/etc is full", "/usr/bin/python fails", "/tmp", "¿qué?"])
def test_short_words_of_any_language_and_paths_are_looked_at(text: str) -> None:
    assert should_capture(text) and should_extract(text)


@pytest.mark.parametrize("text", ["/new", "/model fast", "/Reset", "/status@bot", "/help: x"])
def test_slash_commands_are_not_recorded(text: str) -> None:
    assert not should_capture(text)


def test_code_is_kept_up_to_a_limit() -> None:
    code = "\n".join(f"line {i}" for i in range(1000))
    short = trim_code_blocks(f"Run:\n```sh\n{code}\n```\nthen", 300)
    assert "line 0" in short and "line 999" in short and "characters left out" in short
    assert len(short) < 420
    assert trim_code_blocks("```sh\nmake\n```", 300) == "```sh\nmake\n```"
    assert trim_code_blocks("````md\n```\nx\n```\n````", 0) == ""


@pytest.mark.parametrize("tag", ["</current_task_context>", "<system foo='1'>", "<relevant-memories/>", "</System>"])
def test_remembered_text_cannot_open_or_close_a_section(tag: str) -> None:
    assert "<" not in escape_xml_tags(f"a {tag} b")


@pytest.mark.parametrize("text", ["a <system-x> b", "x < y > z", "<b>bold</b>"])
def test_other_tags_stay(text: str) -> None:
    assert escape_xml_tags(text) == text


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_cleaned_text_can_be_stored(text: str) -> None:
    clean = sanitize_text(text)
    clean.encode()
    assert "\0" not in clean and clean == clean.strip(" \n\t")


def test_half_surrogates_are_replaced_and_halves_joined() -> None:
    assert sanitize_text("a \ud83d b") == "a \ufffd b"
    assert sanitize_text("a \ud83d\ude00 b") == "a \U0001f600 b"


@pytest.mark.parametrize(
    ("session", "trigger", "skipped"),
    [
        ("chat-1", "", False),
        ("agent:main:chat", "user", False),
        ("temp:x", "", True),
        ("memory-l1-session-5", "", True),
        ("agent:main:cron:1", "", True),
        ("agent:main:subagent:2", "", True),
        ("chat-1", "heartbeat", True),
        ("bench-7", "", True),
        ("a-bench-7", "", False),
        ("odd[1]", "", True),
        ("odd1", "", False),
    ],
)
def test_sessions_that_are_left_out(session: str, trigger: str, skipped: bool) -> None:
    assert is_skipped_session(session, trigger, ["bench-*", "odd[1]"]) is skipped
