"""LoCoMo for retrieval: 10 conversations, evidence by dialogue id. Categories 1 to 4 count, as in the paper."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.retrieval.corpus import Asked, Conversation, Corpus, Noted, Said
from suites.locomo.tasks import FILES, FOLDERS, MINUTE, load
from suites.sources import locate, read_rows

GROUPS = {"1": "multi-hop", "2": "temporal", "3": "open domain", "4": "single-hop"}
DEV = 5  # conversations, in file order, on which weights were set
_ID = re.compile(r"D:?(\d+):(\d+)")


def load_locomo(root: Path) -> Corpus:
    """All conversations. Evidence such as "D8:6; D9:17" is split; ids that no turn has are left out and counted."""
    loaded = load(root)
    raw = {row["sample_id"]: row for row in read_rows(locate(root, FOLDERS, FILES))}
    by_talk: dict[str, list[Any]] = {}
    for question in loaded.records:
        by_talk.setdefault(question.conversation.id, []).append(question)
    left_out: dict[str, str] = {}
    conversations = tuple(_talk(id, rows, raw[id], left_out) for id, rows in by_talk.items())
    dev = tuple(talk.id for talk in conversations[:DEV]) if len(conversations) > DEV else ()
    return Corpus("locomo", conversations, loaded.sha256, GROUPS, dev, left_out)


def _talk(id: str, rows: list[Any], raw: Mapping[str, Any], left_out: dict[str, str]) -> Conversation:
    said = _said(rows[0].conversation)
    dates = {f"session {sitting.number}": sitting.start for sitting in rows[0].conversation.sittings}
    asked = _asked(rows, {turn.id for turn in said}, left_out)
    return Conversation(id, said, asked, tuple(_noted(raw.get("observation") or {}, dates)))


def _noted(observation: Mapping[str, Any], dates: Mapping[str, int]) -> Iterator[Noted]:
    """``{"session_1_observation": {speaker: [[text, id or ids], ...]}}``."""
    for name, speakers in observation.items():
        session = f"session {name.split('_')[1]}"
        for speaker, rows in speakers.items():
            for place, (text, ids) in enumerate(rows):
                named = [ids] if isinstance(ids, str) else ids
                sources = tuple(_plain(f"D{a}:{b}") for id in named for a, b in _ID.findall(id))
                yield Noted(f"{session}/{speaker}/{place}", session, text, sources, dates.get(session, 0))


def _said(talk: Any) -> tuple[Said, ...]:
    rows = []
    for sitting in talk.sittings:
        start = sitting.start
        for place, turn in enumerate(sitting.turns):
            text = f"{turn.text} [photo: {turn.caption}]" if turn.caption else turn.text
            rows.append(
                Said(_plain(turn.id), f"session {sitting.number}", "user", turn.speaker, text, start + place * MINUTE)
            )
    return tuple(rows)


def _asked(rows: list[Any], known: set[str], left_out: dict[str, str]) -> tuple[Asked, ...]:
    asked = []
    for question in rows:
        row: Mapping[str, Any] = question.row
        named = [f"D{a}:{b}" for text in row.get("evidence") or () for a, b in _ID.findall(text)]
        evidence = tuple(id for id in dict.fromkeys(_plain(id) for id in named) if id in known)
        if not evidence:
            left_out[question.id] = f"evidence {row.get('evidence')} names no turn"
        answers = (str(row["answer"]),)
        asked.append(Asked(question.id, row["question"], str(question.category), evidence, (), answers))
    return tuple(asked)


def _plain(id: str) -> str:
    """``D30:05`` and ``D:11:26`` are written ``D30:5`` and ``D11:26`` elsewhere."""
    match = _ID.fullmatch(id)
    return f"D{int(match[1])}:{int(match[2])}" if match else id
