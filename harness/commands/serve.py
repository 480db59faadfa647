"""`serve`: the memory over HTTP. `memory`: look into one, take it along, forget, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from agentmem.core import Memory

Folder = Annotated[Path, typer.Argument(help="Folder of the memory.")]
User = Annotated[str, typer.Option(help="Whose memory.")]
Agent = Annotated[str, typer.Option(help="Agent part of the scope.")]
Team = Annotated[str, typer.Option(help="Team part of the scope.")]
Settings = Annotated[Path | None, typer.Option("--config", help="Configuration, .toml or .json (docs/config.md).")]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(serve)
    group = typer.Typer(help="Look into a memory, take it along, forget.", no_args_is_help=True)
    for command in (status, trace, flush, export, load, forget):
        group.command()(command)
    app.add_typer(group, name="memory")


def serve(
    folder: Annotated[Path, typer.Argument(help="Folder of the memory; made when it does not exist.")],
    config: Settings = None,
    user: Annotated[str | None, typer.Option(help="User of requests that name none.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on (default: server.host).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (default: server.port).")] = None,
) -> None:
    """Serve a memory over HTTP until interrupted: /recall, /capture, /search/*, /session/end, /seed, /health.

    agentmem-bench serve ./memory --user ana
    """
    from harness.errors import UsageError

    try:
        from agentmem.gateway import serve as run
    except ImportError as error:
        raise UsageError(f"serving needs the extra: pip install 'agentmem-bench[gateway]' ({error})") from error
    memory = _open(folder, user, config=config, background=True)
    settings = memory.config.server
    typer.echo(
        f"serving {folder} on http://{host or settings.host}:{settings.port if port is None else port}", err=True
    )
    run(memory, host, port)


def status(
    folder: Folder, user: User, agent: Agent = "default", team: Team = "default", config: Settings = None
) -> None:
    """What a memory holds, which of its parts work, what waits and why (JSON).

    Example:  agentmem-bench memory status ./memory --user ana
    """
    with _existing(folder, user, agent, team, config) as memory:
        typer.echo(json.dumps(memory.status().as_json(), ensure_ascii=False, indent=1))


def trace(
    folder: Folder,
    user: User,
    name: Annotated[str, typer.Argument(help="persona, a scene's file, or the id of an atom or message.")] = "persona",
    agent: Agent = "default",
    team: Team = "default",
) -> None:
    """Follow every statement to the atoms, messages and evidence it rests on.

    Example:  agentmem-bench memory trace ./memory persona --user ana
    """
    from agentmem.longterm.trace import as_text

    with _existing(folder, user, agent, team, None) as memory:
        typer.echo(as_text(memory.trace(name)) or f"there is no {name} yet")


def flush(
    folder: Folder, user: User, agent: Agent = "default", team: Team = "default", config: Settings = None
) -> None:
    """Extract everything that waits and write scenes and persona.

    Example:  agentmem-bench memory flush ./memory --user ana
    """
    with _existing(folder, user, agent, team, config) as memory:
        flushed = memory.flush()
        for ran in flushed.ran:
            typer.echo(f"{ran.level} {ran.session or ran.scope.user}: {ran.error or 'done'}")
        if not flushed.done:
            raise typer.Exit(1)


def export(
    folder: Folder,
    path: Annotated[Path, typer.Argument(help="The archive to write (.zip).")],
    user: User,
    agent: Agent = "default",
    team: Team = "default",
) -> None:
    """Write turns, atoms, scenes, persona and evidence of one scope into an archive.

    Example:  agentmem-bench memory export ./memory ana.zip --user ana
    """
    with _existing(folder, user, agent, team, None) as memory:
        _print_counts(memory.export(path))


def load(
    folder: Annotated[Path, typer.Argument(help="Folder of the memory; made when it does not exist.")],
    path: Annotated[Path, typer.Argument(help="The archive to read.")],
    user: Annotated[str | None, typer.Option(help="Import for this user instead of the archive's own.")] = None,
    agent: Agent = "default",
    team: Team = "default",
) -> None:
    """Take over an archive; what is known already is not added again.

    Example:  agentmem-bench memory load ./other ana.zip
    """
    from dataclasses import asdict

    with _open(folder, user, agent, team) as memory:
        _print_counts(asdict(memory.load(path, memory.scope)))


def forget(
    folder: Folder,
    user: User,
    ids: Annotated[list[str] | None, typer.Argument(help="Records to forget; none: everything of the scope.")] = None,
    agent: Agent = "default",
    team: Team = "default",
    sources: Annotated[bool, typer.Option(help="Also forget the messages that forgotten atoms rest on.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget records or a whole scope, and print the proof; exit code 1 when anything is left.

    Example:  agentmem-bench memory forget ./memory --user ana --yes
    """
    if not yes:
        typer.confirm(f"Forget {', '.join(ids) if ids else f'everything of {user}'}?", abort=True)
    with _existing(folder, user, agent, team, None) as memory:
        forgotten = memory.forget(ids or None, sources=sources)
    removed = {"turns": forgotten.turns, "atoms": forgotten.atoms, "evidence": forgotten.evidence}
    _print_counts(removed | {f"left in {place}": count for place, count in forgotten.left.items()})
    if not forgotten.complete:
        raise typer.Exit(1)


def _existing(folder: Path, user: str, agent: str, team: str, config: Path | None) -> Memory:
    from harness.errors import UsageError

    if not (folder / "memory.db").exists():
        raise UsageError(f"{folder} holds no memory (no memory.db); serve or load makes one")
    return _open(folder, user, agent, team, config)


def _open(
    folder: Path,
    user: str | None,
    agent: str = "default",
    team: str = "default",
    config: Path | None = None,
    background: bool = False,
) -> Memory:
    from agentmem import Memory
    from agentmem.config import Config

    settings: Any = Config.load(config) if config else None
    return Memory(folder, user=user, agent=agent, team=team, config=settings, background=background)


def _print_counts(counts: dict[str, Any]) -> None:
    for name, count in counts.items():
        typer.echo(f"{name:24} {count}")
