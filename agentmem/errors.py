"""Every error the memory core raises, in one tree.

    AgentMemError
    ├── ConfigError              a setting has an unknown name, type or range
    ├── MessageError             a chat message does not fit the shape it claims
    ├── TokenizerError           a tokenizer is unknown or its data is missing
    ├── EvidenceError
    │   ├── EvidenceNotFound     a ref, node or tool call id that the store does not hold
    │   ├── EvidenceWriteFailed  the disk refused; the result must stay in the prompt
    │   └── EvidenceCorrupt      the bytes on disk are not the bytes that were written
    ├── SessionLocked            another process works on this session
    ├── CanvasError              a canvas file or an edit of it is not valid
    ├── ModelError               a language model or embedder failed
    │   ├── ModelUnavailable     down, slow or refusing; worth another try
    │   ├── ModelRejected        wrong key, model or URL; no retry helps
    │   ├── ContextOverflow      the server says that the prompt is too long
    │   └── BadAnswer            it answered, and the answer cannot be used
    ├── GatewayError
    │   ├── GatewayDown          a memory in another process does not answer, or cannot now
    │   └── GatewayRefused       it answers that the request itself is wrong
    └── StoreError
        ├── SchemaTooNew         the file was written by a newer version
        ├── ScopeRequired        a query without user, agent or team
        ├── StoreConflict        a row was changed or removed by somebody else meanwhile
        └── RecordNotFound       an id that the store does not hold

A host that wants one net catches ``AgentMemError``; the network edge is
``ModelError``, the disk is ``EvidenceError`` and ``StoreError``.
"""

from __future__ import annotations


class AgentMemError(Exception):
    """Base of every error of the memory core."""


class ConfigError(AgentMemError, ValueError):
    """A setting has an unknown name, a wrong type or a value out of range."""


class MessageError(AgentMemError, ValueError):
    """A chat message does not fit the shape it claims to have."""


class TokenizerError(AgentMemError, ValueError):
    """A tokenizer is unknown, or its data is missing or damaged."""


class EvidenceError(AgentMemError):
    """Something is wrong with stored evidence."""


class EvidenceNotFound(EvidenceError, KeyError):
    """A ref, node or tool call id that the store does not hold."""

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0]) if self.args else ""


class EvidenceWriteFailed(EvidenceError):
    """The disk refused a write; the result must stay in the prompt."""


class EvidenceCorrupt(EvidenceError):
    """The bytes on disk are not the bytes that were written."""


class SessionLocked(AgentMemError):
    """Another process works on this session."""


class CanvasError(AgentMemError, ValueError):
    """A canvas file, or an edit of one, is not valid."""


class ModelError(AgentMemError):
    """A language model or an embedder failed."""


class ModelUnavailable(ModelError):
    """The server is down, slow or refuses for now; another try may help.

    ``retry_after`` is how long the server asked to wait, in seconds, or None.
    """

    retry_after: float | None = None


class ModelRejected(ModelError):
    """Wrong key, model or URL; no retry helps."""


class ContextOverflow(ModelError):
    """The server says that the prompt does not fit its window."""


class BadAnswer(ModelError):
    """The model answered, and the answer cannot be used."""


class GatewayError(AgentMemError):
    """A request to a memory behind a gateway failed."""


class GatewayDown(GatewayError):
    """The gateway does not answer, or answers that it cannot now."""


class GatewayRefused(GatewayError):
    """The gateway answers that the request itself is wrong."""


class StoreError(AgentMemError):
    """The long-term store cannot do what was asked."""


class SchemaTooNew(StoreError):
    """The file was written by a newer version of this package."""


class ScopeRequired(StoreError, ValueError):
    """A query or a write without user, agent or team."""


class StoreConflict(StoreError):
    """A row to be replaced was changed or removed by somebody else meanwhile; nothing was written."""


class RecordNotFound(StoreError, KeyError):
    """A record id that the store does not hold."""

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0]) if self.args else ""
