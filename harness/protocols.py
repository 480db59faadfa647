"""What the parts of the harness expect of each other: Model, ContextEngine, Environment, Sandbox, Suite, Judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from pydantic import BaseModel

from agentmem.messages import Message, ToolCall
from agentmem.tokens import Counter
from harness.types import Outcome, Ran, SandboxSpec, Step, Task, Usage

if TYPE_CHECKING:
    from agentmem.embed.protocol import Embedder


@dataclass(frozen=True)
class EngineContext:
    """What an engine is given for one session. ``folder`` is its own; ``model`` and ``embedder`` serve its own calls,
    or are None."""

    session: str
    window: int
    counter: Counter
    folder: Path
    clock: Callable[[], float]
    model: Model | None = None
    embedder: Embedder | None = None


class ContextEngine(Protocol):
    """Stands between an agent's history and the model. One instance plays one session."""

    name: ClassVar[str]
    Parameters: ClassVar[type[BaseModel]]

    def __init__(self, parameters: Any, context: EngineContext) -> None: ...

    def begin_task(self, task: str) -> None:
        """A new task begins with the next message of the history."""

    def observe(self, message: Message) -> None:
        """A message has just been added to the history; tool results pass here before anything else sees them."""

    def assemble(self, history: Sequence[Message]) -> Sequence[Message]:
        """The prompt that is sent. ``history`` only ever grows during a session; it must not be changed."""

    def evidence(self, ref: str) -> str:
        """The whole text behind a pointer (``Message.refs``). Raises ``EvidenceNotFound``."""

    def overflow(self, tokens: int) -> None:
        """The server refused the last prompt, of so many tokens, as too long; the next one must be shorter."""

    def spent(self) -> list[Usage]:
        """What the engine's own model calls used since the last time it was asked."""

    def tools(self) -> list[dict[str, Any]]:
        """Tools it offers the agent (OpenAI schema), such as drill-down; may be empty."""

    def call(self, call: ToolCall) -> str:
        """Run one of its tools."""

    def close(self) -> None:
        """The session is over."""


class Model(Protocol):
    """A chat model."""

    name: str

    def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Step:
        """Answer. Raises ``ModelFailed`` when no answer can be had, ``ContextOverflow`` when the prompt is too long."""


class Environment(Protocol):
    """Where the actions of one task run."""

    def tools(self) -> list[dict[str, Any]]:
        """The tools it offers, in OpenAI schema."""

    def execute(self, call: ToolCall) -> Message:
        """Run one tool call; a failing command is a result, not an exception."""

    def finish(self, answer: str) -> Outcome:
        """Score what the agent left behind. Called once."""

    def close(self) -> None:
        """Free everything it holds."""


class Suite(Protocol):
    """One benchmark."""

    name: str

    def tasks(self) -> Sequence[Task]:
        """Its tasks, in file order."""

    def environment(self, task: Task, folder: Path) -> Environment:
        """A fresh environment for one task."""


class Judge(Protocol):
    """A model that grades. Replies are parsed by the suite."""

    def ask(self, messages: Sequence[Message]) -> str:
        """The raw reply. Raises ``JudgeFailed``."""


class Sandbox(Protocol):
    """Runs commands without network, inside limits. Files last between commands, processes do not."""

    isolation: str
    root: str  # where a command sees the work folder

    def run(self, command: str, seconds: float | None = None) -> Ran:
        """Run a bash command in ``root``. Raises ``EnvironmentFailed`` when the sandbox itself does not work."""

    def close(self) -> None:
        """End every process in it."""


@dataclass(frozen=True)
class SuiteContext:
    """What the harness lends a suite. ``data`` is the folder given by the user, ``cache`` may be kept between runs."""

    data: Path | None
    cache: Path
    counter: Counter
    open_sandbox: Callable[[SandboxSpec], Sandbox]
    judge: Judge | None = None
    mode: Literal["reference", "guarded"] = "reference"
    clock: Callable[[], float] | None = None
    options: Mapping[str, str] = field(default_factory=dict)  # --option key=value, named by the suite
