"""Summaries: every result ends in exactly one entry or waits on disk, whatever the model answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agentmem.errors import BadAnswer, ModelUnavailable
from agentmem.llm.client import OpenAIModel
from agentmem.llm.fakeserver import Answer, FakeServer, Request, failure, fenced, half, hang_up, slow, thinking
from agentmem.offload.boundaries import Tasks
from agentmem.offload.canvas_build import CanvasBuilder
from agentmem.offload.canvas_files import CanvasFiles
from agentmem.offload.canvas_llm import LlmBuilder
from agentmem.offload.canvas_rules import RulesBuilder
from agentmem.offload.entries import Entries
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.extractive import Extractive
from agentmem.offload.flush import BATCH, Flush
from agentmem.offload.llm_summaries import LlmSummariser, sampled
from agentmem.offload.mapping import BATCH as MAP_BATCH
from agentmem.offload.mapping import Mapping
from agentmem.offload.summaries import Result
from agentmem.settings.models import Llm
from agentmem.tokens import TokenCounter
from tests.agentmem.scripted import Scripted

COUNTER = TokenCounter()


class Desk:
    """A session's parts with a model in place of the summariser."""

    def __init__(self, folder: Path, model: object) -> None:
        self.folder = folder
        self.store, self.entries = EvidenceStore(folder, durable=False), Entries(folder, durable=False)
        self.warned: list[str] = []
        self.flush = Flush(self.entries, self.store, LlmSummariser(model), Extractive(COUNTER), self.warned.append)  # type: ignore[arg-type]

    def arrive(self, count: int, task: str | None = None) -> None:
        for number in range(count):
            text = f"result {len(self.entries)} of cat\n"
            self.entries.arrive(f"c{len(self.entries)}", "cat a.py", self.store.put(text), float(number), task=task)


def given(request: Request) -> list[str]:
    rows = json.loads(request.last[request.last.index("[") :])
    return [row["tool_call_id"] for row in rows]


def summaries(ids: list[str], **more: object) -> str:
    return json.dumps(
        [{"tool_call_id": i, "tool_call": "cat", "summary": f"about {i}", "score": 7, **more} for i in ids]
    )


def model(server: FakeServer, timeout_ms: int = 5_000) -> OpenAIModel:
    return OpenAIModel(Llm(base_url=server.url, model="m", attempts=1, timeout_ms=timeout_ms))


GOOD: dict[str, Callable[[Request], Answer | str]] = {
    "plain": lambda r: summaries(given(r)),
    "fenced": lambda r: fenced(summaries(given(r))),
    "thinking": lambda r: thinking(summaries(given(r))),
    "trailing comma": lambda r: summaries(given(r))[:-1] + ",]",
    "control characters": lambda r: summaries(given(r)).replace("about", "about\t\x01"),
    "wrapped": lambda r: json.dumps({"entries": json.loads(summaries(given(r)))}),
    "scores out of range": lambda r: summaries(given(r), score=99),
    "scores as words": lambda r: summaries(given(r), score="high"),
    "more than asked": lambda r: summaries([*given(r), "other", given(r)[0]]),
}


@pytest.mark.parametrize("kind", GOOD)
def test_answers_are_read_through_their_wrapping(tmp_path: Path, kind: str) -> None:
    with FakeServer(GOOD[kind]) as server:
        desk = Desk(tmp_path, model(server))
        desk.arrive(7)
        assert desk.flush.due()
        desk.flush.run("context")
        assert [len(given(Request(s.path, s.body, 0))) for s in server.served] == [BATCH, 2]
    assert desk.warned == [] and desk.entries.pending() == []
    assert [e.summary for e in desk.entries] == [f"about c{n}" for n in range(7)]
    assert all(0 <= (e.score or 0) <= 10 for e in desk.entries)
    assert [e.key for e in Entries(tmp_path)] == [f"c{n}" for n in range(7)]


BAD: dict[str, Callable[[Request], Answer | str]] = {
    "down": lambda r: failure(503),
    "refused": lambda r: failure(401),
    "prose": lambda r: "I am sorry, I cannot summarise tool results.",
    "empty array": lambda r: "[]",
    "empty": lambda r: Answer(None, finish="content_filter"),
    "hang up": lambda r: hang_up(),
    "slow": lambda r: slow(0.5),
    "other ids": lambda r: summaries(["x", "y"]),
    "no summary": lambda r: summaries(given(r)).replace('"summary"', '"text"'),
    "object": lambda r: '{"status": "ok"}',
}


@pytest.mark.parametrize("kind", BAD)
def test_three_failures_give_a_stand_in_and_the_results_wait_until_then(tmp_path: Path, kind: str) -> None:
    with FakeServer(BAD[kind]) as server:
        desk = Desk(tmp_path, model(server, timeout_ms=100 if kind == "slow" else 5_000))
        desk.arrive(4)
        for _ in range(2):
            desk.flush.run()
            assert [e.summary for e in Entries(tmp_path)] == [None] * 4  # pending on disk
        desk.flush.run()
    assert all(e.degraded and e.summary and e.score for e in desk.entries)
    assert len(desk.warned) == 3
    with FakeServer(GOOD["plain"]) as server:
        desk = Desk(tmp_path, model(server))
        desk.flush.run()
        assert [e.summary for e in desk.entries] == [f"about c{n}" for n in range(4)]
        assert desk.entries.pending() == []


def test_half_an_array_leaves_the_rest_pending(tmp_path: Path) -> None:
    script: list[Answer | str] = [half(summaries([f"c{n}" for n in range(5)]), 0.5), summaries(["c2", "c3", "c4"])]
    with FakeServer(script) as server:
        desk = Desk(tmp_path, model(server))
        desk.arrive(5)
        desk.flush.run()
        waiting = [e.key for e in desk.entries if e.summary is None]
        assert waiting and waiting == ["c2", "c3", "c4"][-len(waiting) :]
        assert [e.key for e in Entries(tmp_path).pending()] == waiting
        desk.flush.run()
    assert desk.entries.pending() == []


def test_a_result_the_model_always_leaves_out_gets_a_stand_in(tmp_path: Path) -> None:
    with FakeServer(lambda r: summaries([i for i in given(r) if i != "c1"] or ["none"])) as server:
        desk = Desk(tmp_path, model(server))
        desk.arrive(4)
        for _ in range(3):
            desk.flush.run()
    assert [e.degraded for e in desk.entries] == [False, True, False, False]


def test_evidence_that_is_gone_is_told_once_and_never_asked_for_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted(again=True))
    desk.arrive(1)
    desk.store.forget(desk.entries["c0"].result_ref or "")
    desk.flush.run()
    desk.flush.run()
    assert len(desk.warned) == 1 and desk.entries["c0"].score == 0


def test_a_single_object_is_taken_as_one_summary() -> None:
    made = LlmSummariser(Scripted('{"tool_call_id": "a", "summary": "s"}')).summarise([Result("a", "call", "t")])
    assert (made["a"].text, made["a"].score, made["a"].call) == ("s", 5.0, "call")
    with pytest.raises(BadAnswer, match="no summary of any of the 1 results"):
        LlmSummariser(Scripted("[1]" + '[{"x": 1}]')).summarise([Result("a", "call", "t")])


def test_a_long_result_shows_its_end_and_its_errors() -> None:
    lines = [f"line {n}" for n in range(2000)]
    lines[1200] = "ValueError: the answer stands in the middle"
    shown = sampled("\n".join(lines))
    assert (
        len(shown) < 2_300 and "line 0" in shown and "line 1999" in shown and "the answer stands in the middle" in shown
    )
    assert sampled("short") == "short"


class Table:
    """A desk with canvases."""

    def __init__(self, folder: Path, builder: CanvasBuilder) -> None:
        self.desk = Desk(folder, Scripted())
        self.desk.flush = Flush(
            self.desk.entries, self.desk.store, Extractive(COUNTER), Extractive(COUNTER), self.desk.warned.append
        )
        self.tasks, self.files = Tasks(folder, durable=False), CanvasFiles(folder, durable=False)
        self.mapping = Mapping(
            self.desk.entries, self.tasks, self.files, self.desk.store, builder, self.desk.warned.append
        )

    def task(self, label: str | None) -> str:
        file = self.files.create(label, "goal", "t").file if label else None
        return self.tasks.begin(file, "request", 0.0).id


def test_mapping_runs_at_four_or_after_five_minutes_and_never_without_need(tmp_path: Path) -> None:
    table = Table(tmp_path, RulesBuilder())
    short, long = table.task(None), table.task("fix")
    table.desk.arrive(9, short)
    table.desk.flush.run()
    assert not table.mapping.due(10_000.0)  # nothing of it is eligible
    table.desk.arrive(3, long)
    assert not table.mapping.due(10.0)  # not summarised yet
    table.desk.flush.run()
    assert not table.mapping.due(10.0) and table.mapping.due(301.0)
    table.desk.arrive(1, long)
    table.desk.flush.run()
    assert table.mapping.due(10.0)
    table.mapping.run(10.0)
    assert [e.node_id for e in table.desk.entries] == [None] * 9 + ["001-N1"] * 4
    assert table.files.read("001-fix.mmd").has("001-N1") and not table.mapping.due(10_000.0)


def test_a_failed_run_waits_two_minutes(tmp_path: Path) -> None:
    drawn = 'flowchart TD\n    001-N1["read: a<br/>status: done"]'
    scripted = Scripted(ModelUnavailable("down"), json.dumps({"mmd_content": drawn, "node_mapping": {}}))
    table = Table(tmp_path, LlmBuilder(scripted))
    table.desk.arrive(4, table.task("fix"))
    table.desk.flush.run()
    table.mapping.run(100.0)
    assert "4 tool calls wait, llm failed: down" in table.desk.warned[0]
    assert not table.mapping.due(219.0) and table.mapping.due(220.0)
    table.mapping.run(220.0)
    assert {e.node_id for e in table.desk.entries} == {"001-N1"} and len(scripted.asked) == 2


def test_many_entries_are_mapped_in_batches_of_thirty(tmp_path: Path) -> None:
    drawn = json.dumps({"mmd_content": 'flowchart TD\n    001-N1["read: a<br/>status: done"]', "node_mapping": {}})
    scripted = Scripted(drawn, again=True)
    table = Table(tmp_path, LlmBuilder(scripted))
    table.desk.arrive(70, table.task("fix"))
    table.desk.flush.run()
    table.mapping.run(0.0)
    assert [ask.messages[1].content.count("] cat a.py -> ") for ask in scripted.asked] == [MAP_BATCH, MAP_BATCH, 10]


def test_a_damaged_canvas_is_set_aside_and_drawn_anew(tmp_path: Path) -> None:
    table = Table(tmp_path, RulesBuilder())
    table.desk.arrive(4, table.task("fix"))
    table.desk.flush.run()
    table.mapping.run(0.0)
    path = table.files.folder / "001-fix.mmd"
    path.write_bytes(b"\xff\xfe half a canvas")
    again = Table(tmp_path, RulesBuilder())
    assert again.mapping.canvas("001-fix.mmd").has("001-N1")
    assert "drawn anew" in again.desk.warned[0]
    assert (table.files.folder / "001-fix.mmd.damaged-1").read_bytes() == b"\xff\xfe half a canvas"
    assert {e.node_id for e in Entries(tmp_path)} == {"001-N1"}
