"""When each level runs: hours and days of upstream's rules, checked as functions of a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentmem.longterm.schedule import Rules, ScopeTimer, SessionTimer
from agentmem.settings.longterm import Extraction, Pipeline


@pytest.fixture
def rules() -> Rules:
    return Rules(Pipeline(), Extraction())


def test_warm_up_runs_after_1_2_4_and_then_every_5_turns(rules: Rules) -> None:
    timer, runs, since = rules.first(), [], 0
    for turn in range(1, 23):
        timer = rules.said(timer, now=turn)
        since += 1
        if timer.l1_due == turn:
            runs.append(since)
            since = 0
            timer = rules.extracted(timer, turn, timer.conversation_count, waiting=0)
    assert runs == [1, 2, 4, 5, 5, 5]


def test_without_warm_up_it_is_every_n_from_the_start() -> None:
    rules = Rules(Pipeline(enable_warmup=False, every_n_conversations=3), Extraction())
    timer = rules.first()
    due = []
    for turn in range(1, 4):
        timer = rules.said(timer, now=turn)
        due.append(timer.l1_due == turn)
    assert due == [False, False, True]


def test_silence_of_600_seconds_runs_what_is_left(rules: Rules) -> None:
    timer = rules.extracted(rules.said(rules.first(), 0), 0, 1, waiting=0)
    timer = rules.said(timer, 100)
    assert timer.l1_due == 700
    assert rules.said(timer, 300).l1_due == 300  # the second turn reaches the threshold of 2


def test_turns_that_come_while_it_runs_are_not_lost(rules: Rules) -> None:
    timer = rules.said(rules.first(), 0)
    counted = timer.conversation_count
    timer = rules.said(rules.said(timer, 5), 6)
    after = rules.extracted(timer, 10, counted, waiting=4)
    assert after.conversation_count == 2
    assert after.l1_due == 10  # two turns wait and two are enough now


def test_a_full_backlog_goes_on_at_once_and_a_small_tail_after_silence(rules: Rules) -> None:
    timer = rules.said(rules.first(), 0)
    assert rules.extracted(timer, 1, 1, waiting=10).l1_due == 1
    assert rules.extracted(timer, 1, 1, waiting=3).l1_due == 601
    assert rules.extracted(timer, 1, 1, waiting=0).l1_due is None


def test_failures_are_tried_again_after_30_seconds_five_times_and_then_parked(rules: Rules) -> None:
    timer, times = rules.said(rules.first(), 0), [0.0]
    while timer.l1_due is not None:
        timer = rules.failed(timer, times[-1], "server down", hopeless=False)
        if timer.l1_due is not None:
            times.append(timer.l1_due)
    assert times == [0, 30, 60, 90, 120, 150]
    assert timer.parked == "6 tries: server down"
    again = rules.said(timer, 1000)
    assert (again.parked, again.l1_retries, again.l1_due) == ("", 0, 1000)


def test_an_error_that_no_retry_helps_is_parked_at_once(rules: Rules) -> None:
    timer = rules.failed(rules.said(rules.first(), 0), 0, "wrong key", hopeless=True)
    assert (timer.l1_due, timer.parked) == (None, "wrong key")


def test_scenes_wait_10_seconds_and_900_since_the_last_and_only_move_earlier(rules: Rules) -> None:
    first = rules.new_atoms(ScopeTimer(last_active_time=0), 100)
    assert first.l2_due == 110
    assert rules.new_atoms(first, 105).l2_due == 110
    written = rules.scenes_written(first, 200, skipped=False, counted=1)
    assert written.l2_due == 3_800
    assert rules.new_atoms(written, 300).l2_due == 1_100
    assert rules.new_atoms(written, 2_000).l2_due == 2_010
    assert rules.new_atoms(written, 3_799).l2_due == 3_800


def test_a_first_run_with_nothing_to_do_does_not_start_the_interval(rules: Rules) -> None:
    skipped = rules.scenes_written(ScopeTimer(), 100, skipped=True, counted=0)
    assert rules.new_atoms(skipped, 200).l2_due == 210
    later = rules.scenes_written(replace(skipped, l2_last_extraction_time=50), 100, skipped=True, counted=0)
    assert rules.new_atoms(later, 200).l2_due == 1_000


def test_a_scope_without_a_turn_for_24_hours_goes_cold(rules: Rules) -> None:
    timer = rules.scenes_written(ScopeTimer(last_active_time=0), 0, skipped=False, counted=0)
    assert not rules.is_cold(timer, 24 * 3600 - 1)
    assert rules.is_cold(timer, 24 * 3600)
    assert rules.gone_cold(timer).l2_due is None
    assert not rules.is_cold(rules.new_atoms(timer, 0), 48 * 3600)  # new atoms are always worked in


def test_a_failed_scene_run_keeps_what_waits_and_is_tried_again(rules: Rules) -> None:
    timer = rules.scenes_failed(rules.new_atoms(ScopeTimer(), 0), 10, "down")
    assert (timer.l2_pending_l1_count, timer.l2_due, timer.l2_error) == (1, 3_610, "down")
    assert not rules.is_cold(timer, 10**6)


def test_atoms_that_came_during_a_scene_run_stay_pending(rules: Rules) -> None:
    timer = rules.new_atoms(ScopeTimer(), 0)
    during = rules.new_atoms(timer, 5)
    assert rules.scenes_written(during, 10, skipped=False, counted=timer.l2_pending_l1_count).l2_pending_l1_count == 1


def test_an_old_state_without_newer_fields_is_read() -> None:
    assert SessionTimer(conversation_count=3).warmup_threshold == 1
