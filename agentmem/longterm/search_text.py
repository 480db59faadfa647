"""Search results as a model reads them, each with its id, and as JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from agentmem.longterm.recall_lines import shorten, when
from agentmem.longterm.sanitize import escape_xml_tags
from agentmem.store.records import Atom, Turn

if TYPE_CHECKING:
    from agentmem.longterm.recall import Searched
    from agentmem.longterm.recall_candidates import Candidate

EACH = 2_000  # characters of one row; a whole message can be fetched by its id


def as_text(found: Searched) -> str:
    """A count, then a block a row. Nothing found is said in a way that does not invite the same search again."""
    if not found.rows:
        return "Nothing in memory matches. Another wording may; the same search will not."
    kind = "memories" if isinstance(found.rows[0], Atom) else "messages"
    blocks = [_block(row) for row in found.rows]
    note = f" ({'; '.join(found.degraded)})" if found.degraded else ""
    return "\n---\n".join([f"Found {len(blocks)} {kind}{note}, best first.", *blocks])


def row_json(row: Atom | Turn, candidate: Candidate) -> dict[str, Any]:
    """The row and why it was found."""
    base: dict[str, Any] = {
        "id": row.id,
        "content": row.content,
        "session": row.session,
        "score": candidate.score,
        "keyword_rank": candidate.keyword_rank,
        "keyword_score": candidate.keyword_score,
        "vector_rank": candidate.vector_rank,
        "vector_score": candidate.vector_score,
    }
    if isinstance(row, Atom):
        return base | {
            "type": row.type,
            "priority": row.priority,
            "scene": row.scene,
            "source_message_ids": list(row.sources),
            "timestamps": list(row.timestamps),
        }
    return base | {"role": row.role, "speaker": row.speaker, "time": said_at(row)}


def said_at(turn: Turn) -> str:
    """Local date and time of a message."""
    moment = datetime.fromtimestamp(turn.timestamp / 1000, UTC) + timedelta(minutes=turn.offset)
    return moment.strftime("%Y-%m-%d %H:%M")


def _block(row: Atom | Turn) -> str:
    content = shorten(escape_xml_tags(row.content.strip()), EACH, "…")
    if isinstance(row, Turn):
        who = f"{row.speaker} ({row.role})" if row.speaker else row.role
        return f"id {row.id} · {who} · {said_at(row)} · session {row.session}\n{content}"
    head = f"id {row.id} · {row.type} · {'global instruction' if row.priority < 0 else f'priority {row.priority}'}"
    scene = f" · scene {escape_xml_tags(row.scene)}" if row.scene else ""
    rests = f"\nrests on messages {', '.join(row.sources[:5])}" if row.sources else ""
    return f"{head}{scene}\n{content}{when(row, 'when')}{rests}"
