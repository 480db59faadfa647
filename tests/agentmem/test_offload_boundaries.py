"""Task boundaries: the eight rows, three judges, failures that are failures, and a list that survives."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.errors import BadAnswer, CanvasError, EvidenceCorrupt, ModelUnavailable
from agentmem.llm.fakeserver import FakeServer, failure, fenced, thinking
from agentmem.offload.boundaries import FILE, Judgment, Known, Situation, Tasks, decide, file_parts, slug, transition
from agentmem.offload.judges import Heuristic, LlmJudge, Told
from tests.agentmem.scripted import Scripted

CUR = "002-fix-login.mmd"


@pytest.mark.parametrize(
    ("active", "judgment", "kind", "target"),
    [
        (CUR, Judgment(True, False, True, "001-old.mmd"), "reactivate", "001-old.mmd"),
        (CUR, Judgment(True, True, False, None, "new-thing"), "create", "new-thing"),
        (CUR, Judgment(True, True, False, None, "Fix Login!"), "keep", ""),
        (CUR, Judgment(True, False, True), "keep", ""),
        (CUR, Judgment(True, False, False), "none", ""),
        (CUR, Judgment(True, True, False), "none", ""),
        (None, Judgment(False, False, True, "001-old.mmd"), "reactivate", "001-old.mmd"),
        (CUR, Judgment(False, False, True, "001-old.mmd"), "keep", ""),
        (None, Judgment(False, False, True), "keep", ""),
        (CUR, Judgment(False, True, False, None, "new-thing"), "create", "new-thing"),
        (CUR, Judgment(False, True, False, None, "fix-login"), "keep", ""),
        (CUR, Judgment(False, False, False), "keep", ""),
        (None, Judgment(False, True, False), "keep", ""),
    ],
)
def test_the_table(active: str | None, judgment: Judgment, kind: str, target: str) -> None:
    move = transition(active, judgment)
    assert (move.kind, move.target) == (kind, target)


@pytest.mark.parametrize(
    ("text", "label"),
    [("../../etc Passwd", "etc-passwd"), ("A" * 50, "a" * 30), ("修复", "task"), ("--x--", "x"), ("", "task")],
)
def test_labels_are_plain_names(text: str, label: str) -> None:
    assert slug(text) == label and file_parts(f"001-{slug(text)}.mmd") == (1, label)


def test_other_file_names_are_refused() -> None:
    with pytest.raises(CanvasError, match=r"expected NNN-label\.mmd"):
        file_parts("../001-x.mmd")


class Failing:
    name = "failing"

    def __init__(self, *outcomes: Judgment | Exception) -> None:
        self.outcomes = list(outcomes)

    def judge(self, situation: Situation) -> Judgment:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


GOOD = Judgment(True, True, False, None, "x")


def test_one_failure_is_tried_again_after_three_seconds_and_two_mean_no_canvas() -> None:
    slept: list[float] = []
    warned: list[str] = []
    first = decide(Failing(ModelUnavailable("down"), GOOD), Situation("r"), slept.append, warned.append)
    assert (first, slept, len(warned)) == (GOOD, [3.0], 1)
    both = decide(Failing(BadAnswer("what"), BadAnswer("what")), Situation("r"), slept.append, warned.append)
    assert both is None and len(slept) == 2 and "goes without a canvas" in warned[-1]


def test_told() -> None:
    told = Told()
    assert transition(CUR, told.judge(Situation("x", active=CUR))).kind == "keep"
    told.say("Fix the import")
    assert told.judge(Situation("x", active=CUR)) == Judgment(True, True, False, None, "fix-the-import")
    told.say("fix-login")
    again = told.judge(Situation("x", canvases=[Known(CUR, "goal")]))
    assert transition(None, again).target == CUR


LONG = "Please rewrite the invoice exporter so that totals are rounded per line and add tests for it"


@pytest.mark.parametrize(
    ("situation", "kind"),
    [
        (Situation(LONG), "create"),
        (Situation("thanks, that works"), "none"),
        (Situation("continue", active=CUR, active_text="anything"), "keep"),
        (Situation("and also round the invoice totals in the exporter", active=CUR), "keep"),
        (
            Situation(
                "The invoice exporter still rounds totals wrongly in some cases, look at exporter tests",
                active=CUR,
                active_text=LONG,
            ),
            "keep",
        ),
        (
            Situation(
                "Set up a completely different deployment pipeline with containers for staging",
                active=CUR,
                active_text=LONG,
            ),
            "create",
        ),
        (
            Situation(
                "Back to the invoice exporter: totals rounded per line need another look please",
                active=CUR,
                canvases=[Known("001-invoice.mmd", "invoice exporter totals rounded line")],
            ),
            "reactivate",
        ),
    ],
)
def test_heuristic(situation: Situation, kind: str) -> None:
    assert transition(situation.active, Heuristic().judge(situation)).kind == kind


YES = '{"taskCompleted": true, "isLongTask": true, "isContinuation": false, "continuationMmdFile": null, "newTaskLabel": "New Label"}'


@pytest.mark.parametrize(
    "text",
    [
        YES,
        f"```json\n{YES}\n```",
        f"<think>{{}}</think>{YES}",
        f"I think:\n{YES[:-1]},}}",
        YES.replace("true", '"true"'),
    ],
)
def test_a_model_s_judgment_is_read_through_its_wrapping(text: str) -> None:
    assert LlmJudge(Scripted(text)).judge(Situation("r")) == Judgment(True, True, False, None, "new-label")


@pytest.mark.parametrize(
    "text",
    [
        "cannot say",
        "",
        "{}",
        "[]",
        "42",
        '{"taskCompleted": null, "isLongTask": null, "isContinuation": null}',
        '{"task_completed": true}',
        '{"isContinuation": true, "continuationMmdFile": "009-gone.mmd"}',
        '{"taskCompleted": "maybe"}',
    ],
)
def test_what_cannot_be_read_is_a_failure_and_not_nothing(text: str) -> None:
    with pytest.raises(BadAnswer):
        LlmJudge(Scripted(text)).judge(Situation("r", active=CUR))


def test_without_a_canvas_the_task_is_complete_and_known_files_are_taken() -> None:
    said = LlmJudge(Scripted('{"taskCompleted": false, "isContinuation": true, "continuationMmdFile": "001-a.mmd"}'))
    assert said.judge(Situation("r", canvases=[Known("001-a.mmd", "g")])) == Judgment(True, False, True, "001-a.mmd")


def test_over_a_real_connection() -> None:
    from agentmem.llm.client import OpenAIModel
    from agentmem.settings.models import Llm

    with FakeServer([failure(400, "nonsense"), thinking(YES), fenced(YES)]) as server:
        model = OpenAIModel(Llm(base_url=server.url, model="m", attempts=1))
        warned: list[str] = []
        assert decide(LlmJudge(model), Situation("do it"), lambda s: None, warned.append) is not None
        assert len(warned) == 1 and LlmJudge(model).judge(Situation("r")).label == "new-label"
        model.close()


def test_the_list_survives_a_restart(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    assert tasks.present is None
    tasks.begin(None, "short one", 1.0)
    tasks.begin(CUR, "long " * 100, 2.0)
    tasks.give_canvas("t1", "001-short-one.mmd")
    tasks.close()
    again = Tasks(tmp_path)
    assert list(again) == list(tasks) and len(again) == 2
    assert (again.canvas_of("t1"), again.canvas_of("t2"), again.canvas_of("t9")) == ("001-short-one.mmd", CUR, None)
    assert again.present is not None and again.present.id == "t2" and len(again.present.request) == 200
    assert again.begin(None, "x", 3.0).id == "t3"
    (tmp_path / FILE).write_text('{"id": "t1"}\n')
    with pytest.raises(EvidenceCorrupt, match="line 1 is no task"):
        Tasks(tmp_path)
