"""Canvases: at most 4,000 characters, legal Mermaid whatever a label holds, every deed on a node, the same bytes again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.errors import BadAnswer, CanvasError, EvidenceWriteFailed, ModelUnavailable
from agentmem.offload.canvas import LIMIT, Canvas, Node, fitted, parse, progress, replace_lines
from agentmem.offload.canvas_build import Deed, checked
from agentmem.offload.canvas_files import CanvasFiles
from agentmem.offload.canvas_llm import LlmBuilder
from agentmem.offload.canvas_rules import RulesBuilder, close
from agentmem.offload.intents import intent, is_failure, subject
from agentmem.offload.reference.canvas_file import describe
from agentmem.offload.shapes import unwrap
from tests.agentmem.scripted import Scripted

texts = st.text(max_size=80)
nodes = st.builds(
    Node,
    st.just(""),
    texts,
    st.sampled_from(["done", "doing", "paused", "blocked"]),
    texts,
    st.just("2026-01-01T00:00:00Z"),
)


def numbered(given_nodes: list[Node], number: int = 7) -> tuple[Node, ...]:
    return tuple(replace(node, id=f"{number:03d}-N{i}") for i, node in enumerate(given_nodes, 1))


@settings(max_examples=100, deadline=None)
@given(st.lists(nodes, max_size=60), texts)
def test_any_nodes_give_a_legal_canvas_within_its_limit(given_nodes: list[Node], goal: str) -> None:
    canvas, moved = fitted(Canvas(7, "demo", goal, numbered(given_nodes)))
    text = canvas.text()
    assert len(text) <= LIMIT
    assert [line for line in text.split("\n")[1:] if '"' in line.replace('["', "").replace('"]', "")] == []
    again = parse(text, 7, "demo")
    assert again.text() == text
    ids = {node.id for node in canvas.nodes}
    assert all((moved.get(node.id, node.id)) in ids for node in numbered(given_nodes))
    assert not given_nodes or canvas.nodes[-1].id == f"007-N{len(given_nodes)}" or len(canvas.nodes) < 3


@pytest.mark.parametrize(
    "label",
    [
        'facts: day(time) "x" [a]',
        "a | b; c",
        "%%{init: {}}%%",
        "`code` #quot; #35;",
        "</text><script>",
        "line\nbreak\r\n",
        "half \ud83d pair",
        "end",
        "x" * 500,
    ],
)
def test_labels_that_break_mermaid_are_escaped_and_come_back(label: str) -> None:
    canvas = Canvas(1, "t", "g", (Node("001-N1", label, "done", label),))
    text = canvas.text()
    body = text.split("\n")[2]
    assert body.count('"') == 2 and body.startswith('    001-N1["') and body.endswith('"]')
    assert "%%{" not in body and "<script" not in body
    assert parse(text, 1, "t").nodes[0].title == " ".join(label.replace("\ud83d", "?").split())


def test_upstream_reads_our_canvas() -> None:
    canvas = Canvas(
        3,
        "fix",
        'goal "x"',
        (Node("003-N1", "read: a", "done", "found"), Node("003-N2", "edit: a", "doing", "half")),
        "2026-01-01",
    )
    told = describe(canvas.file, f"mmds/{canvas.file}", canvas.text())
    assert (told["task_goal"], told["created_time"], told["done"], told["doing"]) == ('goal "x"', "2026-01-01", 1, 1)
    assert [node["summary"] for node in told["node_summaries"]] == ["found", "half"]


def test_old_nodes_merge_first_and_dead_ends_stay_told() -> None:
    many = [Node("", f"read: file{n}", "blocked" if n == 3 else "done", "s" * 140) for n in range(40)]
    canvas, moved = fitted(Canvas(7, "demo", "g", numbered(many)))
    assert {node.id for node in canvas.nodes} >= {"007-N39", "007-N40"}
    assert "blocked" in {node.status for node in canvas.nodes}
    assert set(moved) == {f"007-N{n}" for n in range(1, 41)} - {node.id for node in canvas.nodes}
    assert set(moved.values()) <= {node.id for node in canvas.nodes}


def test_a_single_node_too_large_is_cut_and_an_impossible_limit_is_told() -> None:
    huge = Canvas(7, "demo", "g" * 9000, numbered([Node("", "t" * 9000, "done", "s" * 9000)]))
    assert len(fitted(huge)[0].text()) <= LIMIT
    with pytest.raises(CanvasError, match="has 2"):
        huge.text()
    with pytest.raises(CanvasError, match="does not fit 50 characters"):
        fitted(huge, 50)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1 should be 'flowchart TD'"),
        ('%%{"taskGoal": "g"}%%\ngraph LR', "line 2 should be"),
        ('flowchart TD\n    001-N1["a<br/>status: odd"]', "status should be one of"),
        ('flowchart TD\n    002-N1["a<br/>status: done"]', "line 2: id 002-N1 is not its own"),
        ('flowchart TD\n    001-N1["a<br/>status: done"]\n    001-N1 --> 001-N2', "there is no node 001-N2"),
        ("flowchart TD\ngarbage here", "line 2 is no node and no edge: 'garbage here'"),
    ],
)
def test_a_damaged_canvas_is_told_with_its_line(text: str, says: str) -> None:
    with pytest.raises(CanvasError, match=says):
        parse(text, 1, "t")


def block(start: object, end: object, content: str = "new") -> dict[str, object]:
    return {"start_line": start, "end_line": end, "content": content}


@pytest.mark.parametrize(
    ("blocks", "lines"),
    [
        ([block(2, 2)], ["a", "new", "c"]),
        ([block(3, 2, "x"), block(3, 2, "y")], ["a", "b", "x", "y", "c"]),
        ([block(4, 3)], ["a", "b", "c", "new"]),
        ([block(1, 9)], ["new"]),
        ([block(2, 2, "")], ["a", "c"]),
        ([block("1", "1", "x\ny"), block(3, 3, "z")], ["x", "y", "b", "z"]),
    ],
)
def test_line_blocks(blocks: list[dict[str, object]], lines: list[str]) -> None:
    assert replace_lines("a\nb\nc", blocks) == "\n".join(lines)


@pytest.mark.parametrize(
    "bad",
    [
        [block(0, 1)],
        [block(5, 5)],
        [block(3, 1)],
        [block(None, 1)],
        [block(True, 1)],
        [block(1.5, 2)],
        [block(1, 2), block(2, 3)],
    ],
)
def test_line_blocks_that_do_not_fit_are_refused(bad: list[dict[str, object]]) -> None:
    with pytest.raises(CanvasError):
        replace_lines("a\nb\nc", bad)


def deed(number: int, call: str, failed: bool = False) -> Deed:
    return Deed(f"k{number}", call, f"result of {call}", failed, f"2026-01-01T00:{number:02d}:00Z")


WORK = [
    deed(1, "ls -R"),
    deed(2, "cat src/auth.py"),
    deed(3, "sed -n 1,80p src/login.py"),
    deed(4, "sed -i s/a/b/ src/auth.py"),
    deed(5, "pytest tests/test_auth.py", failed=True),
    deed(6, "sed -i s/b/c/ src/auth.py"),
    deed(7, "pytest tests/test_auth.py"),
]


def test_rules_merge_one_purpose_and_keep_dead_ends() -> None:
    update = RulesBuilder().update(Canvas(1, "auth", "fix"), WORK)
    assert [(n.title, n.status) for n in update.canvas.nodes] == [
        ("list: ls -R", "done"),
        ("read: src/auth.py, src/login.py", "done"),
        ("edit: src/auth.py", "done"),
        ("test: tests/test_auth.py", "blocked"),
        ("edit: src/auth.py", "done"),
        ("test: tests/test_auth.py", "doing"),
    ]
    assert update.mapping["k2"] == update.mapping["k3"] == "001-N2"
    assert close(update.canvas, finished=True).nodes[-1].status == "done"
    assert close(update.canvas, finished=False).nodes[-1].status == "paused"
    assert progress(close(update.canvas, finished=True).nodes) == 100


def test_rules_give_the_same_bytes_in_any_portions() -> None:
    whole = RulesBuilder().update(Canvas(1, "auth", "fix"), WORK).canvas.text()
    canvas = Canvas(1, "auth", "fix")
    for one in WORK:
        canvas = RulesBuilder().update(parse(canvas.text(), 1, "auth"), [one]).canvas
    assert canvas.text() == whole


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["ls", "cat {}.py", "pytest {}.py", "sed -i {}.py", "odd {}"]), texts, st.booleans()),
        min_size=1,
        max_size=80,
    )
)
def test_every_deed_is_on_a_node_of_a_canvas_that_fits(work: list[tuple[str, str, bool]]) -> None:
    canvas = Canvas(1, "t", "g")
    mapped: dict[str, str] = {}
    for number, (call, summary, failed) in enumerate(work):
        update = RulesBuilder().update(canvas, [Deed(f"k{number}", call.format(number), summary, failed, "t")])
        canvas = update.canvas
        mapped = {key: update.moved.get(node, node) for key, node in {**mapped, **update.mapping}.items()}
    assert len(canvas.text()) <= LIMIT
    assert len(mapped) == len(work) and all(canvas.has(node) for node in mapped.values())


@pytest.mark.parametrize(
    ("call", "purpose", "about"),
    [
        ("cat <<EOF > src/new.py", "edit", "src/new.py"),
        ("cat a.py | grep x", "read", "a.py"),
        ("python -m pytest tests/test_a.py -x", "test", "tests/test_a.py"),
        ("cd repo && git diff", "review", "cd repo && git"),
        ("search {'query': 'rivers of Asia'}", "search", "rivers of Asia"),
        ("bash command cat src/a.py", "read", "src/a.py"),
        ("bash_execute command python x.py", "run", "x.py"),
        ("", "other", ""),
    ],
)
def test_intents(call: str, purpose: str, about: str) -> None:
    assert (intent(call), subject(call)) == (purpose, about)


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("<returncode>1</returncode>\n<output>\n</output>", True),
        ("Traceback (most recent call last):\n  x", True),
        ("==== 2 failed, 3 passed in 1s ====", True),
        ("==== 3 passed in 1s ====", False),
        ("class ValueError(Exception):", False),
        ("0 errors", False),
    ],
)
def test_failures(text: str, failed: bool) -> None:
    assert is_failure(unwrap(text)) is failed


DRAWN = 'flowchart TD\n    001-N1["read: config<br/>status: done<br/>summary: ok"]\n    N2(("test: all<br/>status: DOING<br/>summary: say \\"hi\\""))\n    001-N1 -->|then| N2'


def answer(**fields: object) -> str:
    return json.dumps(fields)


@pytest.mark.parametrize(
    "text",
    [
        answer(file_action="write", mmd_content=f"```mermaid\n{DRAWN}\n```", node_mapping={"k1": "001-N1", "k2": "N2"}),
        "Sure!\n```json\n"
        + answer(file_action="append", mmd_content=DRAWN, node_mapping={"k1": "001-N1", "k2": "001-N2"})
        + "\n```",
        "<think>{}</think>" + answer(mmd_content=DRAWN, node_mapping={"k1": "001-N1", "k2": "001-N2"}),
        answer(
            file_action="replace",
            replace_blocks=[block(0, 0)],
            mmd_content=DRAWN,
            node_mapping={"k2": "001-N2", "k1": "001-N1"},
        ),
    ],
)
def test_a_drawn_canvas_is_written_in_our_form(text: str) -> None:
    update = LlmBuilder(Scripted(text)).update(Canvas(1, "t", "g"), [deed(1, "cat a"), deed(2, "pytest")])
    assert [(n.id, n.title, n.status) for n in update.canvas.nodes] == [
        ("001-N1", "read: config", "done"),
        ("001-N2", "test: all", "doing"),
    ]
    assert update.mapping == {"k1": "001-N1", "k2": "001-N2"}
    assert parse(update.canvas.text(), 1, "t") == replace(update.canvas, goal="g")


def test_deeds_the_model_left_out_or_sent_nowhere_get_a_node() -> None:
    text = answer(file_action="write", mmd_content=DRAWN, node_mapping={"k1": "001-N2", "k2": "001-N9", "zz": "001-N1"})
    update = LlmBuilder(Scripted(text)).update(Canvas(1, "t", "g"), [deed(1, "a"), deed(2, "b"), deed(3, "c")])
    assert update.mapping == {"k1": "001-N2", "k2": "001-N2", "k3": "001-N2"}


def test_nodes_the_model_dropped_are_moved() -> None:
    before = RulesBuilder().update(Canvas(1, "t", "g"), WORK).canvas
    text = answer(file_action="write", mmd_content='flowchart TD\n  001-N1["all<br/>status: done"]', node_mapping={})
    update = LlmBuilder(Scripted(text)).update(before, [deed(9, "x")])
    assert set(update.moved) == {f"001-N{n}" for n in range(2, 7)} and set(update.moved.values()) == {"001-N1"}


@pytest.mark.parametrize(
    "text",
    [
        "I cannot draw this.",
        answer(file_action="write", node_mapping={"k1": "001-N1"}),
        "[1, 2]",
        "null",
        answer(file_action="replace", replace_blocks=[block(7, 9)]),
        answer(mmd_content="flowchart TD\n"),
    ],
)
def test_an_answer_without_a_canvas_is_a_failure(text: str) -> None:
    with pytest.raises(BadAnswer):
        LlmBuilder(Scripted(text)).update(Canvas(1, "t", "g"), [deed(1, "x")])


def test_a_model_that_is_down_and_a_batch_too_large() -> None:
    with pytest.raises(ModelUnavailable):
        LlmBuilder(Scripted(ModelUnavailable("down"))).update(Canvas(1, "t"), [deed(1, "x")])
    with pytest.raises(CanvasError, match="at most 30"):
        LlmBuilder(Scripted()).update(Canvas(1, "t"), [deed(n, "x") for n in range(31)])
    with pytest.raises(CanvasError, match="has no node for 1 tool calls"):
        checked(Canvas(1, "t"), {}, [deed(1, "x")])


def test_files_are_numbered_written_whole_and_set_aside(tmp_path: Path) -> None:
    files = CanvasFiles(tmp_path)
    assert files.names() == []
    first, second = files.create("fix", "goal", "t0"), files.create("next", "goal 2", "t1")
    assert files.names() == ["001-fix.mmd", "002-next.mmd"] and files.read(second.file).goal == "goal 2"
    (files.folder / "notes.txt").write_text("not a canvas")
    (files.folder / first.file).write_text("damaged")
    assert [known.file for known in files.known()] == ["002-next.mmd"]
    assert files.set_aside(first.file).name == "001-fix.mmd.damaged-1"
    with pytest.raises(CanvasError, match=r"no canvas '001-fix\.mmd'; there are: 002-next\.mmd"):
        files.read(first.file)
    for name in ("../001-fix.mmd", "/etc/passwd", "001-Fix.mmd", "001-fix.mmd\n"):
        with pytest.raises(CanvasError, match="is no canvas file"):
            files.read(name)


def test_a_canvas_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "mmds").write_text("in the way")
    with pytest.raises(EvidenceWriteFailed, match="cannot write canvas"):
        CanvasFiles(tmp_path).write(Canvas(1, "t"))
