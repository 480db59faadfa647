"""Loads sqlite-vec where that is possible, and says why where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agentmem.errors import StoreError

if TYPE_CHECKING:
    import apsw

VectorPath = Literal["auto", "numpy", "sqlite-vec"]


class Extension:
    """sqlite-vec for the connections of one store. ``missing`` says why it is not there, or is None."""

    def __init__(self, wanted: VectorPath = "auto") -> None:
        self.wanted = wanted
        self.missing: str | None = "not asked for" if wanted == "numpy" else None
        self._file: str | None = None
        if wanted != "numpy":
            self._find()

    def load(self, connection: apsw.Connection) -> None:
        """Load it into a connection. Raises ``StoreError`` only when it was asked for by name."""
        if self._file is not None:
            import apsw

            try:
                connection.enable_load_extension(True)
                connection.load_extension(self._file)
                connection.enable_load_extension(False)
            except (apsw.Error, AttributeError) as error:  # AttributeError: SQLite built without extensions
                self._file, self.missing = None, f"sqlite-vec cannot be loaded: {error}"
        if self.missing and self.wanted == "sqlite-vec":
            raise StoreError(f"{self.missing}; use vectors='auto'")

    def _find(self) -> None:
        try:
            import sqlite_vec

            self._file = sqlite_vec.loadable_path()
        except ImportError:
            self.missing = "the package sqlite-vec is not installed"
