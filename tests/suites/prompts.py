"""Takes rendered prompts apart again, and makes a template of a rendered prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping

from suites.judging import Template


def fields(template: str, prompt: str) -> dict[str, str] | None:
    """The values a prompt was rendered with, or ``None`` when it does not come from the template."""
    pieces = re.split(r"\{([a-z_]+)\}", template)
    pattern = "".join(re.escape(p) if n % 2 == 0 else f"(?P<{p}>.*)" for n, p in enumerate(pieces))
    match = re.fullmatch(pattern, prompt, re.DOTALL)
    return match.groupdict() if match else None


def template_of(prompt: str, values: Mapping[str, str]) -> Template | None:
    """The template a prompt must come from: each value replaced by its field, longest first.

    ``None`` when a value does not stand in the prompt exactly once, so that its place is not known.
    """
    for name, value in sorted(values.items(), key=lambda item: -len(item[1])):
        if not value or prompt.count(value) != 1:
            return None
        prompt = prompt.replace(value, f"{{{name}}}")
    return Template(prompt, tuple(values))
