"""Reads the files of a data set: found by name in a folder, plain or packed, checked by column, known by sha256.

Nothing is downloaded here. A file that is missing lists every path tried; a changed schema names the column.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from harness.errors import DataError

Row = dict[str, Any]
Record = TypeVar("Record")
PACKED = ("", ".gz")
_CELL_LIMIT = 2**31 - 1  # characters; the default of csv cuts long contexts off with an error


@dataclass(frozen=True, slots=True)
class Loaded(Generic[Record]):
    """What a loader found: records in file order, sha256 of every file that was used, tasks left out and why."""

    records: tuple[Record, ...]
    sha256: Mapping[str, str]
    left_out: Mapping[str, str] = field(default_factory=dict)


def locate(root: Path, folders: Sequence[str], names: Sequence[str]) -> Path:
    """The first of the names that exists below ``root``, in one of the folders or in ``root`` itself, also as
    ``.gz``. Raises ``DataError`` that lists every path tried."""
    tried = [root / folder / f"{name}{packed}" for name in names for folder in (*folders, "") for packed in PACKED]
    for path in tried:
        if path.exists():
            return path
    listed = "\n  ".join(str(path) for path in dict.fromkeys(tried))
    raise DataError(f"no data file found; tried:\n  {listed}")


def used(*paths: Path) -> dict[str, str]:
    """Name -> sha256 of what was read: of the unpacked bytes for ``.gz``, so that packing changes nothing; for a
    folder over the names and digests of its files."""
    return {path.name.removesuffix(".gz"): _content_sha256(path) for path in paths}


def file_sha256(path: Path) -> str:
    """Hex digest of the bytes of a file on disk."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _content_sha256(path: Path) -> str:
    if path.is_dir():
        digest = hashlib.sha256()
        for file in sorted(inner for inner in path.rglob("*") if inner.is_file()):
            digest.update(f"{file.relative_to(path).as_posix()}\0{file_sha256(file)}\n".encode())
        return digest.hexdigest()
    if path.suffix == ".gz":
        with gzip.open(path, "rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    return file_sha256(path)


def rows_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """Hex digest over rows that came without a file: one line of canonical JSON each."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row, sort_keys=True, ensure_ascii=True, default=str).encode() + b"\n")
    return digest.hexdigest()


def read_text(path: Path) -> str:
    """The text of a file, unpacked when it is gzip. Raises ``DataError`` when it is not UTF-8 or not gzip."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return raw.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}") from error


def read_rows(path: Path) -> list[Row]:
    """The rows of a JSON Lines, JSON (a list), CSV or Parquet file, by its suffix, also as ``.gz``."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        return _parquet(path)
    text = read_text(path)
    if name.endswith(".csv"):
        return _csv(text)
    if name.endswith(".jsonl"):
        lines = enumerate(text.split("\n"), start=1)
        return [_object(line, f"{path}:{number}") for number, line in lines if line.strip()]
    found = _decode(text, str(path))
    if not isinstance(found, list):
        raise DataError(f"{path}: expected a JSON list, found {type(found).__name__}")
    return found


def check_columns(rows: Sequence[Mapping[str, Any]], columns: Iterable[str], where: object) -> None:
    """Raises ``DataError`` naming the first column a row lacks, and the row; also when there are no rows."""
    if not rows:
        raise DataError(f"{where}: no rows")
    for number, row in enumerate(rows):
        for column in columns:
            if column not in row:
                have = ", ".join(sorted(map(str, row)))
                raise DataError(f"{where}: row {number} has no column {column!r}; it has {have}")


def read_members(path: Path, suffix: str) -> dict[str, str]:
    """Member path -> text of every member with that suffix, from a folder, a ``.tar.gz`` or a ``.zip``."""
    return {name: _text(raw, f"{path}/{name}") for name, raw in _members(path) if name.endswith(suffix)}


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in sorted(inner for inner in path.rglob("*") if inner.is_file()):
            yield file.relative_to(path).as_posix(), file.read_bytes()
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if not name.endswith("/"):
                    yield name, archive.read(name)
    else:
        try:
            with tarfile.open(path) as archive:
                for member in sorted(archive.getmembers(), key=lambda one: one.name):
                    handle = archive.extractfile(member) if member.isfile() else None
                    if handle is not None:
                        yield member.name, handle.read()
        except tarfile.TarError as error:
            raise DataError(f"{path}: neither a folder nor a zip or tar archive: {error}") from error


def _text(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: {error}") from error


def _csv(text: str) -> list[Row]:
    before = csv.field_size_limit(_CELL_LIMIT)
    try:
        return [dict(row) for row in csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))]
    finally:
        csv.field_size_limit(before)


def _decode(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error


def _object(line: str, where: str) -> Row:
    found = _decode(line, where)
    if not isinstance(found, dict):
        raise DataError(f"{where}: expected a JSON object, found {type(found).__name__}")
    return found


def _parquet(path: Path) -> list[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'agentmem-bench[parquet]'") from error
    rows: list[Row] = parquet.read_table(path).to_pylist()
    return rows
