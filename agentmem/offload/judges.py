"""Judges of task boundaries: ``told`` by the caller, ``heuristic`` without a model, ``llm`` with one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentmem.errors import BadAnswer
from agentmem.llm.jsonrepair import find_json
from agentmem.llm.protocol import Ask, LanguageModel
from agentmem.messages import Message
from agentmem.offload.boundaries import Judgment, Known, Situation, slug
from agentmem.offload.identifiers import identifiers
from agentmem.offload.prompts import JUDGE

SHORT = 6  # words; a request this short rarely opens a task
SAME, AGAIN = 0.3, 0.45  # shared part of the identifiers: the task at hand; a canvas of before
_GOES_ON = re.compile(
    r"^\s*(?:continue|go on|carry on|keep going|proceed|next step|and |also |but |yes\b|no\b|ok(?:ay)?\b|thanks?\b"
    r"|try again|继续|接着|然后|好的)",
    re.IGNORECASE,
)
_FLAGS = {"true": True, "false": False}


class Told:
    """The caller knows: each ``say`` is the judgment of the next request."""

    name = "told"

    def __init__(self) -> None:
        self._next: Judgment | None = None

    def say(self, label: str) -> None:
        """A task of that name begins; a name that has a canvas already goes on with it."""
        self._next = Judgment(completed=True, long=True, continuation=False, label=slug(label))

    def judge(self, situation: Situation) -> Judgment:
        """What was said; nothing said means that the task goes on."""
        said, self._next = self._next, None
        if said is None:
            return Judgment(completed=False, long=False, continuation=True)
        again = next((known.file for known in situation.canvases if known.file[4:-4] == said.label), None)
        if again is not None:
            return Judgment(completed=True, long=True, continuation=True, file=again)
        return said


class Heuristic:
    """No model: short requests and those that share words with the task at hand go on with it."""

    name = "heuristic"

    def judge(self, situation: Situation) -> Judgment:
        """Same situation, same judgment."""
        words = situation.request.split()
        goes_on = bool(_GOES_ON.match(situation.request)) or len(words) < SHORT
        if situation.active is not None:
            present = _shared(situation.request, [situation.active_text, *situation.turns])
            if goes_on or present >= SAME:
                return Judgment(completed=False, long=True, continuation=True)
        elif goes_on:
            return Judgment(completed=True, long=False, continuation=False)
        again = _best(situation.request, situation.canvases)
        if again is not None:
            return Judgment(completed=True, long=True, continuation=True, file=again)
        return Judgment(completed=True, long=True, continuation=False, label=_label(situation.request))


class LlmJudge:
    """Asks a model. What cannot be read, or names a canvas there is not, is a failure."""

    name = "llm"

    def __init__(self, model: LanguageModel, temperature: float = 0.2, timeout: float = 120.0) -> None:
        self._model = model
        self._temperature = temperature
        self._timeout = timeout

    def judge(self, situation: Situation) -> Judgment:
        """The model's judgment."""
        messages = (Message("system", JUDGE), Message("user", _told(situation)))
        answer = self._model.ask(Ask(messages, "offload-l1.5", self._timeout, temperature=self._temperature)).text
        value = find_json(answer, want="object").value
        if not isinstance(value, dict):
            raise BadAnswer(f"expected an object with three flags, got {answer[:60]!r}")
        flags = [_flag(value.get(name)) for name in ("taskCompleted", "isLongTask", "isContinuation")]
        completed, long, continuation = flags
        if completed is None and long is None and continuation is None:
            raise BadAnswer(f"none of the three flags is in the answer, which begins {answer[:60]!r}")
        file, label = value.get("continuationMmdFile"), value.get("newTaskLabel")
        known = {known.file for known in situation.canvases}
        if file and file not in known:
            raise BadAnswer(f"the answer goes on with {file!r}, which is none of the {len(known)} canvases it was told")
        done = True if situation.active is None else bool(completed)
        name = slug(label) if isinstance(label, str) and label.strip() else None
        return Judgment(done, bool(long), bool(continuation), file or None, name)


def _flag(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return _FLAGS.get(value.strip().lower()) if isinstance(value, str) else None


def _told(situation: Situation) -> str:
    canvases = "\n".join(
        f"- {known.file}: {known.goal} ({known.counts}, {known.updated})" for known in situation.canvases
    )
    return "\n\n".join(
        [
            "Recent turns:\n" + ("\n".join(situation.turns) or "(none)"),
            f"Present canvas: {situation.active or '(none)'}\n{situation.active_text}",
            f"Canvases:\n{canvases or '(none)'}",
            f"New request:\n{situation.request}",
        ]
    )


def _shared(request: str, texts: Sequence[str]) -> float:
    """Which part of the request's identifiers the texts hold."""
    wanted = identifiers(request)
    there = {name for text in texts for name in identifiers(text)}
    return sum(name in there for name in wanted) / len(wanted) if wanted else 0.0


def _best(request: str, canvases: Sequence[Known]) -> str | None:
    """The canvas whose goal shares most of its identifiers with the request, if enough of them."""
    scored = []
    for known in canvases:
        goal = identifiers(known.goal)
        if goal:
            asked = set(identifiers(request))
            scored.append((sum(name in asked for name in goal) / len(goal), known.file))
    best = max(scored, default=(0.0, ""))
    return best[1] if best[0] >= AGAIN else None


def _label(request: str) -> str:
    return slug("-".join(identifiers(request)[:4]) or request[:40])
