"""Retrieval benches: the measure against hand-computed cases, loaders on made files, a whole bench end to end."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.embed.hashing import HashingEmbedder
from harness.errors import DataError, UnknownName, UsageError
from harness.retrieval.beam import load_beam
from harness.retrieval.bench import MODES, ask_all
from harness.retrieval.corpus import Asked, Conversation, Corpus, Said
from harness.retrieval.fill import fill
from harness.retrieval.fill_atoms import fill_atoms
from harness.retrieval.locomo import load_locomo
from harness.retrieval.longmemeval import load_longmemeval
from harness.retrieval.measure import Found, by_session, recall_interval, score
from harness.retrieval.reader import Reader, shared_words
from harness.retrieval.run import open_embedder, run_bench, run_personamem
from harness.retrieval.summary import mode_record, tables
from harness.tables import to_text
from suites.locomo.tasks import Sitting
from tests.data import data_path

TALK = [
    ("Ana", "Hi Ben, how was your week?"),
    ("Ben", "Great, I adopted a small grey cat from the shelter on Monday."),
    ("Ana", "Lovely! What is its name?"),
    ("Ben", "Mittens. And I started to learn the cello again after ten years."),
    ("Ana", "I moved to Lisbon for a job in a bakery near the river."),
    ("Ben", "That sounds like a big change. Do you like it there?"),
]


def found(results: list[str], wanted: list[str], conversation: str = "c", group: str = "g") -> Found:
    """One question whose results are single messages."""
    return Found("q", conversation, group, tuple((id,) for id in results), tuple(wanted))


# --- the measure


def test_recall_is_the_mean_share_of_evidence_and_hit_any_of_it() -> None:
    rows = [found(["a", "x", "b"], ["a", "b"]), found(["x", "y"], ["z"]), found(["a"], [])]
    figures = score(rows, ks=(1, 2, 3))
    assert figures.questions == 2
    assert figures.recall == {1: 0.25, 2: 0.25, 3: 0.5}
    assert figures.hit == {1: 0.5, 2: 0.5, 3: 0.5}
    assert score([found(["a"], [])], ks=(1,)).recall == {1: None}


def test_an_atom_stands_for_every_message_it_rests_on() -> None:
    row = Found("q", "c", "g", (("a", "b"), ("c",)), ("b", "c", "c"))
    assert (row.share(1), row.share(2)) == (0.5, 1.0)


def test_sessions_are_ranked_by_their_best_message() -> None:
    session_of = {"a": "s1", "b": "s2", "c": "s1"}
    row = by_session(found(["b", "a", "c"], ["a", "c"]), session_of)
    assert (row.results, row.wanted) == ((("s2",), ("s1",)), ("s1",))
    assert by_session(found(["b"], []), session_of, ["s2"]).wanted == ("s2",)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=2, max_size=30))
def test_the_interval_holds_the_mean_and_needs_two_conversations(rows: list[tuple[str, bool]]) -> None:
    asked = [found(["e"] if right else ["x"], ["e"], conversation) for conversation, right in rows]
    interval = recall_interval(asked, 10)
    if len({conversation for conversation, _ in rows}) < 2:
        assert interval is None
    else:
        assert interval is not None
        mean = sum(right for _, right in rows) / len(rows)
        shares = [
            sum(right for name, right in rows if name == conversation) / sum(name == conversation for name, _ in rows)
            for conversation in {name for name, _ in rows}
        ]
        assert 0 <= interval[0] <= interval[1] <= 1
        assert min(shares) <= mean <= max(shares)
        assert min(shares) - 1e-9 <= interval[0] and interval[1] <= max(shares) + 1e-9


# --- a bench from end to end


@pytest.fixture
def corpus() -> Corpus:
    """Two conversations with the same text; only the first one's questions have evidence."""
    said = tuple(Said(f"D1:{i}", "session 1", "user", who, text, i) for i, (who, text) in enumerate(TALK, 1))
    later = Said("D2:1", "session 2", "user", "Ana", "We talked about the weather and the news.", 100)
    asked = (
        Asked("q1", "What pet did Ben adopt?", "1", ("D1:2",)),
        Asked("q2", "Which instrument does Ben learn?", "1", ("D1:4",)),
        Asked("q3", "Where did Ana move?", "2", ("D1:5",)),
        Asked("q4", "What was said about the weather?", "2", ("D2:1",)),
        Asked("q5", "What is the colour of Ana's car?", "5", ("D1:1",)),
    )
    talks = (Conversation("c1", (*said, later), asked), Conversation("c2", (*said, later), (Asked("q6", "x", "1"),)))
    return Corpus("made", talks, {"made.json": "0"}, {"1": "one", "2": "two"}, ("c2",))


def test_every_mode_finds_what_it_can(corpus: Corpus, tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    store = fill(corpus, tmp_path, embedder)
    figures = {}
    for mode in MODES:
        asked = ask_all(corpus, store, mode, embedder, only=corpus.groups.__contains__)
        assert len(asked.messages) == len(asked.seconds) == 5
        figures[mode] = mode_record(corpus, asked)
    assert figures["hybrid"]["messages"]["recall@5"] == 1.0
    assert figures["hybrid"]["messages"]["questions"] == 4
    assert figures["hybrid"]["sessions"]["recall@1"] >= 0.75
    assert figures["hybrid"]["groups"]["2"]["questions"] == 2
    assert figures["hybrid"]["dev"]["questions"] == 0 and figures["hybrid"]["dev"]["recall@10"] is None
    assert figures["keyword"]["messages"]["recall@10"] >= figures["bm25"]["messages"]["recall@10"]
    store.close()


def test_atoms_of_the_rules_lead_back_to_messages(corpus: Corpus, tmp_path: Path) -> None:
    store = fill(corpus, tmp_path, None)
    fill_atoms(corpus, store, None)
    assert store.status().atoms > 0
    asked = ask_all(corpus, store, "keyword", level="atom", only=corpus.groups.__contains__)
    first = next(row for row in asked.messages if row.id == "q3")
    assert "D1:5" in first.results[0]
    store.close()


def locomo_file(folder: Path) -> Path:
    """A LoCoMo of one conversation, with the oddities of the released file."""
    turns = [
        {"speaker": who, "dia_id": f"D1:{i}", "text": text, **({"blip_caption": "a grey cat"} if i == 2 else {})}
        for i, (who, text) in enumerate(TALK, 1)
    ]
    questions = [
        {"question": "What pet did Ben adopt?", "answer": "cat", "evidence": ["D1:2; D1:03"], "category": 4},
        {"question": "Where is the photo of a cat?", "answer": "x", "evidence": ["D:1:2", "D1:2"], "category": 4},
        {"question": "Nothing?", "answer": "x", "evidence": ["D"], "category": 1},
        {"question": "A trap?", "adversarial_answer": "x", "evidence": ["D1:1"], "category": 5},
    ]
    talk = {"speaker_a": "Ana", "speaker_b": "Ben", "session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    noted = {"session_1_observation": {"Ben": [["Ben adopted a cat.", "D1:2"], ["Ben plays the cello.", ["D1:4"]]]}}
    sample = {"sample_id": "conv-1", "conversation": talk, "qa": questions, "observation": noted}
    (folder / "locomo").mkdir()
    with gzip.open(folder / "locomo" / "locomo10.json.gz", "wt") as file:
        json.dump([sample], file)
    return folder


def test_locomo_is_read_with_its_oddities(tmp_path: Path) -> None:
    corpus = load_locomo(locomo_file(tmp_path))
    (talk,) = corpus.conversations
    assert [asked.evidence for asked in talk.asked] == [("D1:2", "D1:3"), ("D1:2",), (), ("D1:1",)]
    assert list(corpus.left_out) == ["conv-1/q002"]
    assert talk.said[1].text.endswith("[photo: a grey cat]")
    assert talk.said[1].timestamp - talk.said[0].timestamp == 60_000
    assert talk.said[0].timestamp == 1_683_554_160_000
    assert set(corpus.groups) == {"1", "2", "3", "4"}
    with pytest.raises(DataError, match="expected something like '1:56 pm on 8 May, 2023'"):
        Sitting(1, "yesterday", ()).start  # noqa: B018 - reading it is the test


def test_a_whole_run_gives_the_same_numbers_twice_and_no_text(tmp_path: Path) -> None:
    root = locomo_file(tmp_path)
    record = run_bench("locomo", root, HashingEmbedder(), ablation=True)
    assert record == run_bench("locomo", root, HashingEmbedder(), ablation=True)
    assert set(record["modes"]) == {*MODES} | {f"hybrid without {name}" for name in SIGNALS}
    text = json.dumps(record, allow_nan=False)
    assert "Mittens" not in text and "adopt" not in text
    shown = to_text(tables(record))
    assert "recall@10" in shown and "not measured" in shown
    assert record["modes"]["hybrid"]["messages"]["recall@5"] > 0.5


LONGMEMEVAL = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "What degree do I have?",
    "answer": "Business",
    "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_session_ids": ["late", "early"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/19 (Fri) 02:21"],
    "haystack_sessions": [
        [{"role": "user", "content": "I have a degree in business.", "has_answer": True}],
        [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello."}],
    ],
    "answer_session_ids": ["late"],
}
SIGNALS = ("keyword", "neighbours", "session", "vector", "speaker", "date", "length", "asks")


def test_notes_of_the_data_are_searched_as_atoms(tmp_path: Path) -> None:
    record = run_bench("locomo", locomo_file(tmp_path), HashingEmbedder(), ["hybrid", "rrf"], level="noted")
    assert record["atoms"] == 2 and record["level"] == "noted"
    assert record["modes"]["hybrid"]["messages"]["recall@5"] == 0.75  # no note rests on D1:3


def test_mistakes_are_named(tmp_path: Path) -> None:
    root = locomo_file(tmp_path)
    with pytest.raises(UnknownName, match="unknown mode 'hybird': expected hybrid"):
        run_bench("locomo", root, None, ["hybird"])
    with pytest.raises(UsageError, match="mode hybrid needs an embedder"):
        run_bench("locomo", root, None, ["hybrid"])
    with pytest.raises(UsageError, match="--level turn"):
        run_bench("locomo", root, None, level="atom", ablation=True)
    with pytest.raises(UnknownName, match="retrieval bench"):
        run_bench("locmo", root, None)
    with pytest.raises(UnknownName, match="unknown embedder 'usm'"):
        open_embedder("usm")
    with pytest.raises(DataError, match="no data file found"):
        run_bench("beam", root, None)
    assert list(run_bench("locomo", root, None)["modes"]) == ["keyword", "bm25"]
    (tmp_path / "longmemeval_s.json").write_text(json.dumps([LONGMEMEVAL]))
    with pytest.raises(DataError, match="notes nothing of its conversations"):
        run_bench("longmemeval", tmp_path, None, level="noted")


def test_beam_is_read_with_evidence_of_any_shape(tmp_path: Path) -> None:
    turns = [
        [
            {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "I use Flask. ->-> 1,1"},
            {"role": "assistant", "id": 1, "content": "Good choice."},
        ],
        [{"role": "user", "id": 2, "content": "My sprint ends on Friday."}],
    ]
    asked = {
        "knowledge_update": [{"question": "When?", "answer": "Friday", "source_chat_ids": {"old": [0], "new": [2]}}],
        "abstention": [{"question": "Why?", "ideal_response": "Nothing says so."}],
        "summarization": [{"question": "All?", "source_chat_ids": []}],
    }
    row = {"chat_id": 7, "chat": [{"batch_number": 1, "turns": turns}], "probing_questions": asked}
    (tmp_path / "beam_100k.jsonl").write_text(json.dumps(row) + "\n")
    corpus = load_beam(tmp_path)
    (chat,) = corpus.conversations
    assert [said.text for said in chat.said] == ["I use Flask.", "Good choice.", "My sprint ends on Friday."]
    assert [said.session for said in chat.said] == ["batch 1, talk 0", "batch 1, talk 0", "batch 1, talk 1"]
    assert {asked.group: asked.evidence for asked in chat.asked} == {
        "knowledge_update": ("0", "2"),
        "abstention": (),
        "summarization": (),
    }
    assert list(corpus.left_out) == ["chat 7/summarization/0"]


def test_longmemeval_names_evidence_by_turn_and_session(tmp_path: Path) -> None:
    (tmp_path / "longmemeval_s.json").write_text(json.dumps([LONGMEMEVAL]))
    corpus = load_longmemeval(tmp_path)
    (talk,) = corpus.conversations
    assert [said.id for said in talk.said] == ["000 early/0", "000 early/1", "001 late/0"]
    assert talk.asked[0].evidence == ("001 late/0",) and talk.asked[0].sessions == ("001 late",)
    record = run_bench("longmemeval", tmp_path, None, ["keyword"])
    assert record["modes"]["keyword"]["sessions"]["recall@1"] == 1.0


# --- the embedded reader


def test_the_reader_chooses_what_the_texts_support() -> None:
    reader = Reader(HashingEmbedder())
    options = ["Since you like cats, get a cat tree.", "Since you like dogs, get a leash."]
    assert reader.choose("What should I buy?", options, ["My dogs love long walks.", "I hate rain."]) == 1
    assert reader.choose("What should I buy?", options, ["My cats sleep all day."]) == 0
    words = shared_words(options, ["dogs dogs", "rain"])
    assert words[1] > words[0] == 0.0


def test_personamem_compares_arms_and_is_labelled(tmp_path: Path) -> None:
    context = [{"role": "system", "content": "Persona: secret"}]
    for i in range(12):
        context += [
            {"role": "user", "content": f"User: I like hobby number {i} very much, it is chess{i}."},
            {"role": "assistant", "content": "Assistant: Good to hear."},
        ]
    (tmp_path / "shared_contexts_32k.jsonl").write_text(json.dumps({"ctx": context}) + "\n")
    heads = (
        "persona_id,question_id,question_type,topic,user_question_or_message,correct_answer,all_options,"
        "shared_context_id,end_index_in_shared_context,context_length_in_tokens,context_length_in_letters,"
        "distance_to_ref_in_blocks,distance_to_ref_in_tokens,num_irrelevant_tokens,distance_to_ref_proportion_in_context"
    )
    lines = [heads]
    for i in (3, 8):
        options = [f"({letter}) You like chess{n}." for letter, n in zip("abcd", (i, 50, 60, 70), strict=True)]
        cell = json.dumps(options).replace('"', '""')
        lines.append(
            f'0,q{i},recall_user_shared_facts,t,Which hobby number {i} do I like?,(a),"{cell}",ctx,20,1,1,1,1,1,1'
        )
    (tmp_path / "questions_32k.csv").write_text("\n".join(lines) + "\n")
    record = run_personamem(tmp_path, HashingEmbedder())
    assert "not a PersonaMem score" in record["label"] and "embedded reader" in record["label"]
    assert record["arms"]["recall@5"]["accuracy"] == 1.0
    assert record["arms"]["full context"]["questions"] == 2
    assert set(record["arms"]) == {"no-context", "random memory", "longest option", "full context", "recall@5"}
    with pytest.raises(UsageError, match="needs an embedder"):
        run_personamem(tmp_path, None)


# --- real data


@pytest.mark.slow
def test_keyword_figures_on_locomo_hold() -> None:
    """The floor of what is claimed without any model; hybrid figures need the extra ``embed`` and minutes."""
    record: dict[str, Any] = run_bench("locomo", data_path("locomo").parent, None, ["keyword", "bm25"])
    keyword, plain = record["modes"]["keyword"], record["modes"]["bm25"]
    assert record["questions"] == 1986 and keyword["messages"]["questions"] == 1536
    assert keyword["messages"]["recall@10"] >= 0.76
    assert keyword["held out"]["recall@10"] >= 0.75
    assert keyword["sessions"]["recall@5"] >= 0.86
    assert plain["messages"]["recall@10"] < keyword["messages"]["recall@10"] - 0.15
