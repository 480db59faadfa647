"""`run`: live sessions of a benchmark with a real model and a real environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from harness.live import LiveOptions
    from harness.livesetup import Access, Setup


Mode = Literal["reference", "guarded"]
ASK_HELP = (
    "How the model is asked, key=value; may be repeated: temperature (0; left out where it is refused), max_tokens, "
    "seed, seconds (600), retries (6), memory_model (for the engines' own calls), thinking_off (vllm, deepseek, "
    "dashscope, openai, anthropic, kimi, gemini), embedder and dimensions (for recall:embed=endpoint), embedder_url."
)
ASKED: dict[str, Callable[[str], Any]] = {
    "temperature": lambda text: None if text == "none" else float(text),
    "max_tokens": int,
    "seed": int,
    "seconds": float,
    "retries": int,
    "memory_model": str,
    "embedder": str,
    "embedder_url": str,
    "dimensions": int,
    "thinking_off": str,
}
SAME = (  # options of the same name here and in ``LiveOptions``
    "model",
    "protocol",
    "per_session",
    "order",
    "seed",
    "sessions",
    "limit",
    "repeats",
    "window",
    "tokenizer",
    "boundaries",
    "judge",
    "judge_repeats",
    "isolation",
)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(run)


def run(
    suite: Annotated[str, typer.Option(help="The benchmark: swebench-sdist, swebench, aalcr, locomo, ...")],
    model: Annotated[str, typer.Option(help="Name of the model; `scripted` for the suite's scripted agent.")],
    arm: Annotated[
        list[str] | None, typer.Option(help="NAME[:key=value,...]; may be repeated (default: full).")
    ] = None,
    base_url: Annotated[str, typer.Option(help="OpenAI-compatible endpoint.")] = "https://api.openai.com/v1",
    key_env: Annotated[str, typer.Option(help="Variable that holds the key.")] = "OPENAI_API_KEY",
    data: Annotated[Path | None, typer.Option(envvar="AGENTMEM_DATA", help="Data folder (default: the hub).")] = None,
    option: Annotated[list[str] | None, typer.Option(help="key=value for the suite; may be repeated.")] = None,
    mode: Annotated[Mode, typer.Option(help="reference or guarded scoring.")] = "guarded",
    sessions: Annotated[int | None, typer.Option(min=1, help="Only the first N sessions.")] = None,
    per_session: Annotated[int, typer.Option(min=1, help="Tasks played one after another in a session.")] = 50,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks of the order.")] = None,
    order: Annotated[str, typer.Option(help="file, id or shuffle.")] = "file",
    seed: Annotated[int, typer.Option(help="Seed of --order shuffle.")] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="Attempts at every session.")] = 1,
    window: Annotated[int, typer.Option(min=500, help="Context window in tokens.")] = 200_000,
    tokenizer: Annotated[str, typer.Option(help="o200k_base or cl100k_base.")] = "o200k_base",
    boundaries: Annotated[
        str, typer.Option(help="told: the engine learns where tasks begin; judged: it does not.")
    ] = "told",
    protocol: Annotated[
        str, typer.Option(help="functions, text (one bash block an answer), mini-swe-agent.")
    ] = "functions",
    steps: Annotated[int, typer.Option(min=1, help="Steps a task may take.")] = 100,
    task_seconds: Annotated[float, typer.Option(help="Seconds a task may take.")] = 3_600.0,
    task_cost: Annotated[float | None, typer.Option(help="Cost a task may reach.")] = None,
    ask: Annotated[list[str] | None, typer.Option(help=ASK_HELP)] = None,
    judge: Annotated[str | None, typer.Option(help="Model that grades, where the suite needs one.")] = None,
    judge_base_url: Annotated[str | None, typer.Option(help="Its endpoint (default: --base-url).")] = None,
    judge_key_env: Annotated[str | None, typer.Option(help="Variable of its key (default: --key-env).")] = None,
    judge_repeats: Annotated[int, typer.Option(min=1, help="Gradings of every answer; the majority counts.")] = 1,
    price: Annotated[str | None, typer.Option(help="UNCACHED,CACHED,OUTPUT per million tokens.")] = None,
    cost_limit: Annotated[float | None, typer.Option(help="The run stops asking at this cost.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Sessions played at the same time.")] = 1,
    isolation: Annotated[str, typer.Option(help="auto, bubblewrap, docker, or none (no isolation at all).")] = "auto",
    record: Annotated[Path | None, typer.Option(help="Write every request and answer into this folder.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Answer from this folder; no key, no network.")] = None,
    controls: Annotated[bool, typer.Option(help="Run the suite's controls beside the arms.")] = True,
    out: Annotated[Path | None, typer.Option(help="Folder of the run (default: results/runs/<time>-<recipe>).")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue the run in this folder.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON instead of a table.")] = False,
) -> None:
    """Play live sessions: consecutive tasks in one conversation, every request in the ledger, every task accounted for.

    Example:  agentmem-bench run --suite locomo --model NAME --base-url http://localhost:8000/v1 --arm full
    """
    typed = dict(locals())
    from harness.livesetup import set_up

    options = make_options(typed)
    setup = set_up(suite, options, make_access(typed), data, read_options(option, "option"), mode)
    play(setup, options, controls, concurrency, resume or out, base_url, json)


def make_options(typed: Mapping[str, Any]) -> LiveOptions:
    """What decides the result, from what was typed. Raises ``UnknownName`` for names there are not."""
    from agentmem.tokens import ENCODINGS
    from harness.agents.loop import Limits
    from harness.engines.registry import parse_arm
    from harness.errors import UnknownName, UsageError
    from harness.live import LiveOptions

    valid: dict[str, Collection[str]] = {
        "tokenizer": ENCODINGS,
        "order": ("file", "id", "shuffle"),
        "boundaries": ("told", "judged"),
    }
    for what, names in valid.items():
        if typed[what] not in names:
            raise UnknownName(what, typed[what], names)
    specs = list(typed["arm"] or ["full"])
    if len(set(specs)) < len(specs):
        raise UsageError("an --arm is given more than once")
    suite_options = read_options(typed["option"], "option")
    asked = {**make_access(typed).asked(), "mode": typed["mode"], "options": suite_options}
    limits = Limits(typed["steps"], typed["task_seconds"], typed["task_cost"])
    same = {name: typed[name] for name in SAME}
    return LiveOptions(arms=tuple(parse_arm(spec) for spec in specs), asked=asked, limits=limits, **same)


def make_access(typed: Mapping[str, Any]) -> Access:
    """Where the models are and how they are asked, from what was typed."""
    from harness.livesetup import Access

    names = ("base_url", "key_env", "judge_base_url", "judge_key_env", "cost_limit", "record", "replay")
    same = {name: typed[name] for name in names}
    return Access(prices=read_prices(typed["price"]), **same, **read_asked(typed["ask"]))


def play(
    setup: Setup, options: LiveOptions, controls: bool, concurrency: int, out: Path | None, base_url: str, as_json: bool
) -> None:
    """Execute, write the report, print the table."""
    from dataclasses import replace

    from harness.live import execute, make_recipe, plan
    from harness.livesetup import SCRIPTED
    from harness.report.markdown import write_report
    from harness.runfolder import choose
    from harness.session import NO_CONTEXT
    from harness.summary import require_valid
    from harness.terminal import print_arms, progress

    names = tuple(getattr(setup.suite, "controls", ())) if controls else ()
    scripted = options.model == SCRIPTED
    options = replace(options, controls=tuple(name for name in names if not (scripted and name == NO_CONTEXT)))
    sessions = plan(setup.suite, options)
    recipe = make_recipe(setup.suite, sessions, getattr(setup.suite, "sha256", {}), options)
    folder = out or choose(Path("results/runs"), recipe)
    facts = {
        "agent": "scripted agent" if scripted else f"{options.protocol} loop",
        "served_by": None if scripted else base_url,
        "isolation": setup.isolation,
        "boundaries": options.boundaries,
        "left_out": dict(getattr(setup.suite, "left_out", {})),
        "probes": None if setup.probed is None else {"total": setup.probed.total, "right": setup.probed.right},
    }
    parts = replace(setup.parts, folder=folder)
    with progress() as show:
        summary = execute(parts, sessions, recipe, options, concurrency, show, facts)
        show(1, 1, "writing the report")
        report = write_report(folder)
    if as_json:
        import json

        typer.echo(json.dumps(summary, indent=2, allow_nan=False))
    else:
        print_arms(summary)
        typer.echo(f"report: {report}{os.linesep}cost: {setup.budget.spent:.4f}")
    require_valid(summary)


def read_options(pairs: list[str] | None, what: str) -> dict[str, str]:
    """``key=value`` pairs. Raises ``UsageError`` for anything else."""
    from harness.errors import UsageError

    found = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--{what} {pair!r}: expected key=value")
        found[key] = value
    return found


def read_asked(pairs: list[str] | None) -> dict[str, Any]:
    """How a model is asked. Raises ``UnknownName`` for a key and ``UsageError`` for a value."""
    from harness.errors import UnknownName, UsageError

    found: dict[str, Any] = {}
    for key, value in read_options(pairs, "ask").items():
        if key not in ASKED:
            raise UnknownName("--ask", key, ASKED)
        try:
            found[key] = ASKED[key](value)
        except ValueError:
            raise UsageError(f"--ask {key}={value}: expected a number") from None
    return found


def read_prices(text: str | None) -> Any:
    """Three numbers. Raises ``UsageError`` for anything else."""
    from harness.errors import UsageError
    from harness.models.budget import Prices

    if text is None:
        return Prices()
    try:
        uncached, cached, output = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--price {text!r}: expected three numbers, such as 2.5,0.25,10") from None
    return Prices(uncached, cached, output)
