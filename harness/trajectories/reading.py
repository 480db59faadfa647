"""``read`` and ``detect``: every run behind some paths, in order, with unique ids and legal histories."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import UnreadableInput
from harness.trajectories.draft import Draft, Format, Malformed, describe
from harness.trajectories.pairing import REPAIRS, legal
from harness.trajectories.registry import FORMATS, by_name, recognise
from harness.trajectories.source import LINE_SUFFIXES, SUFFIXES, Found, Record, files, records
from harness.types import Trajectory

UNKNOWN = "unknown"
GENERIC_NAMES = frozenset({"trajectory", "output", "agent", "logs", "history", "messages"})


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=3)


def detect(path: Path) -> str:
    """The name of the format of a file, by its first record. Raises ``UnreadableInput`` when it is none."""
    for record in records(path, lambda _: None):
        return _format_of(record, None).name
    raise UnreadableInput(f"{path}: expected {_expected(None)}, found an empty file")


def read(paths: Sequence[Path], format: str | None = None, warn: Callable[[str], None] = _warn) -> list[Trajectory]:
    """Every recorded run behind the paths: files, folders (recursively, sorted) and patterns, in the order given.

    The format is recognised record by record, or forced by its name. Files of a folder that are none of the known
    formats are left out with a warning; a file that was named is an error. A task id that occurs again is kept as
    ``id#2``. Raises ``UnreadableInput`` with one line (expected, found, where), ``UnknownName`` for a format.
    """
    forced = by_name(format) if format is not None else None
    runs = _Runs(warn)
    skipped: list[Path] = []
    for file in files(paths):
        if not _read_file(file, forced, runs):
            skipped.append(file.path)
    if skipped:
        warn(f"{len(skipped)} files hold no recorded run and were left out: {_first(skipped)}")
    if not runs.trajectories:
        where = ", ".join(str(path) for path in paths) or "no path was given"
        raise UnreadableInput(f"{where}: expected {_expected(forced)}, found no recorded run")
    if runs.repeated:
        warn(f"{len(runs.repeated)} task ids occur more than once and were numbered: {_first(runs.repeated)}")
    return runs.trajectories


def _read_file(file: Found, forced: Format | None, runs: _Runs) -> bool:
    """Add the runs of one file; False when it lies in a folder and is no recorded run at all."""
    repairs: Counter[str] = Counter()
    for number, record in enumerate(records(file.path, runs.warn)):
        try:
            draft = _draft(record, forced)
        except UnreadableInput:
            known = forced.matches(record.value) if forced else recognise(record.value)
            if number or file.named or known:
                raise
            return False
        runs.add(draft, record, file.path, repairs)
    for name, text in REPAIRS.items():
        if repairs[name] and name != "renamed":
            runs.warn(f"{file.path}: {repairs[name]} {text}")
    if repairs["empty"]:
        runs.warn(f"{file.path}: {repairs['empty']} runs hold no messages")
    return True


def _draft(record: Record, forced: Format | None) -> Draft:
    known = _format_of(record, forced)
    try:
        return known.parse(record.value)
    except Malformed as found:
        raise UnreadableInput(f"{record.place}: expected {known.expects}, found {found}") from found


def _format_of(record: Record, forced: Format | None) -> Format:
    known = forced or recognise(record.value)
    if known is None:
        raise UnreadableInput(f"{record.place}: expected {_expected(None)}, found {describe(record.value)}")
    return known


class _Runs:
    """The trajectories read so far."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.warn = warn
        self.trajectories: list[Trajectory] = []
        self.repeated: list[str] = []
        self._ids: set[str] = set()

    def add(self, draft: Draft, record: Record, path: Path, repairs: Counter[str]) -> None:
        """Make a trajectory of a draft."""
        run = self._unique(draft.id or _id_of(path, record.number))
        messages, needed = legal(draft, run)
        repairs.update(needed)
        repairs["empty"] += not messages
        self.trajectories.append(
            Trajectory(
                id=run,
                suite=draft.suite or UNKNOWN,
                agent=draft.agent or UNKNOWN,
                model=draft.model or UNKNOWN,
                messages=messages,
                outcome=draft.outcome,
                source=record.place,
            )
        )

    def _unique(self, wanted: str) -> str:
        run, number = wanted, 1
        while run in self._ids:
            number += 1
            run = f"{wanted}#{number}"
        if run != wanted:
            self.repeated.append(wanted)
        self._ids.add(run)
        return run


def _id_of(path: Path, number: int | None) -> str:
    """An id from where a record stands: the file's name, or its folder's where the name says nothing, and the line."""
    stem = path.name.removesuffix(".gz")
    if number == 1 and not stem.endswith(LINE_SUFFIXES):  # a document that happens to be one line
        number = None
    while stem.endswith(SUFFIXES):
        stem = stem[: stem.rindex(".")]
    if stem in GENERIC_NAMES:
        stem = next((part.name for part in path.absolute().parents if part.name not in GENERIC_NAMES), stem)
    return stem if number is None else f"{stem}-{number}"


def _expected(forced: Format | None) -> str:
    return forced.expects if forced else "one of " + ", ".join(known.expects for known in FORMATS)


def _first(items: Sequence[object]) -> str:
    shown = ", ".join(str(item) for item in items[:3])
    return f"{shown}, ..." if len(items) > 3 else shown
