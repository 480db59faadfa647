"""One table from what a server answered to what is done about it: retry, leave something out, compress, give up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["retry", "unsupported", "overflow", "refused", "failed"]

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
REFUSED = {
    401: "the server does not accept the key: set the variable named by --key-env",
    402: "the server asks for payment",
    403: "the key may not use this model",
    404: "the server does not know this model or path: check --model and --base-url",
}
OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context|context (length|window|size)|"
    r"prompt is too long|input is too long|too many (input )?tokens|reduce the length",
    re.IGNORECASE,
)
OPTIONAL = ("temperature", "top_p", "seed", "max_tokens", "parallel_tool_calls", "chat_template_kwargs")
"""Parameters a request does without when a server refuses them. ``max_tokens`` is renamed, not dropped."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What to do about a failed request; ``parameter`` is what to leave out."""

    verdict: Verdict
    why: str
    parameter: str | None = None


def judge_status(status: int, text: str, sent: frozenset[str]) -> Judged:
    """The verdict on an HTTP error. ``text`` is its body, ``sent`` the optional parameters of the request."""
    short = f"HTTP {status}: {' '.join(text.split())[:300]}"
    if "insufficient_quota" in text:
        return Judged("refused", f"{short} (the account has no quota left)")
    if status in (400, 413, 422, 500) and OVERFLOW.search(text):
        return Judged("overflow", short)
    if status in (400, 422):
        named = [name for name in OPTIONAL if name in sent and name in text]
        return Judged("unsupported", short, named[0]) if named else Judged("failed", short)
    if status in RETRIED or status >= 500:
        return Judged("retry", short)
    if status in REFUSED:
        return Judged("refused", f"{short} ({REFUSED[status]})")
    return Judged("failed", short)
