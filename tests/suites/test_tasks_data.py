"""The loaders and scorers over the real data: counts as published, prompts of the published length, gold scores full."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from agentmem.tokens import encoding
from suites.aalcr import tasks as aalcr
from suites.errata import load_errata
from suites.locomo import score as locomo_score
from suites.locomo import tasks as locomo
from suites.longmemeval import tasks as longmemeval
from suites.outcomes import Mode, bucket
from suites.personamem import score as personamem_score
from suites.personamem import tasks as personamem
from suites.sources import Loaded
from suites.swebench import tasks as swebench
from suites.swebench.logs import parser_for
from suites.widesearch import tasks as widesearch
from suites.widesearch.csvread import read_csv
from suites.widesearch.score import score as widesearch_score
from tests.data import data_path, data_root
from tests.suites.widesearch_stub import StubJudge

MODES: tuple[Mode, Mode] = ("reference", "guarded")


@pytest.fixture(scope="module")
def questions() -> Loaded[aalcr.Question]:
    data_path("aa_lcr")
    return aalcr.load(data_root())


def count(text: str) -> int:
    return len(encoding(aalcr.TOKENIZER).encode_ordinary(text))


def test_aalcr_has_all_questions_but_those_of_the_missing_document(questions: Loaded[aalcr.Question]) -> None:
    assert (len(questions.records), sorted(questions.left_out)) == (98, ["98", "99"])
    assert len({question.set_id for question in questions.records}) == 29


def test_aalcr_prompts_with_curly_quotes_have_the_published_length(questions: Loaded[aalcr.Question]) -> None:
    chosen = [question for question in questions.records if not question.question.isascii()][:4]
    assert [aalcr.length_error(question, count) for question in chosen] == [0] * 4


@pytest.mark.slow
def test_aalcr_prompt_lengths_are_reproduced_for_98_of_100(questions: Loaded[aalcr.Question]) -> None:
    errors = {question.id: aalcr.length_error(question, count) for question in questions.records}
    assert len(errors) == 98
    assert {name: miss for name, miss in errors.items() if miss} == {}


def test_swebench_rows_and_their_parsers() -> None:
    data_path("swebench")
    rows = swebench.load(data_root()).records
    assert len(rows) == 200
    assert all(parser_for(row.repo) and row.fail_to_pass for row in rows)
    assert len(swebench.load(data_root(), file="swebench_verified_500_index.jsonl").records) == 500


def test_widesearch_gold_tables_score_full_in_both_modes() -> None:
    data_path("widesearch")
    loaded = widesearch.load(data_root())
    assert (len(loaded.records), len(loaded.left_out)) == (132, 68)
    assert sorted(name for name, reason in loaded.left_out.items() if reason != "no gold table") == [
        "ws_en_052",
        "ws_zh_020",
        "ws_zh_038",
    ]
    for query in loaded.records[:40:4]:
        for mode in MODES:
            outcome = widesearch_score(
                as_markdown(query),
                query.gold_csv,
                query.evaluation,
                judge=StubJudge(),
                now=datetime(2025, 8, 15, 12),
                mode=mode,
            )
            assert outcome.state == "scored", (query.id, mode, outcome.error)
            assert outcome.detail["metrics"]["recall_by_item"] > 0.95, (query.id, mode)


def as_markdown(query: widesearch.Query) -> str:
    """The gold table as an agent would write it."""
    table = read_csv(query.gold_csv, infer=False)
    keep = [
        i
        for i, name in enumerate(table.columns)
        if name.strip().lower().replace(" ", "") in query.evaluation["required"]
    ]
    rows = [table.columns, *table.rows]
    cells = [[row[i].replace("|", "\\|").replace("\n", " ") for i in keep] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join(["```markdown", lines[0], "|" + "---|" * len(keep), *lines[1:], "```"])


def test_personamem_32k_is_whole_and_gold_letters_pass() -> None:
    data_path("personamem")
    rows = personamem.load(data_root()).records
    assert (len(rows), len({row.context_id for row in rows}), len({row.persona for row in rows})) == (589, 37, 20)
    assert Counter(row.type for row in rows)["track_full_preference_evolution"] == 139
    for row in rows:
        assert all(
            bucket(personamem_score.score(f"<final_answer>{row.answer}", row.answer, mode=mode)) == "passed"
            for mode in MODES
        )


def test_locomo_categories_and_gold_answers() -> None:
    data_path("locomo")
    rows = locomo.load(data_root()).records
    assert Counter(row.category for row in rows) == locomo.COUNTS
    mapped = [row for row in rows if row.row["answer"] == row.row.get("adversarial_answer")]
    assert (len(mapped), {row.category for row in mapped}) == (444, {5})
    assert all(locomo_score.score("not mentioned", row.row).passed for row in mapped)
    gold = [locomo_score.score(str(row.row["answer"]), row.row) for row in rows if row.category != 5]
    assert sum(outcome.passed is True for outcome in gold) >= 1_500  # "a" alone normalises to nothing


def test_locomo_errata_fit_the_released_file() -> None:
    data_path("locomo")
    errata = load_errata("locomo")
    rows = {row.id: row for row in locomo.load(data_root()).records}
    for task, entry in errata.entries.items():
        mended = errata.mend(task, rows[task].row["question"], rows[task].row)
        assert (mended != rows[task].row) == (entry.action == "replace")


def test_longmemeval_complete_question() -> None:
    data_path("longmemeval")
    (row,) = longmemeval.load(data_root()).records
    assert len(row.history) == 53
    assert [chat.date for chat in row.history] == sorted(chat.date for chat in row.history)
    assert any(chat.evidence for chat in row.history)


def test_a_hub_file_and_its_packed_copy_have_one_digest() -> None:
    path: Path = data_path("locomo/locomo10.json.gz")
    assert locomo.load(path.parent).sha256 == {
        "locomo10.json": "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"
    }
