"""The HTTP library that the installed openai client is built on (httpx, or httpx2 in newer ones)."""

from __future__ import annotations

import functools
import importlib
from typing import Any


@functools.cache
def http_library() -> Any:
    """The module with ``Client``, ``BaseTransport``, ``HTTPTransport``, ``Request`` and ``Response``."""
    import openai

    names = {base.__module__.partition(".")[0] for base in openai.DefaultHttpxClient.__mro__}
    (name,) = names & {"httpx", "httpx2"}
    return importlib.import_module(name)
