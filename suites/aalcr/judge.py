"""The judge prompts of AA-LCR, protocols 1.0 and 1.1, in our own words."""

from __future__ import annotations

from suites.judging import Template

USER_1_0 = Template(
    """Decide whether a candidate answer agrees with the official answer.

The question is given for reference only; do not answer it and do not use knowledge of your own.

Question:
{question}

Official answer:
{gold}

Candidate answer:
{answer}

Reply with one word and nothing else: CORRECT when the candidate answer agrees with the official answer, INCORRECT
when it does not.
""",
    ("question", "gold", "answer"),
)
SYSTEM_1_1 = Template(
    """You compare candidate answers with official answers. Rules:
1. The same value in another notation, unit or scale agrees.
2. Where the question demands a format, the candidate must have it.
3. Where the order of a list depends on how titles or articles are sorted, either order agrees.
4. Grade the value the candidate commits to in the end. Several values left side by side do not agree.
Reply with one JSON object and nothing else: {"verdict": "CORRECT"} or {"verdict": "INCORRECT"}.
""",
    (),
)
USER_1_1 = Template(
    """BEGIN QUESTION
{question}
END QUESTION
BEGIN OFFICIAL ANSWER
{gold}
END OFFICIAL ANSWER
BEGIN CANDIDATE ANSWER
{answer}
END CANDIDATE ANSWER
""",
    ("question", "gold", "answer"),
)
TEMPLATES = {"user_1.0": USER_1_0, "system_1.1": SYSTEM_1_1, "user_1.1": USER_1_1}
