"""Generates personas, their chats and questions about them: the same bytes for the same seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from agentmem.messages import Message
from suites.personamem.mini.phrases import CHANGED, FIRST, FORMER, LATEST, OFFERS, REASON
from suites.personamem.score import OPTIONS

CHATS = 10
TURNS = 8  # exchanges in a chat
TOPICS = {
    "hot drinks": ("mint tea", "black coffee", "cocoa", "ginger water", "oolong", "chicory brew"),
    "evenings at home": ("jigsaw puzzles", "card games", "model ships", "crosswords", "sketching", "old films"),
    "staying fit": ("rowing", "fencing", "long walks", "swimming", "skipping rope", "cycling"),
    "music": ("string quartets", "brass bands", "sea shanties", "piano trios", "folk ballads", "organ works"),
    "reading": ("travel diaries", "detective novels", "essays", "sagas", "poetry", "biographies"),
    "cooking": ("stews", "flatbreads", "pickles", "dumplings", "pies", "soups"),
    "days out": ("castles", "botanical gardens", "canal boats", "steam railways", "markets", "bird hides"),
    "crafts": ("weaving", "bookbinding", "pottery", "wood carving", "felting", "basketry"),
}
REASONS = (
    "my wrists began to hurt", "the club closed down", "my neighbour complained", "it kept me awake",
    "it grew too dear",
    "my sister took it over", "the season was over", "I had had my fill", "the doctor advised against it",
    "nobody would join me", "the shop stopped selling what it takes", "it takes up the whole table",
)  # fmt: skip
USER = (
    "The week was long: {n} letters to answer and a meeting that never ended.",
    "The bus was {n} minutes late again, and I stood there without an umbrella.",
    "My cousin visits in {n} days and I have not so much as looked for clean sheets.",
    "I counted {n} pigeons on the sill this morning. They look at me as if I owed them something.",
    "Remind me to ring the plumber; the tap has dripped for {n} days.",
    "At work they moved my desk for the {n}th time this year.",
)
REPLY = (
    "That sounds tiring. A list with the {n} most pressing items, and nothing else on it, often takes the weight off.",
    "Things like that add up. If it helps, set aside {n} minutes at a fixed hour, and leave it alone for the rest.",
    "I see. You might start with the part that takes less than {n} minutes, because it is soon out of the way.",
    "Understandable. Some people keep a notebook for it; after {n} pages a pattern tends to show.",
    "There is no need to settle it today. In {n} days it will look smaller, and you will have slept on it.",
    "It may be worth asking somebody who has been through it; {n} words of advice can save a long detour.",
)
SENTENCES = 4  # of filler in each message


@dataclass(frozen=True, slots=True)
class MiniQuestion:
    """One question after the first ``after`` chats of its persona. ``choices`` are offered in order; ``answer`` is a
    letter in brackets."""

    id: str
    persona: str
    kind: str
    after: int
    question: str
    choices: tuple[str, ...]
    answer: str

    @property
    def options(self) -> str:
        """The options as the data set prints them."""
        return repr([f"({letter}) {choice}" for letter, choice in zip(OPTIONS, self.choices, strict=True)])


@dataclass(frozen=True, slots=True)
class Change:
    """What a persona says about a topic in a chat; ``old`` and ``reason`` are empty at the first time."""

    chat: int
    topic: str
    value: str
    old: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Persona:
    """A persona: its chats in order, and the questions in the order in which they are asked."""

    name: str
    chats: tuple[tuple[Message, ...], ...]
    questions: tuple[MiniQuestion, ...]


def generate(seed: int, count: int = 2, each: int = 12) -> list[Persona]:
    """``count`` personas with ``each`` questions."""
    return [_persona(random.Random(f"personamem-mini/{seed}/{n}"), f"mini-persona-{n}", each) for n in range(count)]


def _persona(rng: random.Random, name: str, each: int) -> Persona:
    changes = [change for topic in TOPICS for change in _changes(rng, topic)]
    chats = tuple(_chat(rng, [change for change in changes if change.chat == number]) for number in range(CHATS))
    afters = sorted(rng.randrange(CHATS // 2, CHATS + 1) for _ in range(each))
    asked: set[str] = set()
    questions = []
    for number, after in enumerate(afters):
        while True:
            kind, text, right, wrong = _question(rng, [change for change in changes if change.chat < after])
            if f"{after} {text}" not in asked:
                break
        asked.add(f"{after} {text}")
        choices = [OFFERS[kind].format(it=it) for it in (right, *wrong)]
        rng.shuffle(choices)
        letter = OPTIONS[choices.index(OFFERS[kind].format(it=right))]
        questions.append(
            MiniQuestion(f"{name}/question-{number:02d}", name, kind, after, text, tuple(choices), f"({letter})")
        )
    return Persona(name, chats, tuple(questions))


def _changes(rng: random.Random, topic: str) -> list[Change]:
    """A first choice early on, and two changes later; nothing that was given up is taken up again."""
    first, second, third = rng.sample(TOPICS[topic], 3)
    one, other = rng.sample(REASONS, 2)
    start = rng.randrange(0, CHATS // 2 - 2)
    then = rng.randrange(start + 1, CHATS // 2)
    return [
        Change(start, topic, first),
        Change(then, topic, second, first, one),
        Change(rng.randrange(CHATS // 2, CHATS), topic, third, second, other),
    ]


def _chat(rng: random.Random, changes: Sequence[Change]) -> tuple[Message, ...]:
    said: list[list[str]] = [[] for _ in range(TURNS)]
    for change in changes:
        sentence = CHANGED if change.old else rng.choice(FIRST)
        said[rng.randrange(TURNS)].append(
            sentence.format(topic=change.topic, value=change.value, old=change.old, reason=change.reason)
        )
    messages: list[Message] = []
    for sentences in said:
        lines = [*_filler(rng, USER), *sentences]
        rng.shuffle(lines)
        messages.append(Message("user", "\n".join(lines)))
        messages.append(Message("assistant", " ".join(_filler(rng, REPLY))))
    return tuple(messages)


def _filler(rng: random.Random, sentences: Sequence[str]) -> list[str]:
    return [sentence.format(n=rng.randrange(4, 40)) for sentence in rng.sample(sentences, SENTENCES)]


def _question(rng: random.Random, said: Sequence[Change]) -> tuple[str, str, str, list[str]]:
    """(kind, text, right answer, three wrong ones)."""
    topic = rng.choice(sorted({change.topic for change in said}))
    own = [change for change in said if change.topic == topic]
    kind = rng.choice(("latest", "former", "reason"))
    if kind == "latest":
        return kind, LATEST.format(topic=topic), own[-1].value, _others(rng, topic, own, own[-1].value)
    if kind == "former":
        return kind, FORMER.format(topic=topic), own[-1].old, _others(rng, topic, own, own[-1].old)
    change = rng.choice([change for change in own if change.old])
    wrong = rng.sample([reason for reason in REASONS if reason != change.reason], 3)
    return kind, REASON.format(topic=topic, old=change.old), change.reason, wrong


def _others(rng: random.Random, topic: str, own: Sequence[Change], right: str) -> list[str]:
    """Wrong values: first what the persona chose at some other time, then what it never spoke of."""
    chosen = [change.value for change in own if change.value != right]
    rest = [value for value in TOPICS[topic] if value != right and value not in chosen]
    return [*chosen, *rng.sample(rest, len(rest))][:3]
