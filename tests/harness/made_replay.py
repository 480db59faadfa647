"""Recorded tasks made for tests, and real replays of them: agents that read files and use what they read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.engines.registry import parse_arm
from harness.recipe import file_sha256
from harness.run import Options, execute, make_recipe, plan
from harness.trajectories import read
from harness.types import Recipe

ARMS = ("full", "mask:last=1", "agentmem")


def write_recorded(path: Path, tasks: int = 8, steps: int = 12, evil: str = "") -> Path:
    """A file of recorded tasks. Every step reads a file; every third uses a name that only an earlier file held.

    ``evil`` is put into every output, to see what a page makes of it.
    """
    with path.open("w", encoding="utf-8") as file:
        for number in range(tasks):
            file.write(json.dumps(_task(number, steps, evil)) + "\n")
    return path


def replayed(
    data: Path, folder: Path, arms: Sequence[str] = ARMS, per_session: int = 4, window: int = 200_000
) -> tuple[Path, Recipe]:
    """The folder of a finished replay of a file, and its recipe."""
    options = Options(tuple(map(parse_arm, arms)), per_session=per_session, window=window)
    sessions = plan(read([data], None, lambda _: None), options)
    recipe = make_recipe(sessions, {data.name: file_sha256(data)}, options)
    execute(sessions, recipe, folder, options, lambda *_: None, {})
    return folder, recipe


def _task(number: int, steps: int, evil: str) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You mend programs."},
        {"role": "user", "kind": "task", "content": f"Mend the gauge of plant {number}."},
    ]
    for step in range(steps):
        path = f"plant{number}/part_{step}.py"
        wanted = f"valve_{number}_{step - 9} " if step >= 9 and step % 3 == 0 else ""
        call = {"name": "read", "arguments": json.dumps({"path": path, "about": wanted})}
        messages.append(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": f"c{step}", "type": "function", "function": call}],
            }
        )
        lines = [f"def valve_{number}_{step}(pressure): return gauge.read(pressure) + {step}"]
        lines += [f"    # line {line} of part {step} says nothing of interest to anybody" for line in range(40)]
        content = "\n".join([*lines, evil])
        messages.append({"role": "tool", "kind": "observation", "tool_call_id": f"c{step}", "content": content})
    return {
        "schema": "replay-trajectory/1",
        "suite": "made",
        "task_id": f"plant-{number}",
        "agent": "reader",
        "model": "none",
        "outcome": {"resolved": number % 2 == 0},
        "messages": messages,
    }
