"""BEAM 100K for retrieval: 20 long chats with an assistant, evidence by message id where the data names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.retrieval.corpus import Asked, Conversation, Corpus, Said

NAME = "beam_100k.jsonl"
FOLDERS = ("other", "beam")
GROUPS = {
    name: name.replace("_", " ")
    for name in (
        "contradiction_resolution",
        "event_ordering",
        "information_extraction",
        "instruction_following",
        "knowledge_update",
        "multi_session_reasoning",
        "preference_following",
        "summarization",
        "temporal_reasoning",
    )
}
_MARK = re.compile(r"\s*->->\s*[\d,]+\s*$")  # a position the generator left behind the user's messages
MINUTE = 60_000
DEV = 10  # chats, in file order, on which weights were checked
UNDATED = 1_704_067_200_000  # 2024-01-01; the order is kept


def load_beam(root: Path) -> Corpus:
    """All chats. ``abstention`` has no evidence by design and does not count."""
    from suites.sources import check_columns, locate, read_rows, used

    path = locate(root, FOLDERS, (NAME,))
    rows = read_rows(path)
    check_columns(rows, ("chat_id", "chat", "probing_questions"), path)
    left_out: dict[str, str] = {}
    conversations = tuple(_conversation(row, left_out) for row in rows)
    dev = tuple(talk.id for talk in conversations[:DEV]) if len(conversations) > DEV else ()
    return Corpus("beam-100k", conversations, used(path), GROUPS, dev, left_out)


def _conversation(row: dict[str, Any], left_out: dict[str, str]) -> Conversation:
    chat = f"chat {row['chat_id']}"
    try:
        said = tuple(_said(row["chat"]))
    except KeyError as error:
        raise DataError(f"{chat}: a message has no {error}") from error
    known = {turn.id for turn in said}
    asked = []
    for group, questions in row["probing_questions"].items():
        for number, question in enumerate(questions):
            id = f"{chat}/{group}/{number}"
            named = [str(source) for source in _numbers(question.get("source_chat_ids"))]
            evidence = tuple(source for source in dict.fromkeys(named) if source in known)
            if not evidence and group in GROUPS:
                left_out[id] = "no source message is named"
            answer = question.get("answer") or question.get("ideal_answer") or ""
            asked.append(Asked(id, question["question"], group, evidence, (), (str(answer),) if answer else ()))
    return Conversation(chat, said, tuple(asked))


def _said(batches: list[Any]) -> Iterator[Said]:
    for batch in batches:
        start = _when(batch.get("time_anchor"))
        for number, talk in enumerate(batch["turns"]):
            for place, message in enumerate(talk):
                if message.get("time_anchor"):
                    start = _when(message["time_anchor"])
                text = _MARK.sub("", message["content"])
                session = f"batch {batch['batch_number']}, talk {number}"
                yield Said(str(message["id"]), session, message["role"], "", text, start + place * MINUTE)


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    elif isinstance(value, int):
        yield value


def _when(anchor: str | None) -> int:
    try:
        return int(datetime.strptime(anchor or "", "%B-%d-%Y").replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        return UNDATED
