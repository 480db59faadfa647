"""Evidence: every tool result, whole and byte for byte, in a file named by its content.

A ref is ``refs/<sha256 prefix>.txt``. Equal texts share one file, so simultaneous results cannot overwrite
each other; a crash leaves either nothing or a readable file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from difflib import get_close_matches
from pathlib import Path

from agentmem.errors import EvidenceCorrupt, EvidenceNotFound, EvidenceWriteFailed

FOLDER = "refs"
DIGITS = 20  # hex digits of the name; a text whose prefix is taken by another one gets all 64
_REF = re.compile(rf"{FOLDER}/([0-9a-f]{{{DIGITS}}}|[0-9a-f]{{64}})\.txt")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


def encode(text: str) -> bytes:
    """The bytes stored for a text: UTF-8, lone surrogates passed through."""
    return text.encode("utf-8", "surrogatepass")


class EvidenceStore:
    """Texts under ``folder``/refs, addressed by content.

    ``durable`` waits for the disk on every write; without it a power cut (not a crash of the process) may lose
    the newest texts. Nothing is created before the first ``put``.
    """

    def __init__(self, folder: Path, durable: bool = True) -> None:
        self.folder = Path(folder)
        self.durable = durable
        self._refs = self.folder / FOLDER
        self._base = str(self._refs) + os.sep
        self._known: dict[bytes, str] = {}  # sha256 -> ref, for texts known to be on disk
        self._ready = False

    def put(self, text: str) -> str:
        """Store a text and return its ref. Equal texts have equal refs and are written once.

        Raises ``EvidenceWriteFailed`` when the disk refuses; nothing is left behind then.
        """
        data = encode(text)
        digest = hashlib.sha256(data).digest()
        ref = self._known.get(digest)
        if ref is None:
            try:
                ref = self._place(digest.hex(), data)
            except OSError as error:
                raise EvidenceWriteFailed(
                    f"cannot write evidence of {len(data)} bytes below {self.folder}: {error}"
                ) from error
            self._known[digest] = ref
        return ref

    def get(self, ref: str) -> str:
        """The text behind a ref.

        Raises ``EvidenceNotFound`` (with the nearest ref there is) and ``EvidenceCorrupt``.
        """
        found = _REF.fullmatch(ref)
        if not found:
            raise EvidenceNotFound(f"{ref!r} is not a ref: expected {FOLDER}/<{DIGITS} hex digits>.txt")
        try:
            data = self._read(found[1])
        except FileNotFoundError:
            raise EvidenceNotFound(f"no evidence {ref!r} below {self.folder}{self._nearest(ref)}") from None
        except OSError as error:  # a symbolic link, a folder, no permission
            raise EvidenceCorrupt(f"evidence {ref!r} below {self.folder} cannot be read: {error}") from error
        if not hashlib.sha256(data).hexdigest().startswith(found[1]):
            raise EvidenceCorrupt(f"evidence {ref!r} below {self.folder} is not what was written")
        return data.decode("utf-8", "surrogatepass")

    def __contains__(self, ref: str) -> bool:
        found = _REF.fullmatch(ref)
        return found is not None and Path(self._path(found[1])).is_file()

    def refs(self) -> list[str]:
        """Every ref there is, sorted by name."""
        try:
            names = [path.name for path in self._refs.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(ref for ref in (f"{FOLDER}/{name}" for name in names) if _REF.fullmatch(ref))

    def path(self, ref: str) -> Path:
        """The file of a ref, which need not exist. Raises ``EvidenceNotFound`` for what is not a ref."""
        found = _REF.fullmatch(ref)
        if not found:
            raise EvidenceNotFound(f"{ref!r} is not a ref: expected {FOLDER}/<{DIGITS} hex digits>.txt")
        return Path(self._path(found[1]))

    def forget(self, ref: str) -> None:
        """Remove a text (retention only). A text that is not there is no error."""
        self.path(ref).unlink(missing_ok=True)
        self._known = {digest: known for digest, known in self._known.items() if known != ref}

    def _path(self, name: str) -> str:
        return f"{self._base}{name}.txt"

    def _place(self, full: str, data: bytes) -> str:
        for name in (full[:DIGITS], full):
            held = self._held(name)
            if held is None or not hashlib.sha256(held).hexdigest().startswith(name):
                self._write(name, data)  # new, or damaged and now repaired
                return f"{FOLDER}/{name}.txt"
            if held == data:
                return f"{FOLDER}/{name}.txt"
        raise AssertionError("two texts with one sha256")

    def _held(self, name: str) -> bytes | None:
        if not os.path.lexists(self._path(name)):
            return None
        try:
            return self._read(name)
        except OSError:
            return b""  # not a readable file: to be replaced

    def _read(self, name: str) -> bytes:
        handle = os.open(self._path(name), os.O_RDONLY | _NO_FOLLOW)
        with os.fdopen(handle, "rb") as file:
            return file.read()

    def _write(self, name: str, data: bytes) -> None:
        if not self._ready:
            self._refs.mkdir(parents=True, exist_ok=True)
            self._ready = True
        part = f"{self._base}.{name}.{os.getpid()}.{threading.get_ident()}.part"
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_FOLLOW, 0o644)
            try:
                _write_all(handle, data)
                if self.durable:
                    os.fsync(handle)
            finally:
                os.close(handle)
            os.replace(part, self._path(name))  # noqa: PTH105 - 20,000 of them
        except OSError:
            with contextlib.suppress(OSError):
                Path(part).unlink()
            raise
        if self.durable:
            sync_folder(self._refs)

    def _nearest(self, ref: str) -> str:
        near = get_close_matches(ref, self.refs(), n=1, cutoff=0.6)
        return f"; the nearest is {near[0]!r}" if near else ""


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where the system can do that."""
    flags = getattr(os, "O_DIRECTORY", None)
    if flags is None:  # Windows cannot open a folder
        return
    handle = os.open(folder, os.O_RDONLY | flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
