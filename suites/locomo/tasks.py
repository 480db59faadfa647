"""Tasks of LoCoMo: ten conversations of many sessions, and the questions about each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.types import Task
from suites.locomo.prompt import question_prompt
from suites.locomo.score import ADVERSARIAL, CATEGORIES
from suites.sources import Loaded, Row, check_columns, locate, read_rows, used

NAME = "locomo"
SOURCE = "data/locomo10.json of github.com/snap-research/locomo (CC BY-NC 4.0)"
FOLDERS = ("locomo", "data")
FILES = ("locomo10.json",)
COUNTS = {1: 282, 2: 321, 3: 96, 4: 841, 5: 446}  # of the released file; they tell the categories apart
MINUTE = 60_000  # milliseconds: what a turn is taken to last
_DATE = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: who said what. ``id`` is ``D<session>:<turn>``; ``caption`` describes a shared picture."""

    id: str
    speaker: str
    text: str
    caption: str | None = None


@dataclass(frozen=True, slots=True)
class Sitting:
    """One session of a conversation; ``date`` as the data set writes it."""

    number: int
    date: str
    turns: tuple[Turn, ...]

    @property
    def start(self) -> int:
        """The date in milliseconds since 1970, taken as UTC. Raises ``DataError`` for one that cannot be read."""
        try:
            return int(datetime.strptime(self.date.strip(), _DATE).replace(tzinfo=UTC).timestamp() * 1000)
        except ValueError as error:
            raise DataError(f"session date {self.date!r}: expected something like '1:56 pm on 8 May, 2023'") from error


@dataclass(frozen=True, slots=True)
class Conversation:
    """Two speakers and their sessions, oldest first."""

    id: str
    speakers: tuple[str, str]
    sittings: tuple[Sitting, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``id`` is ``<conversation>/q<position>``, since the data set has none; ``row`` is its row."""

    id: str
    conversation: Conversation
    row: Mapping[str, Any]

    @property
    def category(self) -> int:
        """1 multi-hop, 2 temporal, 3 open domain, 4 single-hop, 5 adversarial."""
        return int(self.row["category"])

    def task(self) -> Task:
        """Only the question: the sessions go through the memory first. Resampled by conversation."""
        return Task(self.id, NAME, question_prompt(self.id, self.row), dict(self.row), self.conversation.id)


def load(root: Path | None) -> Loaded[Question]:
    """All questions of a folder, conversation by conversation. Raises ``DataError``.

    The categories carry no names in the data; a whole file whose counts are not the published ones is refused, so
    that a renumbered copy cannot be scored by the wrong rule.
    """
    if root is None:
        raise DataError(f"LoCoMo is no hub set: put {SOURCE} into the data folder")
    path = locate(root, FOLDERS, FILES)
    samples = read_rows(path)
    check_columns(samples, ("sample_id", "conversation", "qa"), path)
    questions = tuple(question for sample in samples for question in _questions(sample))
    counts = Counter(question.category for question in questions)
    if len(samples) == 10 and dict(counts) != COUNTS:
        raise DataError(f"{path}: questions by category {dict(sorted(counts.items()))}: expected {COUNTS}")
    return Loaded(questions, used(path))


def conversation(sample: Row) -> Conversation:
    """The conversation of one sample. Raises ``DataError`` that names what is missing."""
    raw = sample["conversation"]
    try:
        numbers = sorted(int(match.group(1)) for key in raw if (match := _SESSION.fullmatch(key)))
        sittings = tuple(
            Sitting(number, raw[f"session_{number}_date_time"], tuple(_turn(turn) for turn in raw[f"session_{number}"]))
            for number in numbers
        )
        return Conversation(sample["sample_id"], (raw["speaker_a"], raw["speaker_b"]), sittings)
    except KeyError as error:
        raise DataError(f"{sample['sample_id']}: conversation has no {error}") from error


def _turn(raw: Row) -> Turn:
    return Turn(raw["dia_id"], raw["speaker"], raw["text"], raw.get("blip_caption"))


def _questions(sample: Row) -> list[Question]:
    talk = conversation(sample)
    questions = []
    for position, row in enumerate(sample["qa"]):
        where = f"{sample['sample_id']}/q{position:03d}"
        if row.get("category") not in CATEGORIES:
            raise DataError(f"{where}: column 'category' holds {row.get('category')!r}: expected 1 to 5")
        answer = "adversarial_answer" if row["category"] == ADVERSARIAL and "answer" not in row else "answer"
        check_columns([row], ("question", answer), where)
        # The release gives adversarial questions another field than its own scorer reads.
        questions.append(Question(where, talk, {**row, "answer": row[answer]}))
    return questions
