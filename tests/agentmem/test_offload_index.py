"""The index of the evidence: append-only, readable after any crash, one process a session."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from agentmem.errors import EvidenceCorrupt, EvidenceNotFound, SessionLocked
from agentmem.offload.entries import FILE, Entries, read_entries
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.index import Journal, read_rows
from agentmem.offload.lock import SessionLock

ROWS: list[dict[str, object]] = [{"a": "x\u2028y\x85z\r"}, {"b": "half \ud83d pair"}, {"c": [1, 2.5, None, "ü"]}]


def test_rows_come_back_whatever_their_texts_hold(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "deep" / "j.jsonl")
    journal.extend(ROWS)
    journal.close()
    assert read_rows(tmp_path / "deep" / "j.jsonl") == ROWS
    assert read_rows(tmp_path / "none.jsonl") == []


def test_a_torn_last_line_is_dropped_at_every_length(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    Journal(path).extend(ROWS)
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for length in range(start, len(whole)):
        path.write_bytes(whole[:length])
        assert read_rows(path) == ROWS[:2]
        journal = Journal(path)
        journal.append({"new": 1})
        journal.close()
        assert read_rows(path) == [*ROWS[:2], {"new": 1}]


def test_damage_elsewhere_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text('{"a":1}\nnot json\n{"b":2}\n')
    with pytest.raises(EvidenceCorrupt, match="line 2 is no JSON object"):
        Journal(path)


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from agentmem.errors import EvidenceWriteFailed
from agentmem.offload.index import Journal, read_rows
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1]) / "j.jsonl"
journal = Journal(path)
journal.append({"kept": "x" * 400})
resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
for _ in range(2):
    try:
        journal.append({"too long": "x" * 900})
    except EvidenceWriteFailed as error:
        print("refused")
journal.append({"small": 1})
assert [list(row) for row in read_rows(path)] == [["kept"], ["small"]]
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no file size limit here")
def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\nrefused\n"


def test_a_thousand_results_in_one_instant(tmp_path: Path) -> None:
    store, entries = EvidenceStore(tmp_path, durable=False), Entries(tmp_path, durable=False)
    texts = [f"result {number}" for number in range(1000)]
    made = [entries.arrive(f"call{number % 7}", "run()", store.put(text), 0.0) for number, text in enumerate(texts)]
    entries.close()
    again = read_entries(tmp_path)
    assert again == made and len({entry.key for entry in again}) == 1000
    assert [store.get(entry.result_ref or "") for entry in again] == texts


def test_changes_are_folded_and_survive(tmp_path: Path) -> None:
    entries = Entries(tmp_path)
    first = entries.arrive(None, "ls", None, 1.0, task="t1", tokens=9)
    second = entries.arrive("auto-1", "cat", "refs/" + "a" * 20 + ".txt", 2.0)
    assert (first.key, second.key) == ("auto-1", "auto-1#2")
    assert [entry.key for entry in entries.pending()] == ["auto-1", "auto-1#2"]
    entries.change(
        {"auto-1": {"summary": "s", "score": 7.0, "node_id": "001-N1"}, "auto-1#2": {"summary": "d", "degraded": True}}
    )
    entries.close()
    again = Entries(tmp_path)
    assert list(again) == list(entries)
    assert [entry.key for entry in again.pending()] == ["auto-1#2"]
    assert [entry.key for entry in again.of_node("001-N1")] == ["auto-1"]
    assert [entry.key for entry in again.of_ref("refs/" + "a" * 20 + ".txt")] == ["auto-1#2"]
    assert again.arrive("auto-1", "x", None, 3.0).key == "auto-1#3"


def test_unknown_keys_and_fields_are_named(tmp_path: Path) -> None:
    entries = Entries(tmp_path)
    with pytest.raises(EvidenceNotFound, match="the session has none yet"):
        entries["x"]
    entries.arrive("call", "ls", None, 1.0)
    with pytest.raises(EvidenceNotFound, match="no entry 'x': there are 1, the newest 'call'"):
        entries.change({"x": {"summary": "s"}})
    with pytest.raises(TypeError, match="timestamp cannot change"):
        entries.change({"call": {"timestamp": 5}})


@pytest.mark.parametrize(
    "row", [{"event": "other"}, {"event": "result", "nonsense": 1}, {"event": "change", "key": "gone"}, {}]
)
def test_an_event_of_another_version_is_named(tmp_path: Path, row: dict[str, object]) -> None:
    (tmp_path / FILE).write_text(json.dumps(row) + "\n")
    with pytest.raises(EvidenceCorrupt, match="line 1 is no event"):
        Entries(tmp_path)


HOLD = """
import sys
from pathlib import Path
from agentmem.offload.lock import SessionLock
lock = SessionLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_gets_a_clear_error_and_a_dead_one_leaves_no_lock(tmp_path: Path) -> None:
    folder = tmp_path / "my-session"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdin is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(SessionLocked, match=f"session 'my-session' is in use by process {holder.pid}"):
        SessionLock(folder)
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    with SessionLock(folder) as lock:
        with pytest.raises(SessionLocked):
            SessionLock(folder)
        lock.release()
        SessionLock(folder).release()
