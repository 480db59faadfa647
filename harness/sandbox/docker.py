"""Commands inside a docker container without network; the container lives as long as the sandbox."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import uuid
from collections.abc import Sequence

from harness.errors import EnvironmentFailed
from harness.sandbox.process import run_limited
from harness.types import Ran, SandboxSpec

START_SECONDS = 120.0
TIME_IS_UP = 137  # what `timeout -s KILL` exits with
PROCESSES = 512


class Docker:
    """One container. With ``spec.work`` empty the container's own folder ``spec.inside`` is used, as in the
    official SWE-bench images."""

    isolation = "docker"

    def __init__(self, spec: SandboxSpec) -> None:
        if not spec.image:
            raise EnvironmentFailed("docker isolation needs an image: --option image=NAME")
        self.root = spec.inside
        self._spec = spec
        self._name = f"agentmem-{uuid.uuid4().hex[:12]}"
        mounts = ["-v", f"{spec.work}:{spec.inside}"] if spec.work else []
        for path in spec.read_only:
            mounts += ["-v", f"{path}:{path}:ro"]
        limits = ["--network", "none", "--memory", f"{spec.memory}m", "--pids-limit", str(PROCESSES), "--init"]
        start = ["run", "-d", "--rm", "--name", self._name, *limits, *mounts, "-w", spec.inside]
        _docker([*start, "--entrypoint", "sleep", spec.image, "infinity"])

    def run(self, command: str, seconds: float | None = None) -> Ran:
        """Run a bash command in the container. The time limit is kept inside, so that nothing lives on there."""
        allowed = self._spec.seconds if seconds is None else seconds
        variables = [
            part for name, value in sorted(self._spec.environment.items()) for part in ("-e", f"{name}={value}")
        ]
        inner = ["timeout", "-s", "KILL", str(allowed), "bash", "-c", command]
        ran = run_limited(
            ["docker", "exec", *variables, "-w", self.root, self._name, *inner],
            folder="/",
            environment=_client_environment(),
            seconds=allowed + 30,  # the client may outlive the command, not for long
            output=self._spec.output,
        )
        if ran.code in (125, 126) and "Error" in ran.output[:200]:
            raise EnvironmentFailed(f"docker exec failed: {ran.output.strip()[:500]}")
        timed_out = ran.code == TIME_IS_UP and ran.seconds >= allowed
        return Ran(None if timed_out else ran.code, ran.output, ran.seconds, ran.cut)

    def close(self) -> None:
        """Remove the container with everything in it."""
        with contextlib.suppress(EnvironmentFailed):  # `--rm` may have been faster
            _docker(["rm", "-f", self._name])


@functools.cache
def works() -> bool:
    """True when a docker engine answers (the client alone is not enough)."""
    if not shutil.which("docker"):
        return False
    asked = ["docker", "version", "--format", "{{.Server.Version}}"]
    return subprocess.run(asked, capture_output=True).returncode == 0


def _docker(arguments: Sequence[str]) -> None:
    try:
        ran = subprocess.run(
            ["docker", *arguments], capture_output=True, text=True, timeout=START_SECONDS, env=_client_environment()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFailed(f"docker {arguments[0]}: {error}") from error
    if ran.returncode:
        raise EnvironmentFailed(f"docker {arguments[0]} failed: {ran.stderr.strip()[:500]}")


def _client_environment() -> dict[str, str]:
    wanted = ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT")
    return {name: os.environ[name] for name in wanted if name in os.environ}
