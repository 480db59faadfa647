"""`show` and `trace`: from a canvas to its tool calls to the stored results, and back."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from harness.errors import UsageError

Within = Annotated[
    Path, typer.Option("--in", help="Folder to look in: a session's, or one above (a run with --keep-evidence).")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(show)
    app.command()(trace)


def show(
    ref: Annotated[str, typer.Argument(help="A pointer as it stands in a prompt: refs/<hex>.txt")],
    within: Within = Path(),
    lines: Annotated[str | None, typer.Option(help="Lines to print, such as 40-80.")] = None,
) -> None:
    """Print a stored result, byte for byte.

    Example:  agentmem-bench show refs/0f3a....txt --in results/runs/RUN/evidence
    """
    from agentmem.errors import EvidenceNotFound
    from agentmem.offload.evidence import EvidenceStore, encode
    from agentmem.offload.retention import sessions

    folders = _sessions(within, sessions(within))
    store = next((EvidenceStore(folder) for folder in folders if ref in EvidenceStore(folder)), None)
    if store is None:
        try:
            EvidenceStore(folders[0]).get(ref)
        except EvidenceNotFound as error:
            raise UsageError(f"{error} ({len(folders)} session folders searched)") from None
        return
    text = store.get(ref)
    if lines:
        from agentmem.offload.drilldown import line_range

        rows = text.split("\n")
        try:
            first, last = line_range(lines, len(rows))
        except ValueError as error:
            raise UsageError(str(error)) from None
        text = "\n".join(rows[first - 1 : last]) + "\n"
    sys.stdout.flush()
    sys.stdout.buffer.write(encode(text))


def trace(
    name: Annotated[
        str | None,
        typer.Argument(help="A canvas file, a node id, a tool call id or a ref; nothing lists the sessions."),
    ] = None,
    within: Within = Path(),
    limit: Annotated[int, typer.Option(min=1, help="Lines of a stored result that are printed.")] = 20,
) -> None:
    """Follow a canvas to its entries to their evidence, or a ref back to its entry and its node.

    Examples:  agentmem-bench trace --in SESSION
               agentmem-bench trace 001-fix-login.mmd --in SESSION
               agentmem-bench trace 001-N3 --in SESSION
               agentmem-bench trace refs/0f3a....txt --in SESSION
    """
    from agentmem.offload.retention import sessions
    from agentmem.offload.tracing import Trail, overview

    folders = _sessions(within, sessions(within))
    if name is None:
        for folder in folders:
            _say(overview(folder))
        return
    found = [text for folder in folders if (text := Trail(folder).follow(name, limit))]
    if not found:
        known = sorted({word for folder in folders for word in Trail(folder).names()})
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise UsageError(f"{name!r} is no canvas, node, tool call or ref of {len(folders)} session folders{hint}")
    _say("\n".join(found))


def _say(text: str) -> None:
    """Print a text that may hold anything: what no terminal can show is shown as an escape."""
    shown = "".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text)
    print(shown.encode("utf-8", "backslashreplace").decode())


def _sessions(within: Path, found: Iterable[Path]) -> list[Path]:
    folders = list(found)
    if not folders:
        raise UsageError(f"no session folder in or below {within}: expected one with entries.jsonl or refs/ in it")
    return folders
