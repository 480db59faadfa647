"""A chat model behind an OpenAI-compatible endpoint: errors by name, retries, every attempt accounted for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentmem.errors import BadAnswer, ContextOverflow, ModelError, ModelRejected, ModelUnavailable
from agentmem.llm.nothink import without_thinking
from agentmem.llm.protocol import Ask, Attempt, Reply, Tokens
from agentmem.messages import Message, ToolCall, openai_calls

if TYPE_CHECKING:
    import openai
    from tenacity import RetryCallState

    from agentmem.settings.models import Llm

LONGEST_WAIT = 20.0  # seconds between two attempts; a server that asks for more is left to the caller's own retry
_OVERFLOW = ("context_length", "context length", "maximum context", "too many tokens", "prompt is too long")
_REFUSED = ("unsupported", "not supported", "does not support", "only the default")
_QUOTA = ("insufficient_quota", "billing", "exceeded your current quota")


class OpenAIModel:
    """Talks to ``settings.base_url``. ``sleep`` and ``clock`` are for tests.

    A parameter that the server refuses by name (``temperature``, ``max_tokens``) is dropped or renamed once and
    remembered, since reasoning models refuse both; ``adapted`` lists what was changed.
    """

    def __init__(
        self,
        settings: Llm,
        model: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.name = model or settings.model
        self.adapted: set[str] = set()
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._attempts: list[Attempt] = []
        self._client: openai.OpenAI | None = None

    def ask(self, request: Ask) -> Reply:
        """See ``LanguageModel``. Only ``ModelUnavailable`` is tried again, ``settings.attempts`` times in all."""
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        retrying = Retrying(
            stop=stop_after_attempt(self.settings.attempts),
            wait=_wait,
            retry=retry_if_exception(_worth_another_try),
            sleep=self._sleep,
            reraise=True,
        )
        return retrying(self._once, request)

    def spent(self) -> list[Attempt]:
        """See ``LanguageModel``."""
        with self._lock:
            attempts, self._attempts = self._attempts, []
        return attempts

    def close(self) -> None:
        """Close connections. The model may be used again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _once(self, request: Ask) -> Reply:
        started = self._clock()
        tokens = Tokens()
        error: ModelError | None = None
        try:
            completion = self._send(request)
            tokens = _tokens(completion)
            return _reply(completion, tokens, self._where(request))
        except ModelError as failure:
            error = failure
            raise
        finally:
            text = None if error is None else str(error)
            with self._lock:
                self._attempts.append(Attempt(request.task, self.name, tokens, self._clock() - started, text))

    def _send(self, request: Ask) -> Any:
        import openai

        while True:
            try:
                return self._connection().chat.completions.create(**self._parameters(request))
            except openai.BadRequestError as error:
                if not self._adapt(str(error)):
                    raise self._named(error, request) from error
            except openai.OpenAIError as error:
                raise self._named(error, request) from error
            except ValueError as error:  # a body that is no JSON
                raise ModelUnavailable(f"{self._where(request)}: the reply is no JSON: {str(error)[:100]}") from error

    def _parameters(self, request: Ask) -> dict[str, Any]:
        limit = request.max_tokens or self.settings.max_tokens
        temperature = self.settings.temperature if request.temperature is None else request.temperature
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [_sent(message) for message in request.messages],
            "max_completion_tokens" if "max_tokens" in self.adapted else "max_tokens": limit,
        }
        if temperature is not None and "temperature" not in self.adapted:
            body["temperature"] = temperature
        if request.tools:
            body["tools"] = [dict(tool) for tool in request.tools]
        quiet = without_thinking(body, self.settings.disable_thinking)
        extra = {key: value for key, value in quiet.items() if key not in body}
        return {**body, "extra_body": extra, "timeout": request.timeout or self.settings.timeout_ms / 1000}

    def _adapt(self, complaint: str) -> bool:
        """Change what the server refuses by name, once each; False when there is nothing to change."""
        text = complaint.lower()
        for name in ("max_tokens", "temperature"):
            refused = any(words in text for words in _REFUSED)
            if name in text and refused and name not in self.adapted:
                self.adapted.add(name)
                return True
        return False

    def _connection(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                import openai

                key = self.settings.api_key or "none"  # servers without keys still want the header
                self._client = openai.OpenAI(base_url=self.settings.base_url, api_key=key, max_retries=0)
            return self._client

    def _where(self, request: Ask) -> str:
        return f"{request.task}: model {self.name} at {self.settings.base_url}"

    def _named(self, error: openai.OpenAIError, request: Ask) -> ModelError:
        import openai

        where = self._where(request)
        if isinstance(error, openai.APITimeoutError):
            return ModelUnavailable(f"{where}: no answer within the time limit")
        if not isinstance(error, openai.APIStatusError):
            return ModelUnavailable(f"{where}: {str(error)[:200]}")
        text = f"{where}: HTTP {error.status_code}: {error.message[:300]}"
        if any(sign in error.message.lower() for sign in _OVERFLOW):
            return ContextOverflow(text)
        if error.status_code in (408, 409, 425, 429) or error.status_code >= 500:
            if any(sign in error.message.lower() for sign in _QUOTA):
                return ModelRejected(text)
            failure = ModelUnavailable(text)
            failure.retry_after = _seconds(error.response.headers.get("retry-after"))
            return failure
        return ModelRejected(text)


def _sent(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = openai_calls(message.tool_calls)
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def _reply(completion: Any, tokens: Tokens, where: str) -> Reply:
    choices = getattr(completion, "choices", None)
    if not choices:
        raise BadAnswer(f"{where}: the reply has no choices")
    message, finish = choices[0].message, choices[0].finish_reason
    calls = tuple(
        ToolCall(call.id, call.function.name, call.function.arguments)
        for call in (getattr(message, "tool_calls", None) or ())
        if call.type == "function"
    )
    text = getattr(message, "content", None) or ""
    if not text.strip() and not calls:
        hint = "; raise llm.maxTokens or turn off thinking" if finish == "length" else ""
        raise BadAnswer(f"{where}: the answer is empty (finish reason {finish}){hint}")
    return Reply(text, calls, finish, tokens)


def _tokens(completion: Any) -> Tokens:
    usage = getattr(completion, "usage", None)
    if usage is None:
        return Tokens()
    prompt_details = getattr(usage, "prompt_tokens_details", None)
    completion_details = getattr(usage, "completion_tokens_details", None)
    return Tokens(
        prompt=getattr(usage, "prompt_tokens", None),
        cached=getattr(prompt_details, "cached_tokens", None),
        completion=getattr(usage, "completion_tokens", None),
        reasoning=getattr(completion_details, "reasoning_tokens", None),
    )


def _worth_another_try(error: BaseException) -> bool:
    return isinstance(error, ModelUnavailable) and (error.retry_after or 0) <= LONGEST_WAIT


def _wait(state: RetryCallState) -> float:
    """What the server asked for, else 0.5, 1, 2, ... seconds."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ModelUnavailable) else None
    return asked if asked is not None else min(LONGEST_WAIT, 0.5 * 2.0 ** (state.attempt_number - 1))


def _seconds(header: str | None) -> float | None:
    try:
        return max(0.0, float(header)) if header is not None else None
    except ValueError:  # an HTTP date: not worth reading, the usual wait will do
        return None
