"""The HTML report: one file with everything in it, no network. Tables and plots are drawn here, lists in the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from harness.compare.outcomes import Options as Statistics
from harness.report.arms import notes as arm_notes
from harness.report.html_choose import choose, focus_arm
from harness.report.html_data import RunData, call_columns, load, pack, task_columns
from harness.report.html_jobs import embedded, make_jobs
from harness.report.html_plots import plots, swatch
from harness.report.html_prompts import Packed, assemble_all
from harness.report.html_summary import cards, comparisons, controls, losses, notes

if TYPE_CHECKING:
    from jinja2 import Environment

SCRIPTS = ("core.js", "lists.js", "drill.js", "prompt.js", "canvas.js")
TEMPLATES = Path(__file__).parent / "templates"
WHOLE = 24_000_000  # characters of earlier tasks kept whole, all sessions together
Show = Callable[[int, int, str], None]


@dataclass(frozen=True)
class HtmlOptions:
    """What the page holds. ``data`` are the files that were replayed; without them no prompt is shown.

    ``prompts`` tasks from the front and as many that moved most get their prompts, ``tasks`` those named as well.
    ``baseline`` and ``focus`` name arms; ``whole`` limits the text of earlier tasks, in characters.
    """

    data: tuple[Path, ...] = ()
    format: str | None = None
    baseline: str | None = None
    focus: str | None = None
    prompts: int = 10
    tasks: tuple[str, ...] = ()
    jobs: int = 1
    whole: int = WHOLE
    statistics: Statistics = field(default_factory=Statistics)


def write_html(folder: Path, path: Path, options: HtmlOptions, show: Show) -> Path:
    """Write the page of a finished run.

    Raises ``UsageError`` when ``data`` is not what was replayed, ``UnknownName`` for an arm or a task it does not have.
    """
    data = load(folder, options.baseline)
    focus = focus_arm(data, options.focus)
    show(0, 3, "prompts")
    packed = _prompts(data, focus, options)
    show(1, 3, "figures")
    text = _render(data, focus, packed, options)
    show(2, 3, "writing")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    show(3, 3, str(path))
    return path


def _prompts(data: RunData, focus: str, options: HtmlOptions) -> list[Packed]:
    if not options.data and data.recipe.kind == "replay" and not embedded(data.recipe):
        return []
    chosen = choose(data, focus, options.prompts, options.tasks)
    jobs = make_jobs(data, chosen, options.data, options.format, options.whole)
    return assemble_all(jobs, options.jobs)


def _render(data: RunData, focus: str, packed: Sequence[Packed], options: HtmlOptions) -> str:
    compared = comparisons(data, options.statistics)
    shown = {name: True for record in packed for name in _shown(record)}
    left_out = {arm: reason for record in packed for arm, reason in record.left_out.items()}
    facts = {
        "arms": data.arms,
        "baseline": data.baseline,
        "focus": focus,
        "shown": shown,
        "unassembled": left_out,
    }
    blobs = [("tasks-data", pack(task_columns(data)))]
    blobs += [(f"calls-{index}", pack(call_columns(data, arm))) for index, arm in enumerate(data.arms)]
    blobs += [(f"prompts-{record.name}", record.data) for record in packed]
    page = _environment().get_template("report.html.j2")
    return page.render(
        title=f"{data.recipe.suite}: {len(data.recipe.tasks)} tasks",
        subtitle=_subtitle(data),
        css=_file("report.css"),
        script=_file(*SCRIPTS),
        cards=cards(data, compared, options.statistics),
        controls=controls(data),
        notes=[*notes(compared), *arm_notes(data.summary)],
        plots=plots(data),
        losses=losses(data, compared),
        facts=_recipe_facts(data),
        facts_json=_script_json(facts),
        remarks=_remarks(left_out, packed, data.recipe.kind == "live"),
        blobs=blobs,
        shown_tasks=len(shown),
        baseline=data.baseline,
        resamples=f"{options.statistics.resamples:,}",
        seed=options.statistics.seed,
        swatch=swatch,
    )


def _shown(record: Packed) -> list[str]:
    session = record.name.partition("|")[0]
    return [f"{session}/{task}" for task in record.tasks]


def _subtitle(data: RunData) -> str:
    recipe = data.recipe
    sessions = len({row.session for row in data.rows})
    what = "Replay of recorded runs" if recipe.kind == "replay" else "Live run"
    return (
        f"{what}, {sessions} session{'s' * (sessions != 1)} of up to {recipe.per_session} tasks. {recipe.model}. "
        f"Window {recipe.window:,}, tokenizer {recipe.tokenizer}. Recipe {data.summary['recipe'][:16]}."
    )


def _recipe_facts(data: RunData) -> list[tuple[str, str]]:
    recipe = data.recipe
    known: list[tuple[str, Any]] = [
        ("recipe sha256", data.summary["recipe"]),
        ("kind", recipe.kind),
        ("model", recipe.model),
        ("order", f"{recipe.order}, seed {recipe.seed}"),
        ("limits", ", ".join(f"{key} {value}" for key, value in recipe.limits.items()) or "none"),
        ("code", f"{recipe.code.get('version', '')}, sources {recipe.code.get('sha256', '')[:16]}"),
    ]
    known += [(f"data: {name}", f"sha256 {digest}") for name, digest in recipe.data.items()]
    return [(name, str(value)) for name, value in known]


def _remarks(left_out: Mapping[str, str], packed: Sequence[Packed], live: bool) -> list[str]:
    found = [f"The prompts of {arm} are not shown: {reason}." for arm, reason in left_out.items()]
    if packed:
        found.append("Prompts were assembled again by playing the session through the engine. " + _held_against(live))
    return found


def _held_against(live: bool) -> str:
    if live:
        return (
            "Each has as many messages as the log says; its tokens are not compared, since a server counts otherwise."
        )
    return "Each has as many tokens and messages as the log says."


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _file(*names: str) -> Markup:
    """Files of ours as they stand, one behind the other."""
    return Markup("\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names))


def _script_json(value: Any) -> Markup:
    """JSON that cannot end the script element it stands in."""
    return Markup(json.dumps(value, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c"))
