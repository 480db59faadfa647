"""Ranking of turns: each signal by itself, on conversations small enough to see why."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentmem.embed.hashing import HashingEmbedder
from agentmem.embed.worker import embed_pending
from agentmem.longterm.recall_turns import Ranking, TurnWeights, rank_turns, weights_without
from agentmem.store.database import Store
from agentmem.store.records import Scope, Turn

ANA = Scope("ana")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = Store(tmp_path / "memory.db")
    yield opened
    opened.close()


def talk(store: Store, session: str, *lines: tuple[str, str], day: str = "2026-01-01", role: str = "user") -> None:
    """A session of (speaker, text) on a day; ids are <session><number>."""
    start = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)
    roles = [speaker if speaker in ("user", "assistant") else role for speaker, _ in lines]
    store.add_turns(
        ANA,
        [
            Turn(f"{session}{i}", session, roles[i], text, start + i * 1000, speaker)
            for i, (speaker, text) in enumerate(lines)
        ],
    )


def rank(
    store: Store, query: str, limit: int = 5, weights: TurnWeights = TurnWeights(), embed: bool = False
) -> Ranking:
    """By words; with hashed vectors when ``embed``."""
    vector = None
    if embed:
        embedder = HashingEmbedder()
        embed_pending(store, embedder)
        vector = embedder.embed([query])[0]
    return rank_turns(store.view(ANA, "turn"), query, limit, vector, weights=weights)


def ids(ranking: Ranking) -> list[str]:
    """Ids, best first."""
    return [candidate.id for candidate in ranking.candidates]


def test_an_answer_is_found_through_the_question_before_it(store: Store) -> None:
    talk(store, "a", ("Ben", "What instrument do you play?"), ("Ana", "The cello, since I was six years old."))
    talk(store, "b", ("Ben", "Nice weather today."), ("Ana", "Yes, it is quite warm for this time of the year."))
    assert ids(rank(store, "Which instrument does Ana play?"))[0] == "a1"
    without = rank(
        store, "Which instrument does Ana play?", weights=weights_without("neighbours", "asks", "speaker", "length")
    )
    assert ids(without)[0] == "a0"


def test_neighbours_never_cross_a_session(store: Store) -> None:
    talk(store, "a", ("Ana", "zebra zebra"))
    talk(store, "b", ("Ana", "nothing of the kind"), ("Ana", "and nothing here"))
    assert ids(rank(store, "zebra")) == ["a0"]


def test_edits_keep_their_place_among_neighbours(store: Store) -> None:
    talk(store, "a", ("Ben", "Where do you live?"), ("Ana", "Rome"), ("Ben", "Oh"), *[("Ben", "Hm")] * 5)
    store.add_turns(ANA, [Turn("a1", "a", "user", "In Lisbon, near the river", 0, "Ana")])
    found = rank(store, "Where does Ana live?")
    assert ids(found)[:2] in (["a1", "a0"], ["a0", "a1"])


def test_who_said_it_counts_when_the_question_names_one_of_them(store: Store) -> None:
    talk(store, "a", ("Ana", "I adopted a dog last week"), ("Ben", "I adopted a dog last year"))
    assert ids(rank(store, "When did Ben adopt a dog?"))[0] == "a1"
    assert ids(rank(store, "When did Ana adopt a dog?"))[0] == "a0"
    both = rank(store, "When did Ana and Ben adopt a dog?").candidates
    assert not any("speaker" in candidate.signals for candidate in both)


def test_a_question_about_myself_asks_the_user(store: Store) -> None:
    talk(
        store,
        "a",
        ("assistant", "My favourite colour is blue, a fine colour"),
        ("user", "My favourite colour is green"),
    )
    assert ids(rank(store, "What is my favourite colour?"))[0] == "a1"
    assert ids(rank(store, "我喜欢什么 colour"))[0] == "a1"


def test_a_day_a_month_and_a_year_named_in_the_question(store: Store) -> None:
    for day in ("2025-05-08", "2026-05-08", "2026-05-20", "2026-06-08"):
        talk(store, day, ("Ana", "I went swimming"), day=day)
    assert ids(rank(store, "Where did Ana go swimming on 8 May 2026?"))[0] == "2026-05-080"
    assert ids(rank(store, "Who went swimming in June 2026?"))[0] == "2026-06-080"
    assert ids(rank(store, "Who went swimming in 2025?"))[0] == "2025-05-080"


def test_local_days_are_used(store: Store) -> None:
    late = int(datetime(2026, 5, 31, 23, 30, tzinfo=UTC).timestamp() * 1000)
    store.add_turns(ANA, [Turn("a", "a", "user", "swim", late, offset=60), Turn("b", "b", "user", "swim", late)])
    assert ids(rank(store, "swim in June 2026"))[0] == "a"


def test_greetings_and_short_questions_stand_back(store: Store) -> None:
    talk(
        store,
        "a",
        ("Ben", "Jazz?"),
        *[("Ben", "Mhm")] * 4,
        ("Ana", "I listen to jazz on the train every single morning"),
    )
    assert ids(rank(store, "Which music does she like, jazz?"))[0] == "a5"


def test_what_matches_nothing_finds_nothing(store: Store) -> None:
    talk(store, "a", ("Ana", "a long and telling sentence about zebras"))
    assert rank(store, "quantum").candidates == ()
    assert rank(store, "").candidates == ()
    assert rank_turns(store.view(Scope("nobody"), "turn"), "zebras", 5).candidates == ()


def test_vectors_add_what_words_miss_and_are_explained(store: Store) -> None:
    talk(store, "a", ("Ana", "I photograph birds"), ("Ana", "I cook soup"), ("Ana", "I read novels"))
    assert rank(store, "photographs").candidates[0].id == "a0"  # by the stem
    found = rank(store, "photographer ornithology", embed=True)
    assert found.candidates[0].id == "a0"
    best = found.candidates[0]
    assert best.vector_rank is not None and best.vector_score is not None
    assert best.score == pytest.approx(sum(best.signals.values()), abs=1e-3)
    assert found.considered == 3


def test_weights_are_named() -> None:
    assert weights_without("date").date == 0
    with pytest.raises(ValueError, match="no signal colour: expected some of"):
        weights_without("colour")
