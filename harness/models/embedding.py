"""An embedder behind an endpoint, as a session is given one: every request is in the ledger and on the cassette."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agentmem.errors import ModelUnavailable
from harness.errors import CassetteMiss
from harness.types import Usage

if TYPE_CHECKING:
    from agentmem.embed.protocol import Embedder, Vectors
    from agentmem.llm.protocol import Attempt


class ChargedEmbedder:
    """Reports each request of ``inner``, failed ones too, to ``charge`` (usage, error). One a session."""

    def __init__(self, inner: Embedder, charge: Callable[[Usage, str | None], None]) -> None:
        self.name = inner.name
        self.dimensions = inner.dimensions
        self._inner = inner
        self._charge = charge

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder``. Raises ``CassetteMiss`` for a request that was not recorded."""
        try:
            return self._inner.embed(texts)
        except ModelUnavailable as failed:
            cause: BaseException | None = failed
            while cause is not None and not isinstance(cause, CassetteMiss):
                cause = cause.__cause__
            raise cause or failed from None
        finally:
            for attempt in self._inner.spent():
                # without the address in front of it, so that a replay elsewhere writes the same row
                error = attempt.error and attempt.error.partition(": ")[2]
                self._charge(_usage(attempt), error)

    def spent(self) -> list[Attempt]:
        """Empty: everything has been charged."""
        return []


def _usage(attempt: Attempt) -> Usage:
    """Tokens as the server reported them; what it did not report stays missing, since it may cut texts as it likes."""
    prompt = attempt.tokens.prompt
    return Usage() if prompt is None else Usage(prompt, None, 0, None, "reported", "missing", "reported")
