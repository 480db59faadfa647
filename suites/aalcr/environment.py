"""AA-LCR live: the documents of a question are listed, read page by page and searched, so they come as tool results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentmem.messages import Message, ToolCall
from harness.errors import UnknownName, UsageError
from harness.protocols import Environment, SuiteContext
from harness.types import Outcome, Probe, Task
from suites.aalcr.judge import TEMPLATES
from suites.aalcr.score import judge_messages, score, verdict
from suites.aalcr.tasks import Question, load
from suites.answering import Answering, Library, arguments, failed, result, tool
from suites.judging import judge_templates

REFUSAL = "The documents do not say."
SYSTEM = "You answer questions about a set of documents. Look into them with the tools before you answer."
TOOLS = [
    tool("list_documents", "List the documents with their number of pages."),
    tool(
        "read_document",
        "Read one page of a document.",
        ["document"],
        document=("string", "The name, as list_documents gives it."),
        page=("integer", "The page, from 1."),
    ),
    tool(
        "search_documents",
        "Find the pages that hold the words of a query; an excerpt of each comes back.",
        ["query"],
        query=("string", "Words to look for."),
    ),
]


class AaLcr:
    """Needs a judge. Options: ``protocol`` (1.0 or 1.1 of the judge); ``documents=prompt`` puts everything into the
    prompt, as the suite itself does; ``judge_prompts`` is a folder."""

    name = "aalcr"
    controls = ("refusal",)

    def __init__(self, context: SuiteContext) -> None:
        loaded = load(context.data, context.cache)
        self._templates, prompts = judge_templates(context.options, TEMPLATES)
        self.sha256 = {**loaded.sha256, **prompts}
        self.left_out = loaded.left_out
        self._context = context
        self._protocol = context.options.get("protocol", "1.0")
        self._tools = context.options.get("documents", "tools") == "tools"
        if self._protocol not in ("1.0", "1.1"):
            raise UnknownName("protocol of the judge", self._protocol, ("1.0", "1.1"))
        self._questions = {one.id: one for one in loaded.records}
        self._libraries: dict[tuple[str, ...], Library] = {}

    def tasks(self) -> Sequence[Task]:
        """The questions in file order."""
        if not self._tools:
            return [question.task() for question in self._questions.values()]
        return [self._task(question) for question in self._questions.values()]

    def environment(self, task: Task, folder: Path) -> Environment:
        """Tools over the documents of the question, or none when they stand in the prompt."""
        question = self._questions[task.id]
        if not self._tools:
            return Answering(lambda answer: self._score(question, answer))
        names = tuple(document.name for document in question.documents)
        library = self._libraries.get(names)
        if library is None:
            texts = {document.name: document.text for document in question.documents}
            library = self._libraries[names] = Library(texts)
        return Documents(library, lambda answer: self._score(question, answer))

    def control(self, name: str, task: Task) -> Outcome:
        """An agent that always says that the documents do not say."""
        if name != "refusal":
            raise UnknownName("control", name, self.controls)
        return self._score(self._questions[task.id], REFUSAL)

    def probes(self) -> list[Probe]:
        """Ten gold answers, and the same questions with the gold answer of another one."""
        questions = list(self._questions.values())[:10]
        found = []
        for question, other in zip(questions, questions[1:] + questions[:1], strict=True):
            for answer, right in ((question.answer, True), (other.answer, other.answer == question.answer)):
                prompt, _ = judge_messages(
                    self._protocol,  # type: ignore[arg-type]
                    question.question,
                    question.answer,
                    answer,
                    self._templates,
                )
                found.append(Probe(f"{question.id}/{right}", prompt, right))
        return found

    def read_verdict(self, reply: str) -> bool | None:
        """The strict reading of a reply."""
        return verdict(reply, self._protocol)  # type: ignore[arg-type]

    def _task(self, question: Question) -> Task:
        whole = question.task()
        text = f"Answer this question from the documents.\n\n{question.question}"
        prompt = (Message("system", SYSTEM), Message("user", text, kind="task"))
        return Task(whole.id, whole.suite, prompt, whole.data, whole.cluster)

    def _score(self, question: Question, answer: str) -> Outcome:
        judge = self._context.judge
        if judge is None:
            raise UsageError("suite aalcr needs a judge: --judge MODEL")
        return score(
            answer,
            question.question,
            question.answer,
            judge=judge,
            protocol=self._protocol,  # type: ignore[arg-type]
            mode=self._context.mode,
            templates=self._templates,
        )


class Documents(Answering):
    """Tools over a library of documents."""

    def __init__(self, library: Library, grade: Any) -> None:
        super().__init__(grade)
        self._library = library

    def tools(self) -> list[dict[str, Any]]:
        """List, read, search."""
        return TOOLS

    def execute(self, call: ToolCall) -> Message:
        """Run one of them; a wrong name or page comes back as an error that says what there is."""
        given = arguments(call)
        if call.name == "list_documents":
            return result(call, "\n".join(f"{name} ({count} pages)" for name, count in self._library.sizes.items()))
        if call.name == "search_documents":
            return result(call, self._search(given))
        try:
            number = int(given.get("page", 1))
            name = str(given.get("document", ""))
            text = self._library.page(name, number)
        except (LookupError, TypeError, ValueError) as error:
            return failed(call, str(error))
        return result(call, f"[{name}, page {number} of {self._library.sizes[name]}]\n{text}")

    def _search(self, given: Mapping[str, Any]) -> str:
        hits = self._library.search(str(given.get("query", "")))
        return "\n".join(f"{hit.name}, page {hit.page}: ... {hit.excerpt} ..." for hit in hits) or "nothing found"
