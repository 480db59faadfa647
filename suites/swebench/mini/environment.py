"""Where commands run: a real ``bash -c`` in one directory, with limits, and with output scrubbed of what varies.

Isolation: none. This runs commands of the scripted agent in generated repositories; do not give it a model's.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.errors import EnvironmentFailed

VIRTUAL_ROOT = "/testbed"
OUTPUT_LIMIT = 10_000  # characters; longer output keeps its head and tail, as mini-swe-agent does
TIMED_OUT = 124  # exit code of a command that was killed for its time, as coreutils' timeout has it
FILE_LIMIT_KIB = 16_384  # no command may write a larger file, its own output included

_TOO_LONG = (
    "<warning>\nThe output was too long and has been cut in the middle.\n"
    "Ask for less: head, tail or sed for a part of a file, a narrower pattern for a search.\n</warning>"
)
_TIMING = re.compile(r"^(Ran \d+ tests? in )\d+\.\d+s$", re.MULTILINE)
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")


@dataclass(frozen=True)
class CommandResult:
    """What a command left: exit code (124 after a timeout) and scrubbed output, both streams in one, not yet cut."""

    returncode: int
    output: str


class Shell:
    """Runs commands in ``directory``. ``tools`` is a folder of its own that holds the interpreter's wrapper."""

    def __init__(self, directory: Path, tools: Path, timeout: float = 60.0) -> None:
        bash = shutil.which("bash")
        if bash is None:
            raise EnvironmentFailed("the embedded tasks need bash on the PATH; found none")
        self._bash = bash
        self._directory = directory.resolve()
        self._timeout = timeout
        self._environment = command_environment(tools.resolve())
        self._scrub = scrubber(self._directory)

    def run(self, command: str) -> CommandResult:
        """Run one command. Its whole process group is killed when it ends or when the time is up."""
        with tempfile.TemporaryFile() as output:
            code = self._run(command, output)
            output.seek(0)
            text = output.read().decode("utf-8", errors="backslashreplace")
        if code == TIMED_OUT:
            text += f"\n[killed: it did not end within {self._timeout:g} s]\n"
        return CommandResult(code, self._scrub(text))

    def _run(self, command: str, output: IO[bytes]) -> int:
        process = subprocess.Popen(
            [self._bash, "--norc", "-c", f"ulimit -f {FILE_LIMIT_KIB} 2>/dev/null\n{command}"],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        late = threading.Event()

        def stop() -> None:
            late.set()
            _kill_group(process.pid)

        timer = threading.Timer(self._timeout, stop)
        timer.start()
        try:
            code = process.wait()
        finally:
            timer.cancel()
            _kill_group(process.pid)  # also what a command left running in the background
        return TIMED_OUT if late.is_set() else code


def observation(result: CommandResult, limit: int = OUTPUT_LIMIT) -> str:
    """What the agent is shown of a command: its code and its output, cut in the middle above ``limit`` characters."""
    head = f"<returncode>{result.returncode}</returncode>\n"
    if len(result.output) < limit:
        return f"{head}<output>\n{result.output}</output>"
    half = limit // 2
    return (
        f"{head}{_TOO_LONG}<output_head>\n{result.output[:half]}\n</output_head>\n"
        f"<elided_chars>\n{len(result.output) - 2 * half} characters elided\n</elided_chars>\n"
        f"<output_tail>\n{result.output[-half:]}\n</output_tail>"
    )


def scrubber(directory: Path) -> Callable[[str], str]:
    """Replaces what differs from run to run and machine to machine: paths, timings, addresses."""
    library = sysconfig.get_paths()["stdlib"]

    def scrub(text: str) -> str:
        text = text.replace(str(directory), VIRTUAL_ROOT).replace(library, "/usr/lib/python3")
        text = _TIMING.sub(r"\g<1>0.001s", text)
        return _ADDRESS.sub("0x7f0000000000", text)

    return scrub


def make_tools(folder: Path) -> Path:
    """Put ``python`` and ``python3`` into ``folder``: this interpreter, started without ``site`` for speed.

    What is there already stays, since it may be running.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for script in (folder / "python", folder / "python3"):
        if script.exists():
            continue
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S "$@"\n')
        script.chmod(0o755)
    return folder


def command_environment(tools: Path) -> dict[str, str]:
    """The whole environment of a command; nothing else is passed on, so no key can leak into an output."""
    return {
        "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOME": str(tools),
        "LC_ALL": "C",
        "TZ": "UTC",
        "TERM": "dumb",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNODEBUGRANGES": "1",  # the ^^^^ marks under a traceback's lines differ between versions
        "PYTHONUTF8": "1",
        "PYTHON_COLORS": "0",
    }


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it is gone, or (macOS) only a zombie is left
        os.killpg(group, signal.SIGKILL)
