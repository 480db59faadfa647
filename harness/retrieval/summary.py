"""A bench as one JSON record, numbers only, and as tables. No text of the data is in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.retrieval.bench import Asking
from harness.retrieval.corpus import Corpus
from harness.retrieval.measure import KS, Found, Score, recall_interval, score
from harness.tables import NOT_MEASURED, Table

SCHEMA = "agentmem-retrieval/1"
DIGITS = 4


def mode_record(corpus: Corpus, asking: Asking) -> dict[str, Any]:
    """Figures of one mode: all counted groups, by group, and by split where weights were set on a part."""
    counted = [found for found in asking.messages if found.group in corpus.groups]
    sessions = [found for found in asking.sessions if found.group in corpus.groups]
    record: dict[str, Any] = {
        "messages": _figures(score(counted)) | {"recall@10 interval": _interval(counted)},
        "sessions": _figures(score(sessions)),
        "groups": {
            name: _figures(score([found for found in counted if found.group == name])) for name in corpus.groups
        },
    }
    if corpus.dev:
        record["dev"] = _figures(score([found for found in counted if found.conversation in corpus.dev]))
        rest = [found for found in counted if found.conversation not in corpus.dev]
        record["held out"] = _figures(score(rest)) | {"recall@10 interval": _interval(rest)}
        held = [found for found in sessions if found.conversation not in corpus.dev]
        record["held out sessions"] = _figures(score(held))
    return record


def bench_record(
    corpus: Corpus, level: str, embedder: str | None, modes: Mapping[str, Mapping[str, Any]], code: Mapping[str, str]
) -> dict[str, Any]:
    """The whole record."""
    return {
        "schema": SCHEMA,
        "bench": corpus.name,
        "level": level,
        "embedder": embedder,
        "data": dict(corpus.sha256),
        "code": dict(code),
        "conversations": len(corpus.conversations),
        "messages": sum(len(conversation.said) for conversation in corpus.conversations),
        "questions": sum(len(conversation.asked) for conversation in corpus.conversations),
        "questions without evidence": len(corpus.left_out),
        "groups": dict(corpus.groups),
        "dev conversations": list(corpus.dev),
        "modes": {name: dict(record) for name, record in modes.items()},
    }


def tables(record: Mapping[str, Any]) -> list[Table]:
    """Recall by k and mode, then recall@10 by group."""
    modes: Mapping[str, Any] = record["modes"]
    unit = "messages" if record["level"] == "turn" else "messages that atoms rest on"
    title = f"{record['bench']}, {unit} found: {_count(modes)} questions with evidence, embedder {record['embedder']}"
    heads = ("mode", *(f"recall@{k}" for k in KS), "hit@10", "session recall@5", "session hit@5", "held-out recall@10")
    rows = []
    for name, mode in modes.items():
        cells = [_cell(mode["messages"].get(f"recall@{k}")) for k in KS]
        cells += [_cell(mode["messages"].get("hit@10"))]
        cells += [_cell(mode["sessions"].get("recall@5")), _cell(mode["sessions"].get("hit@5"))]
        cells += [_cell(mode.get("held out", {}).get("recall@10"))]
        rows.append((name, *cells))
    notes = ["recall: mean share of a question's evidence in the first k; hit: any of it"]
    if record["dev conversations"]:
        notes.append(f"held out: without the {len(record['dev conversations'])} conversations weights were set on")
    groups = {name: label for name, label in record["groups"].items() if _has(modes, name)}
    by_group = [
        (name, *(_cell(mode["groups"][group].get("recall@10")) for group in groups)) for name, mode in modes.items()
    ]
    return [
        Table(title, heads, tuple(rows), tuple(notes)),
        Table(f"{record['bench']}: recall@10 by group", ("mode", *groups.values()), tuple(by_group)),
    ]


def _figures(figures: Score) -> dict[str, Any]:
    record: dict[str, Any] = {"questions": figures.questions}
    for kind, values in (("recall", figures.recall), ("hit", figures.hit)):
        record |= {f"{kind}@{k}": None if value is None else round(value, DIGITS) for k, value in values.items()}
    return record


def _interval(found: Iterable[Found]) -> list[float] | None:
    interval = recall_interval(found, 10)
    return None if interval is None else [round(edge, DIGITS) for edge in interval]


def _cell(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.3f}"


def _count(modes: Mapping[str, Any]) -> int:
    counts: Sequence[int] = [mode["messages"]["questions"] for mode in modes.values()]
    return counts[0] if counts else 0


def _has(modes: Mapping[str, Any], group: str) -> bool:
    return any(mode["groups"][group]["questions"] for mode in modes.values())
