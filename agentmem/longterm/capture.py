"""Records conversations (L0): cleaned, once, in one transaction with its checkpoint. memory_core.md B4, B5.

What was said becomes rows; tool results go to the evidence store as they are and leave a line that names them. A
second capture of the same turn adds nothing, an edited turn replaces the old text, a failed write changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Literal, Protocol

from agentmem.longterm.alignment import Match, align
from agentmem.longterm.gates import looks_injected, should_capture
from agentmem.longterm.keys import digest, state_key
from agentmem.longterm.sanitize import sanitize_text, trim_code_blocks, whole_characters
from agentmem.longterm.transcript import Said
from agentmem.settings.longterm import Capture as CaptureSettings
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Scope, Turn

Outcome = Literal["ok", "failed", "aborted"]
OUTCOME_CHARS = 200  # of a tool result that stand in its line
EVERYTHING = 2**62


class Evidence(Protocol):
    """Where whole tool results go."""

    def put(self, text: str) -> str:
        """Store a text and return its ref. Raises ``EvidenceWriteFailed``."""
        ...


@dataclass(frozen=True, slots=True)
class Captured:
    """What one capture did: ids of turns, and how many messages were left out as noise.

    ``skipped`` says why a whole session is not recorded; empty when it is.
    """

    new: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: int = 0
    noise: int = 0
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    """A message as it will be stored; ``key`` names it for comparison, ``copy`` counts equal ones before it."""

    said: Said
    content: str
    key: str
    refs: tuple[str, ...] = ()
    copy: int = 0


class Recorder:
    """Writes turns. ``now`` gives milliseconds; ``zone`` is where days begin (None: the system's)."""

    def __init__(
        self,
        store: MemoryStore,
        settings: CaptureSettings,
        now: Callable[[], int],
        evidence: Evidence | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.now = now
        self.evidence = evidence
        self.zone = zone

    def capture(
        self,
        scope: Scope,
        session: str,
        messages: Sequence[Said],
        start: int | None = None,
        whole: bool | None = None,
        outcome: Outcome = "ok",
        then: Callable[[Captured], None] = lambda captured: None,
    ) -> Captured:
        """Record what is new in ``messages``.

        ``start`` is the index of the first new message when the host counted them before the turn. ``whole`` says
        that the list is the full history, so that a message that differs was edited; see ``alignment``. ``then`` is
        called inside the transaction. Raises ``StoreError`` or ``EvidenceWriteFailed``; nothing was recorded then, and
        the same call may be made again.
        """
        given = messages if start is None or not 0 <= start <= len(messages) else messages[start:]
        lines = _numbered(line for said in given if (line := self._line(said)) is not None)
        key = state_key("l0", scope, session)
        with self.store.transaction():
            state = self.store.state(key) or {}
            received = self.now()
            match, rows = self._match(scope, session, lines, state, whole)
            turns = [
                self._turn(lines[i], session, received, outcome, int(state.get("position", 0)) + n)
                for n, i in enumerate(match.new)
            ]
            for i, j in match.edited:
                turns.append(replace(self._turn(lines[i], session, received, outcome, rows[j].position), id=rows[j].id))
            added = self.store.add_turns(scope, turns)
            edited = bool(match.edited or added.replaced)
            new = set(added.new)
            written = [turn for turn in turns if edited or turn.id in new]
            self.store.set_state(key, self._checkpoint(scope, session, state, written, edited))
            captured = Captured(
                new=added.new,
                replaced=added.replaced,
                unchanged=len(lines) - len(added.new) - len(added.replaced),
                noise=len(given) - len(lines),
            )
            then(captured)
        return captured

    def _line(self, said: Said) -> _Line | None:
        if said.role == "tool":
            return self._tool_line(said)
        content = sanitize_text(said.content)
        if said.role == "assistant":
            content = trim_code_blocks(content, self.settings.code_block_chars).strip()
        if not should_capture(content):
            return None
        return _Line(said, content, _key(said, content), said.refs)

    def _tool_line(self, said: Said) -> _Line:
        refs = said.refs
        if not refs and self.evidence is not None:
            refs = (self.evidence.put(said.content),)
        first = next((line.strip() for line in said.content.splitlines() if line.strip()), "")
        state = "failed" if said.is_error else "ok"
        content = whole_characters(f"[tool {said.tool or 'tool'}: {state}] {first[:OUTCOME_CHARS]}".replace("\0", ""))
        return _Line(said, content, _key(said, digest(said.content)), refs)

    def _match(
        self, scope: Scope, session: str, lines: Sequence[_Line], state: dict[str, object], whole: bool | None
    ) -> tuple[Match, list[Turn]]:
        """Which lines are new or edited. A line with an id or a time of the host is known by it: the store tells."""
        keys = [line.key for line in lines]
        count = _number(state.get("count"))
        if 0 < count <= len(keys) and _chain("", keys[:count]) == state.get("chain"):
            return Match(tuple(range(count, len(keys)))), []  # the history so far, and more
        if all(line.said.id for line in lines) or (not whole and all(_is_sure(line.said) for line in lines)):
            return Match(tuple(range(len(lines)))), []
        rows = self.store.turns_before(scope, EVERYTHING, len(keys), session)
        match = align([_stored_key(row) for row in rows], keys, _roles(rows, lines), whole=False)
        if len(match.new) == len(keys) and (whole or (whole is None and keys[:2] == state.get("head"))):
            rows = self.store.turns_before(scope, EVERYTHING, EVERYTHING, session)
            rows.sort(key=lambda row: row.position)
            match = align([_stored_key(row) for row in rows], keys, _roles(rows, lines), whole)
        return match, rows

    def _turn(self, line: _Line, session: str, received: int, outcome: Outcome, position: int) -> Turn:
        said = line.said
        timestamp = received if said.timestamp is None else said.timestamp
        metadata: dict[str, object] = {"key": line.key}
        if outcome != "ok":
            metadata["outcome"] = outcome
        if said.role == "tool":
            metadata |= {"tool": said.tool, "error": said.is_error}
        elif looks_injected(line.content):
            metadata["flagged"] = True
        if said.id:
            id = f"{session}:{said.id}"
        else:
            id = f"t_{digest(session, line.key, str(line.copy) if _is_sure(said) else f'@{position}')}"
        offset = datetime.fromtimestamp(timestamp / 1000, UTC).astimezone(self.zone).utcoffset()
        return Turn(
            id=id,
            session=session,
            role=said.role,
            content=line.content,
            timestamp=timestamp,
            speaker=said.speaker,
            position=position,
            offset=int(offset.total_seconds() // 60) if offset else 0,
            kind="tool" if said.role == "tool" else "message",
            refs=line.refs,
            metadata=metadata,
            recorded=received,
        )

    def _checkpoint(
        self, scope: Scope, session: str, state: dict[str, object], turns: Sequence[Turn], edited: bool
    ) -> dict[str, object]:
        """Position of the next turn, and a hash over all keys so that a repeated history is known at a glance."""
        position = max([_number(state.get("position"))] + [turn.position + 1 for turn in turns])
        if edited:
            rows = self.store.turns_before(scope, EVERYTHING, EVERYTHING, session)
            keys = [_stored_key(row) for row in sorted(rows, key=lambda row: row.position)]
            count, chain, head = len(keys), _chain("", keys), keys[:2]
        else:
            keys = [str(turn.metadata["key"]) for turn in turns]
            known = state.get("head")
            head = ([*known, *keys] if isinstance(known, list) else keys)[:2]
            count, chain = _number(state.get("count")) + len(keys), _chain(str(state.get("chain", "")), keys)
        last = max([_number(state.get("last_captured_timestamp"))] + [turn.timestamp for turn in turns])
        return {
            "position": position,
            "count": count,
            "chain": chain,
            "head": head,
            "last_captured_timestamp": last,
        }


def _is_sure(said: Said) -> bool:
    """True for a message that its host names or times."""
    return bool(said.id) or said.timestamp is not None


def _numbered(lines: Iterable[_Line]) -> list[_Line]:
    """Equal lines in one list are told apart by a number."""
    seen: dict[str, int] = {}
    found = []
    for line in lines:
        found.append(replace(line, copy=seen.get(line.key, 0)))
        seen[line.key] = seen.get(line.key, 0) + 1
    return found


def _key(said: Said, content: str) -> str:
    when = "" if said.timestamp is None else str(said.timestamp)
    return digest(said.role, said.id, when, said.speaker, content)


def _stored_key(turn: Turn) -> str:
    return str(turn.metadata.get("key", ""))


def _chain(chain: str, keys: Sequence[str]) -> str:
    for key in keys:
        chain = digest(chain, key)
    return chain


def _roles(rows: Sequence[Turn], lines: Sequence[_Line]) -> list[tuple[str, str]]:
    return [(row.role, line.said.role) for row, line in zip(rows, lines, strict=False)]


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
