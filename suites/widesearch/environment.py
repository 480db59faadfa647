"""WideSearch live: search and page tools over a provider, a table as the answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from agentmem.messages import Message, ToolCall
from harness.errors import EnvironmentFailed, UnknownName, UsageError
from harness.protocols import Environment, SuiteContext
from harness.types import Outcome, Probe, Task
from suites.answering import Answering, arguments, failed, pages, result, tool
from suites.judging import judge_templates
from suites.widesearch.grade import JUDGE_METRIC
from suites.widesearch.judge import TEMPLATES, binary, grade_prompt, last_json_block
from suites.widesearch.normalize import norm_column
from suites.widesearch.providers import Provider, provider
from suites.widesearch.rules import parse_rules, read_gold
from suites.widesearch.score import score
from suites.widesearch.tasks import Query, load

RESULTS = 10
PROBED = 10  # tables that probes of a judge are taken from
TOOLS = [
    tool("search_global", "Search the web.", ["query"], query=("string", "What to look for.")),
    tool(
        "text_browser_view",
        "Read a page as text, one part at a time.",
        ["url"],
        url=("string", "Its address, as search_global gives it."),
        part=("integer", "The part, from 1."),
    ),
]


class WideSearch:
    """Needs a judge. Options: ``provider`` (wikipedia, brave or frozen), ``pages`` (the folder of frozen),
    ``language`` (en or zh: only these tasks), ``judge_prompts`` (a folder)."""

    name = "widesearch"
    controls = ("gold table", "empty table")

    def __init__(self, context: SuiteContext) -> None:
        loaded = load(context.data, context.cache)
        self._templates, prompts = judge_templates(context.options, TEMPLATES)
        self.sha256 = {**loaded.sha256, **prompts}
        self.left_out = loaded.left_out
        self._context = context
        language = context.options.get("language")
        self._queries = {one.id: one for one in loaded.records if language in (None, one.language)}
        self._providers: dict[str, Provider] = {}

    def tasks(self) -> Sequence[Task]:
        """The requests that have a gold table, in file order."""
        return [query.task() for query in self._queries.values()]

    def environment(self, task: Task, folder: Path) -> Environment:
        """Search and pages."""
        query = self._queries[task.id]
        if query.language not in self._providers:
            options = self._context.options
            name = options.get("provider", "wikipedia")
            self._providers[query.language] = provider(name, query.language, options.get("pages"))
        return Web(self._providers[query.language], partial(self._score, query))

    def control(self, name: str, task: Task) -> Outcome:
        """The gold table as an answer, or its header alone."""
        query = self._queries[task.id]
        if name not in self.controls:
            raise UnknownName("control", name, self.controls)
        required = list(query.evaluation["required"])
        return self._score(query, markdown(query.gold_csv, required, rows=name == "gold table"))

    def gold(self, task: str) -> str:
        """The gold table of a task, as CSV."""
        return self._queries[task].gold_csv

    def probes(self) -> list[Probe]:
        """For ten tables: a cell of a column that is judged beside itself, and beside another cell of the column."""
        found: list[Probe] = []
        for query in self._queries.values():
            cells = judged_cells(query)
            if cells is None:
                continue
            criterion, gold, other = cells
            for answer, right in ((gold, True), (other, False)):
                prompt = grade_prompt(self._templates["grade"], [answer], [gold], criterion)
                found.append(Probe(f"{query.id}/{right}", (Message("user", prompt),), right))
            if len(found) == 2 * PROBED:
                break
        return found

    def read_verdict(self, reply: str) -> bool | None:
        """The strict reading of a reply about one pair."""
        graded = binary((last_json_block(reply) or {}).get("idx_0"))
        return None if graded is None else bool(graded)

    def _score(self, query: Query, answer: str) -> Outcome:
        judge = self._context.judge
        if judge is None:
            raise UsageError("suite widesearch needs a judge: --judge MODEL")
        seconds = self._context.clock() if self._context.clock else 0.0
        now = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
        return score(
            answer,
            query.gold_csv,
            query.evaluation,
            judge=judge,
            now=now,
            mode=self._context.mode,
            templates=self._templates,
        )


class Web(Answering):
    """The two tools of the suite over one provider."""

    def __init__(self, source: Provider, grade: Any) -> None:
        super().__init__(grade)
        self._source = source

    def tools(self) -> list[dict[str, Any]]:
        """Search and read."""
        return TOOLS

    def execute(self, call: ToolCall) -> Message:
        """Run one; what cannot be found comes back as an error, also when the source does not answer."""
        given = arguments(call)
        try:
            if call.name == "search_global":
                found = self._source.search(str(given.get("query", "")), RESULTS)
                return result(
                    call, "\n\n".join(f"{one.title}\n{one.url}\n{one.excerpt}" for one in found) or "nothing found"
                )
            parts = pages(self._source.page(str(given.get("url", ""))))
            number = int(given.get("part") or 1)
            if not 1 <= number <= len(parts):
                raise LookupError(f"the page has parts 1 to {len(parts)}, not {number}")
        except (LookupError, TypeError, ValueError, EnvironmentFailed) as error:
            return failed(call, str(error))
        return result(call, f"[part {number} of {len(parts)}]\n{parts[number - 1]}")


def judged_cells(query: Query) -> tuple[object, str, str] | None:
    """Criterion, first cell and a different cell of the first column that a judge compares; None without one."""
    rules = parse_rules(query.evaluation)
    table = read_gold(query.gold_csv, rules.required, infer=False)
    if table is None:
        return None
    for index, column in enumerate(rules.required):
        rule = rules.pipeline.get(column)
        if rule is None or column in rules.unique or JUDGE_METRIC not in rule.metrics:
            continue
        cells = list(dict.fromkeys(str(row[index]).strip() for row in table.rows))
        if len(cells) > 1 and all(cells[:2]):
            return rule.criterion, cells[0], cells[1]
    return None


def markdown(table: str, required: Sequence[str], *, rows: bool) -> str:
    """The required columns of a CSV table as the fenced Markdown the suite asks for; pipes in cells become slashes.

    A column more than required is a mistake to the scorer, and gold tables have such columns.
    """
    lines = [line for line in csv.reader(io.StringIO(table.removeprefix("\ufeff"))) if line]
    kept = [index for index, name in enumerate(lines[0] if lines else ()) if norm_column(name) in required]
    picked = [[line[index] if index < len(line) else "" for index in kept] for line in lines[: None if rows else 1]]
    cells = [[cell.replace("|", "/").replace("\n", " ") for cell in line] for line in picked]
    shown = [f"| {' | '.join(line)} |" for line in cells]
    shown.insert(1, "|" + " --- |" * len(kept))
    return "```markdown\n" + "\n".join(shown) + "\n```"
