"""A run that was killed goes on under the same command and ends with the same bytes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.engines.registry import parse_arm
from harness.errors import RecipeMismatch, UnreadableInput
from harness.run import Options, execute, make_recipe, plan
from harness.runlog import CALLS, RECIPE, SUMMARY, TASKS, call_from_row, call_to_row, read_rows, read_tasks
from harness.types import Trajectory
from tests.histories import output, request, runs, says, system, trajectory

ARMS = tuple(parse_arm(spec) for spec in ("full", "mask:last=1", "agentmem"))
OPTIONS = Options(arms=ARMS, per_session=2)


def recorded(count: int = 5) -> list[Trajectory]:
    """Some tasks with text that JSON Lines readers trip over."""
    return [
        trajectory(
            f"task-{n}", system(), request(f"fix {n}"), runs(f"cat {n}"), output(f"name_{n} \u2028 \x85"), says("ok")
        )
        for n in range(count)
    ]


def run(folder: Path, options: Options = OPTIONS) -> dict[str, object]:
    """Execute the run."""
    sessions = plan(recorded(), options)
    return execute(sessions, make_recipe(sessions, {}, options), folder, options, lambda *_: None, {})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    run(folder)
    return folder


def assert_same(folder: Path, whole: Path) -> None:
    """All files of two runs are byte for byte the same."""
    for name in (RECIPE, CALLS, TASKS, SUMMARY):
        assert (folder / name).read_bytes() == (whole / name).read_bytes(), name


def test_any_cut_is_continued_to_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    """Calls are written before tasks, so a kill leaves some prefix of one, or all of the one and a prefix of the other."""
    dice = random.Random(4)
    tasks, calls = (whole / TASKS).read_bytes(), (whole / CALLS).read_bytes()
    ends = [end for end, _ in read_rows(whole / TASKS)]
    for cut in [0, *dice.sample(range(len(tasks)), 12), *ends]:
        folder = tmp_path / str(cut)
        shutil.copytree(whole, folder)
        (folder / SUMMARY).unlink()
        (folder / TASKS).write_bytes(tasks[:cut])
        # the calls of the tasks that are complete are there, and part of what follows
        known = {(t.arm, t.session) for t in read_tasks(folder)} if cut else set()
        kept = max((end for end, row in read_rows(whole / CALLS) if (row["arm"], row["session"]) in known), default=0)
        (folder / CALLS).write_bytes(calls[: dice.randint(kept, len(calls))])
        run(folder)
        assert_same(folder, whole)


def test_finished_sessions_are_not_played_again(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    played: list[str] = []
    sessions = plan(recorded(), OPTIONS)
    execute(sessions, make_recipe(sessions, {}, OPTIONS), folder, OPTIONS, lambda d, t, what: played.append(what), {})
    assert not [what for what in played if what.startswith("s0")]
    assert_same(folder, whole)


def test_the_number_of_workers_does_not_change_a_byte(whole: Path, tmp_path: Path) -> None:
    run(tmp_path, Options(arms=ARMS, per_session=2, jobs=2))
    assert_same(tmp_path, whole)


def test_another_recipe_is_refused_with_what_differs(whole: Path) -> None:
    other = Options(arms=ARMS, per_session=2, window=100_000, seed=3)
    with pytest.raises(RecipeMismatch, match="seed: 0 -> 3; window: 200000 -> 100000"):
        run(whole, other)


def test_a_broken_line_that_is_not_the_last_is_an_error_with_its_number(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    lines = (folder / TASKS).read_bytes().split(b"\n")
    lines[2] = lines[2][:20]
    (folder / TASKS).write_bytes(b"\n".join(lines))
    with pytest.raises(UnreadableInput, match=r"tasks.jsonl:3: expected a JSON object"):
        run(folder)


def test_rows_survive_the_way_to_disk_and_back(whole: Path) -> None:
    for _, row in read_rows(whole / CALLS):
        assert call_to_row(call_from_row(row), row["recipe"]) | {} == {**row, "missing": tuple(row["missing"]), "lost": tuple(row["lost"]), "from": row["from"]}  # fmt: skip


CHILD = """
import sys
from pathlib import Path
from tests.harness.test_resume import run
run(Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_kill_9_at_random_moments(whole: Path, tmp_path: Path) -> None:
    dice = random.Random(7)
    folder = tmp_path / "run"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    for _ in range(6):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(folder)], env=environment)
        time.sleep(dice.uniform(0.2, 1.6))
        child.send_signal(signal.SIGKILL)
        child.wait()
    subprocess.run([sys.executable, "-c", CHILD, str(folder)], env=environment, check=True)
    assert_same(folder, whole)
