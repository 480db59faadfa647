"""The server variant of the upstream stages (memory_core.md A21), as pure functions."""
