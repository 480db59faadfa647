"""The reference stages give upstream's results, case by case, and change nothing they are given."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from agentmem.offload.reference import answers, canvas_file, counting, stored
from agentmem.offload.reference.aggressive import cut_head
from agentmem.offload.reference.emergency import reduce_to
from agentmem.offload.reference.fast_path import reapply
from agentmem.offload.reference.head_cut import Deleted, size
from agentmem.offload.reference.insertion import active_point, history_point
from agentmem.offload.reference.mild import FIRST, MINIMUM, cascade
from agentmem.offload.reference.script import number_text, stringify, units
from agentmem.offload.reference.server import compress, tokens
from agentmem.offload.reference.server import mild as server_mild
from agentmem.offload.reference.summary_text import compact_call, replace_result
from agentmem.tokens import TokenCounter
from tests.agentmem.parity import upstream_cases

Given = dict[str, Any]


@cache
def counter(name: str) -> TokenCounter:
    return TokenCounter(name)


def _compact(given: Given) -> Given:
    text = compact_call(given["tool_call"])
    return {"text": text, "length": units(text)}


def _replace(given: Given) -> Given:
    done = replace_result(given["message"], given["entry"])
    return {"message": done.message, "original_length": done.original, "summary_length": done.summary}


def _lines(given: Given) -> Given:
    found = stored.read_lines(given["content"], given["skip_validation"])
    return {
        "entries": found.entries,
        "corrupt_count": found.corrupt,
        "invalid_count": found.invalid,
        "corrupt_sample": found.sample,
    }


def _patch(given: Given) -> Given:
    done = canvas_file.patch(given["content"], given["blocks"])
    return {"ok": done.ok, "content": done.content}


def _estimate(given: Given) -> Given:
    text = given["text"]
    exact = {name: counter(name).text(text) for name in ("o200k_base", "cl100k_base")}
    return {"fast": counting.fast(text), "heuristic": counting.heuristic(text), **exact, "utf16_length": units(text)}


def _snapshot(given: Given) -> Given:
    messages = given["messages"]
    found = counting.snapshot(messages, given["system_prompt"], given["prompt"], counter(given["encoding"]).text)
    return {
        "total": found.total,
        "system": found.system,
        "messages": found.messages,
        "prompt": found.prompt,
        "message_count": found.count,
        "fast_messages": counting.fast_list(messages),
        "fast_messages_without_internal_keys": counting.fast_list(counting.without_internal(messages)),
    }


def _insertion(given: Given) -> Given:
    return {"index": (active_point if given["which"] == "active" else history_point)(given["messages"])}


def _fast_path(given: Given) -> Given:
    ids = {name: given[name] for name in ("confirmed_ids", "deleted_ids")}
    return {"messages": reapply(given["messages"], given["entries"], *ids.values()), **ids}


def _mild(given: Given) -> Given:
    minimum, first = given.get("min_count"), given.get("initial_score")
    done = cascade(
        given["messages"],
        given["entries"],
        given["scan_ratio"],
        MINIMUM if minimum is None else minimum,
        FIRST if first is None else first,
    )
    return {
        "messages": done.messages,
        "replaced_count": done.count,
        "replaced_tool_call_ids": done.ids,
        "last_offloaded_id": done.last,
        "final_threshold": done.threshold,
        "details": done.details,
    }


def _deleted(done: Deleted, given: Given) -> Given:
    count = counter(given["encoding"]).text
    before = counting.snapshot(given["messages"], given["system_prompt"], given["prompt"], count)
    return {
        "messages": done.messages,
        "deleted_count": done.count,
        "remaining_tokens": done.tokens,
        "deleted_tool_call_ids": done.ids,
        "tokens_before": before.total,
        "message_tokens": [size(message, count) for message in given["messages"]],
    }


def _aggressive(given: Given) -> Given:
    count = counter(given["encoding"]).text
    done = cut_head(given["messages"], given["threshold"], given["system_prompt"], given["prompt"], count)
    return {**_deleted(done, given), "rounds": done.rounds, "stalled": done.stalled}


def _emergency(given: Given) -> Given:
    count = counter(given["encoding"]).text
    done = reduce_to(given["messages"], given["target_tokens"], given["system_prompt"], given["prompt"], count)
    return _deleted(done, given)


def _server_tokens(given: Given) -> Given:
    messages = given["messages"]
    return {
        "token_array": tokens.token_array(messages, given["total_tokens"], given["message_tokens"]),
        "estimates": [tokens.estimate(message) for message in messages],
        "precise": [tokens.exact(message, counter("o200k_base").text) for message in messages],
    }


def _server_mild(given: Given) -> Given:
    done = server_mild.replace_old(given["messages"], given["entries"], given["scan_ratio"], given["score_floor"])
    return {"messages": done.messages, "replaced_count": done.replaced, "confirmed_ids": done.ids}


def _server_fast_path(given: Given) -> Given:
    done = server_mild.reapply(given["messages"], given["entries"], given["confirmed_ids"], given["deleted_ids"])
    return {"messages": done.messages, "replaced_count": done.replaced, "deleted_count": done.deleted}


def _server_cut(stage: Callable[..., compress.Compressed]) -> Callable[[Given], Given]:
    def run(given: Given) -> Given:
        names = ("messages", "target_tokens", "token_array", "client_total_tokens")
        done = stage(*(given[name] for name in names), counter("o200k_base").text)
        return {
            "messages": done.messages,
            "token_array": done.tokens,
            "deleted_count": done.count,
            "deleted_ids": done.ids,
            "remaining_tokens": done.total,
        }

    return run


KINDS: dict[str, Callable[[Given], Any]] = {
    "mild_cascade": _mild,
    "aggressive": _aggressive,
    "emergency": _emergency,
    "fast_path": _fast_path,
    "insertion_point": _insertion,
    "compact_tool_call": _compact,
    "replace_with_summary": _replace,
    "iso_to_filename": lambda given: {"name": stored.file_name(given["iso"])},
    "storage_sanitize_text": lambda given: {"text": stored.sanitize_text(given["text"])},
    "sanitize_json_line": lambda given: {"line": stored.sanitize_line(given["line"])},
    "parse_jsonl_safe": _lines,
    "mermaid_fence": lambda given: {"value": answers.mermaid(given["text"])},
    "l1_parse": lambda given: {"entries": answers.summaries(given["raw"])},
    "l15_parse": lambda given: {"judgment": answers.judgment(given["raw"])},
    "l2_parse": lambda given: {"result": answers.canvas(given["raw"])},
    "mmd_meta": lambda given: canvas_file.describe(given["filename"], given["mmd_path"], given["content"]),
    "mmd_patch": _patch,
    "token_estimate": _estimate,
    "context_snapshot": _snapshot,
    "server_resolve_level": lambda given: {"level": tokens.level(given["ratio"], given["config"])},
    "server_mild": _server_mild,
    "server_aggressive": _server_cut(compress.aggressive),
    "server_emergency": _server_cut(compress.emergency),
    "server_fast_path": _server_fast_path,
    "server_token_array": _server_tokens,
}


@pytest.mark.golden
@pytest.mark.parametrize("case", [case for kind in KINDS for case in upstream_cases(kind)])
def test_parity(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["input"])
    assert KINDS[case["kind"]](case["input"]) == case["expected"]
    assert case["input"] == before, "the input was changed"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (float("nan"), "null"),
        (12, "12"),
    ],
)
def test_numbers_in_shortest_form(number: float, text: str) -> None:
    assert number_text(number) == text


def test_json_text_keeps_what_is_written_and_escapes_half_pairs() -> None:
    assert (
        stringify({"b": "é", "10": [True, None], "9": "\ud83d", "c": "\ud83d\ude00\n"})
        == '{"9":"\\ud83d","10":[true,null],"b":"é","c":"\U0001f600\\n"}'
    )
