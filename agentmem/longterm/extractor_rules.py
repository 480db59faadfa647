"""Extraction without a model: declarative first-person statements, preferences, corrections, orders, dates, decisions.

What an assistant says is not remembered, unless it is a person with a name (``speaker``), as in a talk between two.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from agentmem.longterm import rules_chinese, rules_english, rules_work
from agentmem.longterm.extraction import Draft, Extracted, Window, tally
from agentmem.longterm.rule_dates import Named, named_days, with_dates
from agentmem.longterm.rules import Finding
from agentmem.longterm.third_person import third_person, third_person_chinese
from agentmem.longterm.words import content_words, keywords, language, most_common, names, overlap, sentences
from agentmem.settings.longterm import PromptMode
from agentmem.store.records import Turn

LONGEST = 600  # characters of a sentence; a longer one is a list or a log
_ENGLISH_QUESTION = re.compile(
    r"\?\W*$|^(?:what|who|when|where|why|how|which|can|could|would|do|does|did|is|are|will|should|have you)\b[^,.!]*\?",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"^(?:hey|hi|hello|hiya|thanks|thank you|wow|bye|good (?:morning|night))\b[^,.!?]*[,!.]\s*", re.IGNORECASE
)
Reader = Callable[[str], Finding | None]


class RulesExtractor:
    """See ``Extractor``. The same window gives the same drafts."""

    name = "rules"

    def extract(self, window: Window) -> Extracted:
        """Never raises."""
        scene = scene_name(window)
        drafts: list[Draft] = []
        dropped: list[str] = []
        for turn in window.new:
            if not _is_person(turn):
                continue
            found = [
                draft for sentence in sentences(turn.content) if (draft := _draft(sentence, turn, scene, window.mode))
            ]
            room = max(0, window.limit - len(drafts))
            dropped.extend(["over the limit"] * max(0, len(found) - room))
            drafts.extend(found[:room])
        return Extracted(tuple(drafts), scene, tally(dropped))


def scene_name(window: Window) -> str:
    """A name for the window: its commonest names and content words, or the name before while the topic goes on."""
    people = [turn for turn in window.new if _is_person(turn)]
    text = "\n".join(turn.content for turn in people)
    if language(text) == "zh":
        first = next((s for turn in people for s in sentences(turn.content) if len(s) >= 4), "")
        topic = re.split(r"[，,。！？!?；]", first)[0][:20]
    else:
        words = (word.lower() for word in [*names(text), *content_words(text)])
        topic = ", ".join(most_common((word for word in words if not word[0].isdigit()), 3))
    if window.scene and overlap(keywords(window.scene), keywords(text)) > 0 and _goes_on(window.scene, text):
        return window.scene
    return topic or window.scene


def _is_person(turn: Turn) -> bool:
    return turn.role == "user" or (turn.role != "tool" and bool(turn.speaker))


def _goes_on(scene: str, text: str) -> bool:
    words = set(keywords(scene))
    return len(words & set(keywords(text))) * 2 >= len(words)


def _draft(sentence: str, turn: Turn, scene: str, mode: PromptMode) -> Draft | None:
    if len(sentence) > LONGEST:
        return None
    tongue = language(sentence)
    if tongue == "zh":
        reader, correction, lead = rules_chinese.find, rules_chinese.CORRECTION, rules_chinese.CORRECTION_LEAD
        is_question = bool(rules_chinese.QUESTION.search(sentence))
    else:
        sentence = _GREETING.sub("", sentence).replace("’", "'")
        reader, correction, lead = rules_english.find, rules_english.CORRECTION, rules_english.CORRECTION_LEAD
        is_question = bool(_ENGLISH_QUESTION.search(sentence))
    if is_question or not sentence:
        return None
    corrects = bool(correction.search(sentence))
    plain = lead.sub("", sentence) or sentence
    finding = rules_work.find(plain) if mode == "code" else reader(plain)
    if finding is None:
        return None
    days = named_days(plain, turn.timestamp, turn.offset)
    metadata = _metadata(finding, corrects, days, plain)
    content = _content(with_dates(plain, days), finding, turn, tongue)
    times = tuple(dict.fromkeys(day.first for day in days))
    return Draft(content, finding.type, finding.priority, scene, (turn.id,), metadata, times)


def _metadata(finding: Finding, corrects: bool, days: list[Named], sentence: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"rule": finding.rule}
    if finding.slot:
        metadata["slot"] = finding.slot
    if corrects:
        metadata["correction"] = True
    if days:
        metadata["activity_start_time"] = days[0].first
        metadata["activity_end_time"] = days[-1].last
    return metadata | dict(rules_work.metadata(finding.type, sentence, tuple(day.last for day in days)))


def _content(sentence: str, finding: Finding, turn: Turn, tongue: str) -> str:
    if finding.type == "instruction" or finding.type.startswith("work_"):
        return sentence[:1].upper() + sentence[1:]
    if tongue == "zh":
        return third_person_chinese(sentence, turn.speaker or "用户")
    return third_person(sentence, turn.speaker or "User")
