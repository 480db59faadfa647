"""Tasks of AA-LCR: questions with the documents of their set, in the order the question lists them."""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentmem.messages import Message
from harness.errors import DataError
from harness.types import Task
from suites import hub
from suites.aalcr.prompt import build_prompt
from suites.sources import Loaded, Row, check_columns, locate, read_members, read_rows, used

NAME = "aalcr"
TOKENIZER = "cl100k_base"  # what the column input_tokens was counted with
FOLDERS = ("aa_lcr", "aalcr", "extracted_text", "aa_lcr/extracted_text", "aalcr/extracted_text")
FILES = ("AA-LCR_Dataset.csv",)
TEXTS = ("AA-LCR_extracted-text", "lcr", "AA-LCR_extracted-text.tar", "AA-LCR_extracted-text.zip")
COLUMNS = hub.SETS[NAME].columns


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its name as the question lists it, and its text unchanged."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``input_tokens`` is what its finished prompt must count under cl100k_base."""

    id: str
    question: str
    answer: str
    category: str
    set_id: str
    documents: tuple[Document, ...]
    input_tokens: int

    def prompt(self) -> str:
        """The one user message of the protocol: all documents, then the question."""
        return build_prompt([document.text for document in self.documents], self.question)

    def task(self) -> Task:
        """The question with everything in one prompt; statistics resample whole document sets."""
        data = {"question_id": self.id, "document_set_id": self.set_id, "document_category": self.category}
        return Task(self.id, NAME, (Message("user", self.prompt(), kind="task"),), data, self.set_id)


def load(root: Path | None, cache: Path | None = None, *, revision: str | None = None) -> Loaded[Question]:
    """The questions of a folder, or of the hub, whose documents are then fetched into ``cache``.

    A question with a document that is not there is left out and named. Raises ``DataError``.
    """
    if root is None:
        if cache is None:
            raise DataError("the documents of AA-LCR are files of the hub set: a cache folder is needed")
        rows, sha256 = hub.load_rows(NAME, revision)
        root = hub.fetch(NAME, cache / NAME, revision)
    else:
        path = locate(root, FOLDERS, FILES)
        rows, sha256 = read_rows(path), used(path)
        check_columns(rows, COLUMNS, path)
    archive = locate(root, FOLDERS, TEXTS)
    texts = by_set_and_name(read_members(archive, ".txt"))
    records, left_out = [], {}
    for row in rows:
        missing = [name for name in _names(row) if _key(row["document_set_id"], name) not in texts]
        if missing:
            left_out[str(row["question_id"])] = f"document not found: {missing[0]}"
        else:
            records.append(question(row, texts))
    return Loaded(tuple(records), sha256 | used(archive), left_out)


def question(row: Row, texts: Mapping[tuple[str, str], str]) -> Question:
    """One row as a record; all its documents must be among ``texts``. Raises ``DataError``."""
    try:
        tokens = int(row["input_tokens"])
    except (TypeError, ValueError) as error:
        raise DataError(f"question {row['question_id']}: column 'input_tokens': {error}") from error
    set_id = row["document_set_id"]
    return Question(
        id=str(row["question_id"]),
        question=row["question"],
        answer=row["answer"],
        category=row["document_category"],
        set_id=set_id,
        documents=tuple(Document(name, texts[_key(set_id, name)]) for name in _names(row)),
        input_tokens=tokens,
    )


def length_error(question: Question, count: Callable[[str], int]) -> int:
    """By how many tokens the finished prompt misses ``input_tokens``; 0 is as published.

    ``count`` counts one whole text under ``TOKENIZER``. The column was counted on a table whose questions had been
    read in another encoding: every character beyond ASCII as the Mac Roman characters of its UTF-8 bytes (a curly
    quote as three). Where the data hold the questions as they were written, that reading is tried too.
    """
    texts = [document.text for document in question.documents]
    as_counted = question.question.encode("utf-8").decode("mac_roman")
    spellings = {question.question, as_counted}
    misses = [count(build_prompt(texts, spelling)) - question.input_tokens for spelling in sorted(spellings)]
    return min(misses, key=abs)


def by_set_and_name(members: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """(set, plain name) -> text, for members ``.../<category>/<set>/<file>.txt``."""
    paths = [(PurePosixPath(path), text) for path, text in members.items()]
    return {_key(path.parent.name, path.name): text for path, text in paths}


def plain_name(name: str) -> str:
    """A file name reduced to its letters and digits, in one case, for comparison only.

    The published archive names some files in UTF-8 without saying so, and unpackers read those as code page 437:
    a curly quote becomes ``ΓÇÖ``. Such names are read again as what they are.
    """
    with contextlib.suppress(UnicodeError):  # it was not mangled
        name = name.encode("cp437").decode("utf-8")
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if char.isalnum())


def _key(set_id: str, name: str) -> tuple[str, str]:
    return set_id, plain_name(name)


def _names(row: Row) -> list[str]:
    return [name.strip() for name in row["data_source_filenames"].split(";") if name.strip()]
