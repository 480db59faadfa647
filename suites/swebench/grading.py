"""Grades a test log against the lists of expected tests: resolved or not, and why.

    grade_log(log, parser=..., fail_to_pass=..., pass_to_pass=..., version="5.0.2") -> Graded

The rules of three releases of ``swebench`` (MIT) side by side. Every judgement of ours names 5.0.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from suites.swebench.infra import ENVIRONMENT, classify
from suites.swebench.logs import ERROR, FAILED, PASSED, SKIPPED, XFAIL, StatusMap, parse
from suites.swebench.versions import DEFAULT, Version, is_5

EvalType = Literal["pass_and_fail", "fail_only"]
Resolution = Literal["RESOLVED_FULL", "RESOLVED_PARTIAL", "RESOLVED_NO"]
FAIL_TO_PASS, PASS_TO_PASS = "FAIL_TO_PASS", "PASS_TO_PASS"
FAIL_ONLY_REPOS = frozenset({"chartjs/Chart.js", "processing/p5.js", "markedjs/marked"})

START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
APPLY_FAILED, RESET_FAILED = ">>>>> Patch Apply Failed", ">>>>> Reset Failed"
TESTS_ERRORED, TIMED_OUT = ">>>>> Tests Errored", ">>>>> Tests Timed Out"
NO_MARKER, NO_RESULTS, CONTRADICTION = "no start or end marker", "no test results", "exit code without a failed test"
_EXIT_CODE = re.compile(r">>>>> Test Exit Code:\s*(-?\d+)")
_SUITE_RAN = re.compile(  # what runners print when they ran something; a count of 0 is no sign of it
    r"Executed [1-9]\d* of \d+|TOTAL: [1-9]\d* (?:SUCCESS|FAILED)|[1-9]\d* passing|Tests:\s+[1-9]\d*"
    r"|Test Suites:\s+(?:\d+ \w+, )*[1-9]\d* total|^# tests [1-9]\d*|[1-9]\d* specs?, \d+ failures?|': ok$",
    re.MULTILINE,
)
_GOOD, _BAD = (PASSED, XFAIL), (FAILED, ERROR)


@dataclass(frozen=True, slots=True)
class Tests:
    """Expected tests of one list that hold and that do not; a test in neither counts nowhere."""

    success: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        """Share that holds; 1 when nothing is counted."""
        counted = len(self.success) + len(self.failure)
        return len(self.success) / counted if counted else 1.0

    def record(self) -> dict[str, list[str]]:
        """As the published reports write it."""
        return {"success": list(self.success), "failure": list(self.failure)}


@dataclass(frozen=True, slots=True)
class Graded:
    """The verdict on one log. ``fault`` says why a log is not valid (one of the constants above)."""

    version: Version
    valid: bool
    status: StatusMap
    fail_to_pass: Tests = field(default_factory=Tests)
    pass_to_pass: Tests = field(default_factory=Tests)
    fault: str | None = None
    infra: tuple[str, str] | None = None

    @property
    def resolution(self) -> Resolution | None:
        """FULL, PARTIAL or NO; ``None`` for a log that is not valid."""
        if not self.valid:
            return None
        rate = self.fail_to_pass.rate
        if self.pass_to_pass.rate < 1 or rate == 0:
            return "RESOLVED_NO"
        return "RESOLVED_FULL" if rate == 1 else "RESOLVED_PARTIAL"

    @property
    def resolved(self) -> bool:
        """The headline verdict."""
        return self.resolution == "RESOLVED_FULL"

    def tests_status(self) -> dict[str, dict[str, list[str]]]:
        """The four lists of the published report; the last two are never filled for the Python data sets."""
        empty = Tests()
        lists = (self.fail_to_pass, self.pass_to_pass, empty, empty)
        names = (FAIL_TO_PASS, PASS_TO_PASS, "FAIL_TO_FAIL", "PASS_TO_FAIL")
        return {name: tests.record() for name, tests in zip(names, lists, strict=True)}

    def report(self) -> dict[str, Any]:
        """The published record of one instance, for a patch that is not null."""
        report: dict[str, Any] = {
            "patch_is_None": False,
            "patch_exists": True,
            "patch_successfully_applied": self.valid,
            "resolved": self.resolved,
        }
        if is_5(self.version):
            report["infra_failure"] = self.infra is not None and self.infra[1] == ENVIRONMENT
            if self.infra is not None:
                report["infra_failure_reason"] = self.infra[0]
        return report | ({"tests_status": self.tests_status()} if self.valid else {})


def no_patch_report(version: Version = DEFAULT) -> dict[str, Any]:
    """The published record of an instance whose prediction is null."""
    names = ("patch_is_None", "patch_exists", "patch_successfully_applied", "resolved")
    report = dict.fromkeys(names, False) | {"patch_is_None": True}
    return report | ({"infra_failure": False} if is_5(version) else {})


def grade_log(
    log: str,
    *,
    parser: str,
    fail_to_pass: Iterable[str],
    pass_to_pass: Iterable[str],
    eval_type: EvalType = "pass_and_fail",
    version: Version = DEFAULT,
) -> Graded:
    """The verdict on a whole log, markers included. Line ends are read as text files are.

    Raises ``UnknownName`` for a parser this port does not have, ``UnreadableInput`` where that version crashes.
    """
    log = log.replace("\r\n", "\n").replace("\r", "\n")
    status, fault = read_status(log, parser, version)
    if fault is not None:
        infra = classify(log) if is_5(version) else None
        return Graded(version, False, {}, fault=fault, infra=infra)
    f2p, p2p = grade_status(status, tuple(fail_to_pass), tuple(pass_to_pass), eval_type=eval_type, version=version)
    return Graded(version, True, status, f2p, p2p)


def read_status(log: str, parser: str, version: Version = DEFAULT) -> tuple[StatusMap, str | None]:
    """(test id -> status, fault). Only the first marked region counts; from 4.x on the whole log when it is empty.

    From 5.x on a log is also invalid without results and without a sign that a suite ran, and when the test
    command failed although no test did (a patch can print lines that look like results).
    """
    for marker in (APPLY_FAILED, RESET_FAILED, TESTS_ERRORED, TIMED_OUT):
        if marker in log:
            return {}, marker.removeprefix(">>>>> ")
    if START not in log or END not in log:
        return {}, NO_MARKER
    status = parse(parser, log.split(START)[1].split(END)[0], version)
    if not status and version != "3.0.17":
        status = parse(parser, log, version)
    if not is_5(version):
        return status, None
    if not status and not _SUITE_RAN.search(log):
        return {}, NO_RESULTS
    code = _EXIT_CODE.search(log)
    if status and code is not None and int(code.group(1)) != 0 and not set(status.values()) & set(_BAD):
        return {}, CONTRADICTION
    return status, None


def grade_status(
    status: StatusMap,
    fail_to_pass: Sequence[str],
    pass_to_pass: Sequence[str],
    *,
    eval_type: EvalType = "pass_and_fail",
    version: Version = DEFAULT,
) -> tuple[Tests, Tests]:
    """Both lists of expected tests, sorted into what holds and what does not. Repeated ids count again.

    A test without a status fails. ``fail_only`` is the other way round: all but an explicit FAILED holds.
    Skipped tests count nowhere before 5.x; since then they fail a FAIL_TO_PASS and keep a PASS_TO_PASS.
    """
    if eval_type == "fail_only":
        return (
            _sort(fail_to_pass, lambda test: status.get(test) != FAILED),
            _sort(pass_to_pass, lambda test: status.get(test) != FAILED),
        )
    skipped: tuple[bool | None, bool | None] = (False, True) if is_5(version) else (None, None)
    lookup = _completed(status) if is_5(version) else status.get
    return (
        _sort(fail_to_pass, lambda test: _holds(lookup(test), skipped[0])),
        _sort(pass_to_pass, lambda test: _holds(lookup(test), skipped[1])),
    )


def _holds(status: str | None, skipped: bool | None) -> bool | None:
    """True, False, or ``None`` for a status that puts a test in neither list."""
    if status in _GOOD:
        return True
    if status == SKIPPED:
        return skipped
    return False if status is None or status in _BAD else None


def _completed(status: StatusMap) -> Callable[[str], str | None]:
    """Looks up a test; an id that was cut inside its brackets stands for all that begin with it, if they agree.

    They agree when all of them pass or none does. Hundreds of ids in Verified were cut so.
    """

    def lookup(test: str) -> str | None:
        if test in status or test.count("[") <= test.count("]"):
            return status.get(test)
        found = [status[name] for name in status if name.startswith(test)]
        return found[0] if len({result in _GOOD for result in found}) == 1 else None

    return lookup


def _sort(tests: Sequence[str], holds: Callable[[str], bool | None]) -> Tests:
    verdicts = [(test, holds(test)) for test in tests]
    return Tests(
        tuple(test for test, verdict in verdicts if verdict is True),
        tuple(test for test, verdict in verdicts if verdict is False),
    )
