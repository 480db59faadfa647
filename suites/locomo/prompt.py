"""How a LoCoMo question is put, in our own words: a short answer, a date for temporal questions, two options for
adversarial ones. ``templates_from`` in ``suites.judging`` puts other words in place of ours."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from agentmem.messages import Message
from suites.judging import Template

REFUSAL = "Not mentioned in the conversation"
_PLAIN = "Answer from the conversation in a short phrase, with its own words where you can.\n\nQuestion: {question}"
TEMPLATES = {
    "plain": Template(_PLAIN, ("question",)),
    "temporal": Template(f"{_PLAIN} Work out the date from the date of the conversation.", ("question",)),
    "adversarial": Template(
        "Answer from the conversation. Reply with the letter of the right option.\n\n"
        "Question: {question}\n(a) {a}\n(b) {b}",
        ("question", "a", "b"),
    ),
}


def question_prompt(
    question_id: str, row: Mapping[str, Any], templates: Mapping[str, Template] = TEMPLATES
) -> tuple[Message, ...]:
    """One user message. The refusal of an adversarial question is option a or b by the hash of the question's id."""
    category = row["category"]
    if category == 5:
        options = adversarial_options(question_id, row)
        text = templates["adversarial"].render(question=row["question"], **options)
    else:
        text = templates["temporal" if category == 2 else "plain"].render(question=row["question"])
    return (Message("user", text, kind="task"),)


def adversarial_options(question_id: str, row: Mapping[str, Any]) -> dict[str, str]:
    """The two options of an adversarial question, ``a`` and ``b``, always in the same places for the same id."""
    wrong = str(row.get("adversarial_answer", row.get("answer", "")))
    first = hashlib.sha256(question_id.encode()).digest()[0] % 2 == 0
    return {"a": REFUSAL, "b": wrong} if first else {"a": wrong, "b": REFUSAL}
