"""The data sets on the Hugging Face hub that the suites are written against, and how they are fetched.

Ids, configurations and columns are those seen in public copies; licences are named by the data set cards. The library
``datasets`` is an extra and is imported when a row is really asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.errors import DataError, UnknownName
from suites.sources import Row, check_columns, rows_sha256

NO_EXTRA = "the hub needs the extra: pip install 'agentmem-bench[hf]'"


@dataclass(frozen=True, slots=True)
class HubSet:
    """One data set. ``columns`` are those the loaders read; ``files`` are patterns to fetch it as files;
    ``revision`` is pinned where scores depend on it, else the newest is taken and recorded."""

    id: str
    split: str
    columns: tuple[str, ...]
    licence: str
    config: str | None = None
    revision: str | None = None
    files: tuple[str, ...] = field(default=())


_SWEBENCH = (
    "repo",
    "instance_id",
    "base_commit",
    "patch",
    "test_patch",
    "problem_statement",
    "version",
    "FAIL_TO_PASS",
    "PASS_TO_PASS",
)
_PERSONAMEM = (
    "persona_id",
    "question_id",
    "question_type",
    "topic",
    "user_question_or_message",
    "correct_answer",
    "all_options",
    "shared_context_id",
    "end_index_in_shared_context",
)
_LONGMEMEVAL = (
    "question_id",
    "question_type",
    "question",
    "answer",
    "question_date",
    "haystack_session_ids",
    "haystack_dates",
    "haystack_sessions",
    "answer_session_ids",
)
SETS: Mapping[str, HubSet] = {
    "swebench": HubSet("princeton-nlp/SWE-bench_Verified", "test", _SWEBENCH, "MIT (code)", files=("data/*",)),
    "swebench-lite": HubSet("princeton-nlp/SWE-bench_Lite", "test", _SWEBENCH, "MIT (code)", files=("data/*",)),
    "widesearch": HubSet(
        "ByteDance-Seed/WideSearch",
        "full",
        ("instance_id", "query", "evaluation", "language"),
        "other",
        files=("widesearch.jsonl", "widesearch_gold/*"),
    ),
    "aalcr": HubSet(
        "ArtificialAnalysis/AA-LCR",
        "test",
        (
            "document_category",
            "document_set_id",
            "question_id",
            "question",
            "answer",
            "data_source_filenames",
            "input_tokens",
        ),
        "Apache-2.0",
        revision="9a77ef56b717057ade24ceab4d273712a0b4f19e",
        files=("AA-LCR_Dataset.csv", "extracted_text/*"),
    ),
    "personamem": HubSet(
        "bowen-upenn/PersonaMem",
        "32k",
        _PERSONAMEM,
        "MIT",
        config="benchmark",
        files=("questions_32k.csv", "shared_contexts_32k.jsonl"),
    ),
    "longmemeval": HubSet(
        "xiaowu0162/longmemeval-cleaned", "s", _LONGMEMEVAL, "MIT", files=("longmemeval_s_cleaned.json",)
    ),
    # LoCoMo is a file of the repository snap-research/locomo (data/locomo10.json, CC BY-NC 4.0), not a hub set.
}


def hub_set(name: str) -> HubSet:
    """The data set of a suite. Raises ``UnknownName``."""
    if name not in SETS:
        raise UnknownName("data set", name, SETS)
    return SETS[name]


Load = Callable[..., Iterable[Mapping[str, Any]]]


def load_rows(name: str, revision: str | None = None, load: Load | None = None) -> tuple[list[Row], dict[str, str]]:
    """(rows, sha256 by ``hub id@revision``) of a set, through ``datasets.load_dataset`` (or ``load`` in its place).

    Raises ``DataError`` without the extra, when the set cannot be had, or when a column is gone.
    """
    wanted = hub_set(name)
    revision = revision or wanted.revision
    call = load or _extra("datasets", "load_dataset", wanted)
    try:
        found = call(wanted.id, wanted.config, split=wanted.split, revision=revision)
    except Exception as error:  # the library raises a dozen kinds, all of them mean no data
        raise DataError(f"{wanted.id}: {type(error).__name__}: {error}") from error
    rows = [dict(row) for row in found]
    check_columns(rows, wanted.columns, wanted.id)
    return rows, {f"{wanted.id}@{revision or 'newest'}": rows_sha256(rows)}


def fetch(name: str, folder: Path, revision: str | None = None, download: Callable[..., Any] | None = None) -> Path:
    """Download the files of a set into ``folder`` (``huggingface_hub.snapshot_download`` or ``download``).

    Raises ``DataError`` without the extra, when the set cannot be had, or when nothing came.
    """
    wanted = hub_set(name)
    call = download or _extra("huggingface_hub", "snapshot_download", wanted)
    try:
        call(
            wanted.id,
            repo_type="dataset",
            revision=revision or wanted.revision,
            local_dir=str(folder),
            allow_patterns=list(wanted.files),
        )
    except Exception as error:  # the library raises a dozen kinds, all of them mean no data
        raise DataError(f"{wanted.id}: {type(error).__name__}: {error}") from error
    if not files_in(folder):
        raise DataError(f"{wanted.id}: nothing matched {', '.join(wanted.files)}")
    return folder


def _extra(module: str, function: str, wanted: HubSet) -> Callable[..., Any]:
    """A function of the extra, imported only now. Raises ``DataError`` that says how to install it."""
    try:
        found: Callable[..., Any] = getattr(import_module(module), function)
    except ImportError as error:
        raise DataError(f"{wanted.id}: {NO_EXTRA}") from error
    return found


def files_in(folder: Path) -> list[Path]:
    """The data files below a folder, sorted; what the downloader keeps for itself is left out."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if ".cache" not in path.relative_to(folder).parts and path.name != ".gitattributes"]
