"""Embedded tasks: what is generated, and that a patch decides whether it counts as solved."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import UsageError
from suites.swebench.mini import MiniTask, generate, grade, write_repo, write_task_folder
from suites.swebench.mini.domains import domains
from suites.swebench.mini.environment import make_tools
from suites.swebench.mini.grade import passed_tests, with_original_tests
from suites.swebench.mini.patches import PatchRejected, apply_patch, hunks, make_patch
from suites.swebench.mini.tasks import is_test_file

TASKS = generate(0, 50)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return make_tools(tmp_path / "tools")


def test_same_seed_same_bytes() -> None:
    assert generate(0, 50) == TASKS
    assert generate(0, 7) == TASKS[:7]
    assert [task.files for task in generate(1, 5)] != [task.files for task in TASKS[:5]]


def test_there_is_variety() -> None:
    assert len({task.id for task in TASKS}) == 50
    assert len({task.kind for task in TASKS}) >= 12
    assert len({task.domain for task in TASKS}) == len(domains()) >= 8
    assert all(one.domain != two.domain for one, two in pairwise(TASKS))
    layouts = {Path(next(path for path in task.files if "/test_" in path)).parent for task in TASKS}
    assert len(layouts) > 5
    assert len({frozenset(task.files) for task in TASKS}) == 50


def test_every_bug_of_every_domain_comes_before_any_comes_again() -> None:
    bugs = sum(len(domain.bugs) for domain in domains())
    tasks = generate(3, bugs)
    assert len({(task.domain, task.gold_patch.count("\n"), task.kind) for task in tasks}) == len(tasks) == bugs


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_task_is_whole(task: MiniTask) -> None:
    assert re.fullmatch(r"mini-\d{3}-[a-z]+", task.id)
    assert len(task.files) >= 20
    for path, text in task.files.items():
        assert "{{" not in text, path
        if path.endswith(".py"):
            ast.parse(text)
    assert task.fail_to_pass
    assert len(task.pass_to_pass) > 20
    assert not set(task.fail_to_pass) & set(task.pass_to_pass)
    touched = {hunk.path for hunk in hunks(task.gold_patch)}
    assert touched
    assert not any(is_test_file(path) for path in touched)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_the_statement_tells_the_symptom_and_not_the_place(task: MiniTask) -> None:
    for hunk in hunks(task.gold_patch):
        assert hunk.path not in task.problem_statement
        for mark, line in hunk.lines:
            if mark != " " and len(line.strip()) > 12:
                assert line.strip() not in task.problem_statement


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(UsageError, match="got -1"):
        generate(0, -1)


def _one_of_each_domain() -> Iterator[MiniTask]:
    for domain in domains():
        yield next(task for task in TASKS if task.domain == domain.name)


def _grade_all(tasks: list[MiniTask], folder: Path, tools: Path, gold: bool) -> list[bool]:
    def resolved(task: MiniTask) -> bool:
        return grade(task, task.gold_patch if gold else "", folder, tools).resolved

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(resolved, tasks))


def test_gold_patches_pass_and_empty_ones_do_not(tmp_path: Path, tools: Path) -> None:
    some = list(_one_of_each_domain())
    assert all(_grade_all(some, tmp_path, tools, gold=True))
    assert not any(_grade_all(some, tmp_path, tools, gold=False))


@pytest.mark.slow
def test_gold_patches_pass_twice_and_empty_ones_never(tmp_path: Path, tools: Path) -> None:
    for _ in range(2):
        assert all(_grade_all(TASKS, tmp_path, tools, gold=True))
    assert not any(_grade_all(TASKS, tmp_path, tools, gold=False))


@pytest.mark.slow
def test_exactly_the_named_tests_fail_before_the_patch(tmp_path: Path, tools: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        for task, result in zip(TASKS, pool.map(lambda t: grade(t, "", tmp_path, tools), TASKS), strict=True):
            assert set(result.failed) == set(task.fail_to_pass), task.id


def test_a_patch_that_breaks_something_else_does_not_count(tmp_path: Path, tools: Path) -> None:
    task = TASKS[0]
    mended = apply_patch(task.files, task.gold_patch)
    noise = next(
        p
        for p in mended
        if p.endswith(".py") and f"test_{Path(p).name}" in str(list(mended)) and p not in task.gold_patch
    )
    broken = {**mended, noise: "raise RuntimeError('not today')\n"}
    result = grade(task, make_patch(task.files, broken), tmp_path, tools)
    assert not result.resolved
    assert set(result.failed) & set(task.pass_to_pass)


def test_tests_changed_by_a_patch_are_restored(tmp_path: Path, tools: Path) -> None:
    task = TASKS[0]
    cheat = {path: "" if is_test_file(path) else text for path, text in task.files.items()}
    assert not grade(task, make_patch(task.files, cheat), tmp_path, tools).resolved
    files = with_original_tests(task, {**cheat, "tests/test_extra.py": "x"})
    assert "tests/test_extra.py" not in files
    assert files == dict(task.files)


def test_only_what_a_log_calls_ok_has_passed() -> None:
    log = (
        "test_a (tests.test_x.T.test_a) ... ok\n"
        "test_b (tests.test_x.T.test_b) ... FAIL\n"
        "test_c (tests.test_x.T.test_c) ... ERROR\n"
        "test_d (tests.test_x.T.test_d) ... \n"
        "  test_d (tests.test_x.T.test_d) (n=1) ... FAIL\n"
        "test_e (tests.test_x.T.test_e) ... skipped 'why'\n"
        "test_f (tests.test_x.T.test_f) ... expected failure\n"
    )
    assert passed_tests(log) == {"tests.test_x.T.test_a"}


def test_written_as_a_task_folder(tmp_path: Path) -> None:
    task = TASKS[4]
    write_task_folder(task, tmp_path)
    names = {"task.yaml", "tests.json", "problem_statement.md", "gold.patch", "test.patch", "eval.sh", "repo"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert (tmp_path / "gold.patch").read_text() == task.gold_patch
    assert all((tmp_path / "repo" / path).read_text() == text for path, text in task.files.items())


TEXTS = st.text(st.sampled_from("ab\n\r\f\u2028\\-+ @"), max_size=40)
TREES = st.dictionaries(st.sampled_from(["a.py", "b/c.py", "d.txt"]), TEXTS.filter(bool))


@given(TREES, TREES)
@settings(max_examples=200, deadline=None)
def test_a_patch_does_what_it_was_made_for(old: dict[str, str], new: dict[str, str]) -> None:
    assert apply_patch(old, make_patch(old, new)) == new
    assert (make_patch(old, new) == "") == (old == new)


def test_a_patch_that_does_not_fit_is_refused() -> None:
    patch = make_patch({"a.py": "one\ntwo\n"}, {"a.py": "one\n2\n"})
    with pytest.raises(PatchRejected, match=r"a\.py line 1"):
        apply_patch({"a.py": "zero\none\ntwo\n"}, patch)
    with pytest.raises(PatchRejected, match="ends within a hunk"):
        apply_patch({"a.py": "one\ntwo\n"}, patch.rsplit("\n", 2)[0])
    with pytest.raises(PatchRejected, match="line 4"):
        apply_patch({"a.py": "one\ntwo\n"}, patch.replace("\n one", "\n*one"))


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs the patch program")
def test_the_patch_program_agrees(tmp_path: Path) -> None:
    for task in TASKS[:3]:
        folder = tmp_path / task.id
        write_repo(task, folder)
        subprocess.run(["patch", "-p1", "-s"], cwd=folder, input=task.gold_patch.encode(), check=True)
        for path, text in apply_patch(task.files, task.gold_patch).items():
            assert (folder / path).read_text() == text
