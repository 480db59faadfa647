"""The embedded suites are the same bytes for the same seed, can be solved from what they show, and tell right from wrong."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentmem.tokens import TokenCounter
from harness.protocols import SuiteContext
from harness.sandbox import opener
from harness.suites import open_suite
from suites.aalcr.mini import generate as aalcr
from suites.aalcr.mini.phrases import asked, price_of, product_of
from suites.aalcr.mini.suite import ExactJudge
from suites.personamem.mini import generate as personamem
from suites.personamem.mini.phrases import asked as asked_of_persona
from suites.personamem.mini.phrases import latest, statements
from suites.widesearch.mini import generate as widesearch
from suites.widesearch.mini.phrases import COLUMNS, FACTS, cell

SEEDS = (0, 1, 7)
RIGHT = {"swebench": "gold patch", "aalcr": "gold answer", "widesearch": "gold table", "personamem": "gold option"}
EMPTY = {"swebench": "empty patch", "aalcr": "refusal", "widesearch": "empty table", "personamem": "no answer"}


def open_mini(name: str, folder: Path, **options: str) -> Any:
    counter = TokenCounter("o200k_base")
    context = SuiteContext(None, folder, counter, opener("none"), clock=lambda: 0.0, options=options)
    return open_suite(f"{name}-mini", context)


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_answer_passes_everywhere_and_the_empty_one_nowhere(name: str, tmp_path: Path) -> None:
    suite = open_mini(name, tmp_path, **({"tasks": "4"} if name == "swebench" else {}))
    tasks = suite.tasks()
    assert len(tasks) >= 4
    assert len({task.prompt[-1].content for task in tasks}) == len(tasks) or name == "personamem"
    for task in tasks:
        assert suite.control(RIGHT[name], task).passed is True, task.id
        assert not suite.control(EMPTY[name], task).passed, task.id


def test_the_longest_option_is_no_way_to_the_answer(tmp_path: Path) -> None:
    suite = open_mini("personamem", tmp_path, each="40")
    passed = [suite.control("longest option", task).passed for task in suite.tasks()]
    assert sum(passed) / len(passed) < 0.4


def test_an_unknown_control_is_named(tmp_path: Path) -> None:
    from harness.errors import UnknownName

    for name in RIGHT:
        suite = open_mini(name, tmp_path)
        with pytest.raises(UnknownName, match="unknown control 'nothing'"):
            suite.control("nothing", suite.tasks()[0])


MADE = """
import hashlib
from suites.aalcr.mini.generate import generate as a
from suites.personamem.mini.generate import generate as p
from suites.widesearch.mini.generate import generate as w, site
print(hashlib.sha256(repr((a(3), p(3), w(3), site(3, w(3)))).encode()).hexdigest())
"""


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    coasts = widesearch.generate(3)
    made = (aalcr.generate(3), personamem.generate(3), coasts, widesearch.site(3, coasts))
    here = hashlib.sha256(repr(made).encode()).hexdigest()
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", MADE],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        assert done.stdout.strip() == here
    assert repr(aalcr.generate(4)) != repr(aalcr.generate(3))


@pytest.mark.parametrize("seed", SEEDS)
def test_aalcr_answers_follow_from_several_documents(seed: int) -> None:
    for one in aalcr.generate(seed, sets=2, each=6):
        question = asked(one.question)
        assert question is not None
        held = [{name for name, text in one.documents.items() if f.read(text) is not None} for f in question.figures]
        assert all(len(names) == 1 for names in held), one.id
        texts = "\n".join(one.documents.values())
        values = [figure.read(texts) or 0 for figure in question.figures]
        if question.kind == "worth":
            product = product_of(question.figures[0].mill, texts)
            assert product is not None
            result = values[0] * (price_of(product, question.figures[0].year, texts) or 0)
        else:
            assert len(set.union(*held)) == len(question.figures)
            result = sum(values) if question.kind == "sum" else values[0] - values[1]
        assert one.answer.split(" ")[0] == f"{result:,}"
        assert result > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_widesearch_pages_state_every_cell_of_the_gold_table_once(seed: int) -> None:
    coasts = widesearch.generate(seed)
    pages = widesearch.site(seed, coasts)
    names = [light.name for coast in coasts for light in coast.lights]
    assert len(names) == len(set(names))
    for coast in coasts:
        assert len(coast.lights) == widesearch.LIGHTS
        for light in coast.lights:
            for column in FACTS:
                stated = [found for text in pages.values() if (found := cell(column, light.name, text)) is not None]
                assert stated == [light.row[COLUMNS.index(column)]]


@pytest.mark.parametrize("seed", SEEDS)
def test_personamem_answers_follow_from_the_chats_before_the_question(seed: int) -> None:
    for persona in personamem.generate(seed):
        assert [one.after for one in persona.questions] == sorted(one.after for one in persona.questions)
        for one in persona.questions:
            question = asked_of_persona(one.question)
            assert question is not None
            texts = [message.content for chat in persona.chats[: one.after] for message in chat]
            said = statements(question.topic, texts)
            newest = latest(said)
            assert newest is not None
            right = {
                "latest": newest.value,
                "former": newest.old,
                "reason": next((statement.reason for statement in said if statement.old == question.old), None),
            }[one.kind]
            assert right is not None
            assert right in one.choices["abcd".index(one.answer[1])]
            assert sum(right in choice for choice in one.choices) == 1


def test_preferences_do_change_between_questions() -> None:
    (persona,) = personamem.generate(0, count=1, each=40)
    by_text: dict[str, set[str]] = {}
    for one in persona.questions:
        if one.kind != "reason":
            by_text.setdefault(one.question, set()).add(one.choices["abcd".index(one.answer[1])])
    assert max(map(len, by_text.values())) > 1


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("The answer is 12,345.", True),
        ("12,345 tonnes", True),
        ("12,346", False),
        ("Either 12,345 or 12,346.", False),
        ("I do not know.", False),
    ],
)
def test_the_embedded_judge_wants_exactly_one_number(answer: str, right: bool) -> None:
    from suites.aalcr.score import score

    outcome = score(answer, "How many?", "12,345 tonnes", judge=ExactJudge())
    assert outcome.passed is right


def test_the_embedded_judge_refuses_prompts_it_cannot_read() -> None:
    from agentmem.messages import Message
    from harness.errors import JudgeFailed

    with pytest.raises(JudgeFailed, match="reads only the prompt of protocol"):
        ExactJudge().ask([Message("user", "Is it right?")])


def test_outcomes_say_who_judged(tmp_path: Path) -> None:
    suite = open_mini("aalcr", tmp_path)
    outcome = suite.control("gold answer", suite.tasks()[0])
    assert outcome.detail["judged_by"] == "embedded judge: the value, exactly"
    suite = open_mini("widesearch", tmp_path)
    outcome = suite.control("gold table", suite.tasks()[0])
    assert outcome.detail["modes"] == {"reference": True, "guarded": True}
    assert json.dumps(dict(outcome.detail), allow_nan=False)
