"""One frozen recipe a row of the published table: what is played, under which settings, and on which assumptions.

Changing anything here changes the recipe's sha256, which every result names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

ARMS = ("full", "published", "agentmem")
CONTROLS = ("isolated", "mask", "summary")


@dataclass(frozen=True, slots=True)
class ReplayPart:
    """Recorded runs that are replayed. ``files`` maps a path in the data folder to its sha256."""

    files: Mapping[str, str]
    origin: str
    per_session: int
    window: int
    tokenizer: str
    order: str
    arms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LivePart:
    """A run with a model. ``calls`` is how many the baseline makes; ``calls_from`` says where that is from."""

    suite: str
    tasks: int
    per_session: int
    window: int
    judge: bool
    arms: tuple[str, ...]
    calls: int
    calls_from: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowRecipe:
    """Everything about one row. ``embedded`` is the suite whose scripted edition needs nothing at all; its window is
    small, so that every policy has to act."""

    row: str
    embedded: str
    live: LivePart
    assumptions: tuple[str, ...]
    replay: ReplayPart | None = None
    version: int = 1
    embedded_arms: tuple[str, ...] = ARMS
    embedded_window: int = 20_000
    embedded_options: tuple[str, ...] = field(default=("--seed", "0"))


COMMON = (
    "Tokens are prompts, answers and the memory's own calls, counted with o200k_base: content and tool-call JSON of "
    "every message plus 4.",
    "The window is 200,000 tokens, the plugin's default.",
    "Without a memory, history accumulates; before a call that would fill more than 95 % of the window the oldest "
    "whole step goes.",
    "The upstream policy runs at its published defaults (0.5, 0.85, 0.95 down to 0.6) with summaries of 90 tokens.",
)

RECIPES = (
    RowRecipe(
        row="swebench",
        replay=ReplayPart(
            files={
                "swebench/verified_mini-swe-agent_gemini-3-pro.jsonl.gz": (
                    "b9bb89825b8230afeb68bfd426076bac518d24b938596fa90669cbabed93b512"
                )
            },
            origin=(
                "mini-swe-agent 1.15.0 with Gemini 3 Pro on all 500 tasks of SWE-bench Verified: "
                "gruckion/mini-swe-agent at d12a71af, swebench_results/20251118_gemini-3-pro-74pct, a copy of the "
                "public leaderboard run; converted to replay-trajectory/1"
            ),
            per_session=50,
            window=200_000,
            tokenizer="o200k_base",
            order="file",
            arms=(*ARMS, *CONTROLS),
        ),
        embedded="swebench-mini",
        live=LivePart("swebench", 500, 50, 200_000, False, ARMS, 20_163, "calls of the recorded run"),
        assumptions=(
            *COMMON,
            "500 tasks of SWE-bench Verified in ten sessions of 50, in file order, one attempt. The sessions of 50 are "
            "published, the rest follows from 292 and 321 being 58.4 and 64.2 % of 500.",
            "The agent of the replay is mini-swe-agent with Gemini 3 Pro; the published agent is OpenClaw with an "
            "unnamed model. Tokens of one agent say little about another's.",
            "A replay gives the recorded agent the same answers whatever the prompt held. It measures what each policy "
            "would have sent and what the prompt no longer held, never a pass rate.",
            "Summaries are extracts of 90 tokens, since a replay has no model to write them; the calls upstream would "
            "make for them are charged to the memory.",
        ),
    ),
    RowRecipe(
        row="widesearch",
        embedded="widesearch-mini",
        live=LivePart(
            "widesearch", 200, 50, 200_000, True, ARMS, 4_000, "a guess of 20 calls a task; 50 is the benchmark's limit"
        ),
        assumptions=(
            *COMMON,
            "200 tasks in sessions of 50: session length and number of tasks are not published for this row.",
            "Success is reported three ways (strict success, row F1, item F1), since the published measure is unknown.",
            "Search and pages come from the provider given to the run, not from the published one.",
        ),
    ),
    RowRecipe(
        row="aalcr",
        embedded="aalcr-mini",
        live=LivePart("aalcr", 100, 50, 200_000, True, ARMS, 800, "a guess of 8 calls a question", ("--repeats", "2")),
        assumptions=(
            *COMMON,
            "100 questions asked twice, in sessions of 50: only the number of answers (200 or a multiple) can be "
            "inferred for this row.",
            "Documents arrive as tool results, by list, read and search tools.",
        ),
    ),
    RowRecipe(
        row="personamem",
        embedded="personamem-mini",
        live=LivePart("personamem", 589, 50, 200_000, False, ARMS, 589, "one call a question"),
        assumptions=(
            *COMMON,
            "All 589 questions of the 32k split; version and size of the published set are unknown.",
            "Earlier chats are played through the memory before a question is asked. A no-context control stands "
            "beside it, since strong models reach about half of the answers without any history.",
        ),
    ),
)


def recipe_of(row: str) -> RowRecipe:
    """The recipe of a row. Raises ``KeyError``."""
    return {one.row: one for one in RECIPES}[row]


def sha256(recipe: RowRecipe) -> str:
    """Hash of the whole record, in hex."""
    text = json.dumps(asdict(recipe), sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
