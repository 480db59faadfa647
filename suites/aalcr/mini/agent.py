"""The scripted agent: finds each figure that a question needs, and answers once the prompt shows them all."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import TypeVar

from suites.mini_agents.moves import Ask, Done, Move, again, follow
from suites.mini_agents.view import View, pointers
from suites.aalcr.mini.phrases import asked, price_of, product_of

Found = TypeVar("Found")
LIST, READ = "list_documents", "read_document"
_LISTED = re.compile(r"^(.+) \((\d+) pages?\)$", re.MULTILINE)


class _Look(Exception):
    """A fact is not in sight; ``move`` is where to look."""

    def __init__(self, move: Move) -> None:
        super().__init__()
        self.move = move


def is_request(text: str) -> bool:
    """Whether a text asks one of our questions."""
    return asked(text) is not None


def policy(view: View) -> Move:
    """The next move on a prompt."""
    question = asked(view.request)
    if question is None:
        return Done("I do not understand the question.")
    try:
        values = [_find(view, f.read, f.mill, f"{f.mill}.*{f.year}|{f.year}.*{f.mill}") for f in question.figures]
        if question.kind == "worth":
            figure = question.figures[0]
            product = _find(view, lambda text: product_of(figure.mill, text), figure.mill, "sells all")
            values.append(
                _find(view, lambda text: price_of(product, figure.year, text), "bulletin", f"{figure.year} {product}")
            )
    except _Look as look:
        return look.move
    result = {"difference": lambda: values[0] - values[1], "sum": lambda: sum(values), "worth": lambda: prod(values)}
    return Done(f"The answer is {result[question.kind]():,}.")


def _find(view: View, read: Callable[[str], Found | None], document: str, pattern: str) -> Found:
    """What ``read`` finds in the results in sight. Raises ``_Look`` with the way to the document that should have it."""
    found = view.first(read)
    if found is None:
        raise _Look(_look(view, document, pattern))
    return found


def _look(view: View, document: str, pattern: str) -> Move:
    """Read on in the document; when all of it was read, follow pointers to its pages, else read them again."""
    sizes = view.first(lambda text: dict(_LISTED.findall(text)) or None)
    name = next((name for name in sizes or {} if document.lower() in name.lower()), None)
    if sizes is None or name is None:
        return Ask("I see which documents there are.", ((LIST, {}),))
    pages = [{"document": name, "page": page} for page in range(1, int(sizes[name]) + 1)]
    fresh = [page for page in pages if not view.has(READ, page)]
    if fresh:
        return Ask(f"It should stand in {name}.", ((READ, fresh[0]),))
    read = [step for step in view.asked(READ) if step.arguments.get("document") == name]
    refs = [ref for step in reversed(read) for ref in step.refs]
    notes = [line for step in view.asked("") for line in step.text.splitlines() if document.lower() in line.lower()]
    refs += [ref for line in notes for ref in pointers(line)]
    return follow(view, refs, pattern) or again(view, read) or Done("I cannot find it.")
