"""What a tool call is for (read, search, edit, test, ...), what it is about, and whether its result is a failure."""

from __future__ import annotations

import re

from agentmem.offload.shapes import Body

_INTENTS = (
    (
        "test",
        r"\b(?:pytest|py\.test|runtests|unittest|nose2?|tox|jest|mocha|vitest|(?:npm|go|cargo|make|mvn|gradle) test)\b",
    ),
    (
        "edit",
        r"(?:\b(?:edit\w*|write\w*|str_replace\w*|apply_patch|create_file|patch|tee|insert)\b|sed -i|git apply"
        r"|\b(?:cat|echo|printf)\b[^|;&]{0,200}?(?:<<|>>?\s*[\w./]))",
    ),
    ("install", r"\b(?:pip3? install|npm (?:i|install)|apt(?:-get)? install|conda install|poetry add|uv add)\b"),
    ("review", r"\bgit (?:diff|status|log|show|blame)\b"),
    ("undo", r"\bgit (?:checkout|stash|reset|revert|restore)\b"),
    ("search", r"\b(?:grep\w*|rg|ag|find|fd|locate|glob\w*|search\w*|query\w*)\b"),
    ("fetch", r"\b(?:curl|wget|fetch\w*|browse\w*|open_url|visit\w*|get_content)\b|https?://"),
    ("read", r"\b(?:cat|sed -n|head|tail|less|more|nl|bat|view\w*|read\w*|open\w*)\b"),
    ("list", r"\b(?:ls|tree|dir|pwd|list\w*)\b"),
    ("run", r"\b(?:python3?(?! -m (?:pytest|unittest))|node|ruby|perl|bash|sh|java|cargo run|go run|make)\b"),
)
_INTENT = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _INTENTS))
_FILE = re.compile(r"[\w@.-]+(?:/[\w@.-]+)*\.[A-Za-z]\w{0,5}\b(?![(=])")
# a shell tool's own name and its parameter's say nothing of the command
_SHELL = re.compile(
    r"^\s*(?:bash\w*|shell\w*|execute\w*|exec\w*|terminal\w*|run_\w+)\s+(?:(?:command|cmd|script|code)\s+)?"
)
_QUOTED = re.compile(r"""["']([^"'\n]{3,40})["']""")
_FAILED = re.compile(
    r"^(?:Traceback \(most recent call last\)|FAILED\b|ERROR:|.*\b[1-9]\d* (?:failed|errors?)\b|.*command not found"
    r"|.*No such file or directory|\w*Error:|fatal:|error(?:\[\w+\])?:)",
    re.MULTILINE,
)


def intent(call: str) -> str:
    """The word for what a call does; ``other`` for what is not recognised. The first sign in the text decides."""
    found = _INTENT.search(_SHELL.sub("", call[:600]))
    return found.lastgroup or "other" if found else "other"


def subject(call: str) -> str:
    """What a call is about, in a few words: a file name, else something quoted, else its first words."""
    text = call[:600]
    file = _FILE.search(text)
    if file:
        return "/".join(file[0].split("/")[-2:])[-48:]
    quoted = max(_QUOTED.findall(text), key=len, default="")
    if quoted:
        return " ".join(quoted.split())
    return " ".join(text.split()[:4])[:48]


def is_failure(body: Body, is_error: bool = False) -> bool:
    """Whether a result says that the call failed: its flag, its exit code, or the words of a failure in it."""
    if is_error or body.exit_code:
        return True
    ends = body.lines[:20] + body.lines[-20:]
    return bool(_FAILED.search("\n".join(ends)))
