"""The canvas files of one session: ``mmds/NNN-label.mmd``, written whole and at once, never half."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from agentmem.errors import CanvasError, EvidenceWriteFailed
from agentmem.offload.boundaries import Known, file_parts
from agentmem.offload.canvas import STATUSES, Canvas, one_line, parse
from agentmem.offload.evidence import sync_folder

FOLDER = "mmds"
NEWEST = 10  # canvases a judge is told of


class CanvasFiles:
    """Reads and writes canvases by file name."""

    def __init__(self, folder: Path, durable: bool = True) -> None:
        self.folder = folder / FOLDER
        self._durable = durable

    def names(self) -> list[str]:
        """The files there are, by number."""
        if not self.folder.is_dir():
            return []
        names = []
        for path in self.folder.iterdir():
            with contextlib.suppress(CanvasError):  # something else lies in the folder
                names.append((file_parts(path.name), path.name))
        return [name for _, name in sorted(names)]

    def read(self, file: str) -> Canvas:
        """A canvas. Raises ``CanvasError`` for one that is not there or damaged."""
        number, label = file_parts(file)
        try:
            text = (self.folder / file).read_text("utf-8")
        except FileNotFoundError:
            raise CanvasError(f"no canvas {file!r}; there are: {', '.join(self.names()) or 'none'}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise CanvasError(f"canvas {file!r} cannot be read: {error}") from error
        return parse(text, number, label)

    def write(self, canvas: Canvas) -> None:
        """Put a canvas in the place of its file. Raises ``EvidenceWriteFailed``; the old file stays then."""
        path = self.folder / canvas.file
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with part.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
                file.write(canvas.text())
                if self._durable:
                    file.flush()
                    os.fsync(file.fileno())
            part.replace(path)
            if self._durable:
                sync_folder(self.folder)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise EvidenceWriteFailed(f"cannot write canvas {path}: {error}") from error

    def create(self, label: str, goal: str, created: str) -> Canvas:
        """A new, empty canvas under the next number."""
        number = max((file_parts(name)[0] for name in self.names()), default=0) + 1
        if number > 999:
            raise CanvasError(f"{self.folder} holds 999 canvases already; retention has to remove some")
        canvas = Canvas(number, label, one_line(goal), created=created)
        self.write(canvas)
        return canvas

    def set_aside(self, file: str) -> Path:
        """Rename a damaged canvas so that a new one can take its place; the damaged bytes stay for whoever asks."""
        path = self.folder / file
        number = 1
        while (aside := path.with_name(f"{file}.damaged-{number}")).exists():
            number += 1
        path.rename(aside)
        return aside

    def known(self, limit: int = NEWEST) -> list[Known]:
        """What a judge is told of the newest canvases; a damaged one is left out."""
        told = []
        for name in self.names()[-limit:]:
            with contextlib.suppress(CanvasError):
                canvas = self.read(name)
                counts = {status: sum(node.status == status for node in canvas.nodes) for status in STATUSES}
                shown = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
                updated = max((node.time for node in canvas.nodes), default=canvas.created)
                told.append(Known(name, canvas.goal or canvas.label, shown or "empty", updated))
        return told
