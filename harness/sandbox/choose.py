"""Which isolation a run gets: bubblewrap, else docker; a plain subprocess never by accident."""

from __future__ import annotations

from collections.abc import Callable

from harness.errors import EnvironmentFailed, UnknownName
from harness.protocols import Sandbox
from harness.sandbox import bubblewrap, docker
from harness.sandbox.bubblewrap import Bubblewrap
from harness.sandbox.docker import Docker
from harness.sandbox.plain import Plain
from harness.types import SandboxSpec

NAMES = ("auto", "bubblewrap", "docker", "none")


def available() -> dict[str, bool]:
    """Which isolations work on this machine."""
    return {"bubblewrap": bubblewrap.works(), "docker": docker.works(), "none": True}


def opener(isolation: str = "auto") -> Callable[[SandboxSpec], Sandbox]:
    """What opens sandboxes of that isolation.

    ``auto`` takes bubblewrap where it works, else docker, and raises ``EnvironmentFailed`` where neither does,
    with the words that allow a plain subprocess.
    """
    if isolation not in NAMES:
        raise UnknownName("isolation", isolation, NAMES)
    if isolation == "none":
        return Plain
    if isolation in ("auto", "bubblewrap") and bubblewrap.works():
        return Bubblewrap
    if isolation in ("auto", "docker") and docker.works():
        return Docker
    wanted = "bubblewrap or docker" if isolation == "auto" else isolation
    raise EnvironmentFailed(f"{wanted} does not work here; --isolation none runs commands without any isolation")
