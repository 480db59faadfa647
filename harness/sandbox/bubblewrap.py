"""Commands inside bubblewrap: no network, a private /tmp, the host read-only and only in part."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

from harness.errors import EnvironmentFailed
from harness.sandbox.process import run_limited
from harness.types import Ran, SandboxSpec

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
ETC = (
    "passwd",
    "group",
    "nsswitch.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "mime.types",
)
START_FAILED = "bwrap: "


class Bubblewrap:
    """One sandbox over one work folder; each command gets fresh namespaces and dies with all its children."""

    isolation = "bubblewrap"

    def __init__(self, spec: SandboxSpec) -> None:
        self.root = spec.inside
        self._spec = spec
        self._arguments = _arguments(spec)

    def run(self, command: str, seconds: float | None = None) -> Ran:
        """Run a bash command in the work folder. Raises ``EnvironmentFailed`` when bubblewrap cannot start."""
        ran = run_limited(
            [*self._arguments, "/bin/bash", "-c", limited(command, self._spec.memory)],
            folder="/",
            environment={},
            seconds=self._spec.seconds if seconds is None else seconds,
            output=self._spec.output,
        )
        if ran.code == 1 and ran.output.startswith(START_FAILED):
            raise EnvironmentFailed(f"the sandbox did not start: {ran.output.strip()[:500]}")
        return ran

    def close(self) -> None:
        """Nothing outlives a command."""


def limited(command: str, memory: int) -> str:
    """The command behind limits that bash sets for itself: no core files, at most ``memory`` MiB a process."""
    return f"ulimit -c 0; ulimit -v {memory * 1024} 2>/dev/null\n{command}"


@functools.cache
def works() -> bool:
    """True when bubblewrap is installed and this user may make namespaces here."""
    found = shutil.which("bwrap")
    if not found:
        return False
    tried = [found, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    return subprocess.run(tried, capture_output=True).returncode == 0


def _arguments(spec: SandboxSpec) -> list[str]:
    given = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]
    given += ["--tmpfs", "/", "--proc", "/proc", "--dev", "/dev"]
    for path in SYSTEM:
        if Path(path).is_symlink():
            given += ["--symlink", str(Path(path).readlink()), path]
        elif Path(path).is_dir():
            given += ["--ro-bind", path, path]
    for name in ETC:
        given += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    given += ["--tmpfs", "/tmp", "--dir", "/tmp/home"]
    for path in spec.read_only:
        if path not in SYSTEM and not path.startswith("/usr/"):
            given += ["--ro-bind", path, path]
    given += ["--bind", spec.work, spec.inside, "--chdir", spec.inside]
    for name, value in sorted({"PATH": "/usr/bin:/bin", "HOME": "/tmp/home", **spec.environment}.items()):
        given += ["--setenv", name, value]
    return given
