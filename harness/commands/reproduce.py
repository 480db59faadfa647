"""`reproduce`: the published table, row by row, beside what can be measured here and with a model."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from harness.reproduce.estimate import Estimate
    from harness.reproduce.play import LiveAccess, Part
    from harness.reproduce.recipes import RowRecipe
    from harness.terminal import Progress


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(reproduce)


def reproduce(
    rows: Annotated[
        list[str] | None, typer.Argument(help="swebench, widesearch, aalcr, personamem (default: all).")
    ] = None,
    part: Annotated[
        list[str] | None, typer.Option(help="replay, embedded or live; may be repeated (default: replay and embedded).")
    ] = None,
    data: Annotated[Path | None, typer.Option(envvar="AGENTMEM_DATA", help="Folder with recorded runs.")] = None,
    model: Annotated[str | None, typer.Option(help="Model of the live part.")] = None,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint of the live part.")] = None,
    judge: Annotated[str | None, typer.Option(help="Model that grades, where a suite needs one.")] = None,
    price: Annotated[str | None, typer.Option(help="UNCACHED,CACHED,OUTPUT per million tokens.")] = None,
    cost_limit: Annotated[float | None, typer.Option(help="The live part stops asking at this cost.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Sessions played at the same time.")] = 1,
    seconds_per_call: Annotated[float, typer.Option(min=0, help="For the estimate of time.")] = 10.0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks of the live part.")] = None,
    live_option: Annotated[
        list[str] | None, typer.Option(help="Further words for `run`, such as '--protocol text'; may be repeated.")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what would be played and what it costs.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Worker processes of the replay (default: one a core).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results, one folder a row.")] = Path("results/reproduce"),
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of tables.")] = False,
) -> None:
    """Set the published table beside its own arithmetic and beside our measurements, and say what was never published.

    Here, without a key:  agentmem-bench reproduce swebench --data DATA

    What a key would cost:  agentmem-bench reproduce aalcr --estimate --price 2.5,0.25,10

    With a key:  agentmem-bench reproduce aalcr --part live --model NAME --price 2.5,0.25,10 --cost-limit 50

    Every row is one frozen recipe, whose sha256 stands in the output.
    """
    from harness.commands.sweep import command_line
    from harness.reproduce.play import VARIABLE, LiveAccess
    from harness.reproduce.recipes import RECIPES
    from harness.reproduce.run import PARTS
    from harness.terminal import warn

    known = {one.row: one for one in RECIPES}
    for name in rows or ():
        if name not in known:
            raise UnknownName("row of the published table", name, known)
    for name in part or ():
        if name not in PARTS:
            raise UnknownName("part", name, PARTS)
    more = tuple(word for words in live_option or () for word in shlex.split(words))
    access = LiveAccess(model or "NAME", base_url, judge, price, cost_limit, concurrency, limit, data, more)
    if "live" in (part or ()) and not estimate:
        _check_live(model, price, cost_limit)
    if not part and data is None and not estimate:
        warn(f"without --data or {VARIABLE} the replay part is left out")
    usual = ("replay", "embedded") if data else ("embedded",)
    for name in rows or known:
        wanted = () if estimate else tuple(part or usual)
        _row(
            known[name], wanted, access, seconds_per_call, jobs or os.cpu_count() or 1, out / name, json, command_line()
        )


def _row(
    recipe: RowRecipe,
    wanted: tuple[str, ...],
    access: LiveAccess,
    seconds: float,
    jobs: int,
    folder: Path,
    as_json: bool,
    command: str,
) -> None:
    """Play the parts of one row, write its files, print it."""
    from harness.livecommand import command_text
    from harness.reproduce import play, published
    from harness.reproduce.render import tables
    from harness.reproduce.run import write
    from harness.tables import to_text
    from harness.terminal import progress, warn

    row = published.row(recipe.row)
    parts: list[Part] = []
    place = partial(play.part_folder, folder, recipe)
    with progress() as show:
        if "replay" in wanted and recipe.replay:
            parts.append(play.play_replay(recipe, access.data, place("replay"), jobs, show))
        if "embedded" in wanted:
            show(0, 1, f"{recipe.embedded}, scripted agent")
            parts.append(play.play_embedded(recipe, place("embedded")))
    found = _estimates(recipe, parts, access, seconds)
    if "live" in wanted:
        _refuse_too_dear(found, access)
        warn(f"{row.title}: {_said(found)}; it stops at {access.cost_limit:g}")
        with progress() as show:
            _wait(show, recipe)
            parts.append(play.play_live(recipe.live, access, place("live")))
    shown_access = replace(access, data=Path("DATA") if access.data else None)
    words = command_text(play.live_words(recipe.live, shown_access, folder / "live"))
    shown = tables(recipe, row, parts, found, words)
    if not parts:
        typer.echo(to_text(shown), nl=False)
        return
    written = write(folder, recipe, row, parts, found, command, shown)
    typer.echo(written[0].read_text(encoding="utf-8") if as_json else to_text(shown), nl=False)
    if not as_json:
        typer.echo(f"wrote {written[0]} and {written[1].name}\n")


def _wait(show: Progress, recipe: RowRecipe) -> None:
    show(0, 1, f"{recipe.live.suite}, live")


def _estimates(recipe: RowRecipe, parts: list[Part], access: LiveAccess, seconds: float) -> list[Estimate]:
    from harness.commands.run import read_prices
    from harness.reproduce.estimate import estimates
    from harness.reproduce.published import row

    replayed = [one for one in parts if one.name == "replay"]
    measured = {one["arm"]: one for one in replayed[0].summary["arms"]} if replayed else {}
    prices = read_prices(access.price) if access.price else None
    return estimates(recipe.live, row(recipe.row), measured, prices, seconds, access.concurrency, access.limit)


def _check_live(model: str | None, price: str | None, cost_limit: float | None) -> None:
    given = {"--model": model, "--price": price, "--cost-limit": cost_limit}
    missing = [name for name, value in given.items() if value is None]
    if missing:
        raise UsageError(f"the live part needs {' and '.join(missing)}: what it costs is said before it starts")


def _refuse_too_dear(found: list[Estimate], access: LiveAccess) -> None:
    from harness.reproduce.estimate import likely_of

    likely = likely_of(found)
    if likely is not None and access.cost_limit is not None and likely > access.cost_limit:
        raise UsageError(
            f"{_said(found)}, more than --cost-limit {access.cost_limit:g}: raise it, or play fewer tasks with --limit"
        )


def _said(found: list[Estimate]) -> str:
    from harness.reproduce.estimate import likely_of, most_of

    likely, most = likely_of(found), most_of(found)
    hours = sum(one.hours for one in found)
    if likely is None or most is None:
        return f"about {hours:.1f} hours; without prices no cost can be said"
    return f"about {likely:,.2f} to {most:,.2f}, judge not included, and {hours:.1f} hours"
