"""The evidence store: byte for byte, named by content, atomic, and never outside its folder."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentmem.errors import EvidenceCorrupt, EvidenceNotFound, EvidenceWriteFailed
from agentmem.offload.evidence import EvidenceStore, encode

ODD = [
    "",
    "plain\n",
    "a\r\nb\rc",
    "nul \x00 in it",
    "``` fence ```` ``` ",
    "half \ud83d pair",
    "\u2028 \x85 \x0c",
    "\ufeffbom",
    "\U0001f600",
]


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return EvidenceStore(tmp_path)


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("durable", [True, False])
def test_odd_texts_come_back_byte_for_byte(tmp_path: Path, text: str, durable: bool) -> None:
    ref = EvidenceStore(tmp_path, durable).put(text)
    assert EvidenceStore(tmp_path).get(ref) == text
    assert (tmp_path / ref).read_bytes() == encode(text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_any_text_comes_back(tmp_path: Path, text: str) -> None:
    store = EvidenceStore(tmp_path, durable=False)
    assert store.get(store.put(text)) == text


def test_equal_texts_share_one_file_and_different_ones_never(store: EvidenceStore) -> None:
    refs = [store.put(f"result {i % 500}") for i in range(1000)]
    assert len(set(refs)) == 500 == len(store.refs())
    assert all(store.get(ref) == f"result {i % 500}" for i, ref in enumerate(refs))
    assert all(ref in store for ref in refs)


def test_threads_may_write_the_same_text(store: EvidenceStore) -> None:
    threads = [threading.Thread(target=store.put, args=("the same",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.get(ref) for ref in store.refs()] == ["the same"]


def test_a_prefix_taken_by_another_text_gets_the_long_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentmem.offload.evidence.DIGITS", 1)
    store = EvidenceStore(tmp_path)
    monkeypatch.setattr(
        "agentmem.offload.evidence._REF", __import__("re").compile(r"refs/([0-9a-f]|[0-9a-f]{64})\.txt")
    )
    refs = [store.put(str(i)) for i in range(200)]
    assert len(set(refs)) == 200 and any(len(ref) > 20 for ref in refs)
    assert [store.get(ref) for ref in refs] == [str(i) for i in range(200)]


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "refs/../secret.txt",
        "../refs/x",
        "/etc/passwd",
        "refs/" + "a" * 20,
        "refs/" + "A" * 20 + ".txt",
        "refs/x\n",
        "refs/" + "a" * 20 + ".txt\n",
    ],
)
def test_what_is_no_ref_is_refused(store: EvidenceStore, ref: str) -> None:
    (store.folder / "secret.txt").write_text("secret")
    assert ref not in store
    with pytest.raises(EvidenceNotFound, match="is not a ref"):
        store.get(ref)


def test_unknown_ref_names_the_nearest(store: EvidenceStore) -> None:
    ref = store.put("something")
    near = ref[:24] + ("0" if ref[24] != "0" else "1") + ".txt"
    with pytest.raises(EvidenceNotFound, match=f"the nearest is '{ref}'"):
        store.get(near)


def test_a_symbolic_link_is_not_followed(store: EvidenceStore, tmp_path: Path) -> None:
    ref = store.put("something")
    (tmp_path / "outside").write_bytes(b"something")
    (tmp_path / ref).unlink()
    (tmp_path / ref).symlink_to(tmp_path / "outside")
    with pytest.raises(EvidenceCorrupt):
        store.get(ref)


def test_changed_bytes_are_told_and_repaired_by_the_next_put(store: EvidenceStore, tmp_path: Path) -> None:
    ref = store.put("something long enough")
    (tmp_path / ref).write_bytes(b"something")
    with pytest.raises(EvidenceCorrupt, match="is not what was written"):
        store.get(ref)
    assert EvidenceStore(tmp_path).put("something long enough") == ref
    assert store.get(ref) == "something long enough"


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from agentmem.errors import EvidenceWriteFailed
from agentmem.offload.evidence import EvidenceStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = EvidenceStore(Path(sys.argv[1]))
kept = store.put("small")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    store.put("x" * 5000)
except EvidenceWriteFailed as error:
    print(error)
assert store.get(kept) == "small"
assert store.put("still works") in store
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no file size limit here")
def test_a_disk_that_refuses_leaves_nothing_behind(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "cannot write evidence of 5000 bytes" in done.stdout
    assert len(list((tmp_path / "refs").iterdir())) == 2


def test_a_folder_that_is_a_file_is_a_failed_write(tmp_path: Path) -> None:
    (tmp_path / "refs").write_text("in the way")
    with pytest.raises(EvidenceWriteFailed, match="cannot write evidence of 1 bytes"):
        EvidenceStore(tmp_path).put("x")
