"""The scheduler on a real store: hours in milliseconds, failures, restarts, draining."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from agentmem.errors import ModelRejected, ModelUnavailable
from agentmem.llm.client import OpenAIModel
from agentmem.llm.fakeserver import Answer, FakeServer, failure
from agentmem.longterm.extraction import Extracted, Window
from agentmem.settings.models import Llm
from agentmem.store.records import Scope
from tests.agentmem.world import ANA, World


class Failing:
    """An extractor that raises a number of times and then works."""

    name = "failing"

    def __init__(self, world: World, error: Exception, times: int) -> None:
        self.inner, self.error, self.times, self.calls = world.pipeline.l1.extractor, error, times, 0
        world.pipeline.l1.extractor = self

    def extract(self, window: Window) -> Extracted:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return self.inner.extract(window)


def levels(world: World, seconds: float) -> list[str]:
    return [ran.level for ran in world.pass_time(seconds)]


def test_a_day_of_one_talk(tmp_path: Path) -> None:
    world = World(tmp_path)
    runs: dict[str, list[int]] = {"l1": [], "l2": [], "l3": []}
    start = world.clock.now()
    for minute in range(60):
        world.say(f"I love fruit number {minute}.")
        for ran in world.scheduler.run_due() + world.pass_time(59):
            runs[ran.level].append(int(world.clock.now() - start))
    assert 12 <= len(runs["l1"]) <= 15  # 1, 2, 4, then every 5
    assert 3 <= len(runs["l2"]) <= 5  # at most every 900 seconds
    assert len(runs["l3"]) == len(runs["l2"])
    rest = levels(world, 48 * 3600)
    assert rest.count("l1") <= 1 and 20 <= rest.count("l2") <= 27  # hourly, then cold
    assert world.scheduler.next_due() is None
    world.close()


def test_silence_extracts_the_tail(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.say("I live in Rome.")
    world.scheduler.run_due()
    world.say("I love tea.")
    assert world.scheduler.run_due() == []
    assert world.pipeline.waiting(ANA, "s") == 2
    world.pass_time(600)
    assert world.pipeline.waiting(ANA, "s") == 0
    world.close()


def test_a_failing_model_is_tried_six_times_and_then_parked_in_sight(tmp_path: Path) -> None:
    world = World(tmp_path)
    failing = Failing(world, ModelUnavailable("server down"), 99)
    world.say("I live in Rome.")
    start = world.clock.now()
    world.pass_time(3_600)
    assert failing.calls == 6 and world.pipeline.waiting(ANA, "s") == 2
    (pending,) = world.scheduler.pending()
    assert pending.messages == 2 and pending.due is None and pending.why == "parked: 6 tries: server down"
    failing.times = 6
    world.say("I love tea.")  # something new is said: everything is tried again
    world.pass_time(600)
    assert world.pipeline.waiting(ANA, "s") == 0 and len(world.atoms()) == 2
    assert world.clock.now() - start < 4_300
    assert [p.level for p in world.scheduler.pending()] in ([], ["l2"])
    world.close()


def test_a_wrong_key_is_parked_at_once_and_flush_gives_one_more_try(tmp_path: Path) -> None:
    world = World(tmp_path)
    failing = Failing(world, ModelRejected("wrong key"), 1)
    world.say("I live in Rome.")
    world.scheduler.run_due()
    assert world.scheduler.pending()[0].why == "parked: wrong key"
    world.pass_time(7_200)
    assert failing.calls == 1
    ran = world.scheduler.drain(ANA, "s")
    assert [(r.level, r.error) for r in ran] == [("l1", ""), ("l2", ""), ("l3", "")]
    assert world.scheduler.pending() == []
    world.close()


def test_flush_drains_a_backlog_of_every_session_down_to_the_persona(tmp_path: Path) -> None:
    world = World(tmp_path)
    for session in ("a", "b"):
        world.say(*[f"I love fruit number {i}{session}." for i in range(25)], session=session)
    ran = world.scheduler.drain()
    assert {r.level for r in ran} == {"l1", "l2", "l3"} and not any(r.error for r in ran)
    assert world.scheduler.pending() == []
    assert len(world.atoms()) == 50 and world.profile().persona()
    world.close()


def test_flush_stops_at_a_failure_and_says_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    Failing(world, ModelUnavailable("down"), 99)
    world.say("I live in Rome.")
    assert world.scheduler.drain(ANA, "s")[0].error == "down"
    assert world.pipeline.waiting(ANA, "s") == 2
    world.close()


def test_a_restart_drains_the_backlog_and_keeps_the_timers(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.say("I live in Rome.")
    world.scheduler.run_due()
    world.say("I love tea.", session="t")
    world.say("I own a dog.")
    world.close()
    again = World(tmp_path, clock=world.clock)
    again.scheduler.recover()
    assert [ran.level for ran in again.scheduler.run_due()] == ["l1", "l1"]
    assert sorted(atom.content for atom in again.atoms()) == [
        "User lives in Rome.",
        "User loves tea.",
        "User owns a dog.",
    ]
    assert again.scheduler.next_due() == world.scheduler.next_due() or again.scheduler.next_due() is not None
    assert "l2" in levels(again, 20)
    again.close()


def test_a_restart_gives_a_parked_batch_another_try(tmp_path: Path) -> None:
    world = World(tmp_path)
    Failing(world, ModelRejected("wrong key"), 99)
    world.say("I live in Rome.")
    world.scheduler.run_due()
    world.close()
    again = World(tmp_path, clock=world.clock)
    again.scheduler.recover()
    again.scheduler.run_due()
    assert len(again.atoms()) == 1
    again.close()


def test_turns_said_while_extraction_runs_are_extracted_too(tmp_path: Path) -> None:
    world = World(tmp_path)

    class Talking:
        name = "talking"
        inner = world.pipeline.l1.extractor

        def extract(self, window: Window) -> Extracted:
            if len(world.turns()) < 8:
                world.say("I own a dog.", "I own a cat.", "I own a bird.")
            return self.inner.extract(window)

    world.pipeline.l1.extractor = Talking()
    world.say("I live in Rome.")
    world.scheduler.run_due()
    assert world.pipeline.waiting(ANA, "s") == 0 and len(world.atoms()) == 4
    world.close()


def test_work_never_overlaps(tmp_path: Path) -> None:
    world = World(tmp_path)
    running, most = [0], [0]

    class Watching:
        name = "watching"
        inner = world.pipeline.l1.extractor

        def extract(self, window: Window) -> Extracted:
            running[0] += 1
            most[0] = max(most[0], running[0])
            threading.Event().wait(0.02)
            running[0] -= 1
            return self.inner.extract(window)

    world.pipeline.l1.extractor = Watching()
    for session in "abcd":
        world.say("I live in Rome.", session=session)
    threads = [threading.Thread(target=world.scheduler.drain) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1 and world.scheduler.pending() == []
    world.close()


def test_several_wishes_for_a_persona_become_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("ana", "ben"):
        world.say("I live in Rome.", scope=Scope(name))
    world.scheduler.run_due()
    ran = [r.level for r in world.pass_time(11)]
    assert ran == ["l2", "l2", "l3", "l3"]  # one a scope
    world.close()


def test_a_scene_model_that_fails_is_tried_again_within_the_hour(tmp_path: Path) -> None:
    down = [True]

    def script(request: object) -> Answer | str:
        return (
            failure(500) if down[0] else Answer(None, tool_calls=(("write_file", {"path": "a.md", "content": text}),))
        )

    with FakeServer(script) as server:
        config = {"extraction": {"extractor": "rules"}}
        world = World(tmp_path, config, OpenAIModel(Llm(base_url=server.url, attempts=1)))
        world.say("I live in Rome.")
        world.scheduler.run_due()
        text = f"# Home\n- Lives in Rome. [{world.atoms()[0].id}]"
        world.pass_time(60)
        (pending,) = world.scheduler.pending()
        assert pending.level == "l2" and re.search(r"1 extractions .* failed: l2-scenes", pending.why)
        down[0] = False
        world.pass_time(3_600)
        assert [scene.filename for scene in world.profile().scenes()] == ["a.md"]
    world.close()
