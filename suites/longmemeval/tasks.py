"""Tasks of LongMemEval: a question about a chat history of many dated sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentmem.messages import Message
from harness.errors import DataError
from harness.types import Task
from suites import hub
from suites.longmemeval.judge import TYPES, is_abstention
from suites.sources import Loaded, Row, check_columns, locate, read_rows, used

NAME = "longmemeval"
FOLDERS = ("longmemeval",)
FILES = ("longmemeval_s_cleaned.json", "longmemeval_s.json", "longmemeval_s_single.json")
COLUMNS = hub.SETS[NAME].columns


@dataclass(frozen=True, slots=True)
class Chat:
    """One earlier session with its date; ``evidence`` marks those the answer rests on."""

    id: str
    date: str
    messages: tuple[Message, ...]
    evidence: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its history, oldest session first. ``abstention`` is True when it cannot be answered."""

    id: str
    type: str
    question: str
    answer: str
    date: str
    history: tuple[Chat, ...]
    row: Mapping[str, Any]

    @property
    def abstention(self) -> bool:
        """Marked in the id."""
        return is_abstention(self.id)

    def task(self) -> Task:
        """Date and question: the sessions go through the memory first."""
        text = f"Today is {self.date}. Answer from what we said in earlier conversations.\n\n{self.question}"
        keep = ("question_id", "question_type", "question", "answer", "question_date", "answer_session_ids")
        prompt = (Message("user", text, kind="task"),)
        return Task(self.id, NAME, prompt, {name: self.row[name] for name in keep}, self.id)


def load(
    root: Path | None, cache: Path | None = None, *, file: str | None = None, revision: str | None = None
) -> Loaded[Question]:
    """The questions of a folder, or of the hub file fetched into ``cache``. ``file`` picks another file than the
    first found. Raises ``DataError`` for a missing file or column."""
    if root is None:
        if cache is None:
            raise DataError("LongMemEval is a file of the hub set: a cache folder is needed")
        root = hub.fetch(NAME, cache / NAME, revision)
    path = locate(root, FOLDERS, (file,) if file else FILES)
    rows = read_rows(path)
    check_columns(rows, COLUMNS, path)
    return Loaded(tuple(question(row) for row in rows), used(path))


def question(row: Row) -> Question:
    """One row as a record; sessions are sorted by date, equal dates as they stand. Raises ``DataError``."""
    where = f"question {row['question_id']}"
    if row["question_type"] not in TYPES:
        raise DataError(f"{where}: column 'question_type' holds {row['question_type']!r}: not one of the six types")
    ids, dates, sessions = (row[f"haystack_{name}"] for name in ("session_ids", "dates", "sessions"))
    if not len(ids) == len(dates) == len(sessions):
        raise DataError(f"{where}: {len(ids)} session ids, {len(dates)} dates, {len(sessions)} sessions")
    evidence = set(row["answer_session_ids"])
    chats = [
        Chat(name, date, tuple(Message(turn["role"], turn["content"]) for turn in session), name in evidence)
        for name, date, session in zip(ids, dates, sessions, strict=True)
    ]
    return Question(
        id=row["question_id"],
        type=row["question_type"],
        question=row["question"],
        answer=str(row["answer"]),
        date=row["question_date"],
        history=tuple(sorted(chats, key=lambda chat: chat.date)),
        row=row,
    )
