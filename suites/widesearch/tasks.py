"""Tasks of WideSearch: queries with their grading rules, and the gold table of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentmem.messages import Message
from harness.errors import DataError
from harness.types import Task
from suites import hub
from suites.sources import Loaded, Row, check_columns, locate, read_members, read_rows, used
from suites.widesearch.errors import GradingError
from suites.widesearch.rules import parse_rules, read_gold

NAME = "widesearch"
FOLDERS = ("widesearch",)
FILES = ("widesearch.jsonl", "full-00000-of-00001.parquet")
GOLD = ("widesearch_gold", "widesearch_gold_135.tar", "widesearch_gold.tar", "widesearch_gold.zip")
COLUMNS = hub.SETS[NAME].columns
ROLE = {
    "en": "You are an expert in searching the web. You answer a request completely, with figures you looked up.",
    "zh": "你是网络检索专家。请用查到的资料完整地回答请求，不要遗漏。",
}


@dataclass(frozen=True, slots=True)
class Query:
    """One request with its rules (the JSON object of the data set) and its gold table as CSV text."""

    id: str
    query: str
    language: str
    evaluation: Mapping[str, Any]
    gold_csv: str

    def task(self) -> Task:
        """A role text in the language of the request, then the request unchanged: it already says what to answer."""
        prompt = (Message("system", ROLE[self.language]), Message("user", self.query, kind="task"))
        return Task(self.id, NAME, prompt, {"instance_id": self.id, "evaluation": dict(self.evaluation)}, self.id)


def load(root: Path | None, cache: Path | None = None, *, revision: str | None = None) -> Loaded[Query]:
    """The queries of a folder, or of the hub, whose gold tables are then fetched into ``cache``.

    A query without a gold table, or whose table does not fit its rules, is left out and named. Raises ``DataError``.
    """
    if root is None:
        rows, sha256 = hub.load_rows(NAME, revision)
        root = hub.fetch(NAME, _cache(cache), revision)
    else:
        path = locate(root, FOLDERS, FILES)
        rows, sha256 = read_rows(path), used(path)
        check_columns(rows, COLUMNS, path)
    gold = locate(root, FOLDERS, GOLD)
    tables = {Path(name).stem: text for name, text in read_members(gold, ".csv").items()}
    records, left_out = [], {}
    for row in rows:
        found = query(row, tables.get(row["instance_id"]))
        if isinstance(found, str):
            left_out[row["instance_id"]] = found
        else:
            records.append(found)
    return Loaded(tuple(records), sha256 | used(gold), left_out)


def query(row: Row, gold_csv: str | None) -> Query | str:
    """One row as a record, or why it cannot be scored. Raises ``DataError`` for rules that are no rules."""
    where = row["instance_id"]
    try:
        rules = parse_rules(row["evaluation"])
    except GradingError as error:
        raise DataError(f"{where}: column 'evaluation': {error}") from error
    if row["language"] not in ROLE:
        raise DataError(f"{where}: column 'language' holds {row['language']!r}: expected en or zh")
    if gold_csv is None:
        return "no gold table"
    if read_gold(gold_csv, rules.required) is None:
        return "the gold table lacks a required column"
    raw = row["evaluation"]
    evaluation = json.loads(raw) if isinstance(raw, str) else raw
    return Query(where, row["query"], row["language"], evaluation, gold_csv)


def _cache(cache: Path | None) -> Path:
    if cache is None:
        raise DataError("the gold tables of WideSearch are files of the hub set: a cache folder is needed")
    return cache / NAME
