"""Decides what is recorded and what is looked at for memories (memory_core.md B2, B3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from agentmem.llm.jsonrepair import JS_BLANKS

# what chat hosts take as commands; another word behind a slash is a path or an expression
_COMMANDS = """
abort activation agent agents allowlist approve bash btw clear commands compact config context continue cost
debug deny doctor dock elevated exec exit export export-session focus help hooks id init kill login logout
loop mcp memory model models new permissions plugins queue quit reasoning reset restart resume retry rewind
save send session sessions settings setup skill skills start status steer stop subagents tasks tell think
thinking tools trace tts undo unfocus usage verbose voice whoami
"""
COMMANDS = frozenset(_COMMANDS.split())
_COMMAND = re.compile(r"/([a-z][a-z_-]*)(?=[\s@:]|$)", re.IGNORECASE)
_HOST_NOISE = re.compile(r"✅\s*New session started|A new session was started via|Pre-compaction memory flush")
_QUESTION_MARKS = re.compile(r"[?？\s]+")
_INJECTION = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}"
        r"\b(?:instructions?|rules?|prompts?|guidelines?|polic(?:y|ies))\b",
        r"\byou are now (?!ready|able|free|connected|logged|in\b|on\b|at\b|done|going|welcome)",
        r"\b(?:enter|enable|activate|switch to)\b.{0,20}\b(?:debug|developer|dev|god|admin|jailbreak|dan|root) mode\b",
        r"\b(?:reveal|show|print|repeat|output|display|tell me)\b.{0,30}"
        r"\b(?:system|hidden|initial|developer) (?:prompt|message|instructions?)\b",
        r"\b(?:run|execute|call|invoke)\b.{0,40}\b(?:shell|command|script|tool|function)\b",
        r"</?(?:system|assistant|instructions?)>",
        r"(?:忽略|无视|忘记|忘掉|不要理会|绕过).{0,15}(?:指令|规则|提示词?|要求|设定|限制)",
        r"(?:你现在是|从现在开始你是|你将扮演|假装你是)",
        r"(?:显示|输出|告诉我|打印|泄露|重复).{0,15}(?:系统提示|提示词|系统指令)",
        r"(?:进入|开启|切换到).{0,10}(?:调试|开发者|管理员|越狱)模式",
    )
]
_AUTOMATIC = frozenset({"cron", "heartbeat", "automation", "schedule"})
_INTERNAL_KEYS = (":cron:", ":heartbeat:", ":memory-scene-extract-", ":subagent:")


def should_capture(text: str) -> bool:
    """True for what belongs into the record: not empty, no host notice, no slash command."""
    bare = text.strip(JS_BLANKS)
    if not bare or bare == "(session bootstrap)" or re.fullmatch(r"NO_REPLY\s*", text):
        return False
    if _HOST_NOISE.match(text):
        return False
    command = _COMMAND.match(text)
    return bare != "/" and not (command and command[1].lower() in COMMANDS)


def should_extract(text: str) -> bool:
    """True for what may hold a memory: recorded, and not merely signs, question marks or an emoji or two."""
    if not should_capture(text) or _QUESTION_MARKS.fullmatch(text):
        return False
    signs_only = not any(char.isalnum() or char == "_" or char.isspace() for char in text)
    return not (signs_only and len(text) <= 5)


def looks_injected(text: str) -> bool:
    """True when a text reads like an attempt to give the model orders. Such a turn is kept and marked, not dropped."""
    normal = " ".join(text.split())
    return any(pattern.search(normal) for pattern in _INJECTION)


def is_skipped_session(session: str, trigger: str = "", excluded: Iterable[str] = ()) -> bool:
    """True for sessions that are not remembered: automatic, temporary or internal ones, and those of ``excluded``
    (globs with ``*`` over the whole key)."""
    if session.startswith(("temp:", "memory-")) or trigger in _AUTOMATIC:
        return True
    if any(part in session for part in _INTERNAL_KEYS):
        return True
    return any(fnmatchcase(session, _star_only(pattern)) for pattern in excluded)


def _star_only(pattern: str) -> str:
    """Only ``*`` is special in an exclusion pattern."""
    return re.sub(r"([\[?])", r"[\1]", pattern)
