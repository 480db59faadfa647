"""Data files are found, unpacked, checked by column and known by the sha256 of what they hold."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError
from suites.sources import check_columns, locate, read_members, read_rows, used


def test_a_missing_file_lists_every_path_tried(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        locate(tmp_path, ("locomo",), ("locomo10.json",))
    assert str(error.value).split("\n  ")[1:] == [
        str(tmp_path / "locomo/locomo10.json"),
        str(tmp_path / "locomo/locomo10.json.gz"),
        str(tmp_path / "locomo10.json"),
        str(tmp_path / "locomo10.json.gz"),
    ]


def test_the_suite_folder_comes_before_the_root(tmp_path: Path) -> None:
    (tmp_path / "locomo").mkdir()
    for path in (tmp_path / "a.json", tmp_path / "locomo/a.json.gz"):
        path.touch()
    assert locate(tmp_path, ("locomo",), ("a.json",)) == tmp_path / "locomo/a.json.gz"


def test_packing_changes_neither_rows_nor_digest(tmp_path: Path) -> None:
    text = json.dumps({"a": 1}) + "\n"
    (tmp_path / "x.jsonl").write_text(text)
    (tmp_path / "y").mkdir()
    (tmp_path / "y/x.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert read_rows(tmp_path / "x.jsonl") == read_rows(tmp_path / "y/x.jsonl.gz") == [{"a": 1}]
    expected = {"x.jsonl": hashlib.sha256(text.encode()).hexdigest()}
    assert used(tmp_path / "x.jsonl") == used(tmp_path / "y/x.jsonl.gz") == expected


def test_the_digest_of_a_folder_sees_names_and_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("1")
    first = used(folder)
    (folder / "a.txt").write_text("2")
    second = used(folder)
    (folder / "a.txt").rename(folder / "b.txt")
    assert len({first["texts"], second["texts"], used(folder)["texts"]}) == 3


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=4))
def test_a_line_ends_at_a_newline_only(texts: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        path.write_bytes("".join(json.dumps({"t": text}, ensure_ascii=False) + "\n" for text in texts).encode())
        assert [row["t"] for row in read_rows(path)] == texts


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(DataError, match=r"x\.jsonl:2: "):
        read_rows(path)
    path.write_text("[1]\n")
    with pytest.raises(DataError, match=r"x\.jsonl:1: expected a JSON object, found list"):
        read_rows(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x1f\x8b broken"])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ("x.json" if content[:1] == b"\xff" else "x.json.gz")
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"x\.json"):
        read_rows(path)


def test_a_cell_may_be_longer_than_the_csv_module_allows(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"a,b\n{'z' * 200_000},1\n")
    assert len(read_rows(path)[0]["a"]) == 200_000


def test_a_missing_column_is_named_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="file: row 1 has no column 'b'; it has a, c"):
        check_columns([{"a": 1, "b": 2}, {"a": 1, "c": 2}], ("a", "b"), "file")
    with pytest.raises(DataError, match="file: no rows"):
        check_columns([], ("a",), "file")


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match="neither a folder nor a zip or tar archive"):
        read_members(path, ".txt")
