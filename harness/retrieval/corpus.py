"""What a retrieval bench is made of: conversations, and questions whose evidence is known by message id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Said:
    """One message. ``timestamp`` is in milliseconds since 1970, the local time of the conversation taken as UTC."""

    id: str
    session: str
    role: str
    speaker: str
    text: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class Asked:
    """One question. ``evidence`` are ids of messages that hold the answer, each once; empty where none is known.

    ``sessions`` are the sessions of the evidence, for data that names sessions only. ``answers`` are the texts that
    answer it.
    """

    id: str
    text: str
    group: str
    evidence: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Noted:
    """A statement that the data set itself makes about a conversation, with the messages it rests on."""

    id: str
    session: str
    text: str
    sources: tuple[str, ...]
    timestamp: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in the order in which they were said, the questions about them, and what the data set notes of them."""

    id: str
    said: tuple[Said, ...]
    asked: tuple[Asked, ...]
    noted: tuple[Noted, ...] = ()


@dataclass(frozen=True, slots=True)
class Corpus:
    """A data set. ``groups`` are those that count in the total; others are reported only. ``dev`` are the
    conversations that weights were set on."""

    name: str
    conversations: tuple[Conversation, ...]
    sha256: Mapping[str, str]
    groups: Mapping[str, str]
    dev: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
