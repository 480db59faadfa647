"""The sentences in which a figure is reported or asked for, and the patterns that read them."""

from __future__ import annotations

import re
from dataclasses import dataclass

METRICS = {"output": "tonnes", "staff": "people", "energy use": "megawatt hours", "water intake": "cubic metres"}
PRODUCTS = ("kraft paper", "carton board", "tissue stock", "glassine", "filter paper", "newsprint")
REPORTED = (
    "In {year} {metric} at {mill} came to {value} {unit}.",
    "{mill} reports {metric} of {value} {unit} for {year}.",
    "For {year} the books of {mill} show {metric} of {value} {unit}.",
)
SOLD = "{mill} sells all it makes as {product}."
PRICED = "In {year} {product} was quoted at {value} crowns a tonne."
EXCEEDS = "By how many {unit} did {metric} at {mill} in {year} exceed {metric} at {other} in {then}?"
TOGETHER = "How many {unit} do {metric} at {mill}, at {other} and at {third} in {year} add up to?"
WORTH = "What was the output of {mill} in {year} worth at the bulletin's price of that year for its product, in crowns?"

OPEN = {"value": r"(?P<value>[\d,]+)", "unit": r"[a-z ]+", "product": r"(?P<product>[a-z ]+)"}

_EXCEEDS = re.compile(r"did ([a-z ]+) at (.+?) in (\d{4}) exceed [a-z ]+ at (.+?) in (\d{4})\?")
_TOGETHER = re.compile(r"do ([a-z ]+) at (.+?), at (.+?) and at (.+?) in (\d{4}) add up to\?")
_WORTH = re.compile(r"the output of (.+?) in (\d{4}) worth")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: what is reported, by which mill, for which year."""

    metric: str
    mill: str
    year: str

    def read(self, text: str) -> int | None:
        """The figure, where a text reports it."""
        fields = {"year": self.year, "metric": self.metric, "mill": self.mill}
        for sentence in REPORTED:
            found = re.search(pattern(sentence, **fields), text)
            if found:
                return number(found["value"])
        return None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for: ``difference`` or ``sum`` of the figures, or the ``worth`` of the only one."""

    kind: str
    figures: tuple[Figure, ...]


def asked(request: str) -> Asked | None:
    """The question in a request, or None when it holds none of the known forms."""
    if found := _EXCEEDS.search(request):
        metric, mill, year, other, then = found.groups()
        return Asked("difference", (Figure(metric, mill, year), Figure(metric, other, then)))
    if found := _TOGETHER.search(request):
        metric, *mills, year = found.groups()
        return Asked("sum", tuple(Figure(metric, mill, year) for mill in mills))
    if found := _WORTH.search(request):
        return Asked("worth", (Figure("output", found[1], found[2]),))
    return None


def product_of(mill: str, text: str) -> str | None:
    """What a mill sells, where a text says so."""
    found = re.search(pattern(SOLD, mill=mill), text)
    return found["product"] if found else None


def price_of(product: str, year: str, text: str) -> int | None:
    """The price of a product in a year, where a text quotes it."""
    found = re.search(pattern(PRICED, year=year, product=product), text)
    return number(found["value"]) if found else None


def pattern(sentence: str, **fields: str) -> str:
    """A regular expression for a sentence; fields that are not given are groups."""
    known = {name: re.escape(value) for name, value in fields.items()}
    return "".join(
        (known.get(part) or OPEN[part]) if index % 2 else re.escape(part)
        for index, part in enumerate(re.split(r"\{(\w+)\}", sentence))
    )


def number(text: str) -> int:
    """12,345 -> 12345."""
    return int(text.replace(",", ""))
