"""File tools for a model: no path leaves the folder, and what is refused is told, not raised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentmem.errors import ModelUnavailable
from agentmem.llm.client import OpenAIModel
from agentmem.llm.fakeserver import Answer, FakeServer, empty, failure
from agentmem.llm.protocol import Ask
from agentmem.longterm.sandbox import Sandbox, work_with_files
from agentmem.messages import Message, ToolCall
from agentmem.settings.models import Llm


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "scene_blocks"
    inside.mkdir()
    (inside / "a.md").write_text("one two two")
    (tmp_path / "scene_blocks_other").mkdir()
    (tmp_path / "scene_blocks_other" / "b.md").write_text("secret")
    (tmp_path / "secret.md").write_text("secret")
    (inside / "link.md").symlink_to(tmp_path / "secret.md")
    (inside / "sub").mkdir()
    return inside


def call(sandbox: Sandbox, name: str, **arguments: object) -> str:
    return sandbox.call(ToolCall("1", name, json.dumps(arguments)))


@pytest.mark.parametrize(
    "path",
    [
        "../secret.md",
        "../scene_blocks_other/b.md",
        "sub/x.md",
        "/etc/passwd.md",
        "link.md",
        "..",
        ".hidden.md",
        "a.txt",
        "a.md/../../secret.md",
        "..\\secret.md",
        "a\0.md",
        "",
        "x" * 300 + ".md",
        7,
    ],
)
@pytest.mark.parametrize("tool", ["read_file", "write_file"])
def test_no_path_leaves_the_folder(folder: Path, path: object, tool: str) -> None:
    arguments = {"path": path} | ({"content": "x"} if tool == "write_file" else {})
    answer = call(Sandbox(folder), tool, **arguments)
    assert answer.startswith("refused:") and "secret" not in answer.replace(repr(path), "")
    assert (folder.parent / "secret.md").read_text() == "secret"
    assert sorted(p.name for p in folder.parent.rglob("*.md")) == ["a.md", "b.md", "link.md", "secret.md"]


def test_reading_writing_and_editing(folder: Path) -> None:
    sandbox = Sandbox(folder)
    assert call(sandbox, "list_files") == "a.md"
    assert call(sandbox, "read_file", path="a.md") == "one two two"
    assert call(sandbox, "edit_file", path="a.md", old="one", new="$& $1 \\1").startswith("wrote")
    assert (folder / "a.md").read_text() == "$& $1 \\1 two two"  # taken as it is, not as a pattern
    assert "occurs 2 times" in call(sandbox, "edit_file", path="a.md", old="two", new="x")
    assert "no file" in call(sandbox, "read_file", path="new.md")
    assert call(sandbox, "write_file", path="new.md", content="text").startswith("wrote")
    assert (folder / "new.md").read_text() == "text"


def test_wrong_calls_are_told(folder: Path) -> None:
    sandbox = Sandbox(folder, only=["persona.md"])
    assert "not one of persona.md" in call(sandbox, "read_file", path="a.md")
    assert "there is no tool" in call(sandbox, "delete_file", path="a.md")
    assert "wrong arguments" in call(sandbox, "write_file", file="persona.md")
    assert "wrong arguments" in sandbox.call(ToolCall("1", "read_file", "{not json"))
    assert "must be an object" in sandbox.call(ToolCall("1", "read_file", "[]"))
    assert "at most" in call(sandbox, "write_file", path="persona.md", content="x" * 30_000)


def ask() -> Ask:
    return Ask((Message("user", "work"),), "l2-scenes")


def test_a_model_works_with_the_files_until_it_answers(folder: Path) -> None:
    script: list[Answer | str] = [
        Answer(None, tool_calls=(("list_files", {}), ("write_file", {"path": "b.md", "content": "new"}))),
        "done",
    ]
    with FakeServer(script) as server:
        model = OpenAIModel(Llm(base_url=server.url))
        assert work_with_files(model, Sandbox(folder), ask()) == "done"
        assert (folder / "b.md").read_text() == "new"
        sent = server.served[1].body["messages"]
        assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool"]
        assert sent[2]["tool_call_id"] == sent[1]["tool_calls"][0]["id"]
        model.close()


def test_a_model_that_never_ends_is_stopped_and_an_empty_end_is_an_end(folder: Path) -> None:
    with FakeServer(lambda request: Answer(None, tool_calls=(("list_files", {}),))) as server:
        assert work_with_files(OpenAIModel(Llm(base_url=server.url)), Sandbox(folder), ask(), max_steps=4) == ""
        assert len(server.served) == 4
    with FakeServer([Answer(None, tool_calls=(("list_files", {}),)), empty("stop")]) as server:
        assert work_with_files(OpenAIModel(Llm(base_url=server.url)), Sandbox(folder), ask()) == ""


def test_a_model_that_is_down_raises(folder: Path) -> None:
    with FakeServer([failure(503)]) as server, pytest.raises(ModelUnavailable):
        work_with_files(OpenAIModel(Llm(base_url=server.url, attempts=1)), Sandbox(folder), ask())
