"""An embedder behind an OpenAI-compatible endpoint: batches of 256, texts cut at 5,000 characters, retries, usage."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agentmem.embed.normal import normalised
from agentmem.embed.protocol import Vectors
from agentmem.errors import BadAnswer, ModelError, ModelRejected, ModelUnavailable
from agentmem.llm.protocol import Attempt, Tokens

if TYPE_CHECKING:
    import openai
    from tenacity import RetryCallState

    from agentmem.settings.models import Embedding

BATCH = 256  # memory_core.md B19
ATTEMPTS = 3  # of one batch; rows that stay without a vector are tried again later anyway
LONGEST_WAIT = 10.0  # seconds between two attempts
BLANK = " "  # servers refuse an empty text


class EndpointEmbedder:
    """Talks to ``settings.base_url``. ``timeout`` (seconds) replaces that of the settings; ``sleep`` waits between
    tries; ``transport`` (of the HTTP library of ``openai``) stands between it and the network."""

    def __init__(
        self,
        settings: Embedding,
        timeout: float | None = None,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], None] = time.sleep,
        transport: Any = None,
    ) -> None:
        self.settings = settings
        self.name = f"{settings.model}@{settings.base_url.rstrip('/')}-{settings.max_input_chars}"
        self.dimensions = settings.dimensions
        self._timeout = timeout if timeout is not None else settings.timeout_ms / 1000
        self._attempts_allowed = attempts
        self._sleep = sleep
        self._transport = transport
        self._lock = threading.Lock()
        self._attempts: list[Attempt] = []
        self._client: openai.OpenAI | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder``. Every batch is retried by itself; the first that fails for good ends the call."""
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        retrying = Retrying(
            stop=stop_after_attempt(self._attempts_allowed),
            wait=_wait,
            retry=retry_if_exception_type(ModelUnavailable),
            sleep=self._sleep,
            reraise=True,
        )
        cut = [_sendable(text, self.settings.max_input_chars) for text in texts]
        parts = [retrying(self._once, cut[start : start + BATCH]) for start in range(0, len(cut), BATCH)]
        if not parts:
            return np.zeros((0, self.dimensions), np.float32)
        matrix = normalised(np.concatenate(parts))
        matrix[[i for i, text in enumerate(cut) if text == BLANK]] = 0
        return matrix

    def spent(self) -> list[Attempt]:
        """See ``Embedder``."""
        with self._lock:
            attempts, self._attempts = self._attempts, []
        return attempts

    def close(self) -> None:
        """Close connections. The embedder may be used again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _once(self, texts: list[str]) -> Vectors:
        started = time.monotonic()
        tokens, failure = Tokens(), None
        try:
            reply = self._send(texts)
            tokens = Tokens(prompt=getattr(getattr(reply, "usage", None), "prompt_tokens", None))
            return self._vectors(reply, len(texts))
        except ModelError as error:
            failure = str(error)
            raise
        finally:
            seconds = time.monotonic() - started
            with self._lock:
                self._attempts.append(Attempt("embedding", self.settings.model, tokens, seconds, failure))

    def _send(self, texts: list[str]) -> Any:
        import openai

        extra: dict[str, Any] = {"dimensions": self.dimensions} if self.settings.send_dimensions else {}
        try:
            return self._connection().embeddings.create(
                model=self.settings.model, input=texts, encoding_format="float", timeout=self._timeout, **extra
            )
        except openai.APITimeoutError as error:
            raise ModelUnavailable(f"{self._where()}: no answer within {self._timeout:g} s") from error
        except openai.APIStatusError as error:
            raise self._named(error) from error
        except openai.OpenAIError as error:
            raise ModelUnavailable(f"{self._where()}: {str(error.__cause__ or error)[:200]}") from error
        except ValueError as error:  # a body that is no JSON, or a reply without data
            raise BadAnswer(f"{self._where()}: {str(error)[:200]}") from error

    def _vectors(self, reply: Any, count: int) -> Vectors:
        rows = getattr(reply, "data", None) or []
        if sorted(row.index for row in rows) != list(range(count)):
            raise BadAnswer(f"{self._where()}: asked for {count} vectors, got {len(rows)}")
        rows = sorted(rows, key=lambda row: row.index)
        lengths = {len(row.embedding) for row in rows}
        if lengths != {self.dimensions}:
            raise BadAnswer(
                f"{self._where()}: vectors of {sorted(lengths)} dimensions, embedding.dimensions is {self.dimensions}"
            )
        # a server may write null for NaN
        return np.array([[np.nan if x is None else x for x in row.embedding] for row in rows], np.float32)

    def _named(self, error: openai.APIStatusError) -> ModelError:
        text = f"{self._where()}: HTTP {error.status_code}: {error.message[:300]}"
        if error.status_code in (408, 409, 425, 429) or error.status_code >= 500:
            failure = ModelUnavailable(text)
            failure.retry_after = _seconds(error.response.headers.get("retry-after"))
            return failure
        if "dimensions" in error.message and self.settings.send_dimensions:
            text += "; set embedding.sendDimensions to false"
        return ModelRejected(text)

    def _where(self) -> str:
        return f"embedder {self.settings.model} at {self.settings.base_url}"

    def _connection(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                import openai

                key = self.settings.api_key or "none"  # servers without keys still want the header
                http = openai.DefaultHttpxClient(transport=self._transport) if self._transport else None
                self._client = openai.OpenAI(
                    base_url=self.settings.base_url, api_key=key, max_retries=0, http_client=http
                )
            return self._client


def _sendable(text: str, limit: int) -> str:
    cut = text[:limit].replace("\0", " ")
    return cut.encode("utf-8", "replace").decode("utf-8") if cut.strip() else BLANK


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ModelUnavailable) else None
    return min(LONGEST_WAIT, asked if asked is not None else 0.5 * 2.0 ** (state.attempt_number - 1))


def _seconds(header: str | None) -> float | None:
    try:
        return max(0.0, float(header)) if header is not None else None
    except ValueError:  # an HTTP date: the usual wait will do
        return None
