"""Any server that speaks OpenAI's chat completions. Every request that was made is reported, failed ones too."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentmem.messages import Message
from agentmem.tokens import Counter
from harness.errors import CassetteMiss, ModelFailed, ModelRefused, PromptTooLong
from harness.models.budget import Budget
from harness.models.http import http_library
from harness.models.usage import counted_usage, read_usage
from harness.models.verdicts import Judged, judge_status
from harness.models.wire import Unusable, read_answer, request_messages
from harness.types import Attempt, Step, Usage

ARGUMENTS = ("temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "parallel_tool_calls")
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds between tries: doubled each time, up to the second


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is asked. None leaves a parameter out. ``retries`` counts the requests after the first."""

    model: str
    base_url: str
    temperature: float | None = 0.0
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    seconds: float = 600.0
    retries: int = 6
    extra: Mapping[str, Any] = field(default_factory=dict)

    def parameters(self) -> dict[str, Any]:
        """The optional parameters that are set."""
        named = {name: getattr(self, name) for name in ("temperature", "top_p", "seed", "max_tokens")}
        return {name: value for name, value in named.items() if value is not None} | dict(self.extra)


class OpenAIModel:
    """A chat model behind a base URL. Threads may share one.

    ``transport`` replaces the network (cassettes); ``counter`` counts what the server does not report.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        key: str | None = None,
        counter: Counter | None = None,
        budget: Budget | None = None,
        transport: Any = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        import openai

        self.name = settings.model
        self.settings = settings
        self._counter = counter
        self._budget = budget or Budget()
        self._sleep = sleep
        self._dropped: set[str] = set()
        library = http_library()
        pool = library.Limits(max_connections=256, max_keepalive_connections=256)
        http = openai.DefaultHttpxClient(
            transport=transport or library.HTTPTransport(limits=pool, retries=0), timeout=settings.seconds
        )
        self._client = openai.OpenAI(
            base_url=settings.base_url,
            api_key=key or "no-key",
            max_retries=0,
            timeout=settings.seconds,
            http_client=http,
        )

    def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Step:
        """Answer, after as many requests as it takes and the settings allow.

        Raises ``PromptTooLong``, ``ModelRefused``, ``CostLimit``, or ``ModelFailed`` when no try gave an answer; each
        carries the requests that were made.
        """
        failed: list[Attempt] = []
        while True:
            self._budget.check(failed)
            begun = time.monotonic()
            tried = self._try(messages, tools)
            seconds = round(time.monotonic() - begun, 4)
            if isinstance(tried, _Answer):
                usage = self._filled(tried.usage, messages, tried.message)
                self._budget.add(usage)
                fallbacks = tuple(sorted(self._dropped))
                return Step(tried.message, usage, len(failed) + 1, tried.finish, seconds, tuple(failed), fallbacks)
            self._budget.add(tried.usage)
            failed.append(Attempt(tried.judged.why, tried.usage, seconds))
            self._next(tried, failed)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _next(self, tried: _Failure, failed: list[Attempt]) -> None:
        """Wait or change the request; raise when there is no point in another one."""
        judged = tried.judged
        if judged.verdict == "overflow":
            raise PromptTooLong(judged.why, failed)
        if judged.verdict == "refused":
            raise ModelRefused(f"{self.settings.base_url} refused {self.name!r}: {judged.why}", failed)
        if judged.verdict == "unsupported" and judged.parameter:
            self._dropped.add(judged.parameter)  # once for the whole run; recorded in every step from now on
            return
        tries = len(failed)
        if judged.verdict != "retry" or tries > self.settings.retries:
            raise ModelFailed(f"no answer from {self.name!r} after {tries} requests; the last: {judged.why}", failed)
        doubled = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (tries - 1))
        self._sleep(doubled if tried.wait is None else min(LONGEST_WAIT, tried.wait))

    def _try(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> _Answer | _Failure:
        import openai

        parameters = self._parameters()
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                **_request(self.name, messages, tools, parameters)
            )
        except openai.APIStatusError as error:
            text = error.response.text
            judged = judge_status(error.status_code, text, frozenset(parameters))
            return _Failure(judged, _usage_in(text), _retry_after(error.response.headers))
        except openai.APIConnectionError as error:  # timeouts too
            if isinstance(error.__cause__, CassetteMiss):
                raise error.__cause__ from None
            cause = error.__cause__ or error
            return _Failure(Judged("retry", f"{type(cause).__name__}: {cause} ({self.settings.base_url})"), Usage())
        body = _json(raw.text)
        usage = read_usage(body.get("usage") if isinstance(body, dict) else None)
        try:
            message, finish = read_answer(body)
        except Unusable as error:
            return _Failure(Judged("retry", f"unusable answer: {error}"), usage)
        return _Answer(message, finish, usage)

    def _parameters(self) -> dict[str, Any]:
        given = self.settings.parameters()
        if "max_tokens" in self._dropped and "max_tokens" in given:  # newer servers know it by another name
            given["max_completion_tokens"] = given["max_tokens"]
        return {name: value for name, value in given.items() if name not in self._dropped}

    def _filled(self, usage: Usage, messages: Sequence[Message], answer: Message) -> Usage:
        if self._counter is None or "missing" not in (usage.prompt_from, usage.completion_from):
            return usage
        counted = counted_usage(messages, answer, self._counter)
        if usage.prompt_from == "missing":
            usage = replace(usage, prompt=counted.prompt, prompt_from="counted")
        if usage.completion_from == "missing":
            usage = replace(usage, completion=counted.completion, completion_from="counted")
        return usage


@dataclass(frozen=True, slots=True)
class _Answer:
    message: Message
    finish: str | None
    usage: Usage


@dataclass(frozen=True, slots=True)
class _Failure:
    judged: Judged
    usage: Usage
    wait: float | None = None


def _request(
    name: str, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    request: dict[str, Any] = {"model": name, "messages": request_messages(messages)}
    if tools:
        request["tools"] = [dict(tool) for tool in tools]
    # what the client has no argument for travels in the body as it is
    named = {key: value for key, value in parameters.items() if key in ARGUMENTS}
    other = {key: value for key, value in parameters.items() if key not in ARGUMENTS}
    return {**request, **named, "extra_body": other or None}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _usage_in(text: str) -> Usage:
    body = _json(text)
    return read_usage(body.get("usage")) if isinstance(body, dict) else Usage()


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None
