"""Loaders: both layouts give the same records, a changed schema is named, the hub is a folder with another source."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError, UnknownName
from suites import hub
from suites.aalcr import tasks as aalcr
from suites.locomo import prompt as locomo_prompt
from suites.locomo import tasks as locomo
from suites.longmemeval import tasks as longmemeval
from suites.personamem import tasks as personamem
from suites.swebench import tasks as swebench
from suites.widesearch import tasks as widesearch
from tests.suites import little_data as little

ALL: tuple[ModuleType, ...] = (swebench, widesearch, aalcr, personamem, locomo, longmemeval)


@pytest.fixture(params=["hub layout", "packed layout"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    write = little.write_hub_layout if request.param == "hub layout" else little.write_packed_layout
    yield write(tmp_path)


def test_every_suite_loads_and_makes_tasks(root: Path) -> None:
    for module in ALL:
        loaded = module.load(root)
        assert loaded.records
        assert all(len(digest) == 64 for digest in loaded.sha256.values())
        for record in loaded.records:
            task = record.task()
            assert (task.id, task.suite) == (record.id, module.NAME)
            assert task.cluster
            assert task.prompt[-1].role == "user"
            assert task.prompt[-1].kind == "task"
            json.dumps(dict(task.data), allow_nan=False)


def test_swebench_hides_what_an_agent_must_not_see(root: Path) -> None:
    (one,) = swebench.load(root).records
    assert (one.fail_to_pass, one.pass_to_pass) == (("t.py::new",), ("t.py::old",))
    shown = " ".join(message.content for message in one.task().prompt) + json.dumps(dict(one.task().data))
    assert "It breaks." in shown
    for hidden in ("look in a.py", "diff --git", "t.py::new"):
        assert hidden not in shown


def test_widesearch_leaves_out_what_has_no_gold_table_and_says_so(root: Path) -> None:
    loaded = widesearch.load(root)
    assert [query.id for query in loaded.records] == ["ws_en_001"]
    assert list(loaded.left_out) == ["ws_zh_002"]
    assert "gold table" in loaded.left_out["ws_zh_002"]
    assert loaded.records[0].task().prompt[-1].content == "List them."


def test_aalcr_finds_documents_under_mangled_names(root: Path) -> None:
    (question,) = aalcr.load(root).records
    assert [document.text for document in question.documents] == ["one\n", "two"]
    assert "BEGIN DOCUMENT 1:\none\n\nEND DOCUMENT 1\n\nBEGIN DOCUMENT 2:\ntwo\nEND DOCUMENT 2" in question.prompt()


def test_aalcr_leaves_out_a_question_without_its_document(tmp_path: Path) -> None:
    little.write_hub_layout(tmp_path)
    row = little.AALCR | {"data_source_filenames": "Anna’s report.txt;gone.txt"}
    (tmp_path / "aalcr/AA-LCR_Dataset.csv").write_text(little.csv_text([row]), encoding="utf-8")
    loaded = aalcr.load(tmp_path)
    assert (loaded.records, dict(loaded.left_out)) == ((), {"7": "document not found: gone.txt"})


def test_aalcr_counts_a_question_as_the_published_column_did(tmp_path: Path) -> None:
    (question,) = aalcr.load(little.write_hub_layout(tmp_path)).records
    assert aalcr.length_error(question, lambda text: 57) == 0
    assert aalcr.length_error(question, lambda text: 55) == -2
    curly = aalcr.question(
        little.AALCR | {"question": "Whose’s?"},
        aalcr.by_set_and_name({f"c/set_a/{n}": t for n, t in little.TEXTS.items()}),
    )
    assert aalcr.length_error(curly, lambda text: 57 if "‚Äô" in text else 54) == 0


@given(
    st.text(st.characters(categories=["Lu", "Ll", "Nd"]), min_size=1, max_size=8),
    st.sampled_from(["’", "–", " ", "_", "."]),
)
def test_aalcr_names_are_compared_by_letters_and_digits(word: str, mark: str) -> None:
    name = f"{word}{mark}x.txt"
    assert aalcr.plain_name(name) == aalcr.plain_name(name.encode().decode("cp437"))
    assert aalcr.plain_name(name) == aalcr.plain_name(f"{word}x.txt")


def test_personamem_context_ends_where_the_question_stands(root: Path) -> None:
    (question,) = personamem.load(root).records
    assert len(question.context) == (2 if question.exact else 3)
    assert question.options == "['(a) Jazz', '(b) Rock', '(c) Folk', \"(d) Pop's\"]"
    assert question.choices[3] == "(d) Pop's"


def test_locomo_sorts_sessions_by_number(root: Path) -> None:
    first, second = locomo.load(root).records
    assert [sitting.number for sitting in first.conversation.sittings] == [2, 10]
    assert first.conversation.sittings[1].turns[0].caption == "a door"
    assert (first.id, first.category, second.category) == ("conv-1/q000", 2, 5)


def test_locomo_refuses_a_whole_file_with_other_counts(tmp_path: Path) -> None:
    little.write_hub_layout(tmp_path)
    (tmp_path / "locomo/locomo10.json").write_text(json.dumps([little.LOCOMO] * 10))
    with pytest.raises(DataError, match="questions by category"):
        locomo.load(tmp_path)


def test_locomo_puts_the_refusal_at_a_fixed_random_place() -> None:
    row = little.LOCOMO["qa"][1]  # type: ignore[index]
    places = {locomo_prompt.adversarial_options(f"c/q{n}", row)["a"] for n in range(40)}
    assert places == {"a boat", locomo_prompt.REFUSAL}
    assert locomo_prompt.question_prompt("c/q1", row) == locomo_prompt.question_prompt("c/q1", row)


def test_longmemeval_history_is_sorted_by_date(root: Path) -> None:
    (question,) = longmemeval.load(root).records
    assert [(chat.id, chat.evidence) for chat in question.history] == [("s1", False), ("s2", True)]
    assert question.abstention
    assert question.answer == "3"


COLUMNS: list[tuple[Callable[[Path], Any], str, Mapping[str, Any], str]] = [
    (swebench.load, "swebench/swebench_verified.jsonl", little.SWEBENCH, "FAIL_TO_PASS"),
    (widesearch.load, "widesearch/widesearch.jsonl", little.WIDESEARCH[0], "evaluation"),
    (aalcr.load, "aalcr/AA-LCR_Dataset.csv", little.AALCR, "input_tokens"),
    (personamem.load, "personamem/questions_32k.csv", little.PERSONAMEM, "all_options"),
    (personamem.load, "personamem/questions_32k.csv", little.PERSONAMEM, "end_index_in_shared_context"),
    (locomo.load, "locomo/locomo10.json", little.LOCOMO, "qa"),
    (longmemeval.load, "longmemeval/longmemeval_s_cleaned.json", little.LONGMEMEVAL, "haystack_dates"),
]


@pytest.mark.parametrize(
    ("load", "file", "row", "column"), COLUMNS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_changed_schema_names_the_column(
    load: Callable[[Path], Any], file: str, row: Mapping[str, Any], column: str, tmp_path: Path
) -> None:
    little.write_hub_layout(tmp_path)
    changed = {name: value for name, value in row.items() if name != column}
    text = little.csv_text([changed]) if file.endswith("csv") else little.jsonl([changed])
    (tmp_path / file).write_text(json.dumps([changed]) if file.endswith(".json") else text, encoding="utf-8")
    with pytest.raises(DataError, match=f"'{column}'"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("load", "file", "row", "message"),
    [
        (swebench.load, "swebench/swebench_verified.jsonl", little.SWEBENCH | {"FAIL_TO_PASS": "t.py"}, "'FAIL_TO_PASS' holds no list"),
        (widesearch.load, "widesearch/widesearch.jsonl", little.WIDESEARCH[0] | {"language": "fr"}, "'language' holds 'fr'"),
        (widesearch.load, "widesearch/widesearch.jsonl", little.WIDESEARCH[0] | {"evaluation": "{}"}, "'evaluation': evaluation lacks 'required'"),
        (personamem.load, "personamem/questions_32k.csv", little.PERSONAMEM | {"all_options": "['(a) x']"}, "no list of four options"),
        (personamem.load, "personamem/questions_32k.csv", little.PERSONAMEM | {"correct_answer": "Jazz"}, "'correct_answer' holds 'Jazz'"),
        (personamem.load, "personamem/questions_32k.csv", little.PERSONAMEM | {"shared_context_id": "x"}, "'shared_context_id': no context 'x'"),
        (aalcr.load, "aalcr/AA-LCR_Dataset.csv", little.AALCR | {"input_tokens": "many"}, "'input_tokens'"),
        (longmemeval.load, "longmemeval/longmemeval_s_cleaned.json", little.LONGMEMEVAL | {"question_type": "riddle"}, "'question_type' holds 'riddle'"),
        (longmemeval.load, "longmemeval/longmemeval_s_cleaned.json", little.LONGMEMEVAL | {"haystack_dates": []}, "2 session ids, 0 dates"),
    ],
)  # fmt: skip
def test_a_bad_value_names_its_column(
    load: Callable[[Path], Any], file: str, row: Mapping[str, Any], message: str, tmp_path: Path
) -> None:
    little.write_hub_layout(tmp_path)
    text = little.csv_text([row]) if file.endswith("csv") else little.jsonl([row])
    (tmp_path / file).write_text(json.dumps([row]) if file.endswith(".json") else text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        load(tmp_path)


def test_an_instance_that_stands_twice_is_refused(tmp_path: Path) -> None:
    little.write_hub_layout(tmp_path)
    (tmp_path / "swebench/swebench_verified.jsonl").write_text(little.jsonl([little.SWEBENCH] * 2))
    with pytest.raises(DataError, match="o__r-1 stands twice"):
        swebench.load(tmp_path)


# the hub: a function in place of the one of the extra


def test_hub_rows_are_checked_and_digested() -> None:
    asked: list[Any] = []

    def load(*arguments: Any, **options: Any) -> list[dict[str, Any]]:
        asked.append((arguments, options))
        return [dict(little.AALCR)]

    rows, sha256 = hub.load_rows("aalcr", load=load)
    revision = hub.SETS["aalcr"].revision
    assert asked == [(("ArtificialAnalysis/AA-LCR", None), {"split": "test", "revision": revision})]
    assert rows == [little.AALCR]
    line = json.dumps(little.AALCR, sort_keys=True).encode() + b"\n"
    assert sha256 == {f"ArtificialAnalysis/AA-LCR@{revision}": hashlib.sha256(line).hexdigest()}


def test_a_hub_set_with_another_schema_names_the_column() -> None:
    renamed = {"prompt" if name == "question" else name: value for name, value in little.AALCR.items()}
    with pytest.raises(DataError, match="AA-LCR: row 0 has no column 'question'"):
        hub.load_rows("aalcr", load=lambda *arguments, **options: [renamed])


def test_a_hub_that_does_not_answer_is_one_line() -> None:
    def down(*arguments: Any, **options: Any) -> Any:
        raise ConnectionError("no route")

    with pytest.raises(DataError, match="princeton-nlp/SWE-bench_Verified: ConnectionError: no route"):
        hub.load_rows("swebench", load=down)
    with pytest.raises(DataError, match="ByteDance-Seed/WideSearch: ConnectionError: no route"):
        hub.fetch("widesearch", Path("nowhere"), download=down)


def test_without_the_extra_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"pip install 'agentmem-bench\[hf\]'"):
        hub.load_rows("swebench")


def test_an_unknown_set_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="unknown data set 'widesearsh': expected widesearch"):
        hub.hub_set("widesearsh")


def test_personamem_from_the_hub_is_32k_only(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="put the files of 128k into the data folder"):
        personamem.load(None, tmp_path, size="128k")


@pytest.fixture
def offline_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two libraries of the extra, at their network edge: rows from memory, files from the little data."""
    tables = {
        "ByteDance-Seed/WideSearch": little.WIDESEARCH,
        "ArtificialAnalysis/AA-LCR": [little.AALCR],
        "bowen-upenn/PersonaMem": [little.PERSONAMEM],
        "princeton-nlp/SWE-bench_Verified": [little.SWEBENCH],
    }

    def load_dataset(set_id: str, config: str | None, *, split: str, revision: str | None) -> list[dict[str, Any]]:
        return [dict(row) for row in tables[set_id]]

    def snapshot_download(set_id: str, *, local_dir: str, **options: Any) -> None:
        little.write_hub_layout(Path(local_dir).parent)

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))


@pytest.mark.parametrize("module", [widesearch, aalcr, personamem, longmemeval], ids=lambda module: module.NAME)
def test_the_hub_gives_the_records_of_a_folder(module: ModuleType, offline_hub: None, tmp_path: Path) -> None:
    from_hub = module.load(None, tmp_path / "cache")
    from_folder = module.load(little.write_hub_layout(tmp_path / "data"))
    assert [record.task() for record in from_hub.records] == [record.task() for record in from_folder.records]
    assert from_hub.left_out == from_folder.left_out
    assert any("@" in name for name in from_hub.sha256) or module is longmemeval


@pytest.mark.parametrize("module", [widesearch, aalcr, personamem, longmemeval], ids=lambda module: module.NAME)
def test_files_of_a_hub_set_need_a_cache_folder(module: ModuleType, offline_hub: None) -> None:
    with pytest.raises(DataError, match="a cache folder is needed"):
        module.load(None)


def test_swebench_from_the_hub(offline_hub: None) -> None:
    loaded = swebench.load(None)
    assert [one.id for one in loaded.records] == ["o__r-1"]
    assert list(loaded.sha256) == ["princeton-nlp/SWE-bench_Verified@newest"]


def test_locomo_says_where_it_is_to_be_had() -> None:
    with pytest.raises(DataError, match=r"snap-research/locomo \(CC BY-NC 4\.0\)"):
        locomo.load(None)
