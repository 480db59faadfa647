"""The sentences of the generated pages, and the patterns that read them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

COLUMNS = ("Name", "Built", "Height", "Keeper")
REQUEST = (
    "Find every light of the {coast} coast. Give one Markdown table with the columns Name, Built (the year), Height "
    "(in metres) and Keeper (the name), one row for each light, fenced as ```markdown."
)
LIST_TITLE = "Lights of the {coast} coast"
ENTRY = "- {number} of {total}: {name}, {url}"
FACTS = {
    "Built": "{name} was built in {value}.",
    "Height": "{name} stands {value} metres high.",
    "Keeper": "The keeper of {name} is {value}.",
}
VALUES = {"Built": r"(\d{4})", "Height": r"(\d+)", "Keeper": r"([A-Z]\. \w+)"}
_REQUEST = re.compile(r"every light of the (\w+) coast")
_ENTRY = re.compile(r"\b(\d+) of (\d+): (.+?), (page://\S+\.txt)\b")


@dataclass(frozen=True, slots=True)
class Light:
    """One light; the fields are the cells of its row."""

    name: str
    built: str
    height: str
    keeper: str

    @property
    def row(self) -> tuple[str, str, str, str]:
        """The cells in the order of the columns."""
        return self.name, self.built, self.height, self.keeper


def markdown(rows: Iterable[Iterable[object]]) -> str:
    """Rows under the header, as the request wants them."""
    lines = [COLUMNS, ["---"] * len(COLUMNS), *rows]
    return "```markdown\n" + "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n```"


def coast_of(request: str) -> str | None:
    """The coast a request asks about, or None when it is none of our requests."""
    found = _REQUEST.search(request)
    return found[1] if found else None


def results(text: str, title: str) -> tuple[str, ...] | None:
    """Addresses of the results of that title, sorted; None until each of its numbered parts is there."""
    found = re.findall(rf"^{re.escape(title)}, part \d+ of (\d+)\n(page://\S+)$", text, re.MULTILINE)
    complete = found and len(found) >= int(found[0][0])
    return tuple(sorted(url for _, url in found)) if complete else None


def entries(texts: Iterable[str], place: str) -> dict[str, str] | None:
    """Name -> address of everything listed below an address; None until each of the numbered entries is there."""
    found = {
        number: (total, name, url)
        for text in texts
        for number, total, name, url in _ENTRY.findall(text)
        if url.startswith(place)
    }
    if not found or len(found) < max(int(total) for total, _, _ in found.values()):
        return None
    return {name: url for _, (_, name, url) in sorted(found.items())}


def cell(column: str, name: str, text: str) -> str | None:
    """One cell of a light's row, where a text states it."""
    sentence = re.escape(FACTS[column].format(name=name, value="@")).replace("@", VALUES[column])
    found = re.search(sentence, text)
    return found[1] if found else None
