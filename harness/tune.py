"""Tuning of one engine: optuna over two figures (support-adjusted tokens, needs not visible), on the tuned half only.

Every trial is a cell of a sweep, kept by its recipe. Trials are drawn in batches of a fixed size with a seed each, so
the same call draws the same trials however many workers it has and wherever it was stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.recipe import code
from harness.run import Options, plan
from harness.summary import arm_record
from harness.sweep.grid import make_cell
from harness.sweep.play import CellRun, open_workers, play_cells
from harness.sweep.result import failed, spent, split
from harness.tunespace import Dimension
from harness.types import Session, Trajectory

Progress = Callable[[int, int, str], None]
Sessions = Sequence[Session[Trajectory]]
BATCH = 4  # trials drawn at once
CELLS = "cells"


@dataclass(frozen=True)
class TuneOptions:
    """What is tuned and for how long. ``storage`` is a journal file or a database address that optuna knows; ``most``
    the share of actions with a need not visible that the chosen setting may have."""

    engine: str
    space: tuple[Dimension, ...]
    trials: int = 40
    seed: int = 0
    most: float = 0.02
    storage: str = ""


@dataclass(frozen=True)
class Trial:
    """One trial that was played: its parameters and its record (as in summary.json) on the tuned half."""

    number: int
    parameters: Mapping[str, Any]
    record: Mapping[str, Any]

    @property
    def share(self) -> float:
        """Share of the actions with a need not visible."""
        return float(self.record["actions_unsupported"] / self.record["actions"]) if self.record["actions"] else 0.0


@dataclass(frozen=True)
class Tuned:
    """All trials, the one chosen under the limit ``most``, and defaults and choice by half: (default, chosen)."""

    study: str
    most: float
    trials: tuple[Trial, ...]
    chosen: Trial
    held: Mapping[str, tuple[CellRun, CellRun]]


def halves(trajectories: Sequence[Trajectory], options: Options) -> dict[str, Sessions]:
    """The first half of the tasks and the second, each split into sessions of its own."""
    tasks = [task for session in plan(trajectories, options) for task in session.tasks]
    if len(tasks) < 2:
        raise UsageError("tuning needs at least two tasks: one half is tuned on, the other held out")
    first, _ = split([task.id for task in tasks])
    ordered = replace(options, order="file", limit=None)
    return {
        "tuned": plan([task for task in tasks if task.id in first], ordered),
        "held_out": plan([task for task in tasks if task.id not in first], ordered),
    }


def tune(
    parts: Mapping[str, Sessions],
    data: Mapping[str, str],
    options: Options,
    wanted: TuneOptions,
    folder: Path,
    progress: Progress,
) -> Tuned:
    """Play the trials that the storage does not hold yet, choose one, and play it on the held-out half.

    Raises ``UsageError`` without optuna.
    """
    if find_spec("optuna") is None:
        raise UsageError("tuning needs optuna: pip install 'agentmem-bench[tune]'")
    study, name = _open_study(parts, data, options, wanted, folder)
    with open_workers(options.jobs) if options.jobs > 1 else nullcontext() as workers:

        def play(parameters: Sequence[Mapping[str, Any]], half: str) -> list[CellRun]:
            """The runs of some settings on a half, in their order; equal settings are played once."""
            cells = [make_cell(wanted.engine, one, {}) for one in parameters]
            distinct = {cell.arm.name: cell for cell in cells}
            runs = play_cells(
                list(distinct.values()), parts[half], data, options, folder / CELLS, lambda *_: None, workers
            )
            by_name = {run.cell.arm.name: run for run in runs}
            return [by_name[cell.arm.name] for cell in cells]

        total = -(-wanted.trials // BATCH) * BATCH
        while len(done := _complete(study)) < total:
            progress(len(done), total, "trials")
            batch = _draw(study, wanted)
            for (number, _), run in zip(batch, play([drawn for _, drawn in batch], "tuned"), strict=True):
                study.tell(number, _figures(run))
        runs = play([rounded(trial.params) for trial in done], "tuned")
        trials = [
            Trial(trial.number, rounded(trial.params), arm_record(run.cell.arm.name, run.rows))
            for trial, run in zip(done, runs, strict=True)
        ]
        chosen = choose(trials, wanted.most)
        progress(total, total, "held-out half")
        both: tuple[Mapping[str, Any], ...] = ({}, chosen.parameters)
        held = {half: _two(play(both, half)) for half in parts}
    return Tuned(name, wanted.most, tuple(trials), chosen, held)


def choose(trials: Sequence[Trial], most: float) -> Trial:
    """The cheapest trial within ``most`` that lost nothing for good; failing that the one that forgot least."""
    fine = [one for one in trials if one.share <= most and not one.record["needs_lost"]]
    if fine:
        return min(fine, key=lambda one: (spent(one.record), one.number))
    return min(trials, key=lambda one: (one.record["needs_lost"] or 0, one.share, spent(one.record), one.number))


def _two(runs: Sequence[CellRun]) -> tuple[CellRun, CellRun]:
    default, chosen = runs
    return default, chosen


def _open_study(
    parts: Mapping[str, Sessions], data: Mapping[str, str], options: Options, wanted: TuneOptions, folder: Path
) -> tuple[Any, str]:
    """The study of exactly this call: other tasks, settings, space, seed or code are another study."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    decides = {
        "tasks": [task.id for session in parts["tuned"] for task in session.tasks],
        "data": dict(data),
        "window": options.window,
        "tokenizer": options.tokenizer,
        "per_session": options.per_session,
        "space": [asdict(dimension) for dimension in wanted.space],
        "seed": wanted.seed,
        "code": code()["sha256"],
    }
    digest = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()
    name = f"{wanted.engine}-{digest[:10]}"
    at = wanted.storage or str(folder / "study.journal")
    storage: Any = at if "://" in at else JournalStorage(JournalFileBackend(at))
    study = optuna.create_study(
        study_name=name, storage=storage, load_if_exists=True, directions=["minimize", "minimize"]
    )
    if not study.trials and all(dimension.holds_default for dimension in wanted.space):
        study.enqueue_trial({dimension.name: dimension.default for dimension in wanted.space})
    return study, name


def _draw(study: Any, wanted: TuneOptions) -> list[tuple[int, dict[str, Any]]]:
    """The next batch as (number, parameters): what a stopped call had drawn, and new trials, each with its own seed."""
    import optuna
    from optuna.trial import TrialState

    found: list[tuple[int, dict[str, Any]]] = []
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if len(trial.params) == len(wanted.space):
            found.append((trial.number, rounded(trial.params)))
        else:  # stopped while its parameters were drawn
            study.tell(trial.number, state=TrialState.FAIL)
    begun = [trial for trial in study.get_trials(deepcopy=False) if trial.state != TrialState.WAITING]
    while not found or len(begun) % BATCH:
        study.sampler = optuna.samplers.TPESampler(seed=wanted.seed * 1_000_003 + len(begun), constant_liar=True)
        asked = study.ask()
        found.append((asked.number, rounded({one.name: one.suggest(asked) for one in wanted.space})))
        begun.append(asked)
    return found


def rounded(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as they are played: three digits of a fraction are enough for anybody to type."""
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in parameters.items()}


def _figures(run: CellRun) -> tuple[float, float]:
    """What is minimised. Raises ``UsageError`` where no need could be measured."""
    record = arm_record(run.cell.arm.name, run.rows)
    hidden = failed(record)
    if hidden is None:
        raise UsageError("no action of these recorded runs has needs that could be measured; there is nothing to tune")
    return spent(record), hidden


def _complete(study: Any) -> list[Any]:
    from optuna.trial import TrialState

    return list(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
