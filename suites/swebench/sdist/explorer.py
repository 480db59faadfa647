"""A scripted agent on real repositories: lists, searches, reads, runs the tests, applies the gold patch, runs again.

It knows the gold patch, so it says nothing about a model; what it yields is real tool output in a realistic order
for every engine. Which lines it reads and which test it runs it takes from what the prompt shows; when a search
result is gone from the prompt it searches again.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentmem.messages import Message, ToolCall
from suites.swebench.sdist.instances import Instance

AROUND = 30  # lines read on each side of what was found
NAME = "scripted explorer"


def script(find: Callable[[str], Instance], names: Sequence[str]) -> Callable[..., Message]:
    """A script for ``Scripted``: plays the instances of one session in the given order."""
    queue = iter(names)
    steps: Iterator[str] | None = None
    prompt: list[Message] = []
    number = 0

    def play(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Message:
        nonlocal steps, number
        prompt[:] = messages
        if steps is None:
            steps = commands(find(next(queue)), lambda: prompt)
        command = next(steps, None)
        if command is None:
            steps = None
            return Message("assistant", "The issue is resolved; the tests pass.")
        number += 1
        call = ToolCall(f"call_{number}", "bash", json.dumps({"command": command}))
        return Message("assistant", "", (call,))

    return play


def commands(instance: Instance, prompt: Callable[[], Sequence[Message]]) -> Iterator[str]:
    """The commands of one instance. ``prompt`` gives what is visible when the next command is chosen."""
    yield "git log --oneline | head -3; ls"
    files = sorted(touched(instance.patch))
    yield f"git ls-files {shlex.quote(files[0].rpartition('/')[0] or '.')} | head -60"
    for file in files:
        for symbol in symbols(instance.patch, file)[:3]:
            search = f"grep -n {shlex.quote(symbol)} {shlex.quote(file)} | head -20"
            yield search
            line = found_line(prompt(), symbol)
            if line is None:  # the result is not in the prompt any more: ask again, as a model would have to
                yield search
                line = found_line(prompt(), symbol) or AROUND
            yield f"sed -n '{max(1, line - AROUND)},{line + AROUND}p' {shlex.quote(file)}"
        yield f"grep -rn --include=*.py {shlex.quote(module(file))} . | head -40"
    for target in sorted(touched(instance.test_patch)):
        yield f"grep -n 'def test' {shlex.quote(target)} 2>/dev/null | tail -30"
    run = f"{instance.test_command} {' '.join(instance.test_targets)} 2>&1 | tail -60"
    yield run
    patch = instance.patch.rstrip("\n")  # newlines only: a patch may end with a blank line of context
    write = f"cat > .git/fix.patch <<'END_OF_PATCH'\n{patch}\nEND_OF_PATCH"
    yield f"{write}\ngit apply .git/fix.patch && git diff --stat"
    yield "git diff"
    yield run


def touched(patch: str) -> set[str]:
    """The files a patch changes, as they are called after it."""
    return {line[6:].strip() for line in patch.split("\n") if line.startswith("+++ b/")}


def symbols(patch: str, file: str) -> list[str]:
    """Names of functions and classes around the changes of a file, from the hunk headers; each once."""
    part = patch.partition(f"+++ b/{file}")[2].partition("\ndiff --git")[0]
    found = re.findall(r"^@@[^@]*@@.*?\b((?:def|class) \w+)", part, re.MULTILINE)
    return list(dict.fromkeys(found)) or ["def "]


def module(file: str) -> str:
    """A word by which other files refer to a module."""
    return file.rpartition("/")[2].removesuffix(".py")


def found_line(prompt: Sequence[Message], symbol: str) -> int | None:
    """The first line number of ``symbol`` in the newest search result that the prompt shows."""
    for message in reversed(prompt):
        if message.is_result:
            match = re.search(rf"^(\d+):.*{re.escape(symbol)}", message.content, re.MULTILINE)
            if match:
                return int(match[1])
    return None
