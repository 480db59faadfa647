"""Files as they really lie about: torn, compressed, oddly encoded, in folders, repeated."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UnreadableInput
from harness.trajectories import detect, read
from harness.types import Trajectory


def row(task: str, output: str = "fine") -> dict[str, Any]:
    return {
        "schema": "replay-trajectory/1",
        "suite": "made",
        "task_id": task,
        "agent": "a",
        "model": "m",
        "outcome": {},
        "messages": [
            {"role": "user", "kind": "task", "content": "do it"},
            {"role": "assistant", "content": "```bash\nls\n```"},
            {"role": "user", "kind": "observation", "content": output},
            {"role": "assistant", "content": "done"},
        ],
    }


def line(task: str, output: str = "fine") -> str:
    return json.dumps(row(task, output), ensure_ascii=False)


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def load(*paths: Path) -> tuple[list[Trajectory], list[str]]:
    warnings: list[str] = []
    return read(list(paths), warn=warnings.append), warnings


def ids(runs: list[Trajectory]) -> list[str]:
    return [run.id for run in runs]


def test_torn_last_line_is_dropped_with_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", f"{line('a')}\n{line('b')}\n{line('c')[:70]}")
    runs, warnings = load(path)
    assert ids(runs) == ["a", "b"]
    assert warnings == [f"{path}:3: the last line is torn and was dropped"]


@pytest.mark.parametrize("bad", [0, 1])
def test_bad_line_elsewhere_is_an_error_with_its_number(tmp_path: Path, bad: int) -> None:
    lines = [line("a"), line("b"), line("c")]
    lines[bad] = lines[bad][:70]
    path = write(tmp_path / "runs.jsonl", "\n\n".join(lines))
    with pytest.raises(UnreadableInput) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{2 * bad + 1}: expected a recorded run as JSON, found broken JSON")


def test_a_single_torn_line_leaves_nothing_to_read(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", line("a")[:70])
    with pytest.raises(UnreadableInput, match=r"runs.jsonl:1: expected a recorded run as JSON"):
        load(path)


def test_broken_document_names_the_line_inside_it(tmp_path: Path) -> None:
    text = json.dumps(row("a"), indent=1).replace('"content": "do it"', '"content": do it')
    path = write(tmp_path / "run.json", text)
    number = text[: text.index("do it")].count("\n") + 1
    with pytest.raises(UnreadableInput, match=rf"run.json:{number}: expected"):
        load(path)


def test_lines_end_at_newlines_only(tmp_path: Path) -> None:
    odd = "one\u2028two\u0085three\x0bfour\u2029"
    path = write(tmp_path / "runs.jsonl", f"{line('a', odd)}\n{line('b')}\n")
    runs, warnings = load(path)
    assert ids(runs) == ["a", "b"] and warnings == []
    assert runs[0].messages[2].content == odd


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", b"\xef\xbb\xbf" + f"{line('a')}\r\n\r\n{line('b')}\r\n".encode())
    runs, warnings = load(path)
    assert ids(runs) == ["a", "b"] and warnings == []


def test_bytes_that_are_not_utf8_survive(tmp_path: Path) -> None:
    raw = line("a", "caf?").encode().replace(b"caf?", b"caf\xe9 \xff")
    path = write(tmp_path / "runs.jsonl", raw + b"\n" + raw)
    runs, warnings = load(path)
    assert runs[0].messages[2].content.encode("utf-8", "surrogateescape") == b"caf\xe9 \xff"
    assert sum("not UTF-8" in text for text in warnings) == 1


def test_escaped_lone_surrogates_and_nul_survive(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", json.dumps(row("a", "\ud83d\x00<|endoftext|>")))
    runs, _ = load(path)
    assert runs[0].messages[2].content == "\ud83d\x00<|endoftext|>"


def test_gzip_is_recognised_by_its_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", gzip.compress(f"{line('a')}\n{line('b')}\n".encode()))
    assert ids(load(path)[0]) == ["a", "b"]
    assert detect(path) == "replay"


def test_gzip_cut_short_keeps_the_whole_lines(tmp_path: Path) -> None:
    noise = [line(f"t{number}", f"{number * 7919 % 9973}" * 40) for number in range(200)]
    packed = gzip.compress("\n".join(noise).encode())
    runs, warnings = load(write(tmp_path / "runs.jsonl.gz", packed[: len(packed) * 3 // 4]))
    assert 0 < len(runs) < 200 and ids(runs) == [f"t{number}" for number in range(len(runs))]
    assert len(warnings) == 1 and "cut short" in warnings[0]


def test_damaged_gzip_is_an_error(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(line("a").encode()))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(UnreadableInput, match=r"runs.jsonl.gz"):
        load(write(tmp_path / "runs.jsonl.gz", bytes(packed)))


@pytest.mark.parametrize("empty", ["", "\n\n", "[]"])
def test_empty_file_is_a_warning_beside_others_and_an_error_alone(tmp_path: Path, empty: str) -> None:
    nothing = write(tmp_path / "none.jsonl", empty)
    runs, warnings = load(nothing, write(tmp_path / "some.jsonl", line("a")))
    assert ids(runs) == ["a"] and len(warnings) == 1 and "empty" in warnings[0]
    with pytest.raises(UnreadableInput, match="found no recorded run"):
        load(nothing)


def test_no_path_at_all_is_an_error() -> None:
    with pytest.raises(UnreadableInput, match="no path was given"):
        read([])


def test_a_list_of_runs_in_one_document(tmp_path: Path) -> None:
    for indent in (None, 2):
        path = write(tmp_path / f"list{indent}.json", json.dumps([row("a"), row("b")], indent=indent))
        assert ids(load(path)[0]) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name,age\nx,1\n", "broken JSON"),
        ('{"a": 1}', "an object with the keys a"),
        ("[1, 2]", "the value 1"),
        ('"hello"', "the text 'hello'"),
        ("{}", "an empty object"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_run_gets_one_line(tmp_path: Path, text: str, found: str) -> None:
    path = write(tmp_path / "what.json", text)
    with pytest.raises(UnreadableInput) as caught:
        load(path)
    said = str(caught.value)
    assert said.startswith(str(path)) and "expected" in said and found in said and "\n" not in said


def test_utf16_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="expected UTF-8 text, found UTF-16"):
        load(write(tmp_path / "runs.jsonl", line("a").encode("utf-16")))


def test_missing_path_is_named(tmp_path: Path) -> None:
    for name in ("nowhere.jsonl", "no*where.jsonl"):
        with pytest.raises(UnreadableInput, match="found nothing there"):
            load(tmp_path / name)


def test_folders_are_read_sorted_and_leave_out_what_is_no_run(tmp_path: Path) -> None:
    write(tmp_path / "b" / "two.jsonl", line("two"))
    write(tmp_path / "a" / "deep" / "one.traj.json.gz", gzip.compress(line("one").encode()))
    write(tmp_path / "c.json", json.dumps({"preds": {}}))
    write(tmp_path / "notes.txt", "not looked at")
    write(tmp_path / ".cache" / "old.jsonl", line("hidden"))
    runs, warnings = load(tmp_path)
    assert ids(runs) == ["one", "two"]
    assert warnings == [f"1 files hold no recorded run and were left out: {tmp_path / 'c.json'}"]
    assert ids(read([tmp_path], "replay", lambda _: None)) == ["one", "two"]


def test_broken_file_in_a_folder_is_still_an_error(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl", line("one"))
    write(tmp_path / "two.json", '{"schema": "replay-trajectory/1",')
    with pytest.raises(UnreadableInput, match=r"two.json:1"):
        load(tmp_path)


def test_patterns_are_expanded_sorted(tmp_path: Path) -> None:
    for name in ("c", "a", "b"):
        write(tmp_path / name / f"{name}.jsonl", line(name))
    assert ids(load(tmp_path / "*" / "[ab].jsonl")[0]) == ["a", "b"]


def test_a_file_given_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "one.jsonl", line("one"))
    runs, warnings = load(path, tmp_path, path)
    assert ids(runs) == ["one"] and warnings == []


def test_repeated_task_ids_are_kept_and_numbered(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", f"{line('t')}\n{line('t')}\n{line('t#2')}")
    runs, warnings = load(first, write(tmp_path / "two.jsonl", line("t")))
    assert ids(runs) == ["t", "t#2", "t#2#2", "t#3"]
    assert len(warnings) == 1 and "3 task ids occur more than once" in warnings[0]


def test_runs_without_an_id_are_named_by_place(tmp_path: Path) -> None:
    chat = json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]})
    assert ids(load(write(tmp_path / "chat.jsonl", f"{chat}\n\n{chat}\n"))[0]) == ["chat-1", "chat-3"]
    assert ids(load(write(tmp_path / "chat.json", chat))[0]) == ["chat"]
    assert ids(load(write(tmp_path / "trial__x" / "agent" / "trajectory.json", chat))[0]) == ["trial__x"]


def test_found_things_are_described_on_one_short_line(tmp_path: Path) -> None:
    for text in (json.dumps({"a\nb" * 50: 1}), "[" * 300 + "]" * 300, "9" * 3000):
        with pytest.raises(UnreadableInput) as caught:
            load(write(tmp_path / "what.json", text))
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
