"""The scripted agent: searches, opens every page that the lists name, and writes the table once it sees all cells."""

from __future__ import annotations

from functools import partial

from suites.mini_agents.moves import Done, Gap, Move, find, look
from suites.mini_agents.view import View
from suites.widesearch.mini.phrases import FACTS, LIST_TITLE, cell, coast_of, entries, markdown, results

PATTERN = "was built in|metres high|The keeper of"
SEARCH, PAGE = "search_global", "text_browser_view"


def is_request(text: str) -> bool:
    """Whether a text is one of our requests."""
    return coast_of(text) is not None


def policy(view: View) -> Move:
    """The next move on a prompt."""
    coast = coast_of(view.request)
    if coast is None:
        return Done("I do not understand the request.")
    title = LIST_TITLE.format(coast=coast)
    try:
        lists = find(view, lambda text: results(text, title), SEARCH, [{"query": title}], f"{title}|page:")
        place = lists[0].rpartition("/")[0]
        lights = entries((step.text for step in view.steps), place)
        if lights is None:
            return look(view, PAGE, [{"url": url} for url in lists], place)
        rows = {name: _row(view, name) for name in lights}
        open_ones = [{"url": lights[name]} for name, row in rows.items() if None in row]
        if open_ones:
            return look(view, PAGE, open_ones, PATTERN)
    except Gap as gap:
        return gap.move
    return Done(markdown([name, *row] for name, row in rows.items()))


def _row(view: View, name: str) -> list[str | None]:
    return [view.first(partial(cell, column, name)) for column in FACTS]
