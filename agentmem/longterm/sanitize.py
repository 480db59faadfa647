"""Cleans text before it is remembered or searched: what a host or this memory put in goes, what somebody said stays.

Rules and their numbers are those of memory_core.md B2, without its defects: log levels, section headers, citations and
a user's own JSON are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from agentmem.llm.jsonrepair import JS_BLANKS

MEMORY_TAGS = ("relevant-memories", "user-persona", "relevant-scenes", "scene-navigation", "memory-tools-guide")
CANVAS_TAGS = ("current_task_context", "history_task_context")
GUARDED_TAGS = (*MEMORY_TAGS, *CANVAS_TAGS, "system", "assistant")

_BLOCKS = [re.compile(rf"<{tag}>[\s\S]*?</{tag}>") for tag in (*MEMORY_TAGS, CANVAS_TAGS[0])]
_BLOCKS.append(re.compile(rf"<{CANVAS_TAGS[1]}(?:\s[^>]*)?>[\s\S]*?</{CANVAS_TAGS[1]}>"))
_HOST = re.compile(
    r"(?:Conversation info|Sender|Thread starter|Replied message|Forwarded message context|"
    r"Chat history since last reply) \(untrusted[^)\n]*\):\s*```json\s*[\s\S]*?```\s*"
)
_LEADING_FENCE = re.compile(r"\s*```json\s*\n([\s\S]*?)```\s*")
_SESSION_KEYS = frozenset({"session", "session_id", "sessionId", "session_key", "sessionKey"})
_REPLY = re.compile(r"\[\[reply_to[^\]]*\]\]\s*")
_SKILL = re.compile(r"¥¥\[[\s\S]*?\]¥¥")
_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?\d{4}-\d{2}-\d{2}"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"
_ZONE = r" ?(?:Z|[A-Z]{2,5})?(?:[+-]\d{1,2}(?::?\d{2})?)?"
# day and time together: a plan that begins "[10:00]" or a changelog's "[2026-02-02]" is what somebody wrote
_TIMESTAMP = re.compile(rf"^\[{_DAY}[T ]{_TIME}{_ZONE}\]\s*", re.MULTILINE)
_SYSTEM_LINE = re.compile(rf"^System: \[(?:{_DAY}[T ])?{_TIME}{_ZONE}\].*$", re.MULTILINE)
_MEDIA = re.compile(r"\[media attached:[^\]]*\]\s*")
_IMAGE_ADVICE = re.compile(r"To send an image back,[\s\S]*?Keep caption in the text body\.\s*")
_IMAGE_DATA = re.compile(r"data:image/[^;,\s]+;base64,[A-Za-z0-9+/=]+", re.IGNORECASE)
_FENCE = re.compile(r"(?P<ticks>`{3,})(?P<info>[^\n`]*)\n(?P<code>[\s\S]*?)(?P=ticks)")
_GUARDED = re.compile(rf"<(/?(?:{'|'.join(GUARDED_TAGS)})(?:\s[^<>]*)?/?)>", re.IGNORECASE)


def sanitize_text(text: str) -> str:
    """A text without recalled blocks, canvases, host metadata, timestamps at line starts, image data and NUL.

    Half surrogate pairs become U+FFFD, so that nothing later fails to encode.
    """
    for block in _BLOCKS:
        text = block.sub("", text)
    text = _HOST.sub("", text)
    text = _without_session_fence(text)
    for pattern in (_REPLY, _SKILL, _TIMESTAMP, _MEDIA, _IMAGE_ADVICE, _SYSTEM_LINE, _IMAGE_DATA):
        text = pattern.sub("", text)
    text = whole_characters(text.replace("\0", ""))
    return re.sub(r"\n{3,}", "\n\n", text).strip(JS_BLANKS)


def trim_code_blocks(text: str, limit: int) -> str:
    """Fenced blocks longer than ``limit`` characters keep head and tail; ``limit`` 0 removes them whole (upstream).

    A fence of four backticks ends at four. An unclosed fence stays.
    """

    def shorten(match: re.Match[str]) -> str:
        if limit == 0:
            return ""
        code = match["code"]
        if len(code) <= limit:
            return match[0]
        head, tail = code[: limit * 2 // 3], code[len(code) - limit // 3 :]
        cut = len(code) - len(head) - len(tail)
        return f"{match['ticks']}{match['info']}\n{head}\n[... {cut} characters left out ...]\n{tail}{match['ticks']}"

    return _FENCE.sub(shorten, text)


def escape_xml_tags(text: str) -> str:
    """Turn the brackets of section tags into entities, so that remembered text cannot open or close a section."""
    return _GUARDED.sub(r"&lt;\1&gt;", text)


def pick_recent_unique(texts: Iterable[str], limit: int) -> list[str]:
    """The last ``limit`` distinct texts, each at the place where it stood last."""
    kept: dict[str, None] = {}
    for text in texts:
        kept.pop(text, None)
        kept[text] = None
    return list(kept)[-limit:] if limit > 0 else []


def whole_characters(text: str) -> str:
    """The text with half surrogate pairs replaced by U+FFFD and two halves joined."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _without_session_fence(text: str) -> str:
    """Hosts put a JSON block with their session ids in front; the same block further down is what somebody wrote."""
    fence = _LEADING_FENCE.match(text)
    if fence is None:
        return text
    try:
        value = json.loads(fence[1])
    except ValueError:
        return text
    if isinstance(value, dict) and _SESSION_KEYS & set(value):
        return text[fence.end() :]
    return text
