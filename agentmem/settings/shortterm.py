"""Settings of our own short-term policy. The measurement behind each default is named in docs/offload.md."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ShortTermSettings(BaseModel):
    """When something leaves the prompt, and what stays of it. Sizes are in tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    boundaries: Literal["told", "judged"] = "told"
    """Whether the host says where a task begins, or each new request is judged without a model."""
    leave_tasks: bool = True
    """A finished task leaves the prompt when the next one begins; a line of it stays."""
    line: int = Field(60, ge=10, le=1_000)
    """Most a line about one finished task may take."""
    history: int = Field(240, ge=60)
    """Most that all lines together may take; older tasks share one line."""
    keep_results: int = Field(5, ge=1)
    """How many of the newest tool results stay whole."""
    result: int = Field(250, ge=1)
    """Results up to this size stay whole."""
    extract: int = Field(200, ge=20)
    """Size of the extract that stands for a result."""
    names: float = Field(0.45, ge=0, le=1)
    """Share of an extract that may go to identifiers without their line."""
    keep_calls: int = Field(3, ge=1)
    """How many of the newest messages of the model stay whole."""
    command: int = Field(120, ge=0)
    """Older commands of the model are shortened to about this size; 0 leaves them."""
    batch: int = Field(6_000, ge=0)
    """Nothing is rewritten before this many tokens can be saved at once, so that the cached prefix survives."""
    task: int = Field(12_000, ge=500)
    """Size beyond which the oldest steps of a task fold into lines, requests not counted."""
    canvas: int = Field(3_000, ge=100)
    """Size of those lines together; older ones go into chunks."""
    canvas_line: int = Field(60, ge=5)
    """Size of what a line keeps of a result."""
    fill: float = Field(0.85, gt=0, le=1)
    """Share of the window that the prompt may fill; then even the newest results are shortened."""
    low: float = Field(0.4, gt=0, le=1)
    """Share of ``task`` to which a fold reduces it, so that it does not happen at every call."""
