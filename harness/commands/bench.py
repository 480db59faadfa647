"""`bench`: the embedded default, for somebody with nothing at hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

LABEL = "the embedded tasks were solved by a scripted agent, not by a language model"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(bench)


def bench(
    arm: Annotated[
        list[str] | None, typer.Option(help="NAME[:key=value,...]; may be repeated (default: all that ship).")
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="How many small repositories to generate and solve.")] = 50,
    per_session: Annotated[int, typer.Option(min=1, help="Tasks played one after another in a session.")] = 50,
    window: Annotated[int, typer.Option(min=1_000, help="Context window in tokens.")] = 200_000,
    seed: Annotated[int, typer.Option(help="Seed of the generated repositories.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one a core).")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run (default: results/runs/<time>-<recipe>).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON instead of a table.")] = False,
) -> None:
    """Generate 50 small repositories with a bug each, let a scripted agent solve them with real commands, replay that.

    Example:  agentmem-bench bench --arm full --arm agentmem

    No key, no network, no data: the tool outputs are what real programs printed on this machine.
    """
    from harness.commands.replay import make_options, run_and_print
    from harness.embedded import recorded
    from harness.terminal import progress

    options = make_options(arm, per_session, window, "o200k_base", "file", seed, None, jobs, False)
    with progress() as show:
        show(0, tasks, "a scripted agent solves the embedded tasks")
        trajectories, data = recorded(seed, tasks, jobs or os.cpu_count() or 1)
    run_and_print(trajectories, data, options, out, json, {"labels": [LABEL], "agent": "scripted agent"})
