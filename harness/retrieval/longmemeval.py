"""LongMemEval for retrieval: each question has its own history; evidence by session, and by turn where it is marked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.retrieval.corpus import Asked, Conversation, Corpus, Said

MINUTE = 60_000


def load_longmemeval(root: Path) -> Corpus:
    """One conversation a question. Abstention questions have no evidence and do not count."""
    from suites.longmemeval.judge import TYPES
    from suites.longmemeval.tasks import load

    loaded = load(root)
    conversations = tuple(_conversation(question) for question in loaded.records)
    left_out = {q.id: "abstention: nothing answers it" for q in loaded.records if q.abstention}
    return Corpus("longmemeval-s", conversations, loaded.sha256, {name: name for name in TYPES}, (), left_out)


def _conversation(question: Any) -> Conversation:
    said: list[Said] = []
    evidence: list[str] = []
    raw = dict(zip(question.row["haystack_session_ids"], question.row["haystack_sessions"], strict=True))
    for place, chat in enumerate(question.history):
        session = f"{place:03} {chat.id}"
        start = _when(chat.date)
        for number, message in enumerate(chat.messages):
            id = f"{session}/{number}"
            said.append(Said(id, session, message.role, "", message.content, start + number * MINUTE))
            if raw[chat.id][number].get("has_answer"):
                evidence.append(id)
    sessions = tuple(f"{place:03} {chat.id}" for place, chat in enumerate(question.history) if chat.evidence)
    answers = (question.answer,)
    if question.abstention:
        evidence, sessions = [], ()
    asked = Asked(question.id, question.question, question.type, tuple(evidence), sessions, answers)
    return Conversation(question.id, tuple(said), (asked,))


def _when(date: str) -> int:
    moment = datetime.strptime(date[:10] + date[-6:], "%Y/%m/%d %H:%M")
    return int(moment.replace(tzinfo=UTC).timestamp() * 1000)
