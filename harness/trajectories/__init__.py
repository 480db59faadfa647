"""Readers for recorded runs, one file a format. ``read`` finds the files, recognises the format and pairs every call.

Whatever comes out is a legal history: one system message in front, then a user message, and every tool call answered
by exactly one result directly behind it.
"""

from __future__ import annotations

from harness.trajectories.reading import detect, read
from harness.trajectories.registry import format_names

__all__ = ["detect", "format_names", "read"]
