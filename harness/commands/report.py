"""`report`: a finished run as one HTML page, as Markdown, CSV or Parquet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(report)


def report(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    html: Annotated[Path | None, typer.Option(help="Page to write (default: RUN/report.html).")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a short Markdown report for a pull request.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write tasks.csv, calls.csv and arms.csv into this folder.")] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="The same rows as Parquet (needs agentmem-bench[parquet]).")
    ] = None,
    data: Annotated[
        list[Path] | None, typer.Option(help="The files that were replayed, to show prompts; may be repeated.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Format of --data, when it is not recognised.")] = None,
    baseline: Annotated[str | None, typer.Option(help="Arm the others are held against (default: full).")] = None,
    focus: Annotated[str | None, typer.Option(help="Arm the page opens with (default: agentmem).")] = None,
    prompts: Annotated[
        int, typer.Option(min=0, help="Show the prompts of the first N tasks and of the N that moved most.")
    ] = 10,
    task: Annotated[
        list[str] | None, typer.Option(help="Show the prompts of this task as well; may be repeated.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Resamples of the bootstrap.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one a core).")] = None,
) -> None:
    """Write the report of a finished run: what each arm cost, what it forgot, and every prompt as it was sent.

    Numbers only:  agentmem-bench report results/runs/RUN

    With prompts:  agentmem-bench report results/runs/RUN --data runs/*.traj.json --html report.html

    For a pull request:  agentmem-bench report results/runs/RUN --markdown summary.md

    For a notebook:  agentmem-bench report results/runs/RUN --csv tables/ --parquet tables/

    The page needs no network and no other file. When nothing else is asked for, it goes to RUN/report.html.
    """
    from harness.compare.outcomes import Options
    from harness.report.html_data import load

    if csv or parquet:
        from harness.report.export import write_csv, write_parquet

        loaded = load(run)
        for path in (*(write_csv(loaded, csv) if csv else ()), *(write_parquet(loaded, parquet) if parquet else ())):
            typer.echo(f"wrote {path}")
    statistics = Options(seed=seed, resamples=resamples)
    if markdown:
        from harness.report.export import write_markdown

        typer.echo(f"wrote {write_markdown(load(run, baseline), markdown, statistics)}")
    if html or not (markdown or csv or parquet):
        from harness.report.html import HtmlOptions, write_html
        from harness.terminal import progress

        options = HtmlOptions(
            data=tuple(data or ()),
            format=format,
            baseline=baseline,
            focus=focus,
            prompts=prompts,
            tasks=tuple(task or ()),
            jobs=jobs or os.cpu_count() or 1,
            statistics=statistics,
        )
        with progress() as show:
            path = write_html(run, html or run / "report.html", options, show)
        typer.echo(f"wrote {path}: {path.stat().st_size / 1e6:.1f} MB")
