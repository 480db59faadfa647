"""When the mechanism acts: upstream's names and defaults, checked on the way in."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator


class OffloadRules(BaseModel):
    """Ratios are of the window in tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    mild: float = Field(default=0.5, gt=0, le=1)
    """From here on results of the oldest part give way to their summaries."""
    mild_target: float = Field(default=0.4, gt=0, le=1)
    """And that goes on down to here, so that it happens in few large steps."""
    aggressive: float = Field(default=0.85, gt=0, le=1)
    """From here on the oldest calls leave the prompt; their canvases stay."""
    aggressive_target: float = Field(default=0.6, gt=0, le=1)
    """And down to here."""
    emergency: float = Field(default=0.95, gt=0, le=1)
    """From here on whatever may go goes."""
    emergency_target: float = Field(default=0.6, gt=0, le=1)
    """And down to here."""
    scan: float = Field(default=0.7, gt=0, le=1)
    """Part of the list, oldest first, whose results may be replaced."""
    canvases: float = Field(default=0.2, gt=0, le=0.5)
    """Share of the window that canvases may take together."""
    pending: int = Field(default=4, ge=1)
    """Results that wait for a summary before a run is forced."""
    summary: int = Field(default=90, ge=10)
    """Tokens of an extractive summary."""
    show_active: bool = True
    """Show the canvas of the present task behind the last request."""

    @model_validator(mode="after")
    def _in_order(self) -> OffloadRules:
        order = ("mild_target", "mild", "aggressive", "emergency")
        for low, high in zip(order, order[1:], strict=False):  # noqa: RUF007 - named pairs read better
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} {getattr(self, low)} is above {high} {getattr(self, high)}")
        for target, trigger in (("aggressive_target", "aggressive"), ("emergency_target", "emergency")):
            if getattr(self, target) > getattr(self, trigger):
                raise ValueError(f"{target} {getattr(self, target)} is above {trigger} {getattr(self, trigger)}")
        if self.canvases >= self.aggressive_target:
            raise ValueError(f"canvases {self.canvases} leave no room below aggressive_target {self.aggressive_target}")
        return self
