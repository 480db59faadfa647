"""What a tuning leaves behind: a config file the memory core loads, and the check of it on tasks it has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.compare.comparison import compare
from harness.compare.outcomes import Options as Statistics
from harness.compare.pairs import ArmRun
from harness.pareto import pareto_front
from harness.report.arms import change, millions
from harness.runlog import write_json
from harness.summary import arm_record
from harness.sweep.play import CellRun
from harness.sweep.result import failed, point_of, spent
from harness.tables import Table, between, count, percent, to_markdown
from harness.tune import Trial, Tuned, TuneOptions

SCHEMA = "agentmem-tune/1"
JSON, TABLE = "tune.json", "tune.md"
NAMES = {"tuned": "tuned half", "held_out": "held-out half"}
SHOWN = 12  # trials of the front in the table


def config_text(engine: str, parameters: Mapping[str, Any], comments: Sequence[str]) -> str:
    """The config file: for ``agentmem`` the short-term settings the core loads, for others its parameters."""
    if engine == "agentmem":
        from agentmem.settings.shortterm import ShortTermSettings
        from agentmem.settings.shortterm_file import dump_short_term

        return dump_short_term(ShortTermSettings(**parameters), comments)
    lines = [*(f"# {line}" for comment in comments for line in comment.splitlines()), f"[{engine}]"]
    for name, value in parameters.items():
        lines.append(f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value)}")
    return "\n".join(lines) + "\n"


def tables(found: Tuned) -> list[Table]:
    """The trials no other beats, and default against choice on both halves."""
    return [_front(found), _halves(found)]


def write(folder: Path, found: Tuned, wanted: TuneOptions, command: str) -> list[Path]:
    """Write ``<engine>.toml``, ``tune.json`` and ``tune.md``."""
    config = folder / f"{wanted.engine}.toml"
    arm = found.held["held_out"][1].cell.arm
    note = "\n".join(line for line in _halves(found).notes)
    settings = config_text(wanted.engine, arm.parameters, [f"Made by: {command}", f"As an arm: {arm.name}", note])
    config.write_text(settings, encoding="utf-8", newline="\n")
    write_json(folder / JSON, _record(found, wanted, command))
    text = [
        f"# Tuning of {wanted.engine}",
        f"Made by\n\n    {command}",
        to_markdown(tables(found)).rstrip(),
        f"The setting as a file (`{config.name}`):\n\n```toml\n{settings}```",
    ]
    (folder / TABLE).write_text("\n\n".join(text) + "\n", encoding="utf-8", newline="\n")
    return [config, folder / JSON, folder / TABLE]


def _front(found: Tuned) -> Table:
    places = pareto_front([point_of(one.record) or (spent(one.record), 0.0) for one in found.trials])
    names = sorted({name for one in found.trials for name in one.parameters})
    rows = []
    for place in places[:SHOWN]:
        one = found.trials[place]
        mark = " (chosen)" if one is found.chosen else ""
        shown = (str(one.parameters.get(name, "")) for name in names)
        rows.append(
            (f"{one.number}{mark}", *shown, millions(spent(one.record)), count(failed(one.record)), percent(one.share))
        )
    notes = [f"{len(found.trials)} trials on the tuned half; tokens are support-adjusted"]
    if len(places) > SHOWN:
        notes.append(f"{len(places) - SHOWN} more trials are on the front; tune.json holds all")
    columns = ("trial", *names, "tokens", "needs not visible", "actions with one")
    return Table("Trials that no other beats in both figures", columns, tuple(rows), tuple(notes))


def _halves(found: Tuned) -> Table:
    rows = []
    ratios = {}
    for half, (default, chosen) in found.held.items():
        base = _of(default)
        for label, run in (("default", default), ("tuned", chosen)):
            record = _of(run)
            rows.append(
                (
                    f"{label}, {NAMES[half]}",
                    millions(spent(record)),
                    "" if run is default else change(spent(record), spent(base)),
                    percent(record["actions_unsupported"] / record["actions"] if record["actions"] else None),
                    count(record["needs_not_visible"]),
                    count(record["needs_lost"]),
                    millions(record["support_adjusted_cost"]),
                )
            )
        ratios[half] = spent(_of(chosen)) / spent(base) if spent(base) else None
    columns = ("", "support-adjusted", "against default", "actions unsupported", "needs not visible", "lost", "cost")
    return Table("Default and tuned setting", columns, tuple(rows), tuple(_conclusion(found, ratios)))


def _conclusion(found: Tuned, ratios: Mapping[str, float | None]) -> list[str]:
    """Whether the gain holds on tasks that were not tuned on."""
    tuned, held = ratios["tuned"], ratios["held_out"]
    default, chosen = found.held["held_out"]
    if chosen.cell.arm == default.cell.arm:
        return ["no trial was better than the default within the limit; the file holds the default"]
    limit = _over_limit(found)
    lines = [
        *([limit] if limit else []),
        f"tokens against the default: {change(tuned, 1.0)} on the tuned half, {change(held, 1.0)} on the held-out half",
    ]
    one = compare([(_arm_run(default), _arm_run(chosen))], Statistics()).suites[0]
    for ratio in one.tokens:
        if ratio.measure == "support-adjusted tokens":
            lines.append(
                f"held out, ratio {ratio.ratio:.3f}, 95 % {between(ratio.interval)} over {ratio.groups} sessions"
                + (f" (t: {between(ratio.t)})" if ratio.t else "")
            )
    if tuned is not None and held is not None and held > 1 >= tuned:
        lines.append("the gain does not hold on the held-out half: keep the default")
    return lines


def _over_limit(found: Tuned) -> str | None:
    record = _of(found.held["tuned"][0])
    share = record["actions_unsupported"] / record["actions"] if record["actions"] else 0.0
    if share <= found.most:
        return None
    return f"the default forgets more than allowed: {percent(share)} of actions, the limit is {percent(found.most)}"


def _arm_run(run: CellRun) -> ArmRun:
    return ArmRun(run.cell.arm.name, run.recipe, run.cell.arm, run.rows)


def _of(run: CellRun) -> dict[str, Any]:
    return arm_record(run.cell.arm.name, run.rows)


def _record(found: Tuned, wanted: TuneOptions, command: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "command": command,
        "study": found.study,
        "engine": wanted.engine,
        "seed": wanted.seed,
        "most": wanted.most,
        "space": [asdict(dimension) for dimension in wanted.space],
        "chosen": found.chosen.number,
        "trials": [_trial(one) for one in found.trials],
        "held": {
            half: {"default": _of(default), "tuned": _of(chosen), "parameters": dict(chosen.cell.arm.parameters)}
            for half, (default, chosen) in found.held.items()
        },
    }


def _trial(one: Trial) -> dict[str, Any]:
    return {"number": one.number, "parameters": dict(one.parameters), "record": dict(one.record)}
