"""What a gate says: tables for people, JUnit XML, GitHub annotations and a step summary."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from harness.gate.checks import Check, GateResult
from harness.tables import NOT_MEASURED, Table, count, percent, to_markdown

HEADLINES = {0: "not worse than the baseline", 1: "worse than the baseline", 2: "invalid run, not judged"}

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def headline(result: GateResult) -> str:
    """One line: the verdict and what it is about."""
    names = [f"{check.arm}: {check.quantity}" for check in result.checks if check.verdict in ("worse", "invalid")]
    return f"gate: {HEADLINES[result.exit_code]}" + (f" ({', '.join(names)})" if names else "")


def tables(result: GateResult) -> list[Table]:
    """The checks, the tasks that moved most, and the calls whose prompt grew most."""
    found = [_checks(result)]
    if result.moved:
        found.append(_moved(result))
    if result.grown:
        found.append(_grown(result))
    return found


def step_summary(result: GateResult) -> str:
    """Markdown for a pull request or for GITHUB_STEP_SUMMARY."""
    return f"## {headline(result)}\n\n{to_markdown(tables(result))}"


def github_annotations(result: GateResult) -> Iterator[str]:
    """Workflow commands that GitHub shows on the run: errors for what fails, warnings for what is not confirmed."""
    levels = {"worse": "error", "invalid": "error", "unconfirmed": "warning"}
    for check in result.checks:
        if check.verdict in levels:
            title = _escape_property(f"{check.arm}: {check.quantity} {check.verdict}")
            yield f"::{levels[check.verdict]} title={title}::{_escape(check.message)}"


def junit(result: GateResult) -> str:
    """JUnit XML: one test case a check; invalid runs are errors, regressions failures, unmeasured figures skipped."""
    verdicts = [check.verdict for check in result.checks]
    totals = {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count("worse")),
        "errors": str(verdicts.count("invalid")),
        "skipped": str(verdicts.count("not measured")),
    }
    root = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "agentmem-bench gate", **totals})
    for check in result.checks:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": _legal(check.arm), "name": check.quantity, "time": "0"}
        )
        message = _legal(check.message)
        kind = {"worse": "failure", "invalid": "error", "not measured": "skipped"}.get(check.verdict)
        if kind:
            ElementTree.SubElement(case, kind, {"message": message}).text = message
        else:
            ElementTree.SubElement(case, "system-out").text = f"{check.verdict}: {message}"
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _checks(result: GateResult) -> Table:
    rows = tuple(
        (
            check.arm,
            check.quantity,
            _value(check, check.baseline),
            _value(check, check.current),
            check.verdict,
            check.message,
        )
        for check in result.checks
    )
    notes = list(result.notes)
    if result.exit_code == 0 and any(check.verdict == "better" for check in result.checks):
        notes.append("better than the baseline: run the gate with --update to hold the gain")
    title = f"{result.current} against {result.baseline}"
    return Table(title, ("arm", "quantity", "baseline", "run", "verdict", "why"), rows, tuple(notes))


def _moved(result: GateResult) -> Table:
    outcome = {True: "passed", False: "failed", None: "no verdict"}
    rows = tuple(
        (
            task.task,
            task.arm,
            task.session,
            count(task.tokens_before),
            count(task.tokens_after),
            f"{task.tokens_after - task.tokens_before:+,.0f}",
            f"{task.lost_more:+d}" if task.lost_more else "0",
            "same" if task.passed_before == task.passed_after else f"now {outcome[task.passed_after]}",
        )
        for task in result.moved
    )
    columns = ("task", "arm", "session", "tokens before", "after", "change", "needs lost", "outcome")
    return Table("Tasks that moved most (support-adjusted tokens where measured)", columns, rows)


def _grown(result: GateResult) -> Table:
    rows = tuple(
        (
            call.task,
            call.arm,
            call.session,
            str(call.call),
            count(call.before),
            count(call.after),
            f"{call.after - call.before:+,}",
        )
        for call in result.grown
    )
    columns = ("task", "arm", "session", "call", "prompt before", "after", "change")
    return Table("Calls whose prompt grew most", columns, rows)


def _value(check: Check, value: float | None) -> str:
    if value is None:
        return "-" if check.quantity.endswith(("failure_rate", "run")) else NOT_MEASURED
    return percent(value) if check.quantity.endswith("_rate") else count(value)


def _legal(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _escape(text: str) -> str:
    """Escape the data of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    """Escape a property of a workflow command, where colon and comma end it."""
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
