"""After every stage: the last request kept, calls with their results, the system prompt and the newest untouched,
nothing changed in place, a second run does nothing, and stored decisions give the same list again."""

from __future__ import annotations

import copy
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.errors import EvidenceCorrupt, EvidenceWriteFailed
from agentmem.messages import Message, ToolCall
from agentmem.offload.decisions import FILE, Decision, Decisions, apply, mark
from agentmem.offload.deletion import NEWEST, aggressive, emergency
from agentmem.offload.groups import is_closed
from agentmem.offload.mild import BATCH, MildRules, StandIn, mild
from agentmem.offload.prompt import Item, Prompt
from agentmem.tokens import TokenCounter
from tests.agentmem.histories import histories

COUNTER = TokenCounter()
STAGES = ["mild", "batch", "aggressive", "emergency"]


def find(item: Item) -> StandIn | None:
    if len(item.whole.content) % 5 == 4:
        return None  # no entry yet
    ref = f"refs/{item.index:020x}.txt"
    text = f"[{ref}] short"
    return StandIn(text, COUNTER.text(text) + 4, ref, len(item.whole.content) % 11, f"k{item.index}", "001-N1", "run()")


def shorten(item: Item) -> tuple[str, str] | None:
    ref = f"refs/{item.index:020x}.txt"
    return f"[cut, {ref}]", ref


def stage(name: str, prompt: Prompt, target: float) -> list[Decision]:
    if name == "mild":
        return mild(prompt, find, target, MildRules())
    if name == "batch":
        return mild(prompt, find, target, MildRules(batch=BATCH))
    if name == "aggressive":
        return aggressive(prompt, target)
    return emergency(prompt, target, shorten)


def build(history: list[Message]) -> Prompt:
    prompt = Prompt(COUNTER)
    for message in history:
        prompt.add(message)
    return prompt


def last_request(messages: list[Message]) -> Message | None:
    return next((message for message in reversed(messages) if message.is_request), None)


@settings(max_examples=120, deadline=None)
@given(histories(), st.lists(st.sampled_from(STAGES), min_size=1, max_size=4), st.floats(0, 1))
def test_invariants_after_every_stage(history: list[Message], names: list[str], part: float) -> None:
    before = copy.deepcopy(history)
    prompt = build(history)
    decided: dict[int, Decision] = {}
    for name in names:
        target = prompt.tokens * part
        tokens = prompt.tokens
        decisions = stage(name, prompt, target)
        prompt.apply(decisions)
        decided.update((decision.at, decision) for decision in decisions)
        shown = prompt.messages()
        assert history == before
        assert prompt.tokens == COUNTER.total(shown) <= tokens
        assert last_request(shown) is last_request(history)
        assert is_closed(shown)
        assert history[0].role != "system" or shown[0] is history[0]
        assert shown[-1].role == history[-1].role and shown[-1].tool_call_id == history[-1].tool_call_id
        assert len(shown) >= min(NEWEST, len(history))
        assert all(ref in message.content for message in shown for ref in message.refs)
        assert apply(history, decided) == shown
        if name != "batch" or prompt.tokens <= target:
            assert stage(name, prompt, target) == []


@settings(max_examples=40, deadline=None)
@given(histories(), histories(steps=4), st.lists(st.sampled_from(STAGES), max_size=3))
def test_stored_decisions_give_the_same_list_after_a_restart(
    history: list[Message], later: list[Message], names: list[str]
) -> None:
    with TemporaryDirectory() as folder:
        prompt = build(history)
        store = Decisions(Path(folder), durable=False)
        for name in names:
            decisions = stage(name, prompt, prompt.tokens / 2)
            store.add(decisions)
            prompt.apply(decisions)
        store.close()
        again = Decisions(Path(folder), durable=False)
        assert again.first_mismatch(history) is None
        assert apply(history, again.by_index) == prompt.messages()
        grown = [*history, *(message for message in later if message.role != "system")]
        fresh = build(grown)
        fresh.apply(again.by_index.values())
        assert fresh.messages() == apply(grown, again.by_index)
        again.close()


def result(number: int, size: int = 40) -> list[Message]:
    return [
        Message("assistant", "", (ToolCall(f"c{number}", "run", "{}"),)),
        Message("tool", "a line of output\n" * size, tool_call_id=f"c{number}"),
    ]


def history_of(count: int, size: int = 40) -> list[Message]:
    return [Message("system", "s"), Message("user", "do it"), *(m for n in range(count) for m in result(n, size))]


def test_mild_takes_the_best_scores_first_and_stops_at_the_target() -> None:
    prompt = build(history_of(20))
    scores = {item.index: item.index % 7 for item in prompt.items}
    stand_in = lambda item: StandIn("x refs/a", 8, "refs/a", scores[item.index], "k")  # noqa: E731
    decisions = mild(prompt, stand_in, prompt.tokens * 0.8, MildRules())
    assert [scores[d.at] for d in decisions] == sorted((scores[d.at] for d in decisions), reverse=True)
    prompt.apply(decisions)
    assert prompt.tokens <= COUNTER.total(history_of(20)) * 0.8
    assert max(d.at for d in decisions) < 0.7 * 42


def test_mild_leaves_what_would_not_get_shorter() -> None:
    prompt = build(history_of(10, size=1))
    long = lambda item: StandIn("word " * 50 + "refs/a", 60, "refs/a", 9, "k")  # noqa: E731
    assert mild(prompt, long, 0, MildRules()) == []
    assert mild(prompt, long, 0, MildRules(guard=False)) != []


def test_a_batch_stops_at_ten_though_the_target_is_far() -> None:
    prompt = build(history_of(60))
    scores = {item.index: 9 if number < 24 else 2 for number, item in enumerate(prompt.items)}
    stand_in = lambda item: StandIn("x refs/a", 8, "refs/a", scores[item.index], "k")  # noqa: E731
    decisions = [d for d in mild(prompt, stand_in, 0, MildRules(batch=BATCH)) if d.content is not None]
    assert len(decisions) == 11 and {scores[d.at] for d in decisions} == {9}


def test_aggressive_drops_a_group_whole_though_its_result_stands_apart() -> None:
    history = [
        Message("user", "go"),
        Message("assistant", "", (ToolCall("a", "run", "{}"), ToolCall("b", "run", "{}"))),
        Message("tool", "one " * 80, tool_call_id="a"),
        Message("user", "by the way"),
        Message("tool", "two " * 80, tool_call_id="b"),
        Message("assistant", "done"),
        Message("user", "next"),
    ]
    prompt = build(history)
    decisions = aggressive(prompt, prompt.tokens - 50)
    assert sorted(d.at for d in decisions) == [0, 1, 2, 4]


def test_an_id_that_a_host_spells_without_underscores_stays_with_its_call() -> None:
    history = [
        Message("user", "go"),
        Message("assistant", "", (ToolCall("toolu_bdrk_01", "run", "{}"),)),
        Message("tool", "one " * 80, tool_call_id="toolubdrk01"),
        Message("assistant", "done"),
        Message("user", "next"),
    ]
    assert [item.leader for item in build(history).items] == [0, 1, 1, 3, 4]


def test_aggressive_never_passes_the_last_request() -> None:
    prompt = build([Message("user", "old"), Message("user", "new"), *(m for n in range(9) for m in result(n))])
    assert [d.at for d in aggressive(prompt, 10)] == [0]


def test_emergency_goes_behind_the_request_and_then_cuts_in_place() -> None:
    history = [
        *history_of(6),
        Message("assistant", "", (ToolCall("big", "run", '{"text": "' + "word " * 2000 + '"}'),)),
        Message("tool", "word " * 3000, tool_call_id="big"),
    ]
    prompt = build(history)
    decisions = emergency(prompt, 300, shorten)
    prompt.apply(decisions)
    shown = prompt.messages()
    assert prompt.tokens <= 300 and is_closed(shown)
    assert [m.role for m in shown] == ["system", "user", "assistant", "tool"]
    assert "_truncated" in shown[2].tool_calls[0].arguments and shown[3].refs


def test_emergency_leaves_what_cannot_be_stored() -> None:
    prompt = build([Message("user", "go"), *result(1, size=2000)])
    assert emergency(prompt, 100, lambda item: None) == []


def test_a_changed_history_is_noticed_and_its_decisions_forgotten(tmp_path: Path) -> None:
    history = history_of(8)
    store = Decisions(tmp_path)
    store.add(Decision(at, mark(history[at]), "drop") for at in (2, 3, 6, 7))
    edited = [*history[:6], *result(99), *history[8:]]
    assert store.first_mismatch(edited) == 6
    assert store.first_mismatch(history[:3]) == 3
    store.forget_from(6)
    store.close()
    assert sorted(Decisions(tmp_path).by_index) == [2, 3]


def test_a_decision_is_not_seen_when_it_could_not_be_stored(tmp_path: Path) -> None:
    store = Decisions(tmp_path / "session")
    (tmp_path / "session").write_text("a file stands where the folder should be")
    with pytest.raises(EvidenceWriteFailed):
        store.add([Decision(0, "m", "drop")])
    assert store.by_index == {}


def test_a_damaged_decision_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"at":1,"mark":"m","action":"drop"}\n{"where":2}\n')
    with pytest.raises(EvidenceCorrupt, match="line 2 is no decision"):
        Decisions(tmp_path)
