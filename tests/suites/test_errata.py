"""Corrections of gold answers: they are read strictly and fit only the question they were written for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import DataError
from suites.catalog import CATALOG
from suites.errata import load_errata

ENTRY = """
version = "7"
[[entry]]
task = "a"
question_sha256 = "{digest}"
action = "replace"
column = "answer"
value = "right"
reason = "r"
source = "s"
[[entry]]
task = "b"
question_sha256 = "{digest}"
action = "exclude"
reason = "r"
source = "s"
"""
DIGEST = hashlib.sha256(b"Q?").hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "errata.toml"
    path.write_text(ENTRY.replace("{digest}", DIGEST))
    return path


def test_a_row_is_mended_and_the_rest_left_alone(file: Path) -> None:
    errata = load_errata("suite", file)
    assert (errata.version, errata.sha256) == ("7", hashlib.sha256(file.read_bytes()).hexdigest())
    assert errata.mend("a", "Q?", {"answer": "wrong", "x": 1}) == {"answer": "right", "x": 1}
    assert errata.mend("c", "other", {"answer": "kept"}) == {"answer": "kept"}
    assert errata.excluded == {"b"}


def test_an_erratum_for_another_question_is_refused(file: Path) -> None:
    errata = load_errata("suite", file)
    with pytest.raises(DataError, match="the data hold another question"):
        errata.mend("a", "Q??", {"answer": "wrong"})
    with pytest.raises(DataError, match="no column 'answer'"):
        errata.mend("a", "Q?", {"gold": "wrong"})


def test_a_suite_without_a_file_has_no_errata() -> None:
    errata = load_errata("personamem")
    assert (errata.version, dict(errata.entries)) == ("0", {})


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_the_files_that_come_with_the_suites_are_valid(entry: object) -> None:
    errata = load_errata(entry.name)  # type: ignore[attr-defined]
    assert all(one.source.startswith("https://") for one in errata.entries.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('reason = "r"\n', "", 1), "entry 1 lacks 'reason'"),
        (lambda text: text.replace('"exclude"', '"drop"'), "entry 2: action 'drop'"),
        (lambda text: text.replace('value = "right"\n', ""), "entry 1 replaces, so it needs"),
        (lambda text: text.replace('task = "b"', 'task = "b"\nnote = "x"'), "entry 2 has an unknown key 'note'"),
        (lambda text: text.replace('task = "b"', 'task = "a"'), "a task has two entries"),
        (lambda text: text + "[", "errata.toml"),
    ],
)
def test_a_bad_file_names_the_entry(file: Path, change: Callable[[str], str], message: str) -> None:
    file.write_text(change(file.read_text()))
    with pytest.raises(DataError, match=message):
        load_errata("suite", file)
