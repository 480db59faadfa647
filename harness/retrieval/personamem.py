"""PersonaMem 32k as a retrieval check: which option does the embedded reader choose, given what each arm shows it.

The data are rebuilt (the end of each context is an upper bound) and the reader is no language model, so no figure of
this file is a PersonaMem score.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agentmem.embed.protocol import Embedder
from agentmem.longterm.recall_turns import rank_turns
from agentmem.store.database import Store
from agentmem.store.records import Scope
from harness.retrieval.corpus import Conversation, Corpus, Said
from harness.retrieval.fill import fill, scope_of
from harness.retrieval.measure import SEED
from harness.retrieval.reader import Reader
from harness.stats.bootstrap import percentile_interval, ratio_draws
from harness.tables import Table, percent

NAME = "personamem-32k"
LABEL = "embedded reader on reconstructed data: a retrieval check, not a PersonaMem score"
ARMS = ("no-context", "random memory", "longest option", "full context", "recall@5")
K = 5
_SPEAKERS = ("User: ", "Assistant: ")


@dataclass(frozen=True, slots=True)
class Choice:
    """One question answered by one arm."""

    question: str
    context: str
    type: str
    arm: str
    right: bool


def load_contexts(root: Path) -> tuple[Corpus, tuple[Any, ...]]:
    """The contexts as conversations, without system messages, and the questions. Raises ``DataError``."""
    from suites.personamem.tasks import load

    loaded = load(root)
    longest: dict[str, Any] = {}
    for question in loaded.records:
        held = longest.get(question.context_id)
        if held is None or len(question.context) > len(held.context):
            longest[question.context_id] = question
    conversations = tuple(Conversation(name, tuple(_said(question.context)), ()) for name, question in longest.items())
    return Corpus(NAME, conversations, loaded.sha256, {}), loaded.records


def play(
    root: Path, folder: Path, embedder: Embedder, told: Callable[[int, int], None] = lambda done, of: None
) -> tuple[list[Choice], Mapping[str, str]]:
    """Every question in every arm, and the sha256 of the data."""
    corpus, questions = load_contexts(root)
    store = fill(corpus, folder, embedder, told)
    reader, chance = Reader(embedder), random.Random(SEED)
    choices = []
    by_id = {conversation.id: conversation for conversation in corpus.conversations}
    for question in questions:
        seen = _visible(by_id[question.context_id], len(question.context))
        options = [choice[4:] for choice in question.choices]
        gold = "abcd".index(question.answer.strip("()"))
        scope = scope_of(corpus, by_id[question.context_id])
        for arm in ARMS:
            picked = _pick(arm, reader, store, scope, question.question, options, seen, embedder, chance)
            choices.append(Choice(question.id, question.context_id, question.type, arm, picked == gold))
    store.close()
    return choices, corpus.sha256


def record(
    choices: Sequence[Choice], sha256: Mapping[str, str], embedder: str, code: Mapping[str, str]
) -> dict[str, Any]:
    """Accuracy by arm and question type, with 95 % intervals over contexts."""
    types = sorted({choice.type for choice in choices})
    arms: dict[str, Any] = {}
    for arm in ARMS:
        mine = [choice for choice in choices if choice.arm == arm]
        arms[arm] = {
            "questions": len(mine),
            "right": sum(choice.right for choice in mine),
            "accuracy": _share(mine),
            "interval": _interval(mine),
            "types": {kind: _share([choice for choice in mine if choice.type == kind]) for kind in types},
        }
    counts = {kind: sum(choice.type == kind for choice in choices) // len(ARMS) for kind in types}
    return {
        "schema": "agentmem-retrieval/1",
        "bench": NAME,
        "label": LABEL,
        "embedder": embedder,
        "data": dict(sha256),
        "code": dict(code),
        "types": counts,
        "arms": arms,
    }


def tables(summary: Mapping[str, Any]) -> list[Table]:
    """One row an arm, then one row a question type."""
    arms: Mapping[str, Any] = summary["arms"]
    rows = []
    for arm, figures in arms.items():
        low, high = figures["interval"]
        rows.append((arm, percent(figures["accuracy"]), f"{percent(low)} to {percent(high)}"))
    by_type = [
        (f"{kind.replace('_', ' ')} ({count})", *(percent(figures["types"][kind]) for figures in arms.values()))
        for kind, count in summary["types"].items()
    ]
    heads = ("arm", "right", "95 % over contexts")
    return [
        Table(f"{summary['bench']}: {summary['label']}", heads, tuple(rows), ("chance is 25 %",)),
        Table("by type of question", ("type", *arms), tuple(by_type)),
    ]


def _said(context: Sequence[Any]) -> list[Said]:
    return [
        Said(str(place), "context", message.role, "", _plain(message.content), place)
        for place, message in enumerate(context)
        if message.role != "system"
    ]


def _plain(text: str) -> str:
    for speaker in _SPEAKERS:
        text = text.removeprefix(speaker)
    return text


def _visible(conversation: Conversation, end: int) -> list[Said]:
    return [said for said in conversation.said if int(said.id) < end]


def _pick(
    arm: str,
    reader: Reader,
    store: Store,
    scope: Scope,
    question: str,
    options: Sequence[str],
    seen: Sequence[Said],
    embedder: Embedder,
    chance: random.Random,
) -> int:
    if arm == "longest option":
        return int(np.argmax([len(option) for option in options]))
    if arm == "no-context":
        return reader.choose(question, options, ())
    if arm == "random memory":
        return reader.choose(question, options, [said.text for said in chance.sample(list(seen), min(K, len(seen)))])
    if arm == "full context":
        return reader.choose(question, options, [said.text for said in seen])
    view = store.view(scope, "turn")
    allowed = view.frame.local <= max((said.timestamp for said in seen), default=-1)
    ranking = rank_turns(view, question, K, embedder.embed([question])[0], allowed=allowed)
    text_of = {said.id: said.text for said in seen}
    return reader.choose(question, options, [text_of[candidate.id] for candidate in ranking.candidates])


def _share(choices: Sequence[Choice]) -> float:
    return round(sum(choice.right for choice in choices) / len(choices), 4)


def _interval(choices: Sequence[Choice]) -> list[float]:
    contexts = sorted({choice.context for choice in choices})
    top = np.array([float(sum(c.right for c in choices if c.context == name)) for name in contexts])
    bottom = np.array([float(sum(c.context == name for c in choices)) for name in contexts])
    interval = percentile_interval(ratio_draws(top, bottom, seed=SEED))
    return [round(interval.low, 4), round(interval.high, 4)]
