"""Tasks of PersonaMem (v1): multiple-choice questions over the first messages of a shared context."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentmem.messages import Message
from harness.errors import DataError
from harness.types import Task
from suites import hub
from suites.personamem.request import question_text
from suites.personamem.score import OPTIONS, gold_letter
from suites.sources import Loaded, Row, check_columns, locate, read_rows, used

NAME = "personamem"
FOLDERS = ("personamem",)
QUESTIONS = "questions_{size}.csv", "questions_{size}.reconstructed.csv"
CONTEXTS = "shared_contexts_{size}.jsonl", "shared_contexts_{size}.reconstructed.jsonl"
END, UPPER_BOUND = "end_index_in_shared_context", "end_index_in_shared_context_upper_bound"
COLUMNS = tuple(column for column in hub.SETS[NAME].columns if column != END)


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``context`` are the earlier messages; ``options`` the text the data set gives a model;
    ``exact`` is False where only an upper bound of the context is known, as in rebuilt files."""

    id: str
    persona: str
    type: str
    topic: str
    question: str
    options: str
    choices: tuple[str, ...]
    answer: str
    context_id: str
    context: tuple[Message, ...]
    exact: bool

    def task(self) -> Task:
        """Only the question: the earlier messages go through the memory first. Resampled by shared context."""
        prompt = (Message("user", question_text(self.question, self.options), kind="task"),)
        data = {"question_id": self.id, "question_type": self.type, "correct_answer": self.answer}
        return Task(self.id, NAME, prompt, data, self.context_id)


def load(
    root: Path | None, cache: Path | None = None, *, size: str = "32k", revision: str | None = None
) -> Loaded[Question]:
    """The questions of a folder, or of the hub, whose contexts are then fetched into ``cache``. ``size`` is 32k, 128k
    or 1M (the hub table holds 32k). Raises ``DataError``."""
    if root is None:
        if cache is None:
            raise DataError("the contexts of PersonaMem are files of the hub set: a cache folder is needed")
        if size != "32k":
            raise DataError(f"PersonaMem from the hub is 32k here: put the files of {size} into the data folder")
        rows, sha256 = hub.load_rows(NAME, revision)
        root = hub.fetch(NAME, cache / NAME, revision)
    else:
        path = locate(root, FOLDERS, [name.format(size=size) for name in QUESTIONS])
        rows, sha256 = read_rows(path), used(path)
        check_columns(rows, COLUMNS, path)
    contexts = locate(root, FOLDERS, [name.format(size=size) for name in CONTEXTS])
    messages = read_contexts(read_rows(contexts), str(contexts))
    records = tuple(question(row, messages) for row in rows)
    return Loaded(records, sha256 | used(contexts))


def read_contexts(rows: list[Row], where: str) -> dict[str, tuple[Message, ...]]:
    """Context id -> messages, from rows ``{id: [{"role", "content"}, ...]}``. Raises ``DataError``."""
    found: dict[str, tuple[Message, ...]] = {}
    for row in rows:
        for name, messages in row.items():
            try:
                found[name] = tuple(Message(message["role"], message["content"]) for message in messages)
            except (KeyError, TypeError) as error:
                raise DataError(f"{where}: context {name}: a message has no {error}") from error
    return found


def question(row: Row, contexts: Mapping[str, tuple[Message, ...]]) -> Question:
    """One row as a record. Raises ``DataError`` that names the column."""
    where = f"question {row['question_id']}"
    exact = END in row
    if not exact and UPPER_BOUND not in row:
        raise DataError(f"{where}: no column {END!r}; it has {', '.join(sorted(row))}")
    context = contexts.get(row["shared_context_id"])
    if context is None:
        raise DataError(f"{where}: column 'shared_context_id': no context {row['shared_context_id']!r}")
    choices, options = read_options(row["all_options"], where)
    if gold_letter(row["correct_answer"]) not in tuple(OPTIONS):
        raise DataError(f"{where}: column 'correct_answer' holds {row['correct_answer']!r}: expected (a) to (d)")
    return Question(
        id=row["question_id"],
        persona=str(row["persona_id"]),
        type=row["question_type"],
        topic=row["topic"],
        question=row["user_question_or_message"],
        options=options,
        choices=choices,
        answer=row["correct_answer"],
        context_id=row["shared_context_id"],
        context=context[: int(row[END if exact else UPPER_BOUND])],
        exact=exact,
    )


def read_options(value: Any, where: str) -> tuple[tuple[str, ...], str]:
    """(choices, text for the model). Published is a Python list as text; rebuilt files hold JSON, which is printed
    as Python prints a list. Raises ``DataError`` unless there are four."""
    found: Any = value
    text = value if isinstance(value, str) else repr(value)
    if isinstance(value, str):
        try:
            found = json.loads(value)
            text = repr(found)
        except ValueError:
            try:
                found = ast.literal_eval(value)
            except (ValueError, SyntaxError) as error:
                raise DataError(f"{where}: column 'all_options' holds no list: {error}") from error
    if not isinstance(found, list) or len(found) != len(OPTIONS):
        raise DataError(f"{where}: column 'all_options' holds no list of four options")
    return tuple(map(str, found)), text
