"""`gate`: may this change land."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.gate.checks import GateResult


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(gate)


def gate(
    run: Annotated[Path, typer.Argument(help="Folder of the finished run to judge.")],
    baseline: Annotated[Path, typer.Option(help="File of the baseline, kept in the repository.")],
    update: Annotated[
        bool, typer.Option("--update", help="Write the run as the new baseline; nothing is judged.")
    ] = False,
    confirm: Annotated[Path | None, typer.Option(help="Folder of a second run, which a sampled drop needs.")] = None,
    exact: Annotated[
        bool | None,
        typer.Option("--exact/--sampled", help="Whether the run repeats bit for bit (default: replays do)."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="File with a table tool.agentmem-bench.gate of limits (default: ./pyproject.toml)."),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the checks as JUnit XML to this file.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the result as JSON to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the summary as Markdown to this file.")] = None,
    note: Annotated[str, typer.Option(help="With --update: why the baseline changes.")] = "",
    date: Annotated[str | None, typer.Option(help="With --update: day of the baseline (default: today, UTC).")] = None,
    limit: Annotated[
        list[str] | None, typer.Option(help="NAME=SHARE, such as tokens=0.01; wins over the file. May be repeated.")
    ] = None,
) -> None:
    """Fail when a run is worse than its baseline.

    Exit code 0: not worse; 1: worse; 2: invalid run (errors, lint, unfinished); 3: usage.

    First:  agentmem-bench gate runs/replay --baseline baselines/replay.json --update --note "first"

    In CI:  agentmem-bench gate runs/replay --baseline baselines/replay.json --junit gate.xml

    Figures of replays are exact, so any growth beyond its limit fails. Live pass rates vary, so a drop fails only when
    it is significant, larger than its limit and seen again in the run given with --confirm.
    """
    from harness.gate.baseline import read_baseline, write_baseline
    from harness.gate.checks import check, refuse_invalid
    from harness.gate.limits import load_limits
    from harness.gate.load import load_run

    here = Path("pyproject.toml")
    limits = load_limits(config or (here if here.exists() else None), limit or ())
    measured = load_run(run, exact)
    if update:
        refuse_invalid(measured, limits)
        write_baseline(baseline, measured, _day(date), note)
        typer.echo(f"wrote {baseline}: {', '.join(measured.arms)}")
        return
    result = check(read_baseline(baseline), measured, limits, confirm=load_run(confirm, exact) if confirm else None)
    _publish(result, junit, json_file, markdown)
    raise typer.Exit(result.exit_code)


def _publish(result: GateResult, junit: Path | None, json_file: Path | None, markdown: Path | None) -> None:
    from harness.commands.compare import emit
    from harness.gate import outputs
    from harness.tables import to_json, to_text

    typer.echo(to_text(outputs.tables(result)))
    typer.echo(outputs.headline(result))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in outputs.github_annotations(result):
            typer.echo(line)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(outputs.step_summary(result))
    for path, text in (
        (junit, outputs.junit(result)),
        (json_file, to_json(result)),
        (markdown, outputs.step_summary(result)),
    ):
        if path:
            emit(text, path)


def _day(date: str | None) -> str:
    """The given day, checked, or today."""
    if date is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return datetime.strptime(date, "%Y-%m-%d").date().isoformat()
    except ValueError as error:
        raise UsageError(f"--date must be a day such as 2026-01-31, got {date!r}") from error
