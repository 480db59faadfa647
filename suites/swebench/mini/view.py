"""What the scripted agent can read off a prompt: the steps of the current task, and the facts that stand in them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath
from typing import TypeVar

from agentmem.messages import Message
from suites.mini_agents.view import pointers
from suites.swebench.mini.environment import VIRTUAL_ROOT
from suites.swebench.mini.prompts import TASK_TAG

Found = TypeVar("Found")

_COMMAND = re.compile(r"```bash\n(.*?)\n```", re.DOTALL)
_TEST_FILE = re.compile(r"^(?:\./)?((?:[\w.-]+/)*tests?)/(?:[\w-]+/)*test_\w+\.py$", re.MULTILINE)
_FAILURE = re.compile(r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)", re.MULTILINE)
_RAN = re.compile(r"^Ran \d+ tests? in ", re.MULTILINE)
_VERDICT = re.compile(r"^(?:OK|FAILED \(.*\))$", re.MULTILINE)
_FRAME = re.compile(r'^  File "([^"]+)", line (\d+), in (\S+)\n(?:    (.*))?', re.MULTILINE)
_NUMBERED = re.compile(r"^ *(\d+)[\t:](.*)$", re.MULTILINE)
_EDITED = re.compile(r"^(?:sed -i\.bak .* (\S+\.py) &&|python - <<'EOF'.*?Path\(\"(\S+)\"\))", re.DOTALL)
_READ_PATH = re.compile(r"(?:nl -ba|cat -n|grep -n '') (\S+\.py)")


@dataclass(frozen=True)
class Seen:
    """One step as the prompt shows it: a command, what stands for its output, and pointers to the whole of it.

    ``command`` is empty when the prompt no longer has it; then only texts that speak for themselves are understood.
    """

    command: str
    text: str
    refs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Frame:
    """One line of a traceback; ``path`` is relative to the repository."""

    path: str
    line: int
    function: str
    code: str


@dataclass(frozen=True)
class Place:
    """Consecutive lines of a file, ``line`` being the number of the first."""

    path: str
    line: int
    lines: tuple[str, ...]


class View:
    """The current task's part of an assembled prompt. ``fetch`` returns the text behind a pointer."""

    def __init__(self, messages: Sequence[Message], fetch: Callable[[str], str] | None) -> None:
        self.steps = list(_steps(_current_task(messages)))
        self._fetch = fetch
        self._fetched: dict[str, str | None] = {}

    def first(self, read: Callable[[Seen], Found | None]) -> Found | None:
        """What ``read`` finds first, newest step first; only if nothing visible has it, pointers are followed."""
        visible = (read(step) for step in reversed(self.steps))
        behind = (read(whole) for step in reversed(self.steps) for whole in self._behind(step))
        return next((found for found in chain(visible, behind) if found is not None), None)

    def each(self, read: Callable[[Seen], Found | None]) -> Iterator[tuple[str, Found]]:
        """Command and what ``read`` finds in each step, newest first: visible, else behind the step's pointers."""
        for step in reversed(self.steps):
            found = next((item for s in (step, *self._behind(step)) if (item := read(s)) is not None), None)
            if found is not None:
                yield step.command, found

    def _behind(self, step: Seen) -> Iterator[Seen]:
        """The step as its pointers tell it."""
        for ref in step.refs:
            if (text := self._follow(ref)) is not None:
                yield Seen(step.command, text)

    def _follow(self, ref: str) -> str | None:
        if ref not in self._fetched:
            try:
                self._fetched[ref] = None if self._fetch is None else self._fetch(ref)
            except LookupError:  # a pointer to nothing is as good as none
                self._fetched[ref] = None
        return self._fetched[ref]


def _current_task(messages: Sequence[Message]) -> Sequence[Message]:
    starts = [i for i, m in enumerate(messages) if m.role == "user" and TASK_TAG in m.content and not m.is_result]
    return messages[starts[-1] + 1 :] if starts else messages


def _steps(messages: Sequence[Message]) -> Iterator[Seen]:
    command = ""
    for message in messages:
        if message.role == "assistant":
            command = command_of(message)
        elif message.role != "system":
            refs = (*message.refs, *pointers(message.content))
            yield Seen(command, message.content, tuple(dict.fromkeys(refs)))
            command = ""


def command_of(message: Message) -> str:
    """The command in an assistant message: its last fenced bash block, or nothing."""
    blocks = _COMMAND.findall(message.content)
    return blocks[-1] if blocks else ""


def folder_of_tests(step: Seen) -> str | None:
    """The folder of the tests, from a listing of files."""
    if not step.command.startswith(("find ", "ls ")) and step.command:
        return None
    folders = _TEST_FILE.findall(step.text)
    return min(folders, key=len) if folders else None


def failing_tests(step: Seen) -> tuple[str, ...] | None:
    """Ids of the tests that failed in a run, in order; empty when all passed; None when this is no test run."""
    if not _is_run(step):
        return None
    found = tuple(dict.fromkeys(dotted for _, dotted in _FAILURE.findall(step.text)))
    return found if found or passed(step) else None


def passed(step: Seen) -> bool | None:
    """Whether a test run ended well; None when this is no test run, or its end is not shown."""
    verdicts = _VERDICT.findall(step.text) if _is_run(step) else ()
    return verdicts[-1] == "OK" if verdicts else None


def _is_run(step: Seen) -> bool:
    return "unittest" in step.command or (not step.command and _RAN.search(step.text) is not None)


def tracebacks(step: Seen) -> tuple[Frame, ...] | None:
    """All frames within the repository that a test run shows, in order."""
    if not _is_run(step):
        return None
    root = f"{VIRTUAL_ROOT}/"
    found = [
        Frame(path.removeprefix(root), int(line), function, code or "")
        for path, line, function, code in _FRAME.findall(step.text)
        if path.startswith(root)
    ]
    return tuple(found) or None


def definitions(name: str) -> Callable[[Seen], tuple[tuple[str, int], ...] | None]:
    """A reader of search results: (path, line) of every definition of ``name``."""
    pattern = re.compile(rf"^(?:\./)?([^\s:]+\.py):(\d+): *(?:def|class) {re.escape(name)}\b", re.MULTILINE)

    def read(step: Seen) -> tuple[tuple[str, int], ...] | None:
        if step.command and "grep -rn" not in step.command:
            return None
        return tuple((path, int(line)) for path, line in pattern.findall(step.text)) or None

    return read


def listing(step: Seen) -> tuple[str, dict[int, str]] | None:
    """A file that was shown with line numbers: its path and the lines by number."""
    match = _READ_PATH.search(step.command)
    lines = {int(number): text for number, text in _NUMBERED.findall(step.text)} if match else {}
    return (match[1], lines) if match and lines else None


def block(fingerprint: str, length: int) -> Callable[[Seen], Place | None]:
    """A reader of shown files: the place whose ``length`` lines have this fingerprint."""

    def read(step: Seen) -> Place | None:
        shown = listing(step)
        if shown is None:
            return None
        path, lines = shown
        for start in lines:
            some = tuple(lines.get(start + i, "\0") for i in range(length))
            if fingerprint_of(some) == fingerprint:
                return Place(path, start, some)
        return None

    return read


def edited_path(step: Seen) -> str | None:
    """The file that an edit was made in, from the command."""
    match = _EDITED.search(step.command)
    return match[1] or match[2] if match else None


def fingerprint_of(lines: Sequence[str]) -> str:
    """What lines of code are recognised by; it says nothing about what they are."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def is_test_path(path: str) -> bool:
    """Whether a path leads to a test module."""
    return PurePosixPath(path).name.startswith("test_")
