"""`replay`: what recorded runs would have cost under other policies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.run import Options
    from harness.types import Trajectory

DEFAULT_ARMS = ("full", "mask", "isolated", "summary", "published", "agentmem")


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(replay)


def replay(
    paths: Annotated[list[Path], typer.Argument(help="Files, folders or patterns of recorded runs.")],
    arm: Annotated[
        list[str] | None, typer.Option(help="NAME[:key=value,...]; may be repeated (default: all that ship).")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Force a format instead of recognising it.")] = None,
    per_session: Annotated[int, typer.Option(min=1, help="Tasks played one after another in a session.")] = 50,
    window: Annotated[int, typer.Option(min=1_000, help="Context window in tokens.")] = 200_000,
    tokenizer: Annotated[str, typer.Option(help="o200k_base or cl100k_base.")] = "o200k_base",
    order: Annotated[str, typer.Option(help="file, id or shuffle.")] = "file",
    seed: Annotated[int, typer.Option(help="Seed of --order shuffle.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks of that order.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one a core).")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run (default: results/runs/<time>-<recipe>).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON instead of a table.")] = False,
    keep_evidence: Annotated[
        bool, typer.Option(help="Keep the evidence the engines wrote, under OUT/evidence.")
    ] = False,
) -> None:
    """Replay recorded runs through memory policies: count every token, say what each policy costs and loses.

    Example:  agentmem-bench replay runs/*.traj.json --arm full --arm mask:last=5 --arm agentmem

    A run that was stopped is continued by the same command.
    """
    from harness.recipe import file_sha256
    from harness.terminal import warn
    from harness.trajectories import read
    from harness.trajectories.source import files

    options = make_options(arm, per_session, window, tokenizer, order, seed, limit, jobs, keep_evidence)
    found = read(paths, format, warn)
    data = {file.path.name: file_sha256(file.path) for file in files(paths)}
    run_and_print(found, data, options, out, json)


def make_options(
    arms: Sequence[str] | None,
    per_session: int,
    window: int,
    tokenizer: str,
    order: str,
    seed: int,
    limit: int | None,
    jobs: int | None,
    keep_evidence: bool,
) -> Options:
    """Options from what was typed. Raises ``UnknownName`` for an arm, an order or a tokenizer."""
    from agentmem.tokens import ENCODINGS
    from harness.engines.registry import names, parse_arm
    from harness.errors import UnknownName, UsageError
    from harness.run import ORDERS, Options

    if tokenizer not in ENCODINGS:
        raise UnknownName("tokenizer", tokenizer, ENCODINGS)
    if order not in ORDERS:
        raise UnknownName("order", order, ORDERS)
    specs = list(arms or [name for name in DEFAULT_ARMS if name in names()])
    repeated = sorted({spec for spec in specs if specs.count(spec) > 1})
    if repeated:
        raise UsageError(f"--arm {repeated[0]} is given more than once")
    return Options(
        arms=tuple(parse_arm(spec) for spec in specs),
        per_session=per_session,
        window=window,
        tokenizer=tokenizer,
        order=order,
        seed=seed,
        limit=limit,
        jobs=jobs or os.cpu_count() or 1,
        keep_evidence=keep_evidence,
    )


def run_and_print(
    trajectories: Sequence[Trajectory],
    data: dict[str, str],
    options: Options,
    out: Path | None,
    as_json: bool,
    extra: dict[str, Any] | None = None,
) -> None:
    """Replay, write the report, print the table. ``extra`` goes into the summary."""
    from harness.report.markdown import write_report
    from harness.run import execute, make_recipe, plan
    from harness.runfolder import choose
    from harness.summary import require_valid
    from harness.terminal import print_arms, progress

    sessions = plan(trajectories, options)
    recipe = make_recipe(sessions, data, options)
    folder = out or choose(Path("results/runs"), recipe)
    with progress() as show:
        summary = execute(sessions, recipe, folder, options, show, extra or {})
        show(1, 1, "writing the report")
        report = write_report(folder)
    if as_json:
        import json

        typer.echo(json.dumps(summary, indent=2, allow_nan=False))
    else:
        print_arms(summary)
        typer.echo(f"report: {report}")
    require_valid(summary)
