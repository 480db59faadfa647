"""The embedded suites, for somebody with nothing at hand: a recording that is replayed, and all four played live."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentmem.tokens import cache_folder
from harness.recipe import file_sha256, sources_sha256
from harness.trajectories import read
from harness.types import Arm, Trajectory

SUITES = ("swebench", "aalcr", "widesearch", "personamem")
LABEL = "played by scripted agents that act only on what the prompt shows; no language model took part"
DOUBLE = "amnesia is a test double: it loses evidence on purpose, and has to fail"
Progress = Callable[[int, int, str], None]


def recorded(seed: int, count: int, jobs: int) -> tuple[list[Trajectory], dict[str, str]]:
    """The recorded tasks and the sha256 of the recording, by file name.

    The cache is keyed by seed, count and the code that makes it; a recording is the same bytes every time.
    """
    made_by = sources_sha256("suites/swebench/mini")[:12]
    path = cache_folder() / "embedded" / f"swebench-mini-{seed}-{count}-{made_by}.jsonl"
    if not path.exists():
        from suites.swebench.mini.record import record

        _write(path, record(seed, count, jobs))
    name = f"swebench-mini, seed {seed}, {count} tasks"
    return read([path]), {name: file_sha256(path)}


@dataclass(frozen=True)
class Live:
    """How the embedded suites are played live. ``tasks`` are the repositories; the other suites play all they have."""

    arms: tuple[Arm, ...]
    window: int = 200_000
    seed: int = 0
    tasks: int = 8
    jobs: int = 1


def play(suite: str, live: Live, folder: Path, progress: Progress) -> dict[str, Any]:
    """Play one of ``SUITES`` with its scripted agent and its controls into ``folder``; the summary of the run.

    What the folder already holds is not played again.
    """
    from harness.live import LiveOptions, execute, make_recipe, plan
    from harness.livesetup import SCRIPTED, Access, set_up
    from harness.report.markdown import write_report

    asked = {"seed": str(live.seed)} | ({"tasks": str(live.tasks)} if suite == "swebench" else {})
    options = LiveOptions(
        arms=live.arms, model=SCRIPTED, seed=live.seed, window=live.window, isolation="none", asked={"options": asked}
    )
    # commands of the scripted agent need no sandbox, so that this runs on any machine
    setup = set_up(f"{suite}-mini", options, Access(), None, asked, "reference")
    controls: Sequence[str] = setup.suite.controls  # type: ignore[attr-defined]
    options = replace(options, controls=tuple(controls))
    sessions = plan(setup.suite, options)
    recipe = make_recipe(setup.suite, sessions, {}, options)
    parts = replace(setup.parts, folder=folder)
    facts = {"agent": "scripted agent", "labels": [LABEL]}
    summary = execute(parts, sessions, recipe, options, live.jobs, progress, facts)
    write_report(folder)
    return summary


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text("".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows), encoding="utf-8")
    part.replace(path)
