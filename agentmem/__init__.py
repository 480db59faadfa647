"""A memory core for agents: short-term evidence and canvases, long-term atoms, scenes and a persona.

``agentmem.Memory`` and ``agentmem.Scope`` are loaded when they are first asked for, so that the import stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentmem.core import Memory
    from agentmem.store.records import Scope

__version__ = "0.1.0"
__all__ = ["Memory", "Scope", "__version__"]
_LAZY = {"Memory": "agentmem.core", "Scope": "agentmem.store.records"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
