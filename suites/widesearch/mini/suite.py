"""The suite as the harness plays it: the tools and the scorer of WideSearch over generated pages."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from agentmem.messages import Message
from harness.errors import JudgeFailed, UnknownName
from harness.protocols import Environment, SuiteContext
from harness.types import Outcome, Task
from suites.mini_agents.player import Player
from suites.outcomes import Mode
from suites.widesearch.environment import Web
from suites.widesearch.mini.agent import is_request, policy
from suites.widesearch.mini.generate import Coast, generate, site
from suites.widesearch.mini.phrases import REQUEST, markdown
from suites.widesearch.providers import Frozen
from suites.widesearch.score import score
from suites.widesearch.tasks import ROLE

NAME = "widesearch-mini"
DEFAULTS = {"seed": 0, "tables": 4}
JUDGED_BY = "embedded judge: equal words"
MODES: tuple[Mode, Mode] = ("reference", "guarded")
EVALUATION: dict[str, Any] = {
    "unique_columns": ["name"],
    "required": ["name", "built", "height", "keeper"],
    "eval_pipeline": {
        "name": {"preprocess": ["norm_str"], "metric": ["exact_match"]},
        "built": {"preprocess": ["extract_number"], "metric": ["exact_match"]},
        "height": {"preprocess": ["extract_number"], "metric": ["number_near"], "criterion": 0.0},
        "keeper": {"preprocess": ["norm_str"], "metric": ["exact_match"]},
    },
}
_WORDS = re.compile(r"^\[.*\]$", re.MULTILINE)


class EqualWords:
    """No model: pairs the words of two lists that are equal but for case. Reads the prompt in our words."""

    def ask(self, messages: Sequence[Message]) -> str:
        """The pairs. Raises ``JudgeFailed`` for a prompt that does not hold two lists."""
        lists = _WORDS.findall(messages[-1].content)
        if len(lists) != 2:
            raise JudgeFailed("the embedded judge reads only the prompt that pairs two lists of words")
        words, gold = (ast.literal_eval(found) for found in lists)
        known = {word.strip().lower(): word for word in gold}
        pairs = {word: known[word.strip().lower()] for word in words if word.strip().lower() in known}
        return f"```json\n{json.dumps(pairs)}\n```"


class WideSearchMini:
    """Options: ``seed``, ``tables`` (requests, each for a table of 24 rows). ``context.judge`` goes before ours."""

    name = NAME
    controls = ("gold table", "empty table")

    def __init__(self, context: SuiteContext) -> None:
        seed, tables = (int(context.options.get(key, some)) for key, some in DEFAULTS.items())
        coasts = generate(seed, tables)
        self._coasts = {f"mini-coast-{coast.name.lower()}": coast for coast in coasts}
        self._context = context
        self._source = Frozen(_written(site(seed, coasts), context.cache / NAME))

    def tasks(self) -> Sequence[Task]:
        """One request a coast."""
        return [_task(name, coast) for name, coast in self._coasts.items()]

    def script(self, tasks: Sequence[str]) -> Callable[..., Message]:
        """The scripted agent for one session."""
        return Player(policy, is_request)

    def environment(self, task: Task, folder: Path) -> Environment:
        """Search and pages over the frozen index."""
        return Web(self._source, partial(self._score, self._coasts[task.id]))

    def control(self, name: str, task: Task) -> Outcome:
        """Grade the gold table, or its header alone."""
        if name not in self.controls:
            raise UnknownName("control", name, self.controls)
        coast = self._coasts[task.id]
        return self._score(coast, markdown(light.row for light in coast.lights if name == "gold table"))

    def _score(self, coast: Coast, answer: str) -> Outcome:
        """By the mode of the context; ``detail["modes"]`` says for both modes whether the table passed."""
        seconds = self._context.clock() if self._context.clock else 0.0
        now = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
        judge = self._context.judge or EqualWords()
        outcomes = {mode: score(answer, coast.gold_csv, EVALUATION, judge=judge, now=now, mode=mode) for mode in MODES}
        chosen = outcomes[self._context.mode]
        more: dict[str, Any] = {"modes": {mode: outcome.passed for mode, outcome in outcomes.items()}}
        more |= {} if self._context.judge else {"judged_by": JUDGED_BY}
        return replace(chosen, detail={**chosen.detail, **more})


def _task(name: str, coast: Coast) -> Task:
    prompt = (Message("system", ROLE["en"]), Message("user", REQUEST.format(coast=coast.name), kind="task"))
    return Task(name, NAME, prompt, {"evaluation": EVALUATION}, name)


def _written(pages: Mapping[str, str], cache: Path) -> Path:
    """A folder that holds exactly these pages; it is named by their content and made only once."""
    digest = hashlib.sha256(json.dumps(pages, sort_keys=True).encode()).hexdigest()[:16]
    folder = cache / digest
    if not folder.exists():
        part = cache / f"{digest}.{os.getpid()}.part"
        for path, text in pages.items():
            (part / path).parent.mkdir(parents=True, exist_ok=True)
            (part / path).write_text(text, encoding="utf-8")
        if not folder.exists():
            part.rename(folder)
    return folder
