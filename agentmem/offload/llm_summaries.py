"""Summaries by a model. It sees a long result's head, tail and deciding lines, not its head alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from agentmem.errors import BadAnswer
from agentmem.llm.jsonrepair import find_items
from agentmem.llm.protocol import Ask, LanguageModel
from agentmem.messages import Message
from agentmem.offload.prompts import SUMMARISE
from agentmem.offload.ranking import ranked, squeeze
from agentmem.offload.shapes import shape_of, unwrap
from agentmem.offload.summaries import Result, Summary, short_call

SEEN = 2_000  # characters of a result that the model sees
CALL = 500  # characters of a call that it sees
LONGEST = 400  # characters of a summary that is taken; the model is asked for 200
DECIDING = 8.0  # weight of a line that is shown from the middle of a long result


class LlmSummariser:
    """Asks a model for several results at once."""

    name = "llm"

    def __init__(self, model: LanguageModel, temperature: float = 0.2, timeout: float = 120.0) -> None:
        self._model = model
        self._temperature = temperature
        self._timeout = timeout

    def summarise(self, results: Sequence[Result], context: str = "") -> Mapping[str, Summary]:
        """See ``Summariser``. An answer without a single usable summary raises ``BadAnswer``."""
        rows = [
            {"tool_call_id": result.key, "call": result.call[:CALL], "result": sampled(result.text)}
            for result in results
        ]
        asked = f"{context}\n\n" if context else ""
        asked += json.dumps(rows, ensure_ascii=False, indent=1)
        messages = (Message("system", SUMMARISE), Message("user", asked))
        answer = self._model.ask(Ask(messages, "offload-l1", self._timeout, temperature=self._temperature)).text
        wanted = {result.key: result for result in results}
        made: dict[str, Summary] = {}
        for item in find_items(answer).value:
            key = item.get("tool_call_id")
            text = item.get("summary")
            if isinstance(key, str) and key in wanted and isinstance(text, str) and text.strip():
                call = item.get("tool_call")
                made[key] = Summary(
                    short_call(call if isinstance(call, str) and call.strip() else wanted[key].call),
                    squeeze(text, LONGEST),
                    _score(item.get("score")),
                )
        if not made:
            raise BadAnswer(
                f"no summary of any of the {len(results)} results in the answer, which begins {answer[:60]!r}"
            )
        return made


def sampled(text: str, limit: int = SEEN) -> str:
    """At most about ``limit`` characters: all of a short text, else head, deciding lines and tail."""
    if len(text) <= limit:
        return text
    body = unwrap(text)
    plain = "\n".join(body.lines)
    head, tail = plain[: limit // 2], plain[-limit // 4 :]
    room = limit - len(head) - len(tail)
    middle = []
    for line in sorted(ranked(shape_of(body), body), key=lambda line: (-line.weight, line.position)):
        if line.weight < DECIDING or len(line.text) > room:
            break
        middle.append(line.text)
        room -= len(line.text) + 1
    code = f"exit code {body.exit_code}\n" if body.exit_code else ""
    return "\n".join([f"{code}{head}", f"[... {len(text)} characters in all ...]", *middle, "[...]", tail])


def _score(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return min(10.0, max(0.0, float(value)))
    return 5.0
