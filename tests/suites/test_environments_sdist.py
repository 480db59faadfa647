"""The sdist split: its parts at once, and six real instances end to end (needs the data folder and, once, a network)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentmem.messages import Message
from agentmem.tokens import TokenCounter
from harness.errors import DataError, EnvironmentFailed
from harness.protocols import SuiteContext
from harness.sandbox import available, opener
from harness.types import Task
from suites.swebench.environment import Repository
from suites.swebench.sdist.breaking import RAISE, breaking_patch, broken
from suites.swebench.sdist.build import Built, build, find_python
from suites.swebench.sdist.explorer import commands, found_line, symbols, touched
from suites.swebench.sdist.grade import grade, outcome
from suites.swebench.sdist.instances import Instance, instance
from suites.swebench.sdist.suite import Sdist
from tests.data import data_root

BASE = {
    "adder.py": "def add(a, b):\n    return a - b\ndef same(a):\n    return a\n",
    "test_adder.py": "from adder import same\ndef test_same():\n    assert same(2) == 2\n",
    "run.py": """import test_adder
for name in ("test_same", "test_add"):
    try:
        getattr(test_adder, name)()
        print("PASSED test_adder.py::" + name)
    except Exception:
        print("FAILED test_adder.py::" + name)
""",
}
GOLD = """diff --git a/adder.py b/adder.py
--- a/adder.py
+++ b/adder.py
@@ -1,4 +1,4 @@ def add(a, b):
 def add(a, b):
-    return a - b
+    return a + b
 def same(a):
     return a
"""
TESTS = """diff --git a/test_adder.py b/test_adder.py
--- a/test_adder.py
+++ b/test_adder.py
@@ -1,3 +1,5 @@
-from adder import same
+from adder import add, same
 def test_same():
     assert same(2) == 2
+def test_add():
+    assert add(1, 2) == 3
"""
ROW = {
    "instance_id": "me__adder-1",
    "repo": "pallets/flask",
    "version": "1",
    "problem_statement": "add subtracts",
    "patch": GOLD,
    "test_patch": TESTS,
    "FAIL_TO_PASS": ["test_adder.py::test_add"],
    "PASS_TO_PASS": ["test_adder.py::test_same"],
    "sdist": {"name": "adder", "version": "1.0"},
    "python": "3.11",
    "pip_packages": [],
    "extra_packages": [],
    "test_command": "python3 run.py",
    "test_targets": [],
    "log_parser": "parse_log_flask",
}
ISOLATION = "bubblewrap" if available()["bubblewrap"] else "none"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """A repository of two files, as a build would have left it."""
    repo = tmp_path / "built" / "repo"
    repo.mkdir(parents=True)
    for name, text in BASE.items():
        (repo / name).write_text(text)
    for command in ("init -q -b main", "add -A", "-c user.name=a -c user.email=a@b commit -q -m base"):
        subprocess.run(["git", *command.split()], cwd=repo, check=True)
    venv = tmp_path / "built" / "venv"
    venv.mkdir()
    return Built(repo, venv, Path("/usr"), 0.0)


def verdict(built: Built, patch: str) -> tuple[bool, bool]:
    graded = grade(instance(ROW), built, patch, opener(ISOLATION))
    return graded.resolved, graded.read.applied


def test_grading_without_isolation_gives_the_same_verdicts(built: Built) -> None:
    one = instance(ROW)
    assert [grade(one, built, patch, opener("none")).resolved for patch in (GOLD, "", "not a patch")] == [
        True,
        False,
        False,
    ]


def test_gold_empty_and_breaking_patches(built: Built) -> None:
    one = instance(ROW)
    assert verdict(built, GOLD) == (True, True)
    assert verdict(built, "") == (False, False)
    graded = grade(one, built, breaking_patch(one, built, {"same"}), opener(ISOLATION))
    assert graded.read.tests == {"FAIL_TO_PASS": (1, ()), "PASS_TO_PASS": (0, ("test_adder.py::test_same",))}
    assert not graded.resolved
    detail = outcome(graded).detail
    assert detail["tests"]["PASS_TO_PASS"] == {"passed": 0, "failed": ["test_adder.py::test_same"]}


def test_a_patch_that_does_not_apply_is_not_resolved(built: Built) -> None:
    assert verdict(built, GOLD.replace("return a - b", "return a * b")) == (False, False)


def test_a_patch_cannot_bring_its_own_tests(built: Built) -> None:
    cheat = """diff --git a/test_adder.py b/test_adder.py
--- a/test_adder.py
+++ b/test_adder.py
@@ -1,3 +1 @@
-from adder import same
-def test_same():
-    assert same(2) == 2
+test_same = test_add = lambda: None
"""
    assert verdict(built, cheat) == (False, True)


def test_grading_leaves_the_built_repository_alone(built: Built) -> None:
    verdict(built, GOLD)
    state = subprocess.run(["git", "status", "--porcelain"], cwd=built.repo, capture_output=True, text=True)
    assert state.stdout == ""


def environment(built: Built) -> Repository:
    from suites.swebench.sdist.grade import fresh_copy, sandbox_for

    one = instance(ROW)
    return Repository(
        copy=lambda target: fresh_copy(built, target),
        sandbox=lambda work: sandbox_for(one, built, work, opener(ISOLATION)),
        grade=lambda patch: outcome(grade(one, built, patch, opener(ISOLATION))),
    )


def bash(box: Repository, command: str) -> Message:
    import json

    from agentmem.messages import ToolCall

    return box.execute(ToolCall("c", "bash", json.dumps({"command": command})))


@pytest.mark.parametrize("commit", [False, True])
def test_what_an_agent_changed_is_its_patch_committed_or_not(built: Built, commit: bool) -> None:
    box = environment(built)
    assert bash(box, "python3 -c 'import adder' && sed -i 's/a - b/a + b/' adder.py").is_error is False
    if commit:
        bash(box, "git -c user.name=x -c user.email=x@y commit -qam done")
    found = box.finish("")
    assert found.passed, found
    box.close()
    assert "a - b" in (built.repo / "adder.py").read_text()


def test_commands_come_back_with_code_and_the_ends_of_their_output(built: Built) -> None:
    box = environment(built)
    assert bash(box, "echo hi; exit 3").content == "<returncode>3</returncode>\n<output>\nhi\n</output>"
    assert bash(box, "").is_error
    long = bash(box, "seq 100000").content
    assert len(long) < 10_300 and "characters left out" in long and long.endswith("100000\n</output>")
    box.close()


def test_a_missing_column_is_named() -> None:
    row = {name: value for name, value in ROW.items() if name != "log_parser"}
    with pytest.raises(DataError, match="'log_parser' is missing"):
        instance(row)
    assert instance(ROW).id == "me__adder-1@1.0"


def test_instances_that_install_the_same_share_an_environment() -> None:
    one, other = instance(ROW), instance({**ROW, "instance_id": "me__adder-2", "problem_statement": "x"})
    assert one.build_key == other.build_key
    assert one.build_key != instance({**ROW, "extra_packages": ["pytest"]}).build_key


def test_an_interpreter_that_is_not_there_is_named() -> None:
    with pytest.raises(EnvironmentFailed, match=r"pyenv install 3\.99"):
        find_python("3.99")


def test_breaking_a_function_keeps_the_file_readable() -> None:
    source = 'class A:\n    def f(self):\n        """Doc."""\n        return 1\n\ndef g(): return 2\n'
    assert broken(source).count(RAISE) == 1  # a body behind the colon stays
    compile(broken(source), "x", "exec")
    assert broken(source, {"h"}) == source


def test_the_explorer_reads_what_it_found_and_searches_again_when_it_is_gone() -> None:
    one = instance(ROW)
    assert touched(GOLD) == {"adder.py"} and symbols(GOLD, "adder.py") == ["def add"]
    result = Message("tool", "<output>\n12:def add(a, b):\n</output>", tool_call_id="c")
    assert found_line([result], "def add") == 12
    shown_all = list(commands(one, lambda: [result]))
    assert shown_all[3].startswith("sed -n '1,42p'")
    forgetful = list(commands(one, list))
    assert len(forgetful) == len(shown_all) + 1 and forgetful[2] == forgetful[3]


# not the cache folder of a test run, which is thrown away: a build takes half a minute
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentmem-bench"
SIX = {  # instance -> a function whose loss a PASS_TO_PASS test notices and no FAIL_TO_PASS test does, where there is one
    "pallets__flask-5063": {"find_best_app"},
    "pytest-dev__pytest-9359": {"__eq__"},
    "pytest-dev__pytest-7168": None,  # lists no PASS_TO_PASS test
    "pytest-dev__pytest-7432": None,
    "sphinx-doc__sphinx-8713": {"_recombine_set_tokens"},
    "sphinx-doc__sphinx-8721": {"_get_full_modname"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIX)
def test_real_instances_resolve_with_the_gold_patch_and_only_with_it(name: str) -> None:
    """Builds at first use: about half a minute an environment, then seconds a grading."""
    if not available()["bubblewrap"]:
        pytest.skip("bubblewrap does not work here")
    context = SuiteContext(data_root(), CACHE, TokenCounter(), opener("bubblewrap"), options={"only": name})
    suite = Sdist(context)
    (task,) = suite.tasks()
    assert suite.control("gold patch", task).passed is True
    assert suite.control("empty patch", task).passed is False
    functions = SIX[name]
    if functions:
        lost = broken_tests(suite, task, functions)
        assert lost["FAIL_TO_PASS"][1] == () and lost["PASS_TO_PASS"][1]


def broken_tests(suite: Sdist, task: Task, functions: set[str]) -> dict[str, tuple[int, tuple[str, ...]]]:
    """The tests that fail with the gold patch and these functions broken; it must not be resolved."""
    one: Instance = suite.instance(task.id)
    base = build(one, CACHE)
    graded = grade(one, base, breaking_patch(one, base, functions), opener("bubblewrap"))
    assert not graded.resolved
    return {name: (count, tuple(failed)) for name, (count, failed) in graded.read.tests.items()}
