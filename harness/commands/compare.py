"""`compare`: is this arm better than that one, and how sure is that."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How a result is printed."""

    text = "text"
    markdown = "markdown"
    json = "json"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(compare)


def compare(
    runs: Annotated[list[Path], typer.Argument(help="One run folder, or baseline and treatment folders in turn.")],
    baseline: Annotated[str | None, typer.Option(help="Arm of the baseline folder.")] = None,
    treatment: Annotated[str | None, typer.Option(help="Arm of the treatment folder (default: the same).")] = None,
    vary: Annotated[
        list[str] | None, typer.Option(help="A recipe field that may differ besides arms and code, such as model.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Resamples of the bootstrap.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of bootstrap and permutations.")] = 0,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = 0.95,
    form: Annotated[Format, typer.Option("--format", help="What to print.")] = Format.text,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Compare two arms task by task: pass rates, tokens, needs, positions, each with its interval.

    Two arms of one run:  agentmem-bench compare runs/replay --baseline full --treatment agentmem

    The same arm before and after a change:  agentmem-bench compare runs/main runs/branch --baseline agentmem

    Several suites, p values adjusted together (Holm):  agentmem-bench compare a/swe b/swe a/lcr b/lcr

    Runs whose recipes differ in more than arms and code are refused; --vary names what may differ.
    """
    from harness.compare.comparison import compare as compute
    from harness.compare.load import load_pairs
    from harness.compare.outcomes import Options
    from harness.compare.render import tables
    from harness.errors import InvalidRun
    from harness.tables import to_json, to_markdown, to_text

    options = Options(seed=seed, resamples=resamples, alpha=round(1.0 - confidence, 9))
    found = compute(load_pairs(runs, baseline, treatment), options, vary or ())
    if form is Format.json:
        text = to_json(found)
    elif form is Format.markdown:
        text = to_markdown(tables(found))
    else:
        text = to_text(tables(found))
    emit(text, out)
    reasons = [reason for suite in found.suites for reason in suite.invalid]
    if reasons:
        raise InvalidRun("; ".join(reasons))


def emit(text: str, out: Path | None) -> None:
    """Print, or write to a file whose folder is made."""
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8", newline="\n")
