"""Where an agent's commands run: bubblewrap, docker, or a plain subprocess when asked for by name."""

from harness.sandbox.choose import available, opener

__all__ = ["available", "opener"]
