"""Live environments of the question suites, on made data: what an agent meets, and the controls beside it."""

from __future__ import annotations

import csv
import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.messages import Message, ToolCall
from agentmem.tokens import TokenCounter
from harness.errors import DataError, UnknownName, UsageError
from harness.protocols import SuiteContext
from harness.sandbox import opener
from harness.suites import SUITES, open_suite
from suites.answering import Library, pages, words
from suites.personamem.tasks import COLUMNS
from suites.widesearch.environment import Web, markdown
from suites.widesearch.providers import Brave, Frozen, Wikipedia, fetch_page, provider, text_of


def context(data: Path, **options: str) -> SuiteContext:
    return SuiteContext(data, data / "cache", TokenCounter(), opener("none"), mode="guarded", options=options)


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall("c", name, json.dumps(arguments))


# --- texts


@given(st.text(max_size=400), st.integers(1, 50))
def test_pages_hold_the_whole_text(text: str, size: int) -> None:
    parts = pages(text, size)
    assert "".join(parts) == text and all(len(part) <= size for part in parts)


def test_a_library_finds_the_page_and_says_what_there_is() -> None:
    texts = {"a.txt": "x" * 7_999 + "\n" + "The net revenue was 42 million.", "b.txt": "Nothing of interest here."}
    library = Library(texts)
    assert library.sizes == {"a.txt": 2, "b.txt": 1}
    (hit,) = library.search("revenue in millions")
    assert (hit.name, hit.page) == ("a.txt", 2) and "42 million" in hit.excerpt
    assert library.search("absent words") == [] and library.search("") == []
    with pytest.raises(LookupError, match="pages 1 to 2, not 3"):
        library.page("a.txt", 3)
    with pytest.raises(LookupError, match=r"a\.txt, b\.txt"):
        library.page("c.txt", 1)


def test_scripts_without_spaces_are_searched_by_pairs() -> None:
    assert "研究" in words("深度研究报告")
    assert Library({"d": "深度研究报告"}).search("研究")


# --- LoCoMo


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Bob", "dia_id": "D1:1", "text": "I adopted a cat.", "blip_caption": "a grey cat"},
            {"speaker": "Ann", "dia_id": "D1:2", "text": "Lovely!"},
        ],
        "session_2_date_time": "9:00 am on 9 May, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "How is she?"}],
    }
    qa = [
        {"question": "Which pet?", "answer": "a cat", "evidence": ["D1:1"], "category": 4},
        {"question": "Which car?", "adversarial_answer": "a Ford", "evidence": ["D1:1"], "category": 5},
    ]
    (tmp_path / "locomo10.json").write_text(
        json.dumps([{"sample_id": "conv-1", "conversation": conversation, "qa": qa}])
    )
    return tmp_path


def test_locomo_plays_dated_turns_of_both_speakers(locomo: Path) -> None:
    suite = open_suite("locomo", context(locomo))
    first, second = suite.tasks()
    one, two = suite.episodes(first)  # type: ignore[attr-defined]
    assert [m.role for m in one.messages] == ["user", "assistant", "user"]  # Bob speaks first, a history does not
    assert one.messages[1].content == "[1:56 pm on 8 May, 2023] Bob: I adopted a cat. [shares a picture: a grey cat]"
    assert [m.raw for m in one.messages[:2]] == [{"timestamp": 1_683_554_160_000}] * 2  # a memory learns the day
    assert two.messages == (Message("user", "[9:00 am on 9 May, 2023] Ann: How is she?"),)
    assert first.cluster == second.cluster == "conv-1"
    assert suite.environment(first, locomo).finish("A cat.").passed
    assert suite.control("refusal", first).passed is False and suite.control("refusal", second).passed is True  # type: ignore[attr-defined]


def test_locomo_plays_only_the_categories_asked_for(locomo: Path) -> None:
    assert [task.data["category"] for task in open_suite("locomo", context(locomo, categories="4")).tasks()] == [4]
    with pytest.raises(UsageError, match="joined by"):
        open_suite("locomo", context(locomo, categories="four"))


# --- PersonaMem


@pytest.fixture
def personamem(tmp_path: Path) -> Path:
    chats = [
        {"role": "system", "content": "Persona: likes tea."},
        *({"role": role, "content": f"{role} {n}"} for n in range(2) for role in ("user", "assistant")),
    ]
    with gzip.open(tmp_path / "shared_contexts_32k.jsonl.gz", "wt") as lines:
        lines.write(json.dumps({"ctx": chats}) + "\n")
    options = "['(a) tea', '(b) a very long answer about coffee', '(c) milk', '(d) gin']"
    columns = [*COLUMNS, "end_index_in_shared_context"]
    with (tmp_path / "questions_32k.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        for name, end in (("late", 5), ("early", 3)):
            row = dict.fromkeys(columns, "0") | {"question_id": name, "persona_id": "p", "correct_answer": "(a)"}
            row |= {"user_question_or_message": "What do I drink?", "all_options": options, "shared_context_id": "ctx"}
            writer.writerow(row | {"end_index_in_shared_context": str(end)})
    return tmp_path


def test_personamem_shows_each_question_no_more_than_it_may_know(personamem: Path) -> None:
    suite = open_suite("personamem", context(personamem))
    early, late = suite.tasks()
    assert (early.id, late.id) == ("early", "late")
    (first,) = suite.episodes(early)  # type: ignore[attr-defined]
    again, second = suite.episodes(late)  # type: ignore[attr-defined]
    assert first == again and len(first.messages) == 3 and len(second.messages) == 2
    assert first.messages[0] == Message("user", "[System]: Persona: likes tea.")
    assert suite.environment(late, personamem).finish("<final_answer> (a)").passed
    assert suite.control("longest option", late).passed is False  # type: ignore[attr-defined]
    assert suite.control("random", late) == suite.control("random", late)  # type: ignore[attr-defined]


# --- WideSearch


def test_frozen_pages_are_searched_and_read_in_parts(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        "<html><head><title>no</title></head><body><h1>Fees</h1><table><tr><td>MIT</td><td>75</td></tr></table></body></html>"
    )
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.md").write_text("# Long\n" + "filler line\n" * 2_000)
    web = Web(Frozen(tmp_path), lambda answer: None)
    found = web.execute(call("search_global", query="fee MIT")).content
    assert found.startswith("Fees\npage://a.html\n")
    assert web.execute(call("text_browser_view", url="page://a.html")).content == "[part 1 of 1]\nFees\n| MIT | 75"
    assert web.execute(call("text_browser_view", url="page://deep/b.md", part=2)).content.startswith("[part 2 of 4]")
    assert web.execute(call("text_browser_view", url="page://deep/b.md", part=9)).is_error
    assert "there is no page" in web.execute(call("text_browser_view", url="page://c")).content
    assert web.execute(call("search_global", query="zebra")).content == "nothing found"
    with pytest.raises(DataError):
        Frozen(tmp_path / "cache")


@pytest.fixture
def web_server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if "/w/api.php" in self.path:
                body = {"query": {"search": [{"title": "Deep Blue", "snippet": "a <span>chess</span> computer"}]}}
            elif "/res/v1/web/search" in self.path and self.headers["X-Subscription-Token"] == "key":
                body = {"web": {"results": [{"title": "T", "url": "http://x/y", "description": "D &amp; E"}]}}
            elif self.path == "/page":
                body = None
            else:
                self.send_error(404)
                return
            data = b"<p>Caf\xe9</p><script>no</script>" if body is None else json.dumps(body).encode()
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=latin-1" if body is None else "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_providers_read_what_their_servers_answer(web_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = Wikipedia(base=web_server).search("chess", 5)
    assert (found.title, found.excerpt) == ("Deep Blue", "a chess computer") and found.url.endswith("/wiki/Deep_Blue")
    monkeypatch.setenv("BRAVE_API_KEY", "key")
    (found,) = Brave(base=web_server).search("x", 5)
    assert (found.url, found.excerpt) == ("http://x/y", "D & E")
    assert fetch_page(f"{web_server}/page") == "Café"
    with pytest.raises(LookupError, match="404"):
        fetch_page(f"{web_server}/none")
    with pytest.raises(LookupError, match="no web address"):
        fetch_page("file:///etc/passwd")
    broken = Web(Wikipedia(base="http://127.0.0.1:9"), lambda answer: None).execute(call("search_global", query="x"))
    assert broken.is_error and "127.0.0.1:9" in broken.content


def test_unknown_and_incomplete_providers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    with pytest.raises(UsageError, match="BRAVE_API_KEY"):
        provider("brave", "en", None)
    with pytest.raises(UsageError, match="pages=DIR"):
        provider("frozen", "en", None)
    with pytest.raises(UnknownName, match="wikipedia"):
        provider("wikipedya", "en", None)


def test_a_gold_table_becomes_the_answer_it_would_be() -> None:
    table = '\ufeffName,note,more\nA,"x|y\nz",1\n'
    required = ["name", "note"]
    head = "```markdown\n| Name | note |\n| --- | --- |\n"
    assert markdown(table, required, rows=True) == head + "| A | x/y z |\n```"
    assert markdown(table, required, rows=False) == head + "```"


@given(st.text(max_size=300))
def test_any_html_becomes_text(html: str) -> None:
    assert isinstance(text_of(html), str)


def test_every_suite_that_is_named_can_be_imported() -> None:
    from importlib import import_module

    for place in SUITES.values():
        module, _, name = place.partition(":")
        assert hasattr(import_module(module), name)


def test_an_unknown_suite_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="locomo"):
        open_suite("lokomo", context(tmp_path))
