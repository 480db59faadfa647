"""What WideSearch asks a judge: to align two vocabularies, and to grade one column.

Contract of the published scorer in our own words. The reply ends in a fenced ``json`` block with one object;
``--option judge_prompts=DIR`` puts other words in place of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentmem.messages import Message
from harness.protocols import Judge
from suites.judging import Judged, Template, ask

ALIGN = Template(
    """Two word lists name the same kind of thing. Pair the words that mean the same.

Words to pair (keep them exactly as they are written here):
{answer}

Words they may stand for:
{gold}

Compare by meaning, not by position. Two equal words are a pair. A word may differ in form only: spelling, case,
language, abbreviation, or Markdown around it. Leave a word out when nothing on the second list means the same.

End with one JSON object that maps a word of the first list to a word of the second:
```json
{"word to pair": "word it stands for"}
```
""",
    ("answer", "gold"),
)
GRADE = Template(
    """Grade the cells of one column. Each entry below has an index, a response and the target it is compared with.

How to compare in this column:
{criterion}

Entries:
{pairs}

Go through the entries one by one and say for each, by the rule above, whether the response is right. Then end with
one JSON object that gives every index 1 (right) or 0 (wrong):
```json
{"idx_0": 1, "idx_1": 0}
```
""",
    ("criterion", "pairs"),
)
TEMPLATES = {"align": ALIGN, "grade": GRADE}
_JSON_BLOCK = re.compile(r"```json\s*(\{.*?\})\s*```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TableJudge:
    """A judge, the two prompts it is asked with, and how strictly its replies are taken.

    ``strict`` (``guarded`` mode) takes only words of the gold list, and only the grades 0 and 1 for every index;
    a reply that has others is asked for again, up to ``attempts`` times.
    """

    judge: Judge
    templates: Mapping[str, Template]
    strict: bool = False
    attempts: int = 1

    def align(self, words: Sequence[str], gold: Sequence[str]) -> Judged[dict[str, Any]]:
        """A map from words of the answer to words of the gold table."""
        template = self.templates["align"]
        prompt = template.render(answer=str(list(words)), gold=str(list(gold)))
        reply = self._ask(prompt, template, last_json_block)
        if not self.strict or reply.verdict is None:
            return reply
        return replace(reply, verdict={k: v for k, v in reply.verdict.items() if v in gold})

    def grade(self, answers: Sequence[object], golds: Sequence[object], criterion: object) -> Judged[dict[str, Any]]:
        """A map from ``idx_<n>`` to a grade for the pairs of one column."""

        def parse(reply: str) -> dict[str, Any] | None:
            found = last_json_block(reply)
            if (
                self.strict
                and found is not None
                and any(binary(found.get(f"idx_{n}")) is None for n in range(len(golds)))
            ):
                return None
            return found

        template = self.templates["grade"]
        return self._ask(grade_prompt(template, answers, golds, criterion), template, parse)

    def _ask(
        self, prompt: str, template: Template, parse: Callable[[str], dict[str, Any] | None]
    ) -> Judged[dict[str, Any]]:
        messages = (Message("user", prompt),)
        return ask(self.judge, messages, parse, prompt_sha256=template.sha256, attempts=self.attempts)


def grade_prompt(template: Template, answers: Sequence[object], golds: Sequence[object], criterion: object) -> str:
    """The question whether cells of one column stand for the cells of the gold table."""
    pairs = {
        f"idx_{n}": {"response": answer, "target": gold}
        for n, (answer, gold) in enumerate(zip(answers, golds, strict=True))
    }
    return template.render(criterion=str(criterion), pairs=str(pairs))


def binary(grade: Any) -> float | None:
    """The grade when it is the number 0 or 1, else ``None``; a text or a truth value is no grade."""
    return float(grade) if type(grade) is int and grade in (0, 1) else None


def last_json_block(reply: str) -> dict[str, Any] | None:
    """The object in the last fenced block tagged ``json``; ``None`` without one or when it does not parse."""
    blocks = _JSON_BLOCK.findall(reply)
    if not blocks:
        return None
    try:
        found: dict[str, Any] = json.loads(blocks[-1])
    except ValueError:
        return None
    return found
