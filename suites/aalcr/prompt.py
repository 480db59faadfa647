"""The one user message of AA-LCR: all documents of the set in list order, then the question.

The frame is part of the protocol (data set card of ArtificialAnalysis/AA-LCR, Apache-2.0): the finished prompt must
have as many tokens as the column ``input_tokens`` says.
"""

from __future__ import annotations

from collections.abc import Sequence

INSTRUCTION = "Answer the following question using the input documents provided above."


def build_prompt(documents: Sequence[str], question: str) -> str:
    """The prompt. Documents are taken as they are, not stripped, and numbered from 1."""
    numbered = "\n\n".join(
        f"BEGIN DOCUMENT {n}:\n{text}\nEND DOCUMENT {n}" for n, text in enumerate(documents, start=1)
    )
    return (
        f"BEGIN INPUT DOCUMENTS\n\n{numbered}\n\nEND INPUT DOCUMENTS\n\n"
        f"{INSTRUCTION}\n\nSTART QUESTION\n\n{question}\n\nEND QUESTION\n"
    )
