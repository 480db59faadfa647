"""Puts a live run together from what was asked for: suite, model, judge, sandbox, cassette, budget."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentmem.tokens import TokenCounter, cache_folder
from harness.agents.dialogue import dialogue
from harness.agents.loop import Agent
from harness.errors import JudgeFailed, ModelRefused, UsageError
from harness.judging import ModelJudge, Probed, run_probes
from harness.live import LiveOptions
from harness.models.budget import Budget, Prices
from harness.models.openai import OpenAIModel, Settings
from harness.models.scripted import PerSession
from harness.protocols import Model, Suite, SuiteContext
from harness.sandbox import opener
from harness.session import Parts
from harness.suites import open_suite

if TYPE_CHECKING:
    from agentmem.embed.protocol import Embedder

Mode = Literal["reference", "guarded"]
SCRIPTED = "scripted"
NOW = "2025-09-01"  # what "now" means to scorers that read dates without a year


@dataclass(frozen=True)
class Access:
    """Where models are and what asking them may cost. ``record`` and ``replay`` are cassette folders."""

    base_url: str = "https://api.openai.com/v1"
    key_env: str = "OPENAI_API_KEY"
    temperature: float | None = 0.0
    max_tokens: int | None = None
    seed: int | None = None
    seconds: float = 600.0
    retries: int = 6
    thinking_off: str | None = None
    judge_base_url: str | None = None
    judge_key_env: str | None = None
    memory_model: str | None = None
    embedder: str | None = None
    embedder_url: str | None = None
    dimensions: int | None = None
    prices: Prices = field(default_factory=Prices)
    cost_limit: float | None = None
    record: Path | None = None
    replay: Path | None = None

    def asked(self) -> dict[str, Any]:
        """What of this decides a result."""
        return {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "thinking_off": self.thinking_off,
            "memory_model": self.memory_model,
            "embedder": self.embedder,
            "dimensions": self.dimensions,
        }


@dataclass(frozen=True)
class Setup:
    """A live run ready to be executed."""

    suite: Suite
    parts: Parts
    isolation: str
    probed: Probed | None
    budget: Budget


def set_up(
    suite_name: str,
    options: LiveOptions,
    access: Access,
    data: Path | None,
    suite_options: Mapping[str, str],
    mode: Mode,
) -> Setup:
    """Open everything. Raises ``UsageError`` and ``DataError`` for what cannot be had, before anything is spent."""
    counter = TokenCounter(options.tokenizer, cache_folder() / "tokens")
    budget = Budget(access.prices, access.cost_limit)
    models = _Models(access, counter, budget)
    judge = models.judge(options.judge) if options.judge else None
    now = datetime.fromisoformat(suite_options.get("now", NOW)).replace(tzinfo=UTC).timestamp()
    open_sandbox, isolation = _sandbox(suite_name, options.isolation)
    context = SuiteContext(data, cache_folder(), counter, open_sandbox, judge, mode, lambda: now, suite_options)
    suite = open_suite(suite_name, context)
    if options.model == SCRIPTED:
        make: Callable[[Sequence[str]], Any] | None = getattr(suite, "script", None)
        if make is None:
            raise UsageError(f"suite {suite_name!r} has no scripted agent; name a model")
        model: Model = PerSession("scripted agent", make, counter)
        memory = None
    else:
        model = models.chat(options.model)
        memory = models.chat(access.memory_model) if access.memory_model else model
    agent = _agent(options, access.prices)
    parts = Parts(
        suite,
        agent,
        model,
        counter,
        options.window,
        Path(),
        memory,
        models.embedder(),
        options.boundaries,
        options.judge_repeats,
        clock=time.time,
    )
    return Setup(suite, parts, isolation, _probed(suite, judge), budget)


def _agent(options: LiveOptions, prices: Prices) -> Any:
    if options.protocol == "mini-swe-agent":
        from harness.agents.minisweagent import MiniSweAgent

        return MiniSweAgent(options.limits, prices)
    return Agent(dialogue(options.protocol), options.limits, prices)


def _sandbox(suite: str, isolation: str) -> tuple[Callable[[Any], Any], str]:
    """Sandboxes for the suites that run commands; a suite of questions needs none on its machine."""
    if not suite.startswith("swebench"):
        return opener("none"), "not needed"
    found = opener(isolation)
    return found, str(getattr(found, "isolation", isolation))


class _Models:
    """Chat models that share one cassette and one budget."""

    def __init__(self, access: Access, counter: TokenCounter, budget: Budget) -> None:
        if access.record and access.replay:
            raise UsageError("--record and --replay exclude each other")
        self._access, self._counter, self._budget = access, counter, budget
        self._transport = _cassette(access)
        # a replay does not wait: what it waited for is on the cassette
        self._sleep: Callable[[float], None] = (lambda seconds: None) if access.replay else time.sleep

    def chat(self, name: str, base_url: str | None = None, key_env: str | None = None) -> OpenAIModel:
        """A model behind the base URL; asked for once without spending anything, so that a wrong URL is said now."""
        access = self._access
        settings = Settings(
            model=name,
            base_url=base_url or access.base_url,
            temperature=access.temperature,
            max_tokens=access.max_tokens,
            seed=access.seed,
            seconds=access.seconds,
            retries=access.retries,
            extra=_thinking(access.thinking_off),
        )
        if not access.replay:
            reachable(settings.base_url)
        return OpenAIModel(
            settings,
            key=os.environ.get(key_env or access.key_env),
            counter=self._counter,
            budget=self._budget,
            transport=self._transport,
            sleep=self._sleep,
        )

    def embedder(self) -> Callable[[], Embedder] | None:
        """Makes the embedder of a session; None when none was named."""
        access = self._access
        if access.embedder is None:
            return None
        if not access.dimensions:
            raise UsageError(f"--ask embedder={access.embedder} needs --ask dimensions=N, the length of its vectors")
        from agentmem.embed.endpoint import EndpointEmbedder
        from agentmem.settings.models import Embedding

        settings = Embedding(
            provider="endpoint",
            base_url=access.embedder_url or access.base_url,
            api_key=os.environ.get(access.key_env, ""),
            model=access.embedder,
            dimensions=access.dimensions,
            send_dimensions=False,
        )
        if not access.replay:
            reachable(settings.base_url)
        return lambda: EndpointEmbedder(settings, access.seconds, access.retries + 1, self._sleep, self._transport)

    def judge(self, name: str) -> ModelJudge:
        """A judge, at its own address where one is given."""
        return ModelJudge(self.chat(name, self._access.judge_base_url, self._access.judge_key_env))


def reachable(base_url: str) -> None:
    """Raise ``ModelRefused`` when nobody answers at the address. Any HTTP answer will do."""
    from harness.models.http import http_library

    library = http_library()
    try:
        library.get(f"{base_url.rstrip('/')}/models", timeout=20.0)
    except library.InvalidURL as error:
        raise ModelRefused(f"--base-url {base_url!r} is no address: {error}") from None
    except library.UnsupportedProtocol:
        raise ModelRefused(f"--base-url {base_url!r} must begin with http:// or https://") from None
    except library.TransportError as error:
        raise ModelRefused(f"nobody answers at {base_url}: {error}; check --base-url") from None


def _cassette(access: Access) -> Any:
    from harness.models.cassette import Player, Recorder
    from harness.models.http import http_library

    if access.replay:
        return Player(access.replay)
    if access.record:
        keys = [os.environ.get(name or "", "") for name in (access.key_env, access.judge_key_env)]
        library = http_library()
        pool = library.Limits(max_connections=256, max_keepalive_connections=256)
        return Recorder(access.record, library.HTTPTransport(limits=pool), keys)
    return None


def _thinking(style: str | None) -> dict[str, Any]:
    """The request fields that turn a model's reasoning off, by kind of server."""
    if style is None:
        return {}
    from agentmem.llm.nothink import without_thinking

    body = without_thinking({"messages": []}, style)
    return {name: value for name, value in body.items() if name != "messages"}


def _probed(suite: Suite, judge: ModelJudge | None) -> Probed | None:
    """Ask the judge about answers whose verdict is known. Raises ``JudgeFailed`` when it cannot be trusted."""
    probes = getattr(suite, "probes", None)
    if judge is None or probes is None:
        return None
    found = run_probes(judge, probes(), suite.read_verdict)  # type: ignore[attr-defined]
    if not found.trusted:
        raise JudgeFailed(
            f"the judge {judge.name!r} got {found.right} of {found.total} known verdicts right "
            f"({len(found.unjudged)} replies could not be read); take another judge"
        )
    return found
