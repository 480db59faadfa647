"""The catalogue: what a folder holds, files fetched with a manifest, and every kind of damage named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import DataError, UnknownName
from suites import hub
from suites.catalog import CATALOG, MANIFEST, fetch, listing, verify, write_manifest
from tests.suites import little_data as little


def test_every_entry_has_a_loader_and_a_licence() -> None:
    assert [entry.name for entry in CATALOG] == [
        "swebench",
        "widesearch",
        "aalcr",
        "personamem",
        "locomo",
        "longmemeval",
    ]
    assert all(entry.licence for entry in CATALOG)
    assert {name for name in hub.SETS if name != "swebench-lite"} == {entry.name for entry in CATALOG} - {"locomo"}


def test_listing_counts_what_is_there_and_names_what_is_not(tmp_path: Path) -> None:
    little.write_hub_layout(tmp_path)
    (tmp_path / "locomo/locomo10.json").unlink()
    found = {one.entry.name: one for one in listing(tmp_path)}
    assert (found["widesearch"].tasks, found["widesearch"].left_out) == (1, 1)
    assert found["locomo"].tasks is None
    assert "no data file found" in str(found["locomo"].problem)
    assert all(one.tasks is None and one.problem is None for one in listing(None))


def test_fetch_writes_files_and_a_manifest_that_verifies(tmp_path: Path) -> None:
    def download(set_id: str, *, local_dir: str, allow_patterns: list[str], **options: Any) -> None:
        assert (set_id, allow_patterns) == ("ByteDance-Seed/WideSearch", ["widesearch.jsonl", "widesearch_gold/*"])
        assert options == {"repo_type": "dataset", "revision": "r1"}
        little.write_hub_layout(Path(local_dir).parent)

    found = fetch("widesearch", tmp_path, "r1", download)
    assert (found.tasks, found.problem) == (1, None)
    records = json.loads((tmp_path / "widesearch" / MANIFEST).read_text())
    assert {record["path"] for record in records} == {
        "widesearch.jsonl",
        "widesearch_gold/ws_en_001.csv",
        "widesearch_gold/ws_zh_002.csv",
    }
    assert {record["source"] for record in records} == {"ByteDance-Seed/WideSearch@r1"}
    assert verify(tmp_path) == (3, [])


def test_fetch_of_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing matched"):
        fetch("widesearch", tmp_path, download=lambda *a, **o: Path(o["local_dir"]).mkdir())


def test_what_is_no_hub_set_says_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="locomo is no hub set"):
        fetch("locomo", tmp_path)
    with pytest.raises(UnknownName):
        fetch("nothing", tmp_path)


def test_verify_names_every_kind_of_damage(tmp_path: Path) -> None:
    for name in ("same.txt", "longer.txt", "other.txt", "gone.txt"):
        (tmp_path / name).write_text("1234")
    write_manifest(tmp_path, "here")
    (tmp_path / "longer.txt").write_text("12345")
    (tmp_path / "other.txt").write_text("abcd")
    (tmp_path / "gone.txt").unlink()
    checked, problems = verify(tmp_path)
    assert checked == 4
    assert [problem.split(",")[0].split(" ")[:2] for problem in problems] == [
        ["gone.txt:", "missing"],
        ["longer.txt:", "5"],
        ["other.txt:", "sha256"],
    ]


@pytest.mark.parametrize("text", ["{", "{}x", '[{"path": "a"}]', "[1]"])
def test_a_broken_manifest_is_no_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(DataError, match="is no manifest"):
        verify(tmp_path)


def test_nothing_to_verify_against_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to verify against"):
        verify(tmp_path)
