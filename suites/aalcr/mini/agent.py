"""The scripted agent: finds each figure that a question needs, and answers once the prompt shows them all."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod

from suites.aalcr.mini.phrases import asked, price_of, product_of
from suites.mini_agents.moves import Done, Gap, Move, find, look
from suites.mini_agents.view import Found, View

LIST, READ = "list_documents", "read_document"
_LISTED = re.compile(r"^(.+) \((\d+) pages?\)$", re.MULTILINE)


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
            product = _find(view, lambda text: product_of(figure.mill, text), figure.mill, f"{figure.mill} sells")
            price = f"{figure.year} {product}"
            values.append(_find(view, lambda text: price_of(product, figure.year, text), "bulletin", price))
    except Gap as gap:
        return gap.move
    result = {"difference": lambda: values[0] - values[1], "sum": lambda: sum(values), "worth": lambda: prod(values)}
    return Done(f"The answer is {result[question.kind]():,}.")


def _find(view: View, read: Callable[[str], Found | None], document: str, pattern: str) -> Found:
    """What ``read`` finds in sight. Raises ``Gap`` with the way to it: the pages of the document that has it."""
    found = view.first(read)
    if found is not None:
        return found
    sizes = find(view, lambda text: dict(_LISTED.findall(text)) or None, LIST, [{}], "pages")
    name = next(name for name in sizes if document.lower() in name.lower())
    raise Gap(look(view, READ, [{"document": name, "page": page + 1} for page in range(int(sizes[name]))], pattern))
