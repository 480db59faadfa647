"""The whole mechanism over one session: what is stored, shown, left out, read back, and survives."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from agentmem.errors import BadAnswer, ConfigError, EvidenceNotFound, ModelUnavailable, SessionLocked
from agentmem.messages import Message, ToolCall
from agentmem.offload.boundaries import Judgment, Situation
from agentmem.offload.canvas import LIMIT
from agentmem.offload.groups import is_closed
from agentmem.offload.hosts import is_internal, session_folder
from agentmem.offload.llm_summaries import LlmSummariser
from agentmem.offload.rules import OffloadRules
from agentmem.offload.session import OffloadSession
from agentmem.tokens import TokenCounter
from tests.agentmem.histories import histories
from tests.agentmem.scripted import Scripted

COUNTER = TokenCounter()
WINDOW = 6_000
REF = re.compile(r"refs/[0-9a-f]{20}\.txt")
SMALL = OffloadRules(mild=0.4, mild_target=0.3, aggressive=0.7, aggressive_target=0.5, canvases=0.25)


def opened(folder: Path, window: int = WINDOW, **more: Any) -> OffloadSession:
    ticks = count()
    return OffloadSession(
        folder,
        COUNTER,
        window,
        lambda: float(next(ticks)),
        durable=False,
        rules=more.pop("rules", SMALL),
        sleep=lambda s: None,
        **more,
    )


def step(number: int, lines: int = 60, call: str = "") -> list[Message]:
    call = call or f"c{number}"
    text = "\n".join(f"file{number}.py:{n}: value_{number}_{n} = compute()" for n in range(lines))
    return [
        Message(
            "assistant",
            f"looking at file{number}",
            (ToolCall(call, "bash", json.dumps({"command": f"grep -n value_{number} file{number}.py"})),),
        ),
        Message("tool", text, tool_call_id=call),
    ]


def play(memory: OffloadSession, messages: list[Message]) -> list[Message]:
    for message in messages:
        memory.observe(message)
    return memory.assemble()


def start(name: str) -> list[Message]:
    return [Message("user", f"Please work on {name} until every test of it passes", kind="task")]


def test_fifty_tasks_stay_below_the_threshold_and_everything_that_left_is_on_a_canvas(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        history = [Message("system", "you are careful")]
        memory.observe(history[0])
        number = 0
        for task in range(50):
            memory.begin_task(f"task {task}")
            for message in start(f"task {task}"):
                memory.observe(message)
                history.append(message)
            for _ in range(4):
                number += 1
                new = step(number)
                history += new
                prompt = play(memory, new)
                assert COUNTER.total(prompt) < SMALL.aggressive * WINDOW
                assert is_closed(prompt) and prompt[0] is history[0]
                assert [m for m in prompt if m.is_request][-1] == [m for m in history if m.is_request][-1]
        entries = list(memory.entries)
        assert len(entries) == number
        shown = {ref for message in prompt for ref in message.refs}
        behind = " ".join([*(memory.store.get(ref) for ref in shown), *(m.content for m in prompt)])
        behind += " ".join(memory.store.get(ref) for ref in REF.findall(behind))
        for entry in entries:
            assert (
                entry.result_ref
                and memory.store.get(entry.result_ref)
                == history[2 * entries.index(entry) + 3 + entries.index(entry) // 4].content
            )
            assert entry.result_ref in behind or any(m.tool_call_id == entry.tool_call_id for m in prompt)
        assert all(len(memory.files.read(name).text()) <= LIMIT for name in memory.files.names())
        canvases = [m for m in prompt if m.kind == "canvas"]
        assert COUNTER.total(canvases) <= SMALL.canvases * WINDOW


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories(steps=16))
def test_invariants_at_every_call_and_the_same_prompt_after_a_restart(
    tmp_path_factory: pytest.TempPathFactory, history: list[Message]
) -> None:
    folder = tmp_path_factory.mktemp("session")
    before = copy.deepcopy(history)
    with opened(folder, window=1_200) as memory:
        for index, message in enumerate(history):
            if message.is_request:
                memory.request(message.content)
            memory.observe(message)
            if message.role in ("assistant", "system"):
                continue
            if not is_closed(history[: index + 1]):
                continue
            prompt = memory.assemble()
            assert is_closed(prompt)
            assert [m for m in prompt if m.is_request][-1] == [m for m in history[: index + 1] if m.is_request][-1]
            assert history[0].role != "system" or prompt[0] is history[0]
            assert all(ref in m.content for m in prompt for ref in m.refs)
            assert memory.assemble() == prompt  # nothing new, nothing changes
        last = memory.assemble()
    assert history == before
    with opened(folder, window=1_200) as again:
        again.resume(history)
        assert again.assemble() == last
        assert [e.tool_call_id for e in again.entries if not e.tool_call_id.startswith("auto-")] == [
            m.tool_call_id for m in history if m.role == "tool"
        ]


def test_the_canvas_stays_byte_identical_at_its_place_while_nothing_changes(tmp_path: Path) -> None:
    with opened(tmp_path, rules=OffloadRules(pending=4)) as memory:
        memory.begin_task("fix the parser")
        prompts = [play(memory, start("the parser"))]
        prompts += [play(memory, step(number, lines=2)) for number in range(12)]
    places = [next((i for i, m in enumerate(p) if m.kind == "canvas"), None) for p in prompts]
    assert places[4:] == [1] * 9  # behind the request, from the first run on
    texts = [p[1].content for p in prompts[4:]]
    assert [a is b or a == b for a, b in pairwise(texts)].count(False) == 2  # one change a run


def test_read_back_by_node_call_and_ref(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.begin_task("look around")
        play(memory, [*start("it"), *step(1), *step(2), *step(3), *step(4, call="toolu_x")])
        entry = memory.entries["toolu_x"]
        assert entry.node_id == "001-N1" and entry.result_ref
        whole = memory.store.get(entry.result_ref)
        assert memory.read(entry.result_ref, limit=4000).endswith(whole)
        assert "file4.py:10" in memory.read("toolu_x", lines="10-12") and "file4.py:20" not in memory.read(
            "toolu_x", lines="10-12"
        )
        assert memory.read("toolu_x", pattern=r"_4_5\d").count("\n") == 10
        assert "4 tool calls" in memory.read("001-N1") and "toolu_x" in memory.read("001-N1")
        assert COUNTER.text(memory.read("toolu_x")) <= 400
        assert "follow: ask for lines" in memory.read("toolu_x")
        tool = memory.tools()[0]["function"]["name"]
        said = memory.call(ToolCall("1", tool, json.dumps({"id": "toolu_x", "pattern": "value_4_7 ", "limit": 100})))
        assert "8: file4.py:7: value_4_7 = compute()" in said
        assert memory.tools("anthropic")[0]["input_schema"] == memory.tools()[0]["function"]["parameters"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"id": "c99"}, "nearest: c4, c3, c2"),
        ({"id": "001-N9"}, "no node '001-N9'; nearest: 001-N1"),
        ({"id": "refs/../../etc/passwd"}, "is not a ref"),
        ({"id": "/etc/passwd"}, "is not a ref"),
        ({"id": "c1", "lines": "900-"}, "are not in a text of 60 lines"),
        ({"id": "c1", "lines": "x"}, "should be a range"),
        ({"id": "c1", "pattern": "("}, "cannot be read"),
        ({"id": "c1", "pattern": "nowhere"}, "none of lines 1-60 matches"),
        ({"id": "c1", "limit": 0}, "limit should be a number from 1 to 4000"),
        ({"id": "c1", "path": "x"}, "takes id, lines, pattern and limit"),
        ({}, "got nothing"),
    ],
)
def test_what_is_wrong_with_a_read_is_its_answer(tmp_path: Path, arguments: dict[str, object], says: str) -> None:
    with opened(tmp_path) as memory:
        memory.begin_task("look around")
        play(memory, [*start("it"), *(m for n in range(1, 5) for m in step(n))])
        assert says in memory.call(ToolCall("1", "read_memory", json.dumps(arguments)))
        assert "no JSON" in memory.call(ToolCall("1", "read_memory", "{"))
        assert "there is no tool 'rm'" in memory.call(ToolCall("1", "rm", "{}"))
        with pytest.raises(EvidenceNotFound):
            memory.read("nothing of the kind")


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from tests.agentmem.test_offload_session import opened, play, start, step
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
warned = []
memory = opened(Path(sys.argv[1]), warn=warned.append)
memory.begin_task("one")
history = [*start("one"), *(m for n in range(3) for m in step(n))]
play(memory, history)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
late = [m for n in range(3, 12) for m in step(n)]
prompt = play(memory, late)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
assert play(memory, step(12))[-1].content == step(12)[1].content
kept = [m for m in late if m.role == "tool"]
assert all(any(shown is m for shown in prompt) for m in kept), "a result that was not stored left the prompt"
assert len(warned) == 1 and "results stay in the prompt" in warned[0], warned
memory.close()
print("fine")
"""


def test_a_full_disk_keeps_results_in_the_prompt_with_one_warning(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
    with opened(tmp_path) as memory:
        assert [memory.store.get(e.result_ref or "") for e in memory.entries] == [step(n)[1].content for n in range(3)]


def test_a_killed_process_leaves_every_result_readable(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from tests.agentmem.test_offload_session import opened, play, start, step\n"
        "memory = opened(Path(sys.argv[1]))\nmemory.begin_task('one')\n"
        "play(memory, [*start('one'), *(m for n in range(7) for m in step(n))])\nos._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False).returncode == 9
    history = [*start("one"), *(m for n in range(7) for m in step(n))]
    with opened(tmp_path) as memory:
        memory.resume(history)
        assert [memory.store.get(e.result_ref or "") for e in memory.entries] == [
            m.content for m in history if m.role == "tool"
        ]
        assert len(memory.entries) == 7
        assert is_closed(memory.assemble())


def test_a_second_session_on_one_folder_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(SessionLocked, match="is in use by process"):
        opened(tmp_path)
    opened(tmp_path).close()


def test_a_history_the_host_edited_is_noticed(tmp_path: Path) -> None:
    history = [*start("one"), *(m for n in range(12) for m in step(n))]
    with opened(tmp_path) as memory:
        memory.begin_task("one")
        play(memory, history)
    edited = [*history[:4], Message("tool", "something else", tool_call_id="c1"), *history[5:]]
    warned: list[str] = []
    with opened(tmp_path, warn=warned.append) as memory:
        memory.resume(edited)
        prompt = memory.assemble()
        assert is_closed(prompt)
    assert "of the history is not what it was" in warned[0]


def test_a_summariser_that_is_down_delays_nothing_and_loses_nothing(tmp_path: Path) -> None:
    down = LlmSummariser(Scripted(ModelUnavailable("down"), again=True))
    warned: list[str] = []
    with opened(tmp_path, summariser=down, warn=warned.append) as memory:
        memory.begin_task("one")
        prompt = play(memory, [*start("one"), *(m for n in range(30) for m in step(n))])
        assert COUNTER.total(prompt) < WINDOW and is_closed(prompt)
        assert all(memory.store.get(e.result_ref or "") for e in memory.entries)
        assert any(e.degraded for e in memory.entries)
    assert warned


def test_a_judge_that_fails_twice_clears_the_canvas(tmp_path: Path) -> None:
    class Broken:
        name = "broken"

        def judge(self, situation: Situation) -> Judgment:
            raise BadAnswer("nonsense")

    warned: list[str] = []
    with opened(tmp_path, judge=Broken(), warn=warned.append) as memory:
        memory.request("do something long")
        assert memory.tasks.present is not None and memory.tasks.present.canvas is None
        play(memory, [*start("it"), *(m for n in range(20) for m in step(n))])
        assert memory.tasks.present.canvas is None or memory.files.names()  # given one when something had to leave
    assert len(warned) == 2


def test_heartbeats_are_neither_recorded_nor_shown(tmp_path: Path) -> None:
    beat = [
        Message("assistant", "", (ToolCall("hb", "read", '{"path": "HEARTBEAT.md"}'),)),
        Message("tool", "nothing to do", tool_call_id="hb"),
    ]
    with opened(tmp_path) as memory:
        memory.request("HEARTBEAT")
        prompt = play(memory, [*start("one"), *step(1), *beat, *step(2)])
        assert [m.tool_call_id for m in prompt if m.role == "tool"] == ["c1", "c2"] and is_closed(prompt)
        assert [e.key for e in memory.entries] == ["c1", "c2"] and len(memory.tasks) == 0


def test_reactivation_goes_on_with_the_old_canvas(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.begin_task("alpha")
        play(memory, [m for n in range(4) for m in step(n)])
        memory.begin_task("beta")
        assert memory.files.read("001-alpha.mmd").nodes[-1].status == "done"
        memory.begin_task("alpha")
        play(memory, [m for n in range(4, 8) for m in step(n)])
        assert memory.files.names() == ["001-alpha.mmd", "002-beta.mmd"]
        assert {e.node_id for e in memory.entries} <= {n.id for n in memory.files.read("001-alpha.mmd").nodes}


@pytest.mark.parametrize(
    ("key", "session", "folder"),
    [
        ("agent:main:chat:7", None, "main/chat_7"),
        ("agent:main:swebench-w3-x", "id", "main-w3/swebench-w3-x"),
        ("odd/key..x", "s1", "odd_key_x/s1"),
        (None, "s1", "default/s1"),
        ("agent:..:../..", None, "_/___"),
    ],
)
def test_session_folders(key: str | None, session: str | None, folder: str) -> None:
    assert session_folder(Path("/r"), key, session) == Path("/r") / folder


def test_a_session_without_a_name_is_an_error() -> None:
    with pytest.raises(ConfigError, match="neither a session key nor a session id"):
        session_folder(Path("/r"), None)
    assert is_internal("memory-scene-session-12") and not is_internal("memory of a session")


def test_a_host_gets_its_session_and_the_memory_s_own_runs_none(tmp_path: Path) -> None:
    clock = iter(range(100)).__next__
    memory = OffloadSession.for_host(tmp_path, None, "abc", COUNTER, WINDOW, clock, durable=False)
    assert memory is not None and (tmp_path / "default" / "abc").is_dir()
    memory.close()
    assert OffloadSession.for_host(tmp_path, "memory-scene-session-12", None, COUNTER, WINDOW, clock) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"mild": 0.9},
        {"mild_target": 0.6},
        {"emergency": 0.8},
        {"aggressive_target": 0.9},
        {"canvases": 0.5, "aggressive_target": 0.4},
        {"mild": 0},
        {"unknown": 1},
    ],
)
def test_rules_out_of_order_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        OffloadRules(**wrong)
