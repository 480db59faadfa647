"""Extraction without a model: what people say about themselves, what they ask for, when, and what they only chat."""

from __future__ import annotations

import datetime

import pytest

from agentmem.longterm.extraction import Draft, Window
from agentmem.longterm.extractor_rules import RulesExtractor
from agentmem.longterm.rule_dates import named_days, with_dates
from agentmem.longterm.third_person import third_person
from agentmem.longterm.words import keywords, language, sentences, stem
from agentmem.settings.longterm import PromptMode
from agentmem.store.records import Turn

MONDAY = int(datetime.datetime(2023, 5, 8, 13, tzinfo=datetime.UTC).timestamp() * 1000)


def said(
    text: str, role: str = "user", speaker: str = "", mode: PromptMode = "chat", scene: str = ""
) -> tuple[Draft, ...]:
    turn = Turn(id="t1", session="s", role=role, content=text, timestamp=MONDAY, speaker=speaker)
    return RulesExtractor().extract(Window((turn,), mode=mode, scene=scene)).drafts


@pytest.mark.parametrize(
    ("text", "type", "priority", "content"),
    [
        ("I live in Lisbon with my wife.", "persona", 85, "User lives in Lisbon with their wife."),
        ("I'm allergic to peanuts.", "persona", 90, "User is allergic to peanuts."),
        ("My sister Anna lives in Boston.", "persona", 70, "User's sister Anna lives in Boston."),
        ("I love green tea but not coffee.", "persona", 70, "User loves green tea but not coffee."),
        ("I don't eat pork.", "persona", 70, "User doesn't eat pork."),
        ("My favourite colour is blue.", "persona", 75, "User's favourite colour is blue."),
        ("I've decided to learn Spanish.", "episodic", 80, "User has decided to learn Spanish."),
        ("I'm going to visit Rome.", "episodic", 70, "User is going to visit Rome."),
        ("Please always answer in German.", "instruction", 90, "Please always answer in German."),
        ("Never use emojis, no matter what.", "instruction", -1, "Never use emojis, no matter what."),
        ("Don't suggest meat dishes.", "instruction", 75, "Don't suggest meat dishes."),
        ("The deadline is 12 May.", "episodic", 60, "The deadline is 12 May (2023-05-12)."),
        ("我住在上海，在一家银行工作。", "persona", 85, "用户住在上海，在一家银行工作。"),
        ("我对花生过敏。", "persona", 90, "用户对花生过敏。"),
        ("我决定学西班牙语。", "episodic", 80, "用户决定学西班牙语。"),
        ("以后请用英文回答。", "instruction", 90, "以后请用英文回答。"),
        ("别再给我推荐咖啡。", "instruction", 75, "别再给我推荐咖啡。"),
    ],
)
def test_what_is_remembered(text: str, type: str, priority: int, content: str) -> None:
    drafts = said(text)
    assert [(draft.type, draft.priority, draft.content) for draft in drafts] == [(type, priority, content)]
    assert drafts[0].sources == ("t1",)


@pytest.mark.parametrize(
    "text",
    [
        "What should I cook tonight?",
        "Translate this to French.",
        "ok thanks!",
        "I think so.",
        "I see, that makes sense to me.",
        "Wow!",
        "```\nI live in Paris.\n```",
        "你叫什么名字？",
        "好的",
        "x" * 700,
    ],
)
def test_what_is_not(text: str) -> None:
    assert said(text) == ()


def test_an_assistant_is_not_remembered_but_a_person_with_a_name_is() -> None:
    assert said("I love hiking.", role="assistant") == ()
    assert said("I love hiking.", role="tool") == ()
    assert [draft.content for draft in said("I love hiking.", role="assistant", speaker="Mel")] == ["Mel loves hiking."]


def test_corrections_are_marked_and_lose_their_first_words() -> None:
    (draft,) = said("Actually, I moved to Porto last month.")
    assert draft.metadata["correction"] is True
    assert draft.metadata["slot"] == "home"
    assert draft.content == "User moved to Porto last month (2023-04-01 to 2023-04-30)."
    assert (draft.metadata["activity_start_time"], draft.metadata["activity_end_time"]) == ("2023-04-01", "2023-04-30")


def test_work_mode_gives_work_types_with_their_keys() -> None:
    text = (
        "We always run the linter before merging. TODO: migrate the users table by Friday. "
        "The API runs on port 8080 with Postgres 15. See PR #123 for details. Never commit secrets."
    )
    drafts = said(text, mode="code")
    assert [draft.type for draft in drafts] == ["work_method", "work_task", "work_fact", "work_artifact", "work_method"]
    assert drafts[1].metadata["status"] == "todo" and drafts[1].metadata["deadline"] == "2023-05-12"
    assert drafts[3].metadata["artifact_ref"] == "PR #123"
    assert drafts[4].metadata["method_type"] == "constraint"


def test_the_limit_is_kept_and_what_is_over_it_is_counted() -> None:
    turn = Turn("t1", "s", "user", " ".join(f"I love fruit number {i}." for i in range(30)), MONDAY)
    extracted = RulesExtractor().extract(Window((turn,), limit=20))
    assert len(extracted.drafts) == 20
    assert extracted.dropped == {"over the limit": 10}


def test_a_topic_that_goes_on_keeps_its_name() -> None:
    assert said("I love my garden in Lisbon and its roses.", scene="garden, roses")[0].scene == "garden, roses"
    assert said("I bought a motorbike from Honda.", scene="garden, roses")[0].scene != "garden, roses"


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("yesterday", [("2023-05-07", "2023-05-07")]),
        ("last Friday", [("2023-05-05", "2023-05-05")]),
        ("next Monday", [("2023-05-15", "2023-05-15")]),
        ("two weeks ago", [("2023-04-24", "2023-04-24")]),
        ("in a few days", [("2023-05-11", "2023-05-11")]),
        ("last month", [("2023-04-01", "2023-04-30")]),
        ("next year", [("2024-01-01", "2024-12-31")]),
        ("last weekend", [("2023-05-06", "2023-05-07")]),
        ("on 7 May 2022", [("2022-05-07", "2022-05-07")]),
        ("on May 7th", [("2023-05-07", "2023-05-07")]),
        ("December 30", [("2022-12-30", "2022-12-30")]),
        ("2023-06-01", [("2023-06-01", "2023-06-01")]),
        ("I may 5 times march 3 miles", []),
        ("31 February", []),
        ("昨天", [("2023-05-07", "2023-05-07")]),
        ("上周五", [("2023-05-05", "2023-05-05")]),
        ("三天前", [("2023-05-05", "2023-05-05")]),
        ("5月20日", [("2023-05-20", "2023-05-20")]),
        ("去年", [("2022-01-01", "2022-12-31")]),
    ],
)
def test_dates(text: str, days: list[tuple[str, str]]) -> None:
    assert [(day.first, day.last) for day in named_days(text, MONDAY)] == days


def test_the_day_is_that_of_the_speakers_clock() -> None:
    late = int(datetime.datetime(2023, 5, 8, 15, 30, tzinfo=datetime.UTC).timestamp() * 1000)  # 23:30 at UTC+8
    assert named_days("today", late + 3_600_000, offset=480)[0].first == "2023-05-09"
    assert named_days("yesterday", late, offset=480)[0].first == "2023-05-07"


def test_dates_stand_behind_relative_words_only() -> None:
    text = "I went yesterday and on 2023-05-01."
    assert with_dates(text, named_days(text, MONDAY)) == "I went yesterday (2023-05-07) and on 2023-05-01."


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("I'll call my mother and my brother", "User will call their mother and their brother"),
        ("My dog loves me", "User's dog loves them"),
        ("I really enjoy it", "User really enjoys it"),
        ("I watched it", "User watched it"),
        ("I can swim", "User can swim"),
        ("I carry it", "User carries it"),
        ("we met", "We met"),
    ],
)
def test_third_person(text: str, turned: str) -> None:
    assert third_person(text, "User") == turned


def test_sentences_words_and_languages() -> None:
    assert list(sentences("Hi! I met Dr. Smith.\n- item\n我昨天去了。天气好！")) == [
        "Hi!",
        "I met Dr. Smith.",
        "item",
        "我昨天去了。",
        "天气好！",
    ]
    assert stem("visits") == stem("visited") == stem("visiting")
    assert keywords("User visited the museums in Lisbon, didn't they?") == ["visit", "museum", "lisbon"]
    assert [language(text) for text in ("hello there", "你好吗", "こんにちは", "привет", "123")] == [
        "en",
        "zh",
        "other",
        "other",
        "other",
    ]


def test_the_same_window_gives_the_same_drafts() -> None:
    text = "I live in Lisbon. I love tea. Anna and Ben visited Rome in May 2022 with me."
    assert said(text) == said(text)
