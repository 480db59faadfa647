"""`tune`: the best setting of an engine for somebody's own runs, and whether it holds on runs it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(tune)


def tune(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Recorded runs (default: the embedded tasks of `bench`).")
    ] = None,
    engine: Annotated[str, typer.Option(help="The engine to tune.")] = "agentmem",
    search: Annotated[
        list[str] | None,
        typer.Option("--tune", help="name=low:high or name=a,b; may be repeated (default: all, half to twice)."),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Settings to try, rounded up to whole batches of 4.")] = 40,
    most: Annotated[
        float, typer.Option(min=0, max=1, help="Share of actions with a need not visible the choice may have.")
    ] = 0.02,
    storage: Annotated[
        str | None, typer.Option(help="Journal file or database address of the study (default: OUT/study.journal).")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Force a format instead of recognising it.")] = None,
    per_session: Annotated[int, typer.Option(min=1, help="Tasks played one after another in a session.")] = 50,
    window: Annotated[int, typer.Option(min=1_000, help="Context window in tokens.")] = 200_000,
    tokenizer: Annotated[str, typer.Option(help="o200k_base or cl100k_base.")] = "o200k_base",
    order: Annotated[str, typer.Option(help="file, id or shuffle.")] = "file",
    seed: Annotated[int, typer.Option(help="Seed of the search, of --order shuffle and of the embedded tasks.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks of that order.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one a core).")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the result; trials are kept in OUT/cells.")] = Path(
        "results/runs/tune"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of tables.")] = False,
) -> None:
    """Search settings on the first half of the tasks (tokens and needs at once), check the choice on the other half.

    All of ours:  agentmem-bench tune runs/*.traj.json --trials 80

    Two of them:  agentmem-bench tune runs/ --tune extract=60:300 --tune keep_results=2:10

    Ends with OUT/ENGINE.toml, which the memory core loads. A search that was stopped goes on where it was, and the
    same call makes the same trials.
    """
    from harness.commands.replay import make_options
    from harness.commands.sweep import command_line, recorded
    from harness.terminal import progress
    from harness.tune import TuneOptions, halves
    from harness.tune import tune as search_settings
    from harness.tunereport import tables, write
    from harness.tunespace import make_space

    wanted = TuneOptions(engine, tuple(make_space(engine, search or ())), trials, seed, most, storage or "")
    options = make_options([engine], per_session, window, tokenizer, order, seed, limit, jobs, False)
    trajectories, data = recorded(paths, format, seed, jobs)
    with progress() as show:
        found = search_settings(halves(trajectories, options), data, options, wanted, out, show)
    written = write(out, found, wanted, command_line())
    if json:
        typer.echo(written[1].read_text(encoding="utf-8"), nl=False)
        return
    from harness.tables import to_text

    typer.echo(to_text(tables(found)), nl=False)
    typer.echo(f"wrote {written[0]} and {written[2].name}")
