"""Reads the arms of run folders for a comparison. Rows of another recipe than the folder's are refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.compare.pairs import ArmRun
from harness.errors import UnknownName, UnreadableInput, UsageError
from harness.recipe import sha256
from harness.runlog import TASKS, read_recipe, read_rows, read_tasks
from harness.types import Recipe, TaskRow


def load_rows(folder: Path) -> tuple[Recipe, list[TaskRow]]:
    """The recipe and the task rows of a run, finished or not; of a repeated row the last counts."""
    try:
        recipe = read_recipe(folder)
        rows = read_tasks(folder)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, UnreadableInput):
            raise
        raise UnreadableInput(f"{folder}: not a run of this version: {type(error).__name__}: {error}") from error
    expected = sha256(recipe)
    for number, (_, row) in enumerate(read_rows(folder / TASKS), 1):
        if row.get("recipe") != expected:
            found = str(row.get("recipe"))[:12]
            raise UnreadableInput(
                f"{folder / TASKS}:{number}: row of recipe {found}, the folder's is {expected[:12]}; "
                "results of other recipes do not belong together"
            )
    return recipe, rows


def load_arm(folder: Path, name: str | None = None) -> ArmRun:
    """One arm of a run. Without a name the run must have a single arm."""
    recipe, rows = load_rows(folder)
    return _pick(folder, recipe, rows, name)


def load_pairs(
    folders: Sequence[Path], baseline: str | None = None, treatment: str | None = None
) -> list[tuple[ArmRun, ArmRun]]:
    """The arms to compare: two arms of one folder, or (baseline, treatment) folders in turn, one pair a suite.

    With one folder of two arms the first is the baseline. `treatment` defaults to `baseline` for two folders.
    """
    if len(folders) == 1:
        recipe, rows = load_rows(folders[0])
        names = [arm.name for arm in recipe.arms]
        if baseline is None and treatment is None and len(names) == 2:
            baseline, treatment = names
        if baseline is None or treatment is None:
            raise UsageError(
                f"{folders[0]}: name two of its arms with --baseline and --treatment; it has {', '.join(names)}"
            )
        return [(_pick(folders[0], recipe, rows, baseline), _pick(folders[0], recipe, rows, treatment))]
    if not folders or len(folders) % 2:
        raise UsageError(f"expected one folder, or pairs of baseline and treatment folders, got {len(folders)}")
    return [
        (load_arm(first, baseline), load_arm(second, treatment or baseline))
        for first, second in zip(folders[::2], folders[1::2], strict=True)
    ]


def _pick(folder: Path, recipe: Recipe, rows: Sequence[TaskRow], name: str | None) -> ArmRun:
    names = [arm.name for arm in recipe.arms]
    if name is None and len(names) > 1:
        raise UsageError(f"{folder} has {len(names)} arms, name one: {', '.join(names)}")
    chosen = [arm for arm in recipe.arms if name is None or arm.name == name]
    if not chosen:
        raise UnknownName(f"arm of {folder}", str(name), names)
    arm = chosen[0]
    return ArmRun(f"{folder.name}:{arm.name}", recipe, arm, tuple(row for row in rows if row.arm == arm.name))
