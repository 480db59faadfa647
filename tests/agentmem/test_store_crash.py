"""A process that is killed at any moment loses nothing it was told was stored, and doubles nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentmem.store.database import Store
from agentmem.store.records import Scope

ANA = Scope("ana")
WRITER = """
import sys
from agentmem.store.database import Store
from agentmem.store.records import Atom, Scope, Turn
ana = Scope("ana")
store = Store(sys.argv[1])
store.use_embedder("m", 4)
done = (store.state("cursor") or {"n": 0})["n"]
print(done, flush=True)
while True:
    batch = [Turn(f"t{i}", f"s{i // 10}", "user", f"word{i} common", i) for i in range(done, done + 3)]
    with store.transaction():
        store.add_turns(ana, batch)
        old = [f"a{done - 3}"] if done else []
        store.put_atoms(ana, [Atom(f"a{done}", "persona", f"fact{done}", sources=("t1",))], {f"a{done}": old})
        done += 3
        store.set_state("cursor", {"n": done})
    rows = store.pending("turn", 4)
    store.put_vectors("turn", [row.seq for row in rows], [[1.0, row.seq, 0.0, 0.5] for row in rows])
    store.search_text(ana, "turn", "common", 3)
    print(done, flush=True)
"""


@pytest.mark.parametrize("rounds", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_killed_at_random_moments(tmp_path: Path, rounds: int) -> None:
    chance = random.Random(4)
    path = tmp_path / "memory.db"
    told = 0
    for _ in range(rounds):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )
        assert process.stdout is not None
        assert int(process.stdout.readline()) >= told
        for _ in range(chance.randrange(1, 40)):
            told = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read()
        complete = [int(line) for line in rest.split("\n")[:-1] if line]
        told = max([told, *complete])
        process.wait()
        process.stdout.close()
        check(path, told)


def check(path: Path, told: int) -> None:
    """Everything the writer reported is there once, in every table and index."""
    store = Store(path)
    state = store.state("cursor")
    assert state is not None
    done = state["n"]
    assert done >= told
    assert [row.id for row in store.turns_after(ANA, 0, 10**6)] == [f"t{i}" for i in range(done)]
    assert [atom.id for atom in store.atoms(ANA)] == [f"a{done - 3}"]
    assert len(store.atoms(ANA, superseded=True)) == done // 3
    assert len(store.search_text(ANA, "turn", "common", 10**6)) == done
    counts = store.traces(ANA).counts
    assert counts["turn words"] == done
    assert not any(count for name, count in counts.items() if name.endswith("without a row"))
    assert store.status(ANA).pending["turn"] == done - counts["vectors"]
    store.close()


MANY = """
import sys
from agentmem.store.database import Store
from agentmem.store.records import Scope, Turn
store, name = Store(sys.argv[1]), sys.argv[2]
for i in range(60):
    store.add_turns(Scope("ana"), [Turn(f"{name}{i}", name, "user", f"common {name}", i)])
    store.update_state("n", lambda state: {"n": state.get("n", 0) + 1})
"""


def test_processes_that_write_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    writers = [subprocess.Popen([sys.executable, "-c", MANY, str(tmp_path / "m.db"), name], cwd=root) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    store = Store(tmp_path / "m.db")
    assert store.state("n") == {"n": 180}
    assert store.count_turns(ANA) == len(store.search_text(ANA, "turn", "common", 500)) == 180
    assert [row.position for row in store.turns_after(ANA, 0, 999, "b")] == list(range(60))
    store.close()
