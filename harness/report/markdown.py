"""``report.md``: what was run, the table of arms, where each arm loses, the plots, and how the figures are defined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.report.arms import arm_rows, change, headers, millions, notes
from harness.report.plots import draw
from harness.runlog import CALLS, read_recipe, read_rows, read_summary, read_tasks
from harness.types import Recipe, TaskRow

THIRDS = ((0, 10, "first 10"), (10, 40, "11 to 40"), (40, 10**9, "41 and later"))


def write_report(folder: Path) -> Path:
    """Write ``report.md`` and its plots into a finished run's folder."""
    summary, recipe, tasks = read_summary(folder), read_recipe(folder), read_tasks(folder)
    plots = draw(folder, tasks, _first_session(folder, recipe))
    parts = [
        _head(summary, recipe, len({row.session for row in tasks})),
        table(headers(summary), arm_rows(summary)),
        "\n".join(f"- {note}" for note in notes(summary)),
        _by_position(recipe, tasks),
        _losses(summary, tasks),
        "\n\n".join(f"![{name.removesuffix('.png')}]({name})" for name in plots),
        _definitions(recipe),
    ]
    path = folder / "report.md"
    path.write_text("\n\n".join(filter(None, parts)) + "\n", encoding="utf-8")
    return path


def _first_session(folder: Path, recipe: Recipe) -> dict[str, list[int]]:
    """Prompt tokens of the agent's calls in the first session of each arm."""
    prompts: dict[str, list[int]] = {arm.name: [] for arm in recipe.arms}
    first: str | None = None
    for _, row in read_rows(folder / CALLS):
        first = first or row["session"]
        if row["session"] != first:
            break
        if row["purpose"] == "agent" and row["prompt_tokens"] is not None:
            prompts[row["arm"]].append(row["prompt_tokens"])
    return prompts


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; pipes in cells are escaped."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _head(summary: Mapping[str, Any], recipe: Recipe, sessions: int) -> str:
    who = "Recorded agent" if recipe.kind == "replay" else "Model"
    played = f"{sessions} session{'s' * (sessions != 1)}"
    return (
        f"# {recipe.suite}: {len(recipe.tasks)} tasks in {played} of up to {recipe.per_session}\n\n"
        f"{who}: {recipe.model}. Window {recipe.window:,}, tokenizer {recipe.tokenizer}, "
        f"order {recipe.order}, seed {recipe.seed}.\n\n"
        f"Recipe `{summary['recipe']}`."
    )


def _by_position(recipe: Recipe, tasks: Sequence[TaskRow]) -> str:
    rows = []
    for arm in recipe.arms:
        mine = [row for row in tasks if row.arm == arm.name]
        cells = [arm.name]
        for start, stop, _ in THIRDS:
            part = [row for row in mine if start <= row.position < stop]
            spent = sum(row.prompt_tokens + row.completion_tokens + (row.repairs or 0) for row in part)
            cells.append(millions(spent / len(part)) if part else "no tasks")
        rows.append(cells)
    heading = "## Tokens of a task by its position in the session (mean, repairs included)\n\n"
    return heading + table(["arm", *(name for _, _, name in THIRDS)], rows)


def _losses(summary: Mapping[str, Any], tasks: Sequence[TaskRow]) -> str:
    """For every arm but ``full``: on how many tasks it costs more than ``full``, and the worst of them."""
    adjusted = {(row.arm, row.session, row.task): _spent(row) for row in tasks}
    full = next((arm["arm"] for arm in summary["arms"] if arm["arm"].partition(":")[0] == "full"), None)
    if full is None:
        return ""
    lines = []
    for arm in summary["arms"]:
        name = arm["arm"]
        if name == full:
            continue
        worse = sorted(
            (
                (spent / base, task)
                for (owner, session, task), spent in adjusted.items()
                if owner == name and (base := adjusted.get((full, session, task))) and spent > base
            ),
            reverse=True,
        )
        count = sum(row.arm == name for row in tasks)
        lost = arm["needs_lost"]
        line = f"- **{name}** costs more than {full} on {len(worse)} of {count} tasks"
        if worse:
            line += "; worst: " + ", ".join(f"{task} {change(ratio, 1)}" for ratio, task in worse[:3])
        if arm["needs_not_visible"]:
            line += f". {arm['needs_not_visible']:,} needs were not in the prompt, {lost:,} of them without a pointer"
        lines.append(line + ".")
    return "## Where it loses\n\n" + "\n".join(lines)


def _spent(row: TaskRow) -> int:
    memory = row.memory_prompt_tokens + row.memory_completion_tokens
    return row.prompt_tokens + row.completion_tokens + memory + (row.repairs or 0)


def _definitions(recipe: Recipe) -> str:
    lines = ["## Arms and recipe", ""]
    for arm in recipe.arms:
        listed = ", ".join(f"{key}={value}" for key, value in arm.parameters.items()) or "no parameters"
        lines.append(f"- `{arm.name}`: engine {arm.engine}; {listed}")
    lines += ["", f"Code {recipe.code['version']}, sources sha256 `{recipe.code['sha256'][:16]}`. Data:", ""]
    lines += [f"- {name}: sha256 `{digest}`" for name, digest in recipe.data.items()]
    return "\n".join(lines)
