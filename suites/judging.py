"""Asking a judge: prompts known by their sha256, replies parsed strictly, asked again, then unjudged.

The prompts in this repository are our own words for the contract each suite describes. Whoever wants the
published wording puts it in files (``--option judge_prompts=DIR``, one ``<name>.txt`` a prompt). The sha256 of what was
really used goes into the recipe and into every outcome, so that scores under different words are never mixed up.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from agentmem.messages import Message
from harness.errors import DataError, JudgeFailed
from harness.protocols import Judge

Verdict = TypeVar("Verdict")
_FIELD = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt with ``{named}`` fields. Braces around anything but one of ``fields`` are plain text."""

    text: str
    fields: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """Hex digest of the unfilled text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def render(self, **values: str) -> str:
        """The filled prompt; values are put in once and never looked at for fields of their own."""
        return _FIELD.sub(
            lambda match: values[match.group(1)] if match.group(1) in self.fields else match.group(), self.text
        )


def templates_from(folder: Path | None, defaults: Mapping[str, Template]) -> dict[str, Template]:
    """The default templates, each replaced by ``<name>.txt`` where the folder has it.

    Raises ``DataError`` when the folder does not exist, holds none of the names, or a file lacks a field.
    """
    templates = dict(defaults)
    if folder is None:
        return templates
    found = [name for name in sorted(defaults) if (folder / f"{name}.txt").is_file()]
    if not found:
        raise DataError(f"no judge prompt in {folder}: expected one of {', '.join(f'{n}.txt' for n in defaults)}")
    for name in found:
        fields = defaults[name].fields
        text = (folder / f"{name}.txt").read_text(encoding="utf-8")
        lacking = [field for field in fields if f"{{{field}}}" not in text]
        if lacking:
            raise DataError(f"judge prompt {folder / name}.txt lacks the field {{{lacking[0]}}}")
        templates[name] = Template(text, fields)
    return templates


def judge_templates(
    options: Mapping[str, str], defaults: Mapping[str, Template]
) -> tuple[dict[str, Template], dict[str, str]]:
    """The judge prompts of a run, with those of ``--option judge_prompts=DIR``, and their sha256 for the recipe.

    Raises ``DataError`` as ``templates_from``.
    """
    folder = options.get("judge_prompts")
    templates = templates_from(Path(folder) if folder else None, defaults)
    return templates, {f"judge prompt {name}": template.sha256 for name, template in templates.items()}


@dataclass(frozen=True, slots=True)
class Judged(Generic[Verdict]):
    """What came of asking: the verdict or ``None``, and everything needed to check it later."""

    verdict: Verdict | None
    prompt_sha256: str
    replies: tuple[str, ...]
    failure: str | None = None

    def record(self) -> dict[str, Any]:
        """The same as a plain record for ``Outcome.detail``."""
        return {"prompt_sha256": self.prompt_sha256, "replies": list(self.replies), "failure": self.failure}


def ask(
    judge: Judge,
    messages: tuple[Message, ...],
    parse: Callable[[str], Verdict | None],
    *,
    prompt_sha256: str,
    attempts: int = 1,
) -> Judged[Verdict]:
    """Ask until ``parse`` returns a verdict, at most ``attempts`` times. Never raises for a failing judge."""
    replies: list[str] = []
    failure = "not asked"
    for _ in range(attempts):
        try:
            reply = judge.ask(messages)
        except JudgeFailed as error:
            failure = f"no reply: {error}"
            continue
        replies.append(reply)
        verdict = parse(reply)
        if verdict is not None:
            return Judged(verdict, prompt_sha256, tuple(replies))
        failure = f"unusable reply: {reply[:80]!r}"
    return Judged(None, prompt_sha256, tuple(replies), failure)


def attempts_for(mode: str, attempts: int) -> int:
    """``reference`` asks once, as the published scorers do once a reply has come; ``guarded`` asks again."""
    return 1 if mode == "reference" else attempts
