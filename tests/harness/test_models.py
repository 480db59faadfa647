"""The model client against a real local server: what is retried, what is not, and what it says it cost."""

from __future__ import annotations

import pytest

from agentmem.llm.fakeserver import Answer, FakeServer, Request, failure, hang_up, no_choices, not_json, without_usage
from agentmem.messages import Message, ToolCall
from agentmem.tokens import TokenCounter
from harness.errors import CostLimit, ModelFailed, ModelRefused, PromptTooLong
from harness.models.budget import Budget, Prices
from harness.models.openai import OpenAIModel, Settings
from harness.models.usage import read_usage
from harness.models.wire import Unusable, read_answer, request_messages

ASKED = [Message("system", "Be brief."), Message("user", "How many?", kind="task")]


def model(
    server: FakeServer, waits: list[float] | None = None, budget: Budget | None = None, **settings: object
) -> OpenAIModel:
    given = {"model": "m", "base_url": server.url, "retries": 3, "seconds": 5.0, **settings}
    slept = waits.append if waits is not None else (lambda seconds: None)
    return OpenAIModel(Settings(**given), key="sk-test", counter=TokenCounter(), budget=budget, sleep=slept)  # type: ignore[arg-type]


def test_an_answer_comes_with_its_reported_usage() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 8},
    }
    with FakeServer([Answer("Four.", usage=usage)]) as server:
        step = model(server).complete(ASKED)
    assert step.message == Message("assistant", "Four.")
    assert (step.usage.prompt, step.usage.cached, step.usage.completion, step.usage.reasoning) == (100, 64, 20, 8)
    assert step.usage.prompt_from == step.usage.completion_from == "reported"
    assert server.served[0].headers["authorization"] == "Bearer sk-test"
    assert server.served[0].body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How many?"},
    ]


def test_every_failed_request_is_reported_and_the_last_answer_counts() -> None:
    script = [failure(429, retry_after=7), failure(500), hang_up(), Answer("ok")]
    waits: list[float] = []
    with FakeServer(script) as server:
        step = model(server, waits).complete(ASKED)
    assert step.attempts == 4 and step.message.content == "ok"
    assert [attempt.error.split(":")[0] for attempt in step.failed[:2]] == ["HTTP 429", "HTTP 500"]
    assert all(attempt.usage.prompt is None for attempt in step.failed)
    assert waits == [7.0, 1.0, 2.0]  # the server's own wish, then doubled


def test_an_unusable_answer_that_was_charged_keeps_its_usage() -> None:
    with FakeServer([no_choices(), not_json(), Answer("ok")]) as server:
        step = model(server).complete(ASKED)
    charged, page = step.failed
    assert charged.usage.prompt is not None and charged.usage.prompt_from == "reported"
    assert "no choices" in charged.error
    assert page.usage.prompt is None


def test_retries_end_with_the_last_reason() -> None:
    with (
        FakeServer(lambda request: failure(503, "overloaded")) as server,
        pytest.raises(ModelFailed, match=r"503.*overloaded") as caught,
    ):
        model(server, retries=2).complete(ASKED)
    assert len(caught.value.failed) == 3 and len(server.served) == 3


def test_zero_retries_means_one_request() -> None:
    with FakeServer([failure(500), Answer("late")]) as server:
        with pytest.raises(ModelFailed):
            model(server, retries=0).complete(ASKED)
        assert len(server.served) == 1


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "--key-env"), (403, "may not use"), (404, "--model and --base-url")]
)
def test_a_wrong_key_model_or_url_is_said_at_once(status: int, hint: str) -> None:
    with FakeServer(lambda request: failure(status)) as server:
        with pytest.raises(ModelRefused, match=hint):
            model(server).complete(ASKED)
        assert len(server.served) == 1


def test_a_quota_that_is_used_up_is_not_waited_for() -> None:
    with FakeServer(lambda request: failure(429, "no money", code="insufficient_quota")) as server:
        with pytest.raises(ModelRefused, match="quota"):
            model(server).complete(ASKED)
        assert len(server.served) == 1


def test_nobody_listening_names_the_address() -> None:
    with FakeServer() as server:
        url = server.url
    gone = OpenAIModel(Settings("m", url, retries=1), sleep=lambda seconds: None)
    with pytest.raises(ModelFailed, match=url):
        gone.complete(ASKED)


def test_a_rejected_temperature_is_left_out_once_and_for_all() -> None:
    def fussy(request: Request) -> Answer:
        if "temperature" in request.body:
            return failure(400, "Unsupported value: 'temperature' does not support 0.0 with this model")
        return Answer("ok")

    with FakeServer(fussy) as server:
        asked = model(server)
        first, second = asked.complete(ASKED), asked.complete(ASKED)
        assert len(server.served) == 3
    assert first.fallbacks == second.fallbacks == ("temperature",)
    assert len(first.failed) == 1 and not second.failed


def test_a_refused_max_tokens_is_sent_under_its_new_name() -> None:
    def newer(request: Request) -> Answer:
        if "max_tokens" in request.body:
            return failure(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return Answer(str(request.body["max_completion_tokens"]))

    with FakeServer(newer) as server:
        assert model(server, max_tokens=77).complete(ASKED).message.content == "77"


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 8192 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size",
    ],
)
def test_a_prompt_that_is_too_long_is_not_sent_again(text: str) -> None:
    with FakeServer(lambda request: failure(400, text)) as server:
        with pytest.raises(PromptTooLong) as caught:
            model(server).complete(ASKED)
        assert len(server.served) == len(caught.value.failed) == 1


def test_missing_usage_is_counted_and_marked() -> None:
    with FakeServer([without_usage("Four.")]) as server:
        usage = model(server).complete(ASKED).usage
    counter = TokenCounter()
    assert usage.prompt == counter.total(ASKED) and usage.completion == counter.message(Message("assistant", "Four."))
    assert usage.prompt_from == usage.completion_from == "counted"
    assert usage.cached is None and usage.cached_from == "missing"


def test_a_run_stops_at_its_cost_limit() -> None:
    budget = Budget(Prices(uncached=1_000_000, output=0), limit=150)
    answer = Answer("ok", usage={"prompt_tokens": 100, "completion_tokens": 1})
    with FakeServer(lambda request: answer) as server:
        asked = model(server, budget=budget)
        asked.complete(ASKED)
        asked.complete(ASKED)  # 100 of 150: one more may go out
        with pytest.raises(CostLimit, match=r"200\.0000 of at most 150"):
            asked.complete(ASKED)
        assert len(server.served) == 2


def test_a_charged_failure_that_uses_up_the_budget_stays_in_the_account() -> None:
    with FakeServer(lambda request: no_choices()) as server:
        asked = model(server, budget=Budget(Prices(uncached=1e6), limit=1))
        with pytest.raises(CostLimit) as caught:
            asked.complete(ASKED)
    assert len(caught.value.failed) == len(server.served) == 1


def test_tool_calls_go_out_and_come_back() -> None:
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    history = [
        *ASKED,
        Message("assistant", "", (ToolCall("c1", "bash", '{"command": "ls"}'),)),
        Message("tool", "a.py", tool_call_id="c1", name="bash"),
    ]
    with FakeServer([Answer(None, tool_calls=(("bash", {"command": "cat a.py"}),))]) as server:
        step = model(server).complete(history, tools)
    assert step.message.tool_calls[0].arguments == '{"command": "cat a.py"}'
    sent = server.served[0].body
    assert sent["tools"] == tools
    assert sent["messages"][3] == {"role": "tool", "content": "a.py", "tool_call_id": "c1"}


def test_half_a_surrogate_pair_does_not_stop_a_request() -> None:
    with FakeServer([Answer("ok")]) as server:
        assert model(server).complete([Message("user", "broken \ud83d here")]).message.content == "ok"
    assert request_messages([Message("user", "\ud83d")])[0]["content"] == "?"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        # cached tokens inside the prompt tokens, settled by the total
        ({"prompt_tokens": 113_415, "prompt_tokens_details": {"cached_tokens": 112_224}, "completion_tokens": 990, "total_tokens": 114_405}, (113_415, 112_224, 990)),
        # ... and left out of them
        ({"prompt_tokens": 12, "prompt_tokens_details": {"cached_tokens": 2_200}, "completion_tokens": 5, "total_tokens": 2_217}, (2_212, 2_200, 5)),
        ({"input_tokens": 12, "cache_read_input_tokens": 2_200, "cache_creation_input_tokens": 8, "output_tokens": 5}, (2_220, 2_200, 5)),
        ({"prompt_tokens": 50, "prompt_cache_hit_tokens": 40, "completion_tokens": 1}, (50, 40, 1)),
        ({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 2}, (9, 3, 2)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (None, None, None)),
        (None, (None, None, None)),
        ({"prompt_tokens": "many"}, (None, None, None)),
    ],
)  # fmt: skip
def test_usage_of_every_provider_reads_the_same(raw: object, expected: tuple[int | None, ...]) -> None:
    usage = read_usage(raw)
    assert (usage.prompt, usage.cached, usage.completion) == expected
    assert (usage.prompt_from == "missing") == (expected[0] is None)


def test_content_in_parts_and_arguments_as_an_object_are_read() -> None:
    parts = {"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]}
    assert read_answer(parts)[0].content == "ab"
    call = {"function": {"name": "f", "arguments": {"x": 1}}}
    message, finish = read_answer(
        {"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    )
    assert message.tool_calls == (ToolCall("call_0", "f", '{"x": 1}'),) and finish == "tool_calls"


@pytest.mark.parametrize(
    "body", [None, [], {"choices": None}, {"choices": [{"message": {"content": ""}}]}, {"choices": [{}]}]
)
def test_bodies_without_an_answer_are_named(body: object) -> None:
    with pytest.raises(Unusable):
        read_answer(body)
