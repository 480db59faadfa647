"""`bench`: the embedded suites, for somebody with nothing at hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harness.embedded import Live

LABEL = "the recorded tasks were solved by a scripted agent, not by a language model"
TEST_DOUBLES = ("amnesia",)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(bench)


def bench(
    suite: Annotated[str, typer.Option(help="all, swebench, aalcr, widesearch or personamem.")] = "all",
    arm: Annotated[
        list[str] | None, typer.Option(help="NAME[:key=value,...]; may be repeated (default: all that ship).")
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Small repositories to generate, solve and replay.")] = 50,
    live_tasks: Annotated[int, typer.Option(min=1, help="How many of them are also played live, by every arm.")] = 8,
    per_session: Annotated[int, typer.Option(min=1, help="Replayed tasks in a session.")] = 50,
    window: Annotated[int, typer.Option(min=1_000, help="Context window in tokens.")] = 200_000,
    seed: Annotated[int, typer.Option(help="Seed of everything that is generated.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Workers (default: one a core).")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run (default: results/runs/<time>-<recipe>).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON instead of tables.")] = False,
) -> None:
    """Play four embedded suites with scripted agents: what every policy costs, loses, and which tasks it fails for it.

    Example:  agentmem-bench bench --suite swebench --arm full --arm agentmem

    No key, no network, no data. The recording of 50 small repositories is replayed; all four suites are played live.
    """
    from harness.embedded import SUITES, Live
    from harness.engines.registry import names, parse_arm
    from harness.errors import UnknownName

    if suite not in ("all", *SUITES):
        raise UnknownName("suite", suite, ("all", *SUITES))
    from harness.commands.replay import DEFAULT_ARMS, make_options

    workers = jobs or os.cpu_count() or 1
    options = make_options(arm, per_session, window, "o200k_base", "file", seed, None, workers, False)
    specs = arm or [name for name in (*DEFAULT_ARMS, *TEST_DOUBLES) if name in names()]
    live = Live(tuple(parse_arm(spec) for spec in specs), window, seed, live_tasks, workers)
    chosen = SUITES if suite == "all" else (suite,)
    if "swebench" not in chosen:
        _print_live(_play_live(chosen, live, _folder(out, suite)), json)
        return
    _with_replay(chosen, live, options, tasks, out, json)


def _with_replay(chosen: tuple[str, ...], live: Live, options: Any, tasks: int, out: Path | None, json: bool) -> None:
    """The live suites first, then the recording; the summary of the replay holds what the live part came to."""
    from harness.commands.replay import run_and_print
    from harness.embedded import recorded
    from harness.report.embedded import brief
    from harness.run import make_recipe, plan
    from harness.runfolder import choose
    from harness.terminal import progress

    with progress() as show:
        show(0, tasks, "a scripted agent solves the embedded tasks")
        trajectories, data = recorded(live.seed, tasks, live.jobs)
    folder = out or choose(Path("results/runs"), make_recipe(plan(trajectories, options), data, options))
    summaries = _play_live(chosen, live, folder / "live")
    extra = {"labels": [LABEL], "agent": "scripted agent", "live": brief(summaries)}
    run_and_print(trajectories, data, options, folder, json, extra)
    if not json:
        _print_live(summaries, json)


def _play_live(chosen: tuple[str, ...], live: Live, folder: Path) -> dict[str, Mapping[str, Any]]:
    from harness.embedded import play
    from harness.terminal import progress

    def one(name: str) -> Mapping[str, Any]:
        with progress() as show:
            return play(name, live, folder / name, lambda done, total, what: show(done, total, f"{name} {what}"))

    return {name: one(name) for name in chosen}


def _print_live(summaries: Mapping[str, Mapping[str, Any]], as_json: bool) -> None:
    from harness.embedded import DOUBLE, LABEL
    from harness.report.embedded import brief, table
    from harness.summary import require_valid
    from harness.tables import to_text

    if as_json:
        import json

        typer.echo(json.dumps({"live": brief(summaries)}, indent=2, allow_nan=False))
    else:
        arms = [arm["arm"] for arm in next(iter(summaries.values()))["arms"]]
        doubles = [DOUBLE] if any(arm.partition(":")[0] in TEST_DOUBLES for arm in arms) else []
        typer.echo(to_text([table(summaries, [LABEL, *doubles])]))
    for summary in summaries.values():
        require_valid(summary)


def _folder(out: Path | None, suite: str) -> Path:
    import time

    return out or Path("results/runs") / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{suite}"
