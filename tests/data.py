"""Real benchmark data, read from the folder named by AGENTMEM_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

VARIABLE = "AGENTMEM_DATA"


def data_root() -> Path:
    """The data folder; skips the calling test when the variable is unset or names no folder."""
    folder = os.environ.get(VARIABLE)
    if not folder or not Path(folder).is_dir():
        pytest.skip(f"{VARIABLE} is unset or names no folder")
    return Path(folder)


def data_path(relative: str) -> Path:
    """A file or folder below the data folder; skips the calling test when it is not there."""
    path = data_root() / relative
    if not path.exists():
        pytest.skip(f"{VARIABLE} holds no {relative}")
    return path
