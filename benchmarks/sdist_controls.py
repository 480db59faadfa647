"""Grades the controls of the sdist split: gold patch, empty patch, a patch that breaks tests; prints a line each.

    AGENTMEM_DATA=DIR python benchmarks/sdist_controls.py [--only PART+PART] [--jobs N] [--controls NAME,NAME]

Environments are built at first use (network), graded without network. Exits with 1 when a verdict is not the expected.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agentmem.tokens import TokenCounter, cache_folder
from harness.protocols import SuiteContext
from harness.sandbox import opener
from harness.types import Outcome, Task
from suites.swebench.sdist.suite import Sdist


def main() -> int:
    """Run the controls; 0 when every verdict is the expected one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="parts of instance ids, separated by +")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--controls", default="gold patch,empty patch,breaking patch", help="separated by commas")
    given = parser.parse_args()
    data = Path(os.environ["AGENTMEM_DATA"])
    suite = Sdist(SuiteContext(data, cache_folder(), TokenCounter(), opener(), options={"only": given.only}))
    controls = given.controls.split(",")
    begun = time.monotonic()

    def one(task: Task) -> list[tuple[str, str, Outcome, float]]:
        results = []
        for control in controls:
            start = time.monotonic()
            results.append((task.id, control, suite.control(control, task), time.monotonic() - start))
        return results

    wrong = 0
    totals = dict.fromkeys(controls, 0)
    with ThreadPoolExecutor(given.jobs) as pool:
        for results in pool.map(one, suite.tasks()):
            for task, control, outcome, seconds in results:
                expected = control == "gold patch"
                totals[control] += bool(outcome.passed)
                wrong += outcome.passed is not expected
                tests = outcome.detail.get("tests", {})
                failed = {name: len(found["failed"]) for name, found in tests.items()}
                mark = "ok " if outcome.passed is expected else "BAD"
                print(f"{mark} {task:40} {control:15} resolved={outcome.passed} {failed} {seconds:.1f} s", flush=True)
    count = len(suite.tasks())
    grader = results[0][2].detail["grader"]
    print(
        f"{grader}; {time.monotonic() - begun:.0f} s; " + ", ".join(f"{c}: {n} of {count}" for c, n in totals.items())
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
