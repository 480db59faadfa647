"""The official way: rows of swebench 5.x, a container of the row's image to work in, another one to be graded in.

Needs a docker engine, the extra ``swebench`` and an image with bash, git and python3 named by AGENTMEM_TEST_IMAGE;
the image of the row is built on it here, without a network.
"""

from __future__ import annotations

import json
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentmem.llm.fakeserver import Answer, FakeServer, Request
from harness.cli import build
from harness.sandbox import available

BASE = os.environ.get("AGENTMEM_TEST_IMAGE")
IMAGE = "agentmem-official-test"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BASE and find_spec("swebench")), reason="needs AGENTMEM_TEST_IMAGE and swebench"),
    pytest.mark.skipif(not available()["docker"], reason="needs a docker engine"),
]
GOLD = """diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""
TESTS = """import unittest
from calc import add
class T(unittest.TestCase):
    def test_add(self): self.assertEqual(add(2, 3), 5)
    def test_zero(self): self.assertEqual(add(2, 0), 2)
"""
DOCKERFILE = f"""FROM {BASE}
COPY calc.py /testbed/calc.py
RUN cd /testbed && git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm base
"""
SCRIPT = f"""cd /testbed
cat > test_calc.py <<'EOF'
{TESTS}EOF
: '>>>>> Start Test Output'
python3 -m unittest -v test_calc
: '>>>>> End Test Output'
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one row, whose image has just been built."""
    context = tmp_path_factory.mktemp("image")
    (context / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (context / "Dockerfile").write_text(DOCKERFILE)
    subprocess.run(["docker", "build", "-q", "--network", "none", "-t", IMAGE, str(context)], check=True)
    row = {
        "instance_id": "calc__calc-1",
        "repo": "calc/calc",
        "base_commit": "HEAD",
        "version": "1",
        "problem_statement": "add subtracts",
        "patch": GOLD,
        "FAIL_TO_PASS": ["test_add (test_calc.T.test_add)"],
        "PASS_TO_PASS": ["test_zero (test_calc.T.test_zero)"],
        "image": IMAGE,
        "eval_script": SCRIPT,
        "log_parser": "parse_log_django",
        "eval_type": "pass_and_fail",
    }
    folder = tmp_path_factory.mktemp("data")
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    return folder


def played(data: Path, out: Path, command: str) -> dict[str, int]:
    """Tasks passed by arm, when the model runs one command and ends."""

    def agent(request: Request) -> Answer:
        if request.body["messages"][-1]["role"] == "tool":
            return Answer("done")
        return Answer(None, tool_calls=(("bash", {"command": command}),))

    with FakeServer(agent) as server:
        options = ["--data", str(data), "--option", "file=rows.jsonl", "--isolation", "docker", "--out", str(out)]
        build()(
            ["run", "--suite", "swebench", "--model", "m", "--base-url", server.url, *options], standalone_mode=False
        )
    arms = json.loads((out / "summary.json").read_text())["arms"]
    return {arm["arm"]: arm["tasks"]["passed"] for arm in arms}


def test_a_repaired_repository_is_resolved_as_the_gold_patch_is_and_no_patch_is_not(data: Path, tmp_path: Path) -> None:
    repaired = played(data, tmp_path / "one", "sed -i 's/a - b/a + b/' calc.py")
    assert repaired == {"full": 1, "control: gold patch": 1, "control: empty patch": 0}
    row = json.loads((tmp_path / "one" / "tasks.jsonl").read_text().splitlines()[0])
    assert row["detail"]["grader"].startswith("swebench 5")


def test_a_test_that_passed_before_and_fails_now_is_not_resolved(data: Path, tmp_path: Path) -> None:
    broken = played(data, tmp_path / "two", "sed -i 's/a - b/5 if b == 3 else 0/' calc.py")
    assert broken["full"] == 0


def test_no_container_is_left(data: Path) -> None:
    listed = subprocess.run(["docker", "ps", "-aq", "--filter", "name=agentmem-"], capture_output=True, text=True)
    assert listed.stdout == ""
