"""Generates coasts with their lights, and the pages about them: the same bytes for the same seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import UsageError
from suites.widesearch.mini.phrases import COLUMNS, ENTRY, FACTS, LIST_TITLE, Light

LIGHTS = 24  # rows of a table: more than a policy keeps that keeps the last ten results
LISTS = 2  # pages over which the list of a coast is spread
COASTS = ("Varnish", "Ostic", "Melder", "Quorn", "Tessel", "Iverian", "Brandish", "Skarn", "Lomond", "Pelluric")
FIRST = ("Keld", "Amber", "Raven", "Stony", "Gannet", "Hollow", "Thorn", "Salt", "Winter", "Copper", "Long", "Grey",
         "Otter", "Bleak", "Hazel", "Iron", "Swift", "Cinder", "Marl", "Fallow")  # fmt: skip
SECOND = ("Head", "Ness", "Point", "Skerry", "Holm", "Bank", "Rock", "Sound")
KEEPERS = ("Broun", "Tarrant", "Oakes", "Lindqvist", "Marsh", "Pellow", "Hask", "Ridley", "Corven", "Abel", "Stroud")
FILLER = (
    "The stair has {n} steps, and whoever climbs it counts a different number.",
    "A tower of {n} metres that stood here before fell into the sea, stone by stone.",
    "The lens was carried up from the beach by {n} men and a mule.",
    "In fog the horn sounds {n} times an hour, to the sorrow of the nearest village.",
    "Repairs in {year} replaced the lantern room after a storm took its glass.",
    "The store below holds oil for {n} weeks, though it has been electric since {year}.",
    "Painters come every {n} years; the bands were red once and are black now.",
    "A boat brings bread and letters when the swell allows, about {n} times a month.",
    "The harbour office lists it among the lights that ships may not rely on in snow.",
    "Terns nest on the roof of the dwelling, and nobody has the heart to move them.",
    "The log of {year} tells of {n} wrecks, all of them within sight of the gallery.",
    "A plaque by the door remembers the commission of {year} and misspells its chairman.",
)
PARAGRAPHS, SENTENCES = 9, 4


@dataclass(frozen=True, slots=True)
class Coast:
    """One coast: its lights in the order of the gold table."""

    name: str
    lights: tuple[Light, ...]

    @property
    def gold_csv(self) -> str:
        """The gold table."""
        return "\n".join(",".join(row) for row in (COLUMNS, *(light.row for light in self.lights))) + "\n"


def generate(seed: int, count: int = 4) -> list[Coast]:
    """``count`` coasts. Raises ``UsageError`` beyond the number of names there are."""
    most = min(len(COASTS), len(FIRST) * len(SECOND) // LIGHTS)
    if not 1 <= count <= most:
        raise UsageError(f"widesearch-mini has 1 to {most} tables, got {count}")
    rng = random.Random(f"widesearch-mini/{seed}")
    names = [f"{first} {second} Light" for first in FIRST for second in SECOND]
    rng.shuffle(names)
    coasts = rng.sample(COASTS, count)
    return [
        Coast(coast, tuple(_light(rng, name) for name in sorted(names[n * LIGHTS : (n + 1) * LIGHTS])))
        for n, coast in enumerate(coasts)
    ]


def site(seed: int, coasts: Sequence[Coast]) -> dict[str, str]:
    """Path -> text of every page: one a light, and the lists of each coast."""
    found: dict[str, str] = {}
    for coast in coasts:
        rng = random.Random(f"widesearch-mini/{seed}/{coast.name}")
        paths = {light.name: f"{_slug(coast.name)}/{_slug(light.name)}.txt" for light in coast.lights}
        for light in coast.lights:
            found[paths[light.name]] = _page(rng, coast, light)
        entries = [
            ENTRY.format(number=number, total=LIGHTS, name=light.name, url=f"page://{paths[light.name]}")
            for number, light in enumerate(rng.sample(list(coast.lights), LIGHTS), 1)
        ]
        for number in range(LISTS):
            title = f"{LIST_TITLE.format(coast=coast.name)}, part {number + 1} of {LISTS}"
            found[f"{_slug(coast.name)}/list-{number + 1}.txt"] = "\n".join([title, *entries[number::LISTS]]) + "\n"
    return found


def _light(rng: random.Random, name: str) -> Light:
    keeper = f"{rng.choice('ABCDEFGHJKLMNOPRSTW')}. {rng.choice(KEEPERS)}"
    return Light(name, str(rng.randrange(1790, 1940)), str(rng.randrange(12, 64)), keeper)


def _page(rng: random.Random, coast: Coast, light: Light) -> str:
    """Each fact on a line of its own, among paragraphs that state nothing that is asked for."""
    lines = [" ".join(_filler(rng) for _ in range(SENTENCES)) for _ in range(PARAGRAPHS)]
    for column, sentence in FACTS.items():
        value = light.row[COLUMNS.index(column)]
        lines.insert(rng.randrange(len(lines) + 1), sentence.format(name=light.name, value=value))
    return "\n".join([light.name, f"A light of the coast called {coast.name}.", *lines]) + "\n"


def _filler(rng: random.Random) -> str:
    return rng.choice(FILLER).format(n=rng.randrange(3, 60), year=rng.randrange(1790, 1990))


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")
