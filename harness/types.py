"""The records everything is passed around in: frozen, without behaviour. ``None`` is "not measured", never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from agentmem.messages import Message

Purpose = Literal["agent", "memory", "judge", "embedding"]
Origin = Literal["reported", "counted", "missing"]
State = Literal["scored", "unparsable", "errored", "unjudged", "missing"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one attempt at one task ended.

    ``state`` says whether there is a score at all; ``passed`` and ``score`` (0 to 1) are None without one.
    ``detail`` holds what the scorer of the suite wants to keep.
    """

    state: State = "missing"
    passed: bool | None = None
    score: float | None = None
    error: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """One task to be played live. ``prompt`` opens it; ``data`` is the row of the suite; ``cluster`` groups
    tasks that share documents or a persona (statistics resample whole clusters)."""

    id: str
    suite: str
    prompt: tuple[Message, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Episode:
    """Something that happened before a task: an earlier chat that is played through the memory, not answered."""

    id: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """A judge is asked about an answer whose verdict is known. ``prompt`` is what the suite sends; ``right`` says
    whether the answer in it is a right one."""

    id: str
    prompt: tuple[Message, ...]
    right: bool


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One recorded task: every message as it was, in order, with the outcome it had."""

    id: str
    suite: str
    agent: str
    model: str
    messages: tuple[Message, ...]
    outcome: Outcome = Outcome()
    source: str = ""


Played = TypeVar("Played", Task, Trajectory)


@dataclass(frozen=True, slots=True)
class Session(Generic[Played]):
    """Tasks played one after another in one conversation."""

    id: str
    tasks: tuple[Played, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call and where each figure comes from. ``prompt`` includes ``cached``."""

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    prompt_from: Origin = "missing"
    cached_from: Origin = "missing"
    completion_from: Origin = "missing"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request that gave no answer. Its usage is what the server said it cost, if it said so."""

    error: str
    usage: Usage
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What a model answered: a message, what it used, and the requests that had failed before."""

    message: Message
    usage: Usage
    attempts: int = 1
    finish: str | None = None
    seconds: float | None = None
    failed: tuple[Attempt, ...] = ()
    fallbacks: tuple[str, ...] = ()  # what had to be left out of the request, such as "temperature"


@dataclass(frozen=True, slots=True)
class Call:
    """One row of the ledger. ``number`` counts the rows of a session from 0; ``position`` is the task's place in it."""

    arm: str
    session: str
    task: str
    position: int
    number: int
    purpose: Purpose
    usage: Usage
    messages: int
    needs: int | None = None
    missing: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    repairs: int | None = None
    repair_calls: int | None = None
    fetched: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task of one arm: its outcome and the sums of its calls, in tokens.

    ``repairs`` are the prompts of the repair calls plus what they fetch; ``fetched`` is the second part alone.
    """

    arm: str
    session: str
    task: str
    suite: str
    position: int
    attempt: int
    calls: int
    state: State
    passed: bool | None
    score: float | None
    prompt_tokens: int
    cached_tokens: int | None
    completion_tokens: int
    memory_prompt_tokens: int
    memory_completion_tokens: int
    repairs: int | None
    fetched: int | None
    needs: int | None
    needs_not_visible: int | None
    needs_lost: int | None
    actions: int | None
    actions_unsupported: int | None
    peak_prompt: int
    error: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Arm:
    """Engine + its parameters (+ the model named in the recipe); what a comparison compares."""

    name: str
    engine: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides a result. ``harness.recipe.sha256`` hashes it; the hash is stamped on every row."""

    kind: Literal["replay", "live"]
    suite: str
    data: Mapping[str, str]  # file name -> sha256 of what was used
    tasks: tuple[str, ...]
    per_session: int
    order: str
    seed: int
    arms: tuple[Arm, ...]
    model: str
    tokenizer: str
    window: int
    limits: Mapping[str, Any]
    code: Mapping[str, str]  # version, and sha256 over the sources


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What a sandbox is given. ``work`` is the only host folder it may write; it appears there at ``inside``.

    ``read_only`` are host paths that appear at the same path; ``environment`` is the whole environment of a
    command; ``seconds`` and ``output`` (bytes) limit each command, ``memory`` (MiB) each process.
    ``image`` names a container image and is used by docker only.
    """

    work: str
    inside: str
    read_only: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 60.0
    output: int = 1_000_000
    memory: int = 4_096
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of one command: ``output`` holds stdout and stderr as they came; ``cut`` counts the bytes
    left out of its middle; ``code`` is None when the time was up."""

    code: int | None
    output: str
    seconds: float
    cut: int = 0
