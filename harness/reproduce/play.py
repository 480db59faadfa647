"""Plays the parts of a row: the replay of recorded runs, the embedded edition, and, with a model, the live run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.compare.comparison import SuiteComparison, compare
from harness.compare.load import load_rows
from harness.compare.outcomes import Options as Statistics
from harness.compare.pairs import ArmRun
from harness.engines.registry import names, parse_arm
from harness.errors import DataError
from harness.livecommand import run_live
from harness.recipe import code, file_sha256
from harness.reproduce.recipes import LivePart, ReplayPart, RowRecipe, sha256
from harness.run import Options, execute, make_recipe, plan
from harness.runfolder import PREFIX
from harness.runlog import SUMMARY, read_summary
from harness.trajectories import read

VARIABLE = "AGENTMEM_DATA"
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Part:
    """A part that was played: where it lies, its summary, each arm against the first, and arms not installed."""

    name: str
    folder: Path
    summary: Mapping[str, Any]
    compared: Mapping[str, SuiteComparison]
    left_out: tuple[str, ...] = ()

    def record(self, arm: str) -> Mapping[str, Any] | None:
        """The record of an arm in the summary."""
        return next((one for one in self.summary["arms"] if one["arm"] == arm), None)


@dataclass(frozen=True)
class LiveAccess:
    """How the live part is played: words for `run` beyond those the recipe fixes."""

    model: str
    base_url: str | None = None
    judge: str | None = None
    price: str | None = None
    cost_limit: float | None = None
    concurrency: int = 1
    limit: int | None = None
    data: Path | None = None
    more: tuple[str, ...] = ()


def find_data(part: ReplayPart, data: Path | None) -> list[Path]:
    """The recorded files of a replay. Raises ``DataError`` when one is missing or is another file."""
    root = data or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if root is None:
        raise DataError(f"the replay part needs recorded runs: give --data or set {VARIABLE}. It wants {part.origin}")
    found = []
    for name, digest in part.files.items():
        path = root / name
        if not path.exists():
            raise DataError(f"{path} is missing; it holds {part.origin}")
        if (held := file_sha256(path)) != digest:
            raise DataError(f"{path} has sha256 {held[:16]}, the frozen recipe names {digest[:16]}")
        found.append(path)
    return found


def part_folder(root: Path, recipe: RowRecipe, part: str) -> Path:
    """Where a part is played: another recipe or other code is another folder, so nothing old is taken for new."""
    key = hashlib.sha256(f"{sha256(recipe)} {code()['sha256']}".encode()).hexdigest()
    return root / part / key[:PREFIX]


def play_replay(recipe: RowRecipe, data: Path | None, folder: Path, jobs: int, progress: Progress) -> Part:
    """Replay the recorded runs of a row into ``folder``; a replay that was stopped is continued."""
    part = recipe.replay
    assert part is not None  # asked for only where there is one
    paths = find_data(part, data)
    installed, left_out = _installed(part.arms)
    options = Options(
        arms=tuple(map(parse_arm, installed)),
        per_session=part.per_session,
        window=part.window,
        tokenizer=part.tokenizer,
        order=part.order,
        jobs=jobs,
    )
    sessions = plan(read(paths), options)
    run = make_recipe(sessions, {path.name: file_sha256(path) for path in paths}, options)
    execute(sessions, run, folder, options, progress, {})
    return _part("replay", folder, left_out)


def play_embedded(recipe: RowRecipe, folder: Path) -> Part:
    """Play the embedded edition of a row's suite with its scripted agent."""
    installed, left_out = _installed(recipe.embedded_arms)
    words = ["--suite", recipe.embedded, "--model", "scripted", "--window", str(recipe.embedded_window)]
    words += [*recipe.embedded_options, *_arms(installed), "--out", str(folder)]
    if not (folder / SUMMARY).exists():
        run_live(words, recipe.embedded)
    return _part("embedded", folder, left_out)


def live_words(part: LivePart, access: LiveAccess, folder: Path) -> list[str]:
    """The words after `agentmem-bench run` that play the live part."""
    installed, _ = _installed(part.arms)
    words = ["--suite", part.suite, "--model", access.model]
    words += ["--per-session", str(part.per_session), "--window", str(part.window), *part.options, *_arms(installed)]
    given = {
        "--base-url": access.base_url,
        "--judge": access.judge if part.judge else None,
        "--price": access.price,
        "--cost-limit": access.cost_limit,
        "--concurrency": access.concurrency,
        "--limit": access.limit,
        "--data": access.data,
        "--out": folder,
    }
    for name, value in given.items():
        if value is not None:
            words += [name, str(value)]
    return [*words, *access.more]


def play_live(part: LivePart, access: LiveAccess, folder: Path) -> Part:
    """Play the live part; a run that was stopped is continued."""
    if not (folder / SUMMARY).exists():
        run_live(live_words(part, access, folder), part.suite)
    return _part("live", folder, _installed(part.arms)[1])


def _part(name: str, folder: Path, left_out: Sequence[str]) -> Part:
    recipe, rows = load_rows(folder)
    runs = [ArmRun(arm.name, recipe, arm, tuple(row for row in rows if row.arm == arm.name)) for arm in recipe.arms]
    base, *others = [run for run in runs if run.arm.engine != "control" and run.rows]
    compared = {other.arm.name: compare([(base, other)], Statistics()).suites[0] for other in others}
    return Part(name, folder, read_summary(folder), compared, tuple(left_out))


def _installed(arms: Sequence[str]) -> tuple[list[str], list[str]]:
    there = [arm for arm in arms if arm.partition(":")[0] in names()]
    return there, [arm for arm in arms if arm not in there]


def _arms(arms: Sequence[str]) -> list[str]:
    return [word for arm in arms for word in ("--arm", arm)]
