"""The scripted judge of the golden WideSearch cases: it answers the two questions from the prompt alone."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence

from agentmem.messages import Message
from harness.errors import JudgeFailed
from suites.widesearch.judge import ALIGN, GRADE
from tests.suites.prompts import fields


def norm(value: object) -> str:
    return str(value).lower().strip().replace(" ", "").replace("*", "")


def fenced(value: object) -> str:
    return f"```json\n{json.dumps(value, ensure_ascii=False)}\n```"


class StubJudge:
    """``align`` and ``judge`` name a behaviour of the golden files (``llm_stub``); ``calls`` counts the questions."""

    def __init__(self, align: str = "norm_equal", judge: str = "norm_equal") -> None:
        self.align, self.judge, self.calls = align, judge, 0

    def ask(self, messages: Sequence[Message]) -> str:
        self.calls += 1
        prompt = messages[-1].content
        parts = fields(ALIGN.text, prompt)
        if parts is not None:
            return self.aligned(ast.literal_eval(parts["answer"]), ast.literal_eval(parts["gold"]))
        parts = fields(GRADE.text, prompt)
        assert parts is not None
        return self.graded(ast.literal_eval(parts["pairs"]))

    def aligned(self, words: list[str], gold: list[str]) -> str:
        if self.align == "none":
            raise JudgeFailed("stub: no reply")
        if self.align.startswith("map:"):
            return fenced(json.loads(self.align[4:]))
        if self.align.startswith("raw:"):
            return self.align[4:]
        pairs = ((word, next((g for g in gold if norm(g) == norm(word)), None)) for word in words)
        return fenced({word: match for word, match in pairs if match is not None})

    def graded(self, pairs: dict[str, dict[str, str]]) -> str:
        if self.judge == "none":
            raise JudgeFailed("stub: no reply")
        if self.judge.startswith("raw:"):
            return self.judge[4:]
        equal = {i: int(norm(pair["response"]) == norm(pair["target"])) for i, pair in pairs.items()}
        ones = dict.fromkeys(pairs, 1)
        return {
            "norm_equal": fenced(equal),
            "one": fenced(ones),
            "zero": fenced(dict.fromkeys(pairs, 0)),
            "half": fenced(dict.fromkeys(pairs, 0.5)),
            "str_one": fenced(dict.fromkeys(pairs, "1")),
            "drop_last": fenced(dict.fromkeys(list(pairs)[:-1], 1)),
            "unfenced": json.dumps(ones),
            "two_blocks": fenced(dict.fromkeys(pairs, 0)) + "\n" + fenced(ones),
        }[self.judge]
