"""Retention: what is old goes; what a canvas cites, what is in use and what cannot be judged stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentmem.offload.canvas import Canvas, Node
from agentmem.offload.canvas_files import CanvasFiles
from agentmem.offload.entries import FILE, Entries
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.lock import SessionLock
from agentmem.offload.retention import DAY, sessions, sweep

NOW = 1_000 * DAY


def age(path: Path, days: float) -> None:
    os.utime(path, (NOW - days * DAY,) * 2)


def session(root: Path, name: str, days: float, cited: int = 1, loose: int = 2) -> Path:
    """A session with ``cited`` results on a canvas and ``loose`` ones on none."""
    folder = root / "agent" / name
    store, entries, files = EvidenceStore(folder), Entries(folder), CanvasFiles(folder)
    for number in range(cited + loose):
        ref = store.put(f"{name} result {number}")
        entry = entries.arrive(f"c{number}", "run", ref, 0.0)
        if number < cited:
            entries.change({entry.key: {"node_id": "001-N1"}})
        age(store.path(ref), days)
    files.write(Canvas(1, "task", "g", (Node("001-N1", "read: a", "done"),)))
    age(files.folder / "001-task.mmd", days)
    entries.close()
    return folder


def test_old_evidence_goes_unless_a_canvas_cites_it(tmp_path: Path) -> None:
    old, new = session(tmp_path, "old", 30), session(tmp_path, "new", 1)
    swept = sweep(tmp_path, 7, NOW)
    assert (swept.refs, swept.canvases, swept.busy) == (2, 0, ())
    assert [EvidenceStore(old).get(ref) for ref in EvidenceStore(old).refs()] == ["old result 0"]
    assert len(EvidenceStore(new).refs()) == 3
    assert sweep(tmp_path, 7, NOW).refs == 0


@pytest.mark.parametrize("days", [0, 1, 2, 2.9])
def test_less_than_three_days_keeps_everything(tmp_path: Path, days: float) -> None:
    session(tmp_path, "old", 30)
    assert sweep(tmp_path, days, NOW).refs == 0


def test_canvases_go_oldest_first_but_fifteen_stay(tmp_path: Path) -> None:
    for number in range(20):
        session(tmp_path, f"s{number:02d}", 100 - number)
    swept = sweep(tmp_path, 7, NOW)
    left = [folder.name for folder in sessions(tmp_path) if CanvasFiles(folder).names()]
    assert swept.canvases == 5 and left == [f"s{number:02d}" for number in range(5, 20)]
    assert swept.refs == 20 * 2 + 5  # what only the removed canvases cited went with them


def test_a_session_in_use_is_left_alone(tmp_path: Path) -> None:
    folder = session(tmp_path, "busy", 30)
    with SessionLock(folder):
        swept = sweep(tmp_path, 7, NOW, keep=0)
    assert swept.busy == ("busy",) and len(EvidenceStore(folder).refs()) == 3
    assert CanvasFiles(folder).names() == ["001-task.mmd"]


def test_a_damaged_canvas_cites_everything_of_its_number(tmp_path: Path) -> None:
    folder = session(tmp_path, "old", 30)
    (CanvasFiles(folder).folder / "001-task.mmd").write_text("damaged")
    assert sweep(tmp_path, 7, NOW).refs == 2
    assert len(EvidenceStore(folder).refs()) == 1


def test_a_damaged_index_keeps_its_evidence(tmp_path: Path) -> None:
    folder = session(tmp_path, "old", 30)
    (folder / FILE).write_text("damaged\nmore\n")
    swept = sweep(tmp_path, 7, NOW)
    assert swept.damaged == ("old",) and len(EvidenceStore(folder).refs()) == 3


def test_half_written_files_of_a_crash_go(tmp_path: Path) -> None:
    folder = session(tmp_path, "old", 1)
    part = folder / "refs" / ".abc.1.2.part"
    part.write_text("half")
    age(part, 2)
    assert sweep(tmp_path, 7, NOW).parts == 1 and not part.exists()
