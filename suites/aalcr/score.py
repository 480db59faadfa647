"""Grades answers to AA-LCR questions with a judge.

    score(answer, question, gold, judge=..., protocol="1.1", mode=...) -> Outcome

Two judge protocols exist, and their scores must not be compared: 1.0 wants one word, 1.1 a JSON object. Artificial
Analysis publishes no parser; ``reference`` mode uses the two public ones (NeMo-Skills 0b012df, evalscope e66e415).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

from agentmem.messages import Message
from harness.protocols import Judge
from harness.types import Outcome
from suites import outcomes
from suites.aalcr.judge import TEMPLATES
from suites.judging import Template, ask, attempts_for
from suites.outcomes import Mode

Protocol = Literal["1.0", "1.1"]
Parser = Literal["nemo_skills", "evalscope_word_match"]
RIGHT, WRONG = "CORRECT", "INCORRECT"
_WORD = re.compile(r"\bCORRECT\b", re.IGNORECASE)


def score(
    answer: str | None,
    question: str,
    gold: str,
    *,
    judge: Judge,
    protocol: Protocol = "1.0",
    mode: Mode = "reference",
    parser: Parser = "nemo_skills",
    templates: Mapping[str, Template] = TEMPLATES,
    attempts: int = 3,
) -> Outcome:
    """The outcome of one answer. A blank answer is missing and the judge is not asked.

    ``guarded`` takes exactly the reply the protocol asks for, asks again up to ``attempts`` times, and calls the
    rest a judge error. ``reference`` asks once and takes any reply by the rule of ``parser`` (protocol 1.0).
    """
    if answer is None or not answer.strip():
        return outcomes.missing(protocol=protocol)
    messages, prompt = judge_messages(protocol, question, gold, answer, templates)
    parse: Callable[[str], bool | None]
    if mode == "reference" and protocol == "1.0":
        parse = partial(published_verdict, answer=answer, parser=parser)
    else:
        parse = partial(verdict, protocol=protocol)
    reply = ask(judge, messages, parse, prompt_sha256=prompt, attempts=attempts_for(mode, attempts))
    detail = {"protocol": protocol, "judge": reply.record()}
    if reply.verdict is None:
        return outcomes.judge_error(str(reply.failure), **detail)
    return outcomes.scored(reply.verdict, float(reply.verdict), **detail)


def judge_messages(
    protocol: Protocol, question: str, gold: str, answer: str, templates: Mapping[str, Template] = TEMPLATES
) -> tuple[tuple[Message, ...], str]:
    """(messages, sha256 of the prompt): one user message for 1.0, a system and a user message for 1.1."""
    user = templates[f"user_{protocol}"]
    message = Message("user", user.render(question=question, gold=gold, answer=answer))
    if protocol == "1.0":
        return (message,), user.sha256
    system = templates["system_1.1"]
    return (Message("system", system.text), message), f"{system.sha256}+{user.sha256}"


def verdict(reply: str, protocol: Protocol) -> bool | None:
    """The strict reading: the word alone (1.0), or an object with the key ``verdict`` alone (1.1); else ``None``."""
    word: object = reply.strip()
    if protocol == "1.1":
        try:
            found = json.loads(reply)
        except ValueError:
            return None
        word = found.get("verdict") if isinstance(found, dict) and len(found) == 1 else None
    return {RIGHT: True, WRONG: False}.get(word) if isinstance(word, str) else None


def published_verdict(reply: str | None, answer: str | None, parser: Parser) -> bool:
    """What the two public parsers make of a reply; both take anything.

    NeMo-Skills: the reply begins with CORRECT, and a blank answer is wrong. evalscope: the word stands anywhere, so
    "NOT CORRECT" is right; it raises ``TypeError`` without a reply.
    """
    if parser == "evalscope_word_match":
        if reply is None:
            raise TypeError("no judge reply to search")
        return _WORD.search(reply) is not None
    return bool(answer and answer.strip()) and (reply or "").strip().upper().startswith(RIGHT)
