"""Any text is a legal query, words of every script are found, and filters act before the limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentmem.store.database import Store
from agentmem.store.records import Atom, Scope, Turn
from agentmem.text import keywords, segment
from agentmem.text.dates import Named, named_dates
from agentmem.text.keywords import index_tokens, query_terms

ANA = Scope("ana")


def say(store: Store, *texts: str, session: str = "s") -> None:
    """Turns with ids t0, t1, ..."""
    start = store.count_turns(ANA)
    store.add_turns(ANA, [Turn(f"t{start + i}", session, "user", text, 0) for i, text in enumerate(texts)])


def find(store: Store, query: str, limit: int = 10) -> list[str]:
    """Ids of turns that hold a word of the query, best first."""
    return [hit.id for hit in store.search_text(ANA, "turn", query, limit)]


@pytest.fixture(params=["rjieba", "pairs"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with and without the optional segmenter."""
    if request.param == "pairs":
        monkeypatch.setattr(keywords, "segmenter", lambda: ("pairs", segment.by_pairs))
    else:
        pytest.importorskip("rjieba")
    opened = Store(tmp_path / "memory.db")
    yield opened
    opened.close()


NASTY = [
    "multi-agent", "user's", "20.04", "GB/s", 'a"b', "node.js", "C++", "C#", "foo:bar", "*", "", " ", "AND", "NOT x", "OR",
    "NEAR(a b, 2)", "(a", "-x", "50%", "$HOME", "/etc/hosts", "me@example.org", "{", "\0", "a\0b", "🎉", "@nasa", "#tag",
    "a=b", "why?", "'", '"', "''; DROP TABLE turns; --", "^a", "a^b", "\ud83d", "é", "ﬁ", "a" * 5_000, "\n\t", "s1xapple",
    "x" * 50_000, "word " * 10_000, "漢" * 50_000, "🎉" * 12_000,
]  # fmt: skip


@pytest.mark.parametrize("query", NASTY, ids=range(len(NASTY)))
def test_any_text_is_a_legal_query(store: Store, query: str) -> None:
    say(store, "an apple a day")
    assert "t0" not in find(store, query) or "a" in query.lower()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=60))
def test_a_text_finds_itself_when_it_has_letters_or_digits(store: Store, query: str) -> None:
    scope = Scope(f"user {len(store.scopes())}")
    store.add_turns(scope, [Turn("x", "s", "user", query, 0), Turn("y", "s", "user", "", 0)])
    found = [hit.id for hit in store.search_text(scope, "turn", query, 5)]
    assert found == (["x"] if index_tokens(query) else [])


@pytest.mark.parametrize(
    ("query", "hit"),
    [
        ("multi-agent", "t0"), ("C++", "t1"), ("node.js", "t2"), ("20.04", "t3"), ("running", "t4"), ("CAFE", "t5"),
        ("日本", "t6"), ("五月", "t6"), ("茶", "t7"), ("喝茶", "t7"), ("寿司", "t8"), ("食べる", "t8"), ("한국", "t9"),
        ("мир", "t10"), ("लिखा", "t11"), ("ไทย", "t12"), ("人工智能", "t13"), ("ABC", "t14"), ("資料庫", "t15"),
    ],
)  # fmt: skip
def test_words_of_every_script_are_found(store: Store, query: str, hit: str) -> None:
    say(
        store, "a multi-agent system", "I write C++ all day", "served by node.js", "Ubuntu 20.04 LTS", "she runs fast",
        "the café", "用户五月去日本旅行", "我喜欢喝茶", "東京で寿司を食べる", "안녕하세요 한국어", "Привет Мир",
        "हिन्दी में लिखा हुआ", "ภาษาไทยง่าย", "人工智能研究院的机器学习课程", "ＡＢＣ １２３", "資料庫連線逾時",
    )  # fmt: skip
    assert find(store, query)[0] == hit


def test_a_question_in_chinese_finds_the_statement(store: Store) -> None:
    say(store, "今天天气很好", "我的名字是小明", "他在北京工作", "我养了一只猫")
    assert find(store, "你还记得我的名字是什么吗")[0] == "t1"
    assert find(store, "谁在北京?")[0] == "t2"


def test_stop_words_do_not_flood_a_query(store: Store) -> None:
    say(store, "what is the and of it", "the dog sleeps", "what a day")
    assert find(store, "what is the name of the dog") == ["t1"]
    assert find(store, "what is it")[0] == "t0"


def test_rare_words_count_more_and_length_counts_a_little(store: Store) -> None:
    say(store, "tea tea coffee", "tea and a very long story about a great many other things", "tea", "zebra tea")
    assert find(store, "tea zebra")[0] == "t3"
    hits = store.search_text(ANA, "turn", "tea", 10)
    assert [hit.rank for hit in hits] == [1, 2, 3, 4]
    assert all(0 < hit.score < 1 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_words_of_others_change_no_score(store: Store) -> None:
    say(store, "zebra", "tea")
    before = store.search_text(ANA, "turn", "zebra tea", 5)
    store.add_turns(Scope("ben"), [Turn(f"b{i}", "s", "user", "zebra zebra", 0) for i in range(50)])
    assert store.search_text(ANA, "turn", "zebra tea", 5) == before


def test_filters_act_before_the_limit(store: Store) -> None:
    atoms = [Atom(f"a{i}", "episodic", "tea", scene="work") for i in range(30)]
    store.put_atoms(ANA, [*atoms, Atom("p", "persona", "tea and more words", scene="At Home", session="s9")])
    search = store.search_text
    assert [hit.id for hit in search(ANA, "atom", "tea", 1, types=["persona"])] == ["p"]
    assert [hit.id for hit in search(ANA, "atom", "tea", 1, scene="home")] == ["p"]
    assert [hit.id for hit in search(ANA, "atom", "tea", 1, session="s9")] == ["p"]
    assert search(ANA, "atom", "tea", 5, types=["persona"], scene="work") == []
    assert search(ANA, "atom", "tea", 0) == []


def test_equal_scores_keep_the_order_of_the_rows(store: Store) -> None:
    say(store, *["tea"] * 20)
    assert find(store, "tea", 7) == [f"t{i}" for i in range(7)]


def test_an_index_does_not_depend_on_the_segmenter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rjieba")
    opened = Store(tmp_path / "memory.db")
    say(opened, "用户五月去日本旅行")
    monkeypatch.setattr(keywords, "segmenter", lambda: ("pairs", segment.by_pairs))
    assert find(opened, "日本") == ["t0"]
    opened.close()


def test_a_long_query_keeps_its_longest_words() -> None:
    words = [f"w{i}" for i in range(500)] + ["extraordinary"]
    terms = query_terms(" ".join(words))
    assert len(terms) == keywords.MOST_TERMS
    assert terms[-1].tokens == ("extraordinari",)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("What did she do on 8 May, 2023?", [Named(2023, 5, 8)]), ("in May 2023", [Named(2023, 5)]),
        ("May I go?", []), ("on May 5th", [Named(None, 5, 5)]), ("2023-05-07", [Named(2023, 5, 7)]),
        ("5月3日去日本", [Named(None, 5, 3)]), ("2022年", [Named(2022)]), ("Sept 2023", [Named(2023, 9)]),
        ("from 2020 to 2021", [Named(2020), Named(2021)]), ("in 1999 on 45 May", [Named(1999)]),
        ("during early October", [Named(None, 10)]), ("version 2.0.1999a", []), ("2023-13-01", []), ("march on", []),
    ],
)  # fmt: skip
def test_dates_that_a_question_names(text: str, dates: list[Named]) -> None:
    assert named_dates(text) == dates
