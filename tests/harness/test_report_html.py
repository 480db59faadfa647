"""The HTML report in a real browser: nothing leaves the file, every prompt is the one that was counted."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.compare.outcomes import Options as Statistics
from harness.embedded import recorded
from harness.engines.registry import parse_arm
from harness.errors import UnknownName, UnreadableInput, UsageError
from harness.livecommand import run_live
from harness.pareto import pareto_front
from harness.report.html import HtmlOptions, write_html
from harness.report.html_choose import choose, focus_arm
from harness.report.html_data import load
from harness.report.html_plots import thin, typical
from harness.report.html_prompts import CHANGED, runs
from harness.run import Options, execute, plan
from harness.run import make_recipe as make_replay
from tests.harness.browser import Page, browser
from tests.harness.made_replay import replayed, write_recorded
from tests.harness.made_runs import make_recipe, make_rows, write_run

EVIL = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'> \ud83d \u2028 <!--"
FAST = Statistics(resamples=200)


def ignore(*_: object) -> None:
    """Take progress nobody looks at."""


def write(folder: Path, path: Path, **options: Any) -> str:
    return write_html(folder, path, HtmlOptions(statistics=FAST, **options), ignore).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The recorded file, the run folder, and the page with every prompt."""
    root = tmp_path_factory.mktemp("report")
    data = write_recorded(root / "recorded.jsonl", evil=EVIL)
    folder, _ = replayed(data, root / "run")
    write(folder, root / "report.html", data=(data,))
    return data, folder, root / "report.html"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def blob(text: str, name: str) -> Any:
    found = re.search(f'<script type="application/octet-stream" id="{re.escape(name)}">([^<]*)</script>', text)
    assert found, name
    return json.loads(zlib.decompress(base64.b64decode(found[1])))


def expanded(calls: list[list[Any]]) -> list[list[int]]:
    prompts: list[list[int]] = []
    for _, shared, pairs in calls:
        before = prompts[-1][:shared] if prompts else []
        fresh = [start + step for start, length in zip(pairs[::2], pairs[1::2], strict=True) for step in range(length)]
        prompts.append(before + fresh)
    return prompts


def test_prompts_in_the_page_have_the_size_that_was_counted(made: tuple[Path, Path, Path]) -> None:
    _, folder, path = made
    text, data = path.read_text(encoding="utf-8"), load(folder)
    for session in ("s000", "s001"):
        record = blob(text, f"prompts-{session}")
        for task, found in record["tasks"].items():
            for arm, calls in found["arms"].items():
                sizes = [sum(record["tokens"][item] for item in prompt) for prompt in expanded(calls)]
                logged = [row for row in data.calls[arm] if row["task"] == task and row["session"] == session]
                assert sizes == [row["prompt_tokens"] for row in logged]
                assert [len(prompt) for prompt in expanded(calls)] == [row["messages"] for row in logged]


def test_every_missing_need_has_a_source_that_holds_it(made: tuple[Path, Path, Path]) -> None:
    text, data = made[2].read_text(encoding="utf-8"), load(made[1])
    checked = 0
    for session in ("s000", "s001"):
        record = blob(text, f"prompts-{session}")
        for row in (row for row in data.calls["mask:last=1"] if row["session"] == session and row["missing"]):
            found = record["tasks"][row["task"]]
            logged = [other for other in data.calls["mask:last=1"] if other["task"] == row["task"]]
            place = found["arms"]["mask:last=1"][logged.index(row)][0]
            for name in row["missing"]:
                assert name in record["texts"][record["text"][found["needs"][str(place)][name]]]
                checked += 1
    assert checked > 4


def test_evidence_behind_pointers_is_in_the_page(made: tuple[Path, Path, Path]) -> None:
    record = blob(made[2].read_text(encoding="utf-8"), "prompts-s000")
    refs = {ref for place, found in record["refs"].items() for ref in found if int(place) >= record["history"]}
    assert refs and refs <= record["evidence"]["agentmem"].keys()
    tool_outputs = {
        record["texts"][record["text"][place]] for place, is_result in enumerate(record["result"]) if is_result
    }
    assert any(record["texts"][number] in tool_outputs for number in record["evidence"]["agentmem"].values())


def test_other_data_than_was_replayed_is_refused(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    other = write_recorded(tmp_path / "recorded.jsonl", tasks=3)
    with pytest.raises(UsageError, match=r"replayed recorded.jsonl with sha256 .*, it has sha256"):
        write(made[1], tmp_path / "x.html", data=(other,))
    with pytest.raises(UnknownName, match="arm"):
        write(made[1], tmp_path / "x.html", focus="agentmen")
    with pytest.raises(UnknownName, match="task"):
        write(made[1], tmp_path / "x.html", data=(made[0],), tasks=("plant-77",))
    with pytest.raises(UnreadableInput, match="not finished"):
        write(write_run(tmp_path / "open", make_recipe("replay", arms=("full",)), (), finished=False), tmp_path / "x")


def test_prompts_that_are_not_those_of_the_log_are_left_out(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    for name in ("recipe.json", "summary.json", "tasks.jsonl", "calls.jsonl"):
        text = (made[1] / name).read_text()
        if name == "calls.jsonl":
            lines = [json.loads(line) for line in text.splitlines()]
            next(row for row in lines if row["arm"] == "agentmem" and row["position"] == 1)["prompt_tokens"] += 1
            text = "".join(json.dumps(row) + "\n" for row in lines)
        (tmp_path / name).write_text(text)
    page_text = write(tmp_path, tmp_path / "report.html", data=(made[0],))
    assert CHANGED.split("(")[0] in page_text
    record = blob(page_text, "prompts-s000")
    assert all("agentmem" not in task["arms"] and "full" in task["arms"] for task in record["tasks"].values())


def test_chosen_tasks_are_the_first_and_those_that_moved_most() -> None:
    recipe = make_recipe("replay", tasks=40, per_session=10)
    base = make_rows(recipe, "full", seed=1)
    ours = [*make_rows(recipe, "agentmem", seed=1, factor=0.5)]
    ours[17] = replace(ours[17], repairs=10**9)
    ours[31] = replace(ours[31], prompt_tokens=10**8)
    rows = tuple(sorted((*base, *ours), key=lambda row: (row.session, row.position)))
    data = replace(_data(recipe), rows=rows)
    assert focus_arm(data) == "agentmem"
    chosen = [task for _, task, _ in choose(data, "agentmem", 4, ("task-039",))]
    assert chosen[:4] == ["task-000", "task-001", "task-002", "task-003"]
    assert {"task-017", "task-031", "task-039"} <= set(chosen) and len(chosen) == 9


def _data(recipe: Any) -> Any:
    from harness.report.html_data import RunData

    return RunData(Path("run"), recipe, {}, (), {}, "full")


def test_small_parts() -> None:
    assert runs([3, 4, 5, 9, 2]) == [3, 3, 9, 1, 2, 1]
    assert pareto_front([(3, 0), (1, 5), (2, 2), (2.5, 3)]) == [1, 2, 0]
    values = [1.0] * 5_000
    values[2_345], values[4_001] = 99.0, 0.1
    kept = thin(values, 200)
    assert len(kept) <= 420 and (2_345, 99.0) in kept and (4_001, 0.1) in kept
    assert typical([[1, 2, 3], [3, 4], [5]]) == [3.0, 3.0]
    assert typical([]) == []


def test_a_live_run_without_needs_or_caches(tmp_path: Path) -> None:
    recipe = make_recipe("live", tasks=12, per_session=3)
    rows = (*make_rows(recipe, "full", seed=1, errored=1), *make_rows(recipe, "agentmem", seed=2, factor=0.5))
    text = write(write_run(tmp_path / "run", recipe, rows), tmp_path / "report.html")
    assert "not measured" in text and "Wilson" in text and "% passed" in text and "NaN" not in text


def test_prompts_of_a_live_run_come_from_its_transcripts(tmp_path: Path) -> None:
    words = ["--suite", "aalcr-mini", "--model", "scripted", "--limit", "4", "--arm", "full", "--arm", "agentmem"]
    run_live([*words, "--out", str(tmp_path / "run")], "test")
    text = write(tmp_path / "run", tmp_path / "report.html", prompts=2)
    record, data = blob(text, "prompts-s000|agentmem"), load(tmp_path / "run")
    assert set(record["tasks"]) == {row.task for row in data.of("agentmem") if row.session == "s000"} & set(
        record["names"]
    )
    for task, found in record["tasks"].items():
        logged = [
            row["messages"] for row in data.calls["agentmem"] if row["task"] == task and row["purpose"] == "agent"
        ]
        assert [len(prompt) for prompt in expanded(found["arms"]["agentmem"])] == logged
    assert "Controls: gold answer" in text and "control" not in json.loads(blob_text(text))["arms"][-1]


def blob_text(text: str) -> str:
    found = re.search('<script type="application/json" id="facts">(.*?)</script>', text)
    assert found
    return found[1]


def test_prompts_of_the_embedded_tasks_need_no_data(tmp_path: Path) -> None:
    trajectories, made = recorded(0, 2, 1)
    options = Options((parse_arm("full"), parse_arm("agentmem")), per_session=2)
    sessions = plan(trajectories, options)
    execute(sessions, make_replay(sessions, made, options), tmp_path / "run", options, ignore, {})
    text = write(tmp_path / "run", tmp_path / "report.html")
    assert len(blob(text, "prompts-s000")["tasks"]) == 2 and "Each has as many tokens and messages" in text


@pytest.mark.browser
def test_the_page_works_and_asks_no_network(made: tuple[Path, Path, Path], page: Page) -> None:
    page.size(1280, 900)
    page.open(made[2])
    page.key("Tab")
    assert page.run("document.activeElement.className") == "skip"
    assert page.run("document.querySelectorAll('#task-list .row').length") == 8
    page.run("document.querySelector('#task-list .body').focus()")
    page.key("ArrowDown", 2)
    page.key("Enter")
    assert page.wait("document.querySelector('#task h2')?.textContent") == "plant-2"
    assert page.run("document.activeElement.id") == "task"
    page.run("document.querySelector('#task [aria-label=\"Calls of this task\"]').focus()")
    page.key("ArrowRight", 9)
    assert "Call 10 of 12" in page.run("document.querySelector('#task').textContent")
    assert page.run("location.hash").endswith("c=9")
    page.run("document.querySelector('input[value=\"mask:last=1\"]').click()")
    page.wait("document.querySelector('#task details.found')")
    assert "valve_2_0" in page.run("document.querySelector('#task details.found mark').textContent")
    assert "needed by this action" in page.run("document.querySelector('#task details.found summary').textContent")
    assert page.run("window.hit") is None
    assert page.errors == []
    assert all(url.startswith("file:") or url == "about:blank" for url in page.requests)


@pytest.mark.browser
def test_a_pointer_opens_its_evidence(made: tuple[Path, Path, Path], page: Page) -> None:
    page.size(1280, 900)
    page.open(made[2], "#t=s000%2Fplant-3&a=agentmem&c=11")
    page.wait("document.querySelector('#task details.made')")
    page.run("document.querySelectorAll('#task details.made').forEach((one) => { one.open = true; })")
    page.wait("document.querySelector('#task details.made button.ref')")
    page.run("document.querySelector('#task details.made:not(:has(.canvas)) button.ref').click()")
    assert len(page.run("document.querySelector('#task pre.evidence').textContent")) > 40
    page.run("document.querySelector('#task .canvas g[role=button]').dispatchEvent(new Event('click'))")
    assert page.run("document.querySelectorAll('#task .canvas g[role=button]').length") >= 3
    assert page.errors == [] and page.run("window.hit") is None


@pytest.mark.browser
def test_it_fits_a_phone_and_every_control_has_a_name(made: tuple[Path, Path, Path], page: Page) -> None:
    page.size(390, 844, mobile=True)
    page.open(made[2], "#t=s000%2Fplant-3&a=agentmem&c=5")
    page.wait("document.querySelector('#task .columns')")
    assert page.run("document.documentElement.scrollWidth") <= 390
    nameless = """[...document.querySelectorAll('select, button, input, [role=listbox]')].filter((one) =>
        !(one.getAttribute('aria-label') || one.textContent.trim() || one.closest('label')?.textContent.trim())).length"""
    assert page.run(nameless) == 0
    small = "getComputedStyle(document.querySelector('.plot.wide')).display"
    assert page.run(small) == "none"


@pytest.mark.browser
def test_flowcharts_are_read_and_drawn(made: tuple[Path, Path, Path], page: Page) -> None:
    page.open(made[2])
    source = r"""```mermaid
    flowchart TD
      %% a comment
      A["read #quot;x&quot;<br/>status: done"] --> B(find the cause):::doing
      B -->|wrong| C{again?} & D[[mend]]
      C -- yes --> B; C -.-> E
      subgraph S1 ["The end"]
        E([test]) ==> F
      end
      class F blocked
      style A fill:#fff
    ```"""
    chart = page.run(
        f"(() => {{ const c = parseFlowchart({json.dumps(source)}); return [[...c.nodes.values()], c.edges]; }})()"
    )
    nodes = {node["id"]: node for node in chart[0]}
    assert list(nodes) == ["A", "B", "C", "D", "E", "F"]
    assert nodes["A"]["label"] == 'read "x"\nstatus: done' and nodes["A"]["css"] == "done"
    assert nodes["B"]["css"] == "doing" and nodes["F"]["css"] == "blocked" and nodes["E"]["group"] == "The end"
    edges = [(edge["from"], edge["to"], edge["label"]) for edge in chart[1]]
    assert edges == [
        ("A", "B", ""),
        ("B", "C", "wrong"),
        ("B", "D", "wrong"),
        ("C", "B", "yes"),
        ("C", "E", ""),
        ("E", "F", ""),
    ]
    page.run(f"document.body.append(drawCanvas({json.dumps(source)}, () => ''))")
    assert page.run("document.querySelectorAll('.canvas rect').length") == 6
    overlaps = """(() => { const all = [...document.querySelectorAll('.canvas rect')].map((one) => one.getBBox());
        return all.some((a, i) => all.some((b, j) => i < j && a.x < b.x + b.width && b.x < a.x + a.width
            && a.y < b.y + b.height && b.y < a.y + a.height)); })()"""
    assert page.run(overlaps) is False
    assert page.run("drawCanvas('just text', () => '').tagName") == "PRE"
    assert page.run("parseFlowchart('flowchart TD\\nA --> B\\nB --> A').nodes.size") == 2


@pytest.mark.browser
def test_twenty_thousand_calls_open_in_two_seconds(tmp_path: Path, page: Page) -> None:
    recipe = make_recipe("replay", tasks=5_000, per_session=500)
    rows = tuple(row for arm in ("full", "agentmem") for row in make_rows(recipe, arm, seed=1))
    write(write_run(tmp_path / "run", recipe, rows), tmp_path / "report.html")
    assert page.open(tmp_path / "report.html") < 2_000
    assert page.run("document.getElementById('call-count').textContent").startswith("20,000 calls")
    page.run("document.querySelector('#call-list .body').focus()")
    page.key("End")
    assert "call 20000" in page.wait("document.querySelector('#call-list .row.active')?.getAttribute('aria-label')")
    assert page.run("document.querySelectorAll('#call-list .row').length") < 60
