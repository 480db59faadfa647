"""A row from end to end: its parts, the estimate, and the files that are kept."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.reproduce.estimate import Estimate
from harness.reproduce.play import Part
from harness.reproduce.published import SOURCE, UNPUBLISHED, Published, recomputed
from harness.reproduce.recipes import RowRecipe, sha256
from harness.runlog import RECIPE, write_json
from harness.tables import Table, to_markdown

SCHEMA = "agentmem-reproduce/1"
PARTS = ("replay", "embedded", "live")
JSON, TABLE = "reproduce.json", "reproduce.md"


def write(
    folder: Path,
    recipe: RowRecipe,
    published: Published,
    parts: Sequence[Part],
    estimates: Sequence[Estimate],
    command: str,
    found: Sequence[Table],
) -> list[Path]:
    """Write ``reproduce.json`` and ``reproduce.md`` of a row, and the recipe of every part beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / JSON, _record(recipe, published, parts, estimates))
    head = f"# {published.title}: published, recomputed, ours\n\nMade by\n\n    {command}\n"
    text = f"{head}\nFrozen recipe `{sha256(recipe)}`.\n\n{to_markdown(found)}"
    (folder / TABLE).write_text(text, encoding="utf-8", newline="\n")
    kept = []
    for part in parts:
        target = folder / f"{part.name}-{RECIPE}"
        shutil.copyfile(part.folder / RECIPE, target)
        kept.append(target)
    return [folder / JSON, folder / TABLE, *kept]


def _record(
    recipe: RowRecipe, published: Published, parts: Sequence[Part], estimates: Sequence[Estimate]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "row": recipe.row,
        "recipe": sha256(recipe),
        "frozen": asdict(recipe),
        "published": {"source": SOURCE, "stated": asdict(published), "recomputed": recomputed(published)},
        "parts": {part.name: _part(part) for part in parts},
        "estimates": [asdict(one) for one in estimates],
        "unpublished": [*UNPUBLISHED, *published.unpublished],
    }


def _part(part: Part) -> dict[str, Any]:
    against: dict[str, Mapping[str, Any]] = {}
    for arm, suite in part.compared.items():
        against[arm] = {
            one.measure: {
                "ratio": one.ratio,
                "interval": list(one.interval) if one.interval else None,
                "t": list(one.t) if one.t else None,
                "typical_task": one.geometric_mean,
                "sessions": one.groups,
            }
            for one in suite.tokens
        }
    return {"summary": dict(part.summary), "against_the_first_arm": against, "left_out": list(part.left_out)}
