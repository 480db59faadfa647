"""The facade as hosts use it: from threads, from an event loop, with and without its own thread, across restarts."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentmem import Memory, Scope
from agentmem.config import Config
from agentmem.embed.hashing import HashingEmbedder
from agentmem.errors import ConfigError, ModelUnavailable, RecordNotFound, ScopeRequired, StoreError
from agentmem.host import CompletedTurn, Hooks
from agentmem.llm.fakeserver import FakeServer, Request, failure, slow
from agentmem.longterm.clock import ManualClock
from agentmem.offload.entries import Entries
from agentmem.offload.evidence import EvidenceStore
from tests.agentmem.test_extract_run import memories, shown
from tests.agentmem.world import assistant, user

TALK = [user("I live in Lisbon."), assistant("Nice.")]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path, user="ana", clock=ManualClock(), background=False) as memory:
        yield memory


def until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_the_import_is_cheap_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, agentmem; print([m for m in ('pydantic', 'numpy', 'apsw', 'openai', 'scipy') if m in sys.modules])"
    )
    started = time.perf_counter()
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    bare = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    assert (bare - started) - (time.perf_counter() - bare) < 0.3
    code = "import agentmem; agentmem.Memory; print('ok'); agentmem.nothing"
    assert (
        "has no attribute 'nothing'"
        in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    )


def test_opening_a_memory_needs_no_model_and_no_network(tmp_path: Path) -> None:
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise RuntimeError('network')\n"
        "socket.socket.connect = socket.create_connection = refuse\n"
        "from agentmem import Memory\n"
        "m = Memory(sys.argv[1], user='ana')\n"
        "m.capture([{'role': 'user', 'content': 'I live in Lisbon.'}], session='s')\n"
        "assert m.flush().done and 'Lisbon' in m.persona()\n"
        "m.close(); print('openai' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


def test_a_turn_becomes_atom_scene_and_persona(memory: Memory) -> None:
    assert len(memory.capture(TALK, session="s").new) == 2
    flushed = memory.flush()
    assert flushed.done and [ran.level for ran in flushed.ran] == ["l1", "l2", "l3"]
    assert "Lisbon" in (memory.persona() or "")
    (trace,) = memory.trace()
    assert trace.atoms[0].turns[0].content == "I live in Lisbon."
    status = memory.status()
    assert status.ok and (status.store.turns, status.store.atoms, status.scenes, status.persona) == (2, 1, 1, True)
    assert (status.extractor, status.builder, status.embedder) == ("rules", "rules", None)
    with pytest.raises(RecordNotFound):
        memory.trace("unknown")


def test_the_background_thread_works_without_being_asked(tmp_path: Path) -> None:
    config = {"pipeline": {"l2DelayAfterL1Seconds": 0}}
    with Memory(tmp_path, user="ana", config=config, embedder=HashingEmbedder(64)) as memory:
        memory.capture(TALK, session="s")
        assert until(lambda: memory.persona() is not None)
        assert until(lambda: not any(memory.status().store.pending.values()))
        assert memory.status().background
        assert until(lambda: len(list(memory.journal.lines("records"))) == 1)


def test_a_restart_goes_on_where_the_other_stopped(tmp_path: Path) -> None:
    clock = ManualClock()
    with Memory(tmp_path, user="ana", clock=clock, background=False) as memory:
        memory.capture(TALK, session="s")
    with Memory(tmp_path, user="ana", clock=clock, background=False) as memory:
        assert memory.status().pending[0].messages == 2
        assert [ran.level for ran in memory.run_due()] == ["l1"]
        clock.advance(11)
        assert [ran.level for ran in memory.run_due()] == ["l2", "l3"]
        assert "Lisbon" in (memory.persona() or "")


def test_many_threads_and_users(tmp_path: Path) -> None:
    with Memory(tmp_path) as memory:
        errors: list[BaseException] = []

        def host(number: int) -> None:
            scope = Scope(f"user {number % 4}")
            try:
                for i in range(10):
                    memory.capture(
                        [user(f"I own item {number}-{i}."), assistant("ok")], session=f"s{number}", scope=scope
                    )
                memory.flush(f"s{number}", scope)
                memory.status(scope)
            except BaseException as error:  # noqa: BLE001 - shown by the assertion below
                errors.append(error)

        threads = [threading.Thread(target=host, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert memory.flush().done
        for number in range(4):
            scope = Scope(f"user {number}")
            assert memory.store.count_turns(scope) == 40 and len(memory.store.atoms(scope)) == 20


def test_an_event_loop_is_not_held_up(tmp_path: Path) -> None:
    async def host() -> int:
        memory = Memory(tmp_path, user="ana", background=False)
        await asyncio.gather(*(memory.acapture([user(f"I own item {i}.")], session=f"s{i}") for i in range(20)))
        flushed = await memory.aflush()
        assert flushed.done
        count = memory.store.count_turns(Scope("ana"))
        await memory.aclose()
        return count

    assert asyncio.run(host()) == 20


def test_a_scope_is_needed(tmp_path: Path) -> None:
    with Memory(tmp_path, background=False) as memory:
        for call in (lambda: memory.capture(TALK, session="s"), memory.persona, memory.trace, memory.forget):
            with pytest.raises(ScopeRequired, match="user"):
                call()
        assert memory.flush().done and memory.status().scenes is None


def test_what_is_not_recorded(tmp_path: Path) -> None:
    config = {"capture": {"excludeAgents": ["bench-*"]}}
    with Memory(tmp_path, user="ana", config=config, background=False) as memory:
        for session, trigger in (("temp:1", ""), ("bench-1", ""), ("s", "cron")):
            assert memory.capture(TALK, session=session, trigger=trigger).skipped
        assert memory.store.count_turns(Scope("ana")) == 0
    with Memory(tmp_path, user="ana", config={"capture": {"enabled": False}}, background=False) as memory:
        assert "capture.enabled" in memory.capture(TALK, session="s").skipped


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"storeBackend": "tcvdb"}, "sqlite"),
        ({"extraction": {"extractor": "llm"}}, "extraction.extractor"),
        ({"persona": {"builder": "llm"}}, "persona.builder"),
        ({"recall": {"maxResult": 1}}, "maxResults"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(tmp_path: Path, config: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Memory(tmp_path, user="ana", config=config)


def llm(server: FakeServer) -> dict[str, Any]:
    return {"llm": {"enabled": True, "baseUrl": server.url, "attempts": 1}, "persona": {"builder": "rules"}}


def test_a_model_from_the_configuration_is_used_and_accounted_for(tmp_path: Path) -> None:
    def script(request: Request) -> str:
        return memories("Ana lives in Lisbon.", sources=shown(request)[:1])

    with FakeServer(script) as server, Memory(tmp_path, user="ana", config=llm(server), background=False) as memory:
        memory.capture(TALK, session="s")
        assert memory.flush().done
        assert memory.status().extractor == "llm"
        (attempt,) = memory.spent()
        assert (attempt.task, attempt.error) == ("l1-extraction", None) and (attempt.tokens.prompt or 0) > 100
        assert memory.spent() == []
        assert "Ana lives in Lisbon." in (memory.persona() or "")


def test_a_model_that_is_down_is_seen_in_flush_and_status_and_nothing_is_lost(tmp_path: Path) -> None:
    down = [True]

    def script(request: Request) -> Any:
        return failure(503) if down[0] else memories("Ana lives in Lisbon.", sources=shown(request)[:1])

    clock = ManualClock()
    with (
        FakeServer(script) as server,
        Memory(tmp_path, "ana", config=llm(server), clock=clock, background=False) as memory,
    ):
        memory.capture(TALK, session="s")
        flushed = memory.flush()
        assert not flushed.done and "503" in flushed.ran[0].error and flushed.pending[0].messages == 2
        for _ in range(10):
            clock.advance(30)
            memory.run_due()
        status = memory.status()
        assert not status.ok and "parked" in status.degraded[0] and "503" in status.degraded[0]
        assert status.as_json()["pending"][0]["due"] is None
        assert len([a for a in memory.spent() if a.error]) == 6
        down[0] = False
        assert memory.flush().done and memory.status().ok


def test_flush_gives_up_after_its_time_and_says_so(tmp_path: Path) -> None:
    with (
        FakeServer(lambda request: slow(1.5, "[]")) as server,
        Memory(tmp_path, user="ana", config=llm(server), background=False) as memory,
    ):
        memory.capture(TALK, session="s")
        started = time.monotonic()
        flushed = memory.flush("s", timeout=0.2)
        assert not flushed.done and time.monotonic() - started < 2.0
        assert flushed.pending[0].messages == 2


def test_closing_is_bounded_and_what_was_pending_is_done_later(tmp_path: Path) -> None:
    config: dict[str, Any] = {"pipeline": {"shutdownSeconds": 0.2}}
    with FakeServer(lambda request: slow(1.5, "[]")) as server:
        memory = Memory(tmp_path, user="ana", config=config | llm(server))
        memory.capture(TALK, session="s")
        assert until(lambda: len(server.served) == 1)
        started = time.monotonic()
        memory.close()
        assert time.monotonic() - started < 1.4
        memory.close()
        with pytest.raises(StoreError):
            memory.capture(TALK, session="s")
    with Memory(tmp_path, user="ana", background=False) as again:
        assert again.status().pending[0].messages == 2
        again.run_due()
        assert len(again.store.atoms(Scope("ana"))) == 1


class Down:
    """An embedder whose server does not answer."""

    name, dimensions = "down", 64

    def embed(self, texts: Any) -> Any:
        raise ModelUnavailable("embedding server is down")

    def spent(self) -> list[Any]:
        return []


def test_an_embedder_that_is_down_is_told_and_everything_else_works(tmp_path: Path) -> None:
    with Memory(tmp_path, user="ana", embedder=Down(), clock=ManualClock(), background=False) as memory:
        memory.capture(TALK, session="s")
        memory.run_due()
        assert memory.flush().done and "Lisbon" in (memory.persona() or "")
        assert any("embedding server is down" in line for line in memory.status().degraded)


def test_a_journal_that_cannot_be_written_is_told_and_catches_up(memory: Memory) -> None:
    (memory.folder / "conversations").write_text("in the way")
    assert len(memory.capture(TALK, session="s").new) == 2
    assert any(line.startswith("journal:") for line in memory.status().degraded)
    (memory.folder / "conversations").unlink()
    memory.capture([user("I love tea.")], session="s")
    assert memory.status().ok and len(list(memory.journal.lines("conversations"))) == 3


def test_taking_a_memory_along_and_forgetting(memory: Memory, tmp_path: Path) -> None:
    memory.capture(TALK, session="s")
    memory.flush()
    counts = memory.export(tmp_path / "a.zip")
    assert counts["turns"] == 2
    with Memory(tmp_path / "other", user="ben", clock=ManualClock(), background=False) as other:
        assert other.load(tmp_path / "a.zip", scope=Scope("ben")).atoms == 1
        assert "Lisbon" in (other.persona() or "")
        assert other.forget().complete and other.persona() is None
    atom = memory.store.atoms(Scope("ana"))[0]
    forgotten = memory.forget([atom.id], sources=True)
    assert forgotten.complete and (forgotten.atoms, forgotten.turns) == (1, 1)
    assert memory.clean().turns == 0


def test_cleanup_runs_at_its_time_of_day(tmp_path: Path) -> None:
    clock = ManualClock()
    config = Config.parse({"timezone": "+00:00", "capture": {"l0l1RetentionDays": 3, "cleanTime": "03:00"}})
    with Memory(tmp_path, user="ana", config=config, clock=clock, background=False) as memory:
        memory.capture([user(f"item {i}") for i in range(60)], session="s")
        memory.run_due()
        clock.advance(4 * 86_400)
        memory.run_due()
        assert memory.store.count_turns(Scope("ana")) == 0


def test_evidence_of_old_sessions_is_swept_once_a_day(tmp_path: Path) -> None:
    clock = ManualClock()
    session = tmp_path / "offload" / "agent" / "session"
    ref = EvidenceStore(session).put("an old result")
    Entries(session).close()
    os.utime(EvidenceStore(session).path(ref), (clock.now() - 30 * 86_400,) * 2)
    config = {
        "timezone": "+00:00",
        "offload": {"dataDir": str(tmp_path / "offload"), "offloadRetentionDays": 7},
    }
    with Memory(tmp_path / "memory", user="ana", config=config, clock=clock, background=False) as memory:
        memory.run_due()
        assert EvidenceStore(session).refs() == [ref]  # not before its time of the day
        clock.advance(86_400)
        memory.run_due()
    assert EvidenceStore(session).refs() == []


# --- recall through the facade, and what a host does with it


def test_recall_gives_a_stable_and_a_dynamic_part(memory: Memory) -> None:
    memory.capture([user("I live in Lisbon near the river."), assistant("Nice.")], session="s")
    memory.flush()
    recalled = memory.recall("Where in Lisbon do I live?")
    assert "User lives in Lisbon near the river." in recalled.stable and "m_" not in recalled.stable
    assert str(memory.folder) in recalled.stable  # where the scenes can be read
    assert [atom.content for atom in recalled.atoms] == ["User lives in Lisbon near the river."]
    assert "Lisbon" in recalled.dynamic
    assert memory.search("river").rows[0].id == recalled.atoms[0].id
    assert memory.search_conversations("river", session="s").rows[0].content == "I live in Lisbon near the river."
    assert "Lisbon" in memory.call_tool("memory_search", '{"query": "river"}')
    assert {tool["function"]["name"] for tool in memory.tools()} == {"memory_search", "conversation_search"}


def test_a_memory_never_feeds_on_itself(memory: Memory) -> None:
    memory.capture([user("I live in Lisbon near the river.")], session="s")
    memory.flush()
    for question in ("Where in Lisbon?", "Which river in Lisbon?"):
        recalled = memory.recall(question)
        memory.capture([user(f"{recalled.dynamic}\n\n{question}"), assistant("By the river.")], session="s")
        memory.flush()
    assert len(memory.store.atoms(Scope("ana"))) == 1
    said = memory.store.turns_before(Scope("ana"), 2**62, 100)
    assert [turn.content for turn in said if turn.role == "user"][1:] == ["Where in Lisbon?", "Which river in Lisbon?"]


def test_the_stable_part_keeps_its_bytes_while_only_heat_changes(memory: Memory) -> None:
    memory.capture([user("I love hiking in the Alps. I own a dog named Rex.")], session="s")
    memory.flush()
    before = memory.recall("hiking in the Alps").stable
    memory.capture([user("I love hiking in the Alps.")], session="t")
    memory.capture([user("I went hiking in the Alps with Rex.")], session="u")
    memory.flush()
    assert memory.pipeline.profile(Scope("ana")).scenes()[0].heat > 1
    assert memory.recall("hiking in the Alps").stable == before


class Loop:
    """A host: one conversation, its prompts as they were sent."""

    def __init__(self) -> None:
        self.history: list[dict[str, Any]] = []
        self.system: list[str] = []
        self.prefix: list[str] = []

    def scope(self) -> Scope:
        return Scope("ana")

    def add_to_system(self, text: str) -> None:
        self.system.append(text)

    def add_to_user_message(self, text: str) -> None:
        self.prefix.append(text)


def test_hooks_call_the_memory_at_the_right_places(memory: Memory) -> None:
    host = Loop()
    hooks = Hooks(memory, host)

    def turn(text: str, outcome: Any = "ok") -> None:
        hooks.before_prompt("s", text, host.history)
        stored = hooks.before_message_is_stored("\n".join([*host.prefix[-1:], text]))
        host.history += [user(stored), assistant(f"answer to {text}")]
        hooks.turn_is_done(CompletedTurn("s", host.history, outcome=outcome))

    turn("I live in Lisbon near the river.")
    memory.flush()
    turn("Where in Lisbon do I live?", "failed")
    assert host.history[2]["content"] == "Where in Lisbon do I live?"
    assert len(host.system) == 1 and "Lisbon" in host.prefix[0]
    rows = memory.store.turns_before(Scope("ana"), 2**62, 100)
    assert [row.content for row in rows][2:] == ["Where in Lisbon do I live?", "answer to Where in Lisbon do I live?"]
    assert [row.metadata.get("outcome") for row in rows] == [None, None, "failed", "failed"]
    hooks.host_is_closing()


def test_the_example_of_the_documentation_runs_and_remembers(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "longterm.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "<relevant-memories>" in done.stdout and "User lives in Lisbon" in done.stdout


def test_looking_at_a_parked_memory_does_not_unpark_it(tmp_path: Path) -> None:
    clock = ManualClock()
    with FakeServer(lambda request: failure(401, "wrong key")) as server:
        for _ in range(2):
            with Memory(tmp_path, "ana", config=llm(server), clock=clock, background=False) as memory:
                memory.capture(TALK, session="s")
                memory.run_due()
                assert "parked" in memory.status().pending[0].why
        assert len(server.served) == 1


def test_several_processes_share_one_folder(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from agentmem import Memory\n"
        "folder, name = sys.argv[1:]\n"
        "with Memory(folder, user='ana') as memory:\n"
        "    for i in range(15):\n"
        "        memory.capture([{'role': 'user', 'content': f'I own item {name}{i}.'}], session=f's{i % 3}')\n"
        "    memory.flush()\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name], stderr=subprocess.PIPE, text=True)
        for name in "abc"
    ]
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert errors == ["", "", ""]
    with Memory(tmp_path, user="ana", background=False) as memory:
        assert memory.flush().done
        ana = Scope("ana")
        assert memory.store.count_turns(ana) == 45 and len(memory.store.atoms(ana)) == 45
        journal = [line["id"] for line in memory.journal.lines("conversations")]
        assert len(journal) == len(set(journal)) == 45
        assert memory.persona()
