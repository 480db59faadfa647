"""Kills a process that captures, extracts and recalls, again and again: at random times, at random lines of code, and
right behind random writes.

    python -m tests.agentmem.crash_loop FOLDER POINTS SEED

Everything is imported once; each point is a forked process with its own memory object, killed with SIGKILL. A child
says on a pipe what it has captured; what was said there must be in the memory at the end, once. Prints a JSON report.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from agentmem.config import Config
from agentmem.core import Memory
from agentmem.longterm.citations import cited_ids
from agentmem.longterm.clock import ManualClock

CONFIG = {
    "pipeline": {"everyNConversations": 2, "l2DelayAfterL1Seconds": 0, "l2MinIntervalSeconds": 0},
    "persona": {"triggerEveryN": 4, "sceneBackupCount": 1, "backupCount": 1},
}
SESSIONS = 3
_WRITES = "add_turns put_atoms delete_atoms set_state update_state write_whole write_scenes write_persona put _follow"
WRITES = frozenset(_WRITES.split())  # functions whose return is a moment at which to die
WATCHED = ("/agentmem/longterm/", "/agentmem/store/", "/agentmem/offload/", "/agentmem/core.py")


def turn(number: int) -> list[dict[str, Any]]:
    """Turn ``number``: every third with ids, every third with times, the rest with neither; one with a tool result."""
    more: list[dict[str, Any]] = [{}, {}]
    if number % SESSIONS == 1:
        more = [{"id": f"{number}u"}, {"id": f"{number}a"}]
    elif number % SESSIONS == 2:
        more = [{"timestamp": 1_700_000_000 + 2 * number}, {"timestamp": 1_700_000_001 + 2 * number}]
    messages = [
        {"role": "user", "content": f"I own the item q{number}q of my collection.", **more[0]},
        {"role": "assistant", "content": f"Noted, answer {number}.", **more[1]},
    ]
    if number % 5 == 0:
        tool = {"role": "tool", "tool_call_id": f"c{number}", "content": f"output {number}\n" * 20}
        messages.insert(
            1,
            {
                **tool,
                **({"id": f"{number}t"} if "id" in more[0] else {}),
                **({"timestamp": 1_700_000_000 + 2 * number} if "timestamp" in more[0] else {}),
            },
        )
    return messages


def open_memory(folder: Path, number: int) -> Memory:
    clock = ManualClock(1_767_225_600.0 + 60 * number)
    return Memory(folder, user="ana", config=Config.parse(CONFIG), clock=clock, background=False)


def child(folder: Path, first: int, pipe: int, event: str, count: int) -> None:
    """Capture from turn ``first`` on, until killed; at the ``count``-th "line" or behind the ``count``-th "write"."""
    if event != "time":
        sys.settrace(_killer(event, count))
    number = first
    memory = open_memory(folder, number)
    while True:
        memory.capture(turn(number), session=f"s{number % SESSIONS}")
        os.write(pipe, b"%d\n" % number)
        memory.run_due()
        memory.recall(f"Who owns q{number}q?")
        number += 1
        memory.clock.advance(60)  # type: ignore[attr-defined]  # the clock of open_memory


def _killer(kind: str, count: int) -> Any:
    left = [count]

    def hit() -> None:
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def lines(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            hit()
        return lines

    def returns(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            hit()
        return returns

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if not any(part in frame.f_code.co_filename for part in WATCHED):
            return None
        if kind == "line":
            return lines
        return returns if frame.f_code.co_name in WRITES else None

    return trace


def play(folder: Path, points: int, seed: int) -> dict[str, Any]:
    """Kill ``points`` children and return what was found afterwards."""
    chance = random.Random(seed)
    reached = -1
    kinds = Counter[str]()
    for _ in range(points):
        event = chance.choice(["time", "line", "write"])
        count = chance.randrange(1, 6_000 if event == "line" else 60)
        delay = chance.uniform(0.01, 0.25)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            try:
                child(folder, reached + 1, writer, event, count)
            except BaseException as error:  # noqa: BLE001 - a child must never come back into its parent's code
                os.write(2, f"child failed: {error!r}\n".encode())
            os._exit(3)
        os.close(writer)
        if event == "time":
            time.sleep(delay)
            os.kill(pid, signal.SIGKILL)
        said = b""
        while piece := os.read(reader, 65_536):  # ends when the child is gone
            said += piece
        _, status = os.waitpid(pid, 0)
        os.close(reader)
        kinds[event] += 1
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            return {"error": f"a child ended by itself with status {status}"}
        numbers = [int(text) for text in said.decode().split("\n")[:-1]]
        reached = max([reached, *numbers])
    return check(folder, reached) | {"points": points, **kinds}


def check(folder: Path, reached: int) -> dict[str, Any]:
    """What is lost or doubled, in rows, atoms, journal, scenes, persona and evidence; all lists must be empty."""
    memory = open_memory(folder, reached + 1)
    memory.flush()
    memory.run_due()
    scope = memory.scope
    assert scope is not None
    turns = memory.store.turns_before(scope, 2**62, 2**62)
    atoms = memory.store.atoms(scope, superseded=True)
    live = {atom.id for atom in memory.store.atoms(scope)}
    want = [
        message["content"] for number in range(reached + 1) for message in turn(number) if message["role"] != "tool"
    ]
    said = Counter(row.content for row in turns if row.role != "tool")
    owned = Counter(atom.content for atom in atoms)
    facts = [f"User owns the item q{number}q of their collection." for number in range(reached + 1)]
    journal = Counter(line["id"] for line in memory.journal.lines("conversations"))
    profile = memory.pipeline.profile(scope)
    documents = [scene.body for scene in profile.scenes()] + [profile.persona() or ""]
    refs = [ref for row in turns for ref in row.refs]
    report = {
        "turns": len(want),
        "lost": [text for text in want if not said[text]],
        "doubled": [text for text, count in said.items() if count > 1],
        "atoms lost": [fact for fact in facts if not owned[fact]],
        "atoms doubled": [text for text, count in owned.items() if count > 1],
        "sources missing": [
            atom.id for atom in atoms if len(memory.store.turns(scope, atom.sources)) != len(atom.sources)
        ],
        "journal lost": [row.id for row in turns if not journal[row.id]],
        "journal doubled": [id for id, count in journal.items() if count > 1],
        "cited but gone": [id for text in documents for id in cited_ids(text) if id not in live],
        "evidence unreadable": [ref for ref in refs if not memory.evidence.get(ref)],
        "scenes": len(documents) - 1,
    }
    memory.close()
    return report


if __name__ == "__main__":
    print(json.dumps(play(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
