"""`sweep`: what every setting of an engine costs and loses, and whether the best one holds up on other tasks."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harness.types import Trajectory


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(sweep)


def sweep(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Recorded runs (default: the embedded tasks of `bench`).")
    ] = None,
    grid: Annotated[
        list[str] | None, typer.Option(help="engine.parameter=v1,v2,...; may be repeated for more parameters.")
    ] = None,
    engine: Annotated[str | None, typer.Option(help="Engine of a --grid that names only a parameter.")] = None,
    fixed: Annotated[
        list[str] | None, typer.Option("--set", help="engine.parameter=value in every cell; may be repeated.")
    ] = None,
    one_at_a_time: Annotated[
        bool, typer.Option("--one-at-a-time", help="Each value alone against the defaults, not every combination.")
    ] = False,
    live: Annotated[
        str | None, typer.Option(help="Options of `run` as one text: play live and look at pass rates.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Force a format instead of recognising it.")] = None,
    per_session: Annotated[int, typer.Option(min=1, help="Tasks played one after another in a session.")] = 50,
    window: Annotated[int, typer.Option(min=1_000, help="Context window in tokens.")] = 200_000,
    tokenizer: Annotated[str, typer.Option(help="o200k_base or cl100k_base.")] = "o200k_base",
    order: Annotated[str, typer.Option(help="file, id or shuffle.")] = "file",
    seed: Annotated[int, typer.Option(help="Seed of --order shuffle and of the embedded tasks.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks of that order.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one a core).")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the result; cells are kept in OUT/cells.")] = Path(
        "results/runs/sweep"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of a table.")] = False,
) -> None:
    """Play every combination of values and show what each costs and loses, on a tuned half and on a held-out half.

    Full grid:  agentmem-bench sweep runs/*.traj.json --grid agentmem.extract=60,80,120 --grid agentmem.batch=0,800

    One at a time:  agentmem-bench sweep runs/ --engine agentmem --one-at-a-time --grid extract=60,80 --grid line=40,90

    Live, with pass rates:  agentmem-bench sweep --live "--suite locomo --model NAME" --grid agentmem.extract=60,120

    A cell is a run folder named by its recipe: what is finished is never played again, also by another sweep into
    the same OUT, and a sweep that was stopped goes on where it was.
    """
    from harness.sweep.grid import cells, parse_grid
    from harness.sweep.play import options_facts, play_cells
    from harness.sweep.run import CELLS, gather, write
    from harness.terminal import progress

    wanted = parse_grid(grid or (), engine, fixed or ())
    chosen = cells(wanted, one_at_a_time)
    facts: dict[str, Any] = {}
    if live is not None:
        from harness.sweep.live import play_live

        with progress() as show:
            runs = play_live(chosen, live, out / CELLS, show)
        facts = {"live": live, "suite": runs[0].recipe.suite}
    else:
        from harness.commands.replay import make_options
        from harness.run import plan

        names = list(dict.fromkeys(cell.arm.engine for cell in chosen))
        options = make_options(names, per_session, window, tokenizer, order, seed, limit, jobs, False)
        trajectories, data = recorded(paths, format, seed, jobs)
        sessions = plan(trajectories, options)
        with progress() as show:
            runs = play_cells(chosen, sessions, data, options, out / CELLS, show)
        facts = {"suite": runs[0].recipe.suite, "data": data, **options_facts(options)}
    result = gather(wanted, runs, one_at_a_time)
    written = write(out, result, command_line(), facts)
    show_result(result, written[0], json)


def show_result(result: Any, path: Path, as_json: bool) -> None:
    """Print the tables, or the record that was written."""
    from harness.sweep.render import SHOWN, tables
    from harness.tables import to_text

    if as_json:
        typer.echo(path.read_text(encoding="utf-8"), nl=False)
        return
    typer.echo(to_text(tables(result, SHOWN)), nl=False)
    typer.echo(f"wrote {path.parent}")


def recorded(
    paths: Sequence[Path] | None, format: str | None, seed: int, jobs: int | None
) -> tuple[list[Trajectory], dict[str, str]]:
    """The recorded runs at the paths with the sha256 of every file; without paths, the embedded tasks."""
    if not paths:
        from harness.embedded import recorded as embedded

        return embedded(seed, 50, jobs or os.cpu_count() or 1)
    from harness.recipe import file_sha256
    from harness.terminal import warn
    from harness.trajectories import read
    from harness.trajectories.source import files

    return read(paths, format, warn), {file.path.name: file_sha256(file.path) for file in files(paths)}


def command_line() -> str:
    """What was typed, with paths by their last part: the record of a sweep should not name somebody's folders."""
    import sys

    words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
    return shlex.join(["agentmem-bench", *words])
