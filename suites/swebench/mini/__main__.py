"""``python -m suites.swebench.mini --seed 0 --count 50 --out FILE.jsonl``: record the embedded tasks to a file."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from suites.swebench.mini.record import record


def main() -> int:
    """Record, write, and say in one line what there is."""
    parser = argparse.ArgumentParser(prog="python -m suites.swebench.mini", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True, help="JSON Lines file to write (replay-trajectory/1)")
    chosen = parser.parse_args()
    begun = time.perf_counter()
    rows = record(chosen.seed, chosen.count, chosen.jobs)
    with chosen.out.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    resolved = sum(row["outcome"]["resolved"] for row in rows)
    seconds = time.perf_counter() - begun
    print(f"{len(rows)} tasks (scripted agent), {resolved} resolved, {seconds:.1f} s, {chosen.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
