"""Generates document sets and questions over them: the same bytes for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from suites.aalcr.mini.phrases import EXCEEDS, METRICS, PRICED, PRODUCTS, REPORTED, SOLD, TOGETHER, WORTH

YEARS = tuple(str(year) for year in range(2016, 2024))
MILLS = 3  # reports in a set; a price bulletin comes with them
PLACES = (
    "Aldermere", "Brackwater", "Corvane", "Dunholt", "Eskerby", "Farrowness", "Gildersand", "Hollinbeck", "Istermoor",
    "Jorvale", "Keldrick", "Lannerby", "Marrowfield", "Netherquay", "Ostrand", "Pellworth", "Quarnford", "Rastvik",
    "Silverhythe", "Tarnholm", "Ulverscar", "Vennigate", "Wexcombe", "Yarrowdale",
)  # fmt: skip
FILLER = (
    "The board met {n} times and found nothing to object to in the accounts.",
    "A plan of {year} had foreseen {value} {unit}, but plans are not results and none of it is counted here.",
    "The river stood low for {n} weeks, and the second machine ran at night only.",
    "Line {n} was taken apart, cleaned and put together again without an accident.",
    "Visitors from {place} were shown the drying hall and asked about the smell.",
    "The auditors ask readers not to confuse estimates, such as {value} {unit}, with what was measured.",
    "An apprentice scheme took in {n} beginners, most of whom stayed.",
    "The roof over store {n} was mended after the storm, at the insurer's expense.",
    "Carriers were late {n} times, twice because of ice on the pass.",
    "The union and the management agreed on a new rota after {n} rounds of talks.",
)


@dataclass(frozen=True, slots=True)
class MiniQuestion:
    """One question over the documents of its set (name -> text); ``answer`` is a figure with its unit."""

    id: str
    set_id: str
    question: str
    answer: str
    documents: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Mill:
    """The truth about one mill: its product, and its figures by metric and year."""

    name: str
    product: str
    figures: Mapping[tuple[str, str], int]


def generate(seed: int, sets: int = 4, each: int = 4) -> list[MiniQuestion]:
    """``each`` questions over every one of ``sets`` sets, set by set."""
    return [question for number in range(sets) for question in _set(seed, number, each)]


def _set(seed: int, number: int, each: int) -> list[MiniQuestion]:
    rng = random.Random(f"aalcr-mini/{seed}/{number}")
    places = rng.sample(PLACES, MILLS)
    products = rng.sample(PRODUCTS, MILLS)
    mills = [Mill(f"{place} Mill", product, _figures(rng)) for place, product in zip(places, products, strict=True)]
    prices = {(product, year): rng.randrange(300, 990) for product in PRODUCTS for year in YEARS}
    documents = {f"{mill.name}, report.txt": _report(rng, mill) for mill in mills}
    documents["Price bulletin.txt"] = _bulletin(rng, prices)
    kinds: tuple[Callable[..., tuple[str, str]], ...] = (_exceeds, _together, _worth)
    made: dict[str, str] = {}
    while len(made) < each:
        text, answer = kinds[len(made) % len(kinds)](rng, mills, prices)
        made[text] = answer
    set_id = f"mini-set-{number:02d}"
    return [
        MiniQuestion(f"{set_id}-q{position}", set_id, text, answer, documents)
        for position, (text, answer) in enumerate(made.items())
    ]


def _figures(rng: random.Random) -> dict[tuple[str, str], int]:
    return {(metric, year): rng.randrange(11_000, 99_000) for metric in METRICS for year in YEARS}


def _report(rng: random.Random, mill: Mill) -> str:
    """A paragraph a metric and year, in an order of its own, each with a figure among sentences that hold none."""
    paragraphs = [f"{SOLD.format(mill=mill.name, product=mill.product)} {_filler(rng)} {_filler(rng)}"]
    for (metric, year), value in mill.figures.items():
        sentence = rng.choice(REPORTED).format(
            year=year, metric=metric, mill=mill.name, value=f"{value:,}", unit=METRICS[metric]
        )
        around = [_filler(rng), sentence[0].upper() + sentence[1:], _filler(rng)]
        rng.shuffle(around)
        paragraphs.append(" ".join(around))
    rng.shuffle(paragraphs)
    return f"{mill.name.upper()}: REPORT TO THE OWNERS\n" + "\n".join(paragraphs) + "\n"


def _bulletin(rng: random.Random, prices: Mapping[tuple[str, str], int]) -> str:
    lines = [
        f"{PRICED.format(year=year, product=product, value=price)} {_filler(rng)}"
        for (product, year), price in prices.items()
    ]
    rng.shuffle(lines)
    return "BULLETIN OF PRICES FREE ON QUAY\n" + "\n".join(lines) + "\n"


def _filler(rng: random.Random) -> str:
    metric = rng.choice(list(METRICS))
    return rng.choice(FILLER).format(
        n=rng.randrange(2, 19),
        year=rng.choice(YEARS),
        value=f"{rng.randrange(11_000, 99_000):,}",
        unit=METRICS[metric],
        place=rng.choice(PLACES),
    )


def _exceeds(rng: random.Random, mills: Sequence[Mill], prices: Mapping[tuple[str, str], int]) -> tuple[str, str]:
    metric = rng.choice(list(METRICS))
    one, other = ((mill, rng.choice(YEARS)) for mill in rng.sample(list(mills), 2))
    (mill, year), (less, then) = sorted((one, other), key=lambda pair: -pair[0].figures[metric, pair[1]])
    unit = METRICS[metric]
    text = EXCEEDS.format(unit=unit, metric=metric, mill=mill.name, year=year, other=less.name, then=then)
    return text, f"{mill.figures[metric, year] - less.figures[metric, then]:,} {unit}"


def _together(rng: random.Random, mills: Sequence[Mill], prices: Mapping[tuple[str, str], int]) -> tuple[str, str]:
    metric, year = rng.choice(list(METRICS)), rng.choice(YEARS)
    unit = METRICS[metric]
    one, other, third = rng.sample([mill.name for mill in mills], 3)
    text = TOGETHER.format(unit=unit, metric=metric, mill=one, other=other, third=third, year=year)
    return text, f"{sum(mill.figures[metric, year] for mill in mills):,} {unit}"


def _worth(rng: random.Random, mills: Sequence[Mill], prices: Mapping[tuple[str, str], int]) -> tuple[str, str]:
    mill, year = rng.choice(list(mills)), rng.choice(YEARS)
    worth = mill.figures["output", year] * prices[mill.product, year]
    return WORTH.format(mill=mill.name, year=year), f"{worth:,} crowns"
