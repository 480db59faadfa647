"""The scripted agent: no model, a fixed policy that acts only on the text of the prompt it is given.

It is told how to mend the bug, not where: a fix is the fingerprint of the faulty lines and the lines that replace
them. Path, line numbers and the faulty text must be read off the prompt.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from agentmem.messages import Message
from suites.swebench.mini import commands
from suites.swebench.mini.explore import next_lead
from suites.swebench.mini.patches import hunks
from suites.swebench.mini.prompts import SUBMIT
from suites.swebench.mini.tasks import MiniTask
from suites.swebench.mini.view import (
    Frame,
    View,
    block,
    edited_path,
    failing_tests,
    fingerprint_of,
    folder_of_tests,
    is_test_path,
    listing,
    passed,
    tracebacks,
)

CALL_LIMIT = 30
REPEAT_LIMIT = 4  # so often may a command be given again in one task


@dataclass(frozen=True)
class Fix:
    """Lines to put in the place of ``length`` lines that have this fingerprint."""

    fingerprint: str
    length: int
    new: tuple[str, ...]


class Phase(Enum):
    """What comes next. EXPLORE takes as many calls as it needs, CHECK and SYNTAX one at most, the others one."""

    LIST = "list"
    ORIENT = "orient"
    TEST = "test"
    READ_TEST = "read test"
    EXPLORE = "explore"
    CHECK = "check"
    SYNTAX = "syntax"
    RETEST = "retest"
    FINAL = "final"
    SUBMIT = "submit"


class Missing(Exception):
    """Something the next step needs stands nowhere in the prompt; ``say`` and ``command`` would show it again."""

    def __init__(self, say: str, command: str) -> None:
        super().__init__(say)
        self.say, self.command = say, command


class ScriptedAgent:
    """Plays one task. It keeps its phase and what it has done itself, and no fact about the repository.

    ``fetch`` returns the text behind a pointer that stands in a prompt, or raises ``LookupError``.
    """

    def __init__(self, task: MiniTask, fetch: Callable[[str], str] | None = None) -> None:
        self._fixes = list(fixes_of(task.gold_patch))
        self._style = commands.Style.draw(random.Random(task.id))
        self._fetch = fetch
        self._phase = Phase.LIST
        self._done: list[Fix] = []
        self._given: set[str] = set()
        self.calls = 0
        self.repeats = 0

    def next(self, view: Sequence[Message]) -> Message:
        """The assistant message that follows on a prompt. Hands in as it is at the limit of calls or repeats."""
        try:
            say, command = self._step(View(view, self._fetch))
        except Missing as gap:
            say, command = gap.say, gap.command
        self.calls += 1
        self.repeats += command in self._given
        self._given.add(command)
        if self.repeats > REPEAT_LIMIT or self.calls > CALL_LIMIT:
            say, command = "I keep losing what I have found out. I give up and hand in what there is.", SUBMIT
        return Message("assistant", f"THOUGHT: {say}\n\n```bash\n{command}\n```")

    def _step(self, view: View) -> tuple[str, str]:
        """Thought and command of the current phase; moves on to the next phase unless something is missing."""
        match self._phase:
            case Phase.LIST:
                self._phase = Phase.ORIENT if self._style.how_orient else Phase.TEST
                return self._style.look()
            case Phase.ORIENT:
                self._phase = Phase.TEST
                return self._style.orientation(self._folder(view))
            case Phase.TEST:
                answer = self._style.run_tests(self._folder(view))
                self._phase = Phase.READ_TEST
                return answer
            case Phase.READ_TEST:
                answer = self._style.read_test(self._test_frame(view), self._failing(view)[0])
                self._phase = Phase.EXPLORE
                return answer
            case Phase.EXPLORE:
                return self._explore(view)
            case Phase.CHECK:
                last = self._done[-1]
                self._phase = Phase.SYNTAX if len(self._done) == len(self._fixes) else Phase.EXPLORE
                place = view.first(block(last.fingerprint, last.length))
                return self._style.check(place, last.new) if place else self._step(view)
            case Phase.SYNTAX:
                self._phase = Phase.RETEST
                path = view.first(edited_path)
                return self._style.syntax(path) if path and self._style.how_check else self._step(view)
            case Phase.RETEST:
                answer = self._style.retest(self._failing(view))
                self._phase = Phase.FINAL
                return answer
            case Phase.FINAL:
                answer = self._style.final_run(self._folder(view))
                self._phase = Phase.SUBMIT
                return answer
            case Phase.SUBMIT:
                if not view.first(passed):
                    return "Something still fails, and I do not know why. I hand in what there is.", SUBMIT
                return "Everything passes, the change is small, nothing else to do.", SUBMIT

    def _explore(self, view: View) -> tuple[str, str]:
        """Edit when the faulty lines are in sight; else read or search on."""
        for fix in self._fixes:
            if fix not in self._done and (place := view.first(block(fix.fingerprint, fix.length))):
                answer = self._style.edit(place, fix.new, self._failing(view)[0])
                self._done.append(fix)
                self._phase = Phase.CHECK
                return answer
        lead = next_lead(view, self._style)
        if lead is None:
            raise Missing(*self._again(view))
        return lead

    def _again(self, view: View) -> tuple[str, str]:
        """Nothing is left to look up, so something seen is gone: give its command again, each in turn."""
        seen = [step for step in view.steps if commands.explores(step.command)]
        lost = [step for step in seen if listing(step) is None and "def " not in step.text] or seen
        if not lost:
            return self._style.run_tests(self._folder(view))
        return "I have been there but cannot recall it. I look again.", lost[self.repeats % len(lost)].command

    def _folder(self, view: View) -> str:
        folder = view.first(folder_of_tests)
        if folder is None:
            raise Missing(*self._style.look())
        return folder

    def _failing(self, view: View) -> tuple[str, ...]:
        failing = view.first(lambda step: failing_tests(step) or None)
        if failing is None:
            raise Missing(*self._style.run_tests(self._folder(view)))
        return failing

    def _test_frame(self, view: View) -> Frame:
        frames = view.first(tracebacks) or ()
        frame = next((frame for frame in frames if is_test_path(frame.path)), None)
        if frame is None:
            raise Missing(*self._style.run_tests(self._folder(view)))
        return frame


def fixes_of(patch: str) -> list[Fix]:
    """What the agent is told of a gold patch: for each hunk, a fingerprint and the new lines."""
    found = []
    for hunk in hunks(patch):
        marks = [mark for mark, _ in hunk.lines]
        changed = [i for i, mark in enumerate(marks) if mark != " "]
        first, last = changed[0], changed[-1]
        if "-" not in marks:  # lines are only added: those around them are the anchor
            first, last = max(0, first - 1), min(len(marks) - 1, last + 1)
        lines = hunk.lines[first : last + 1]
        old = [text.rstrip("\n") for mark, text in lines if mark in " -"]
        new = [text.rstrip("\n") for mark, text in lines if mark in " +"]
        found.append(Fix(fingerprint_of(old), len(old), tuple(new)))
    return found
