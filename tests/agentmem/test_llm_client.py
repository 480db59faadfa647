"""The OpenAI-compatible client against a local server that misbehaves on demand, and that server itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentmem.errors import BadAnswer, ConfigError, ContextOverflow, ModelError, ModelRejected, ModelUnavailable
from agentmem.llm.client import OpenAIModel
from agentmem.llm.fakeserver import (
    Answer,
    FakeServer,
    Request,
    empty,
    failure,
    half,
    hang_up,
    no_choices,
    not_json,
    slow,
    without_usage,
)
from agentmem.llm.nothink import STYLES, without_thinking
from agentmem.llm.protocol import Ask, Tokens
from agentmem.messages import Message
from agentmem.settings.models import Llm

HELLO = Ask((Message("system", "be short"), Message("user", "hello")), task="test")


def model(server: FakeServer, sleeps: list[float] | None = None, **settings: Any) -> OpenAIModel:
    return OpenAIModel(
        Llm(base_url=server.url, api_key="sk-test", **settings), sleep=(sleeps if sleeps is not None else []).append
    )


@pytest.fixture
def serve() -> Iterator[Any]:
    opened: list[FakeServer] = []

    def start(*script: Any) -> FakeServer:
        server = FakeServer(list(script)).__enter__()
        opened.append(server)
        return server

    yield start
    for server in opened:
        server.__exit__()


def test_an_answer_with_reported_usage(serve: Any) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    server = serve(Answer("hi", usage=usage))
    llm = model(server)
    reply = llm.ask(HELLO)
    assert (reply.text, reply.finish) == ("hi", "stop")
    assert reply.tokens == Tokens(prompt=100, cached=64, completion=20, reasoning=5)
    body = server.served[0].body
    assert body["messages"] == [{"role": "system", "content": "be short"}, {"role": "user", "content": "hello"}]
    assert "tools" not in body  # some servers refuse an empty list
    assert server.served[0].headers["authorization"] == "Bearer sk-test"
    llm.close()


def test_missing_usage_is_missing_and_not_zero(serve: Any) -> None:
    llm = model(serve(without_usage("hi")))
    assert llm.ask(HELLO).tokens == Tokens(None, None, None, None)
    assert llm.spent()[0].tokens.prompt is None


def test_every_attempt_is_accounted_for_also_failed_ones(serve: Any) -> None:
    sleeps: list[float] = []
    llm = model(serve(failure(429, retry_after=3), failure(500), "ok"), sleeps, attempts=3)
    assert llm.ask(HELLO).text == "ok"
    assert sleeps == [3.0, 1.0]
    attempts = llm.spent()
    assert [attempt.error is None for attempt in attempts] == [False, False, True]
    assert "429" in (attempts[0].error or "")
    assert llm.spent() == []


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (failure(429), ModelUnavailable, "429"),
        (failure(503), ModelUnavailable, "503"),
        (failure(429, code="insufficient_quota", message="You exceeded your current quota"), ModelRejected, "quota"),
        (failure(401, "Incorrect API key"), ModelRejected, "401"),
        (failure(404, "no such model"), ModelRejected, "404"),
        (failure(400, "This model's maximum context length is 8192 tokens"), ContextOverflow, "8192"),
        (no_choices(), BadAnswer, "no choices"),
        (empty(), BadAnswer, "content_filter"),
        (Answer(None, finish="length"), BadAnswer, "llm.maxTokens"),
        (not_json(), ModelError, "test"),
        (Answer(body=b"{not json"), ModelUnavailable, "no JSON"),
        (hang_up(), ModelUnavailable, "test"),
    ],
)
def test_each_fault_has_its_name(serve: Any, answer: Answer, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        model(serve(answer), attempts=1).ask(HELLO)
    assert words in str(raised.value)
    assert "sk-test" not in str(raised.value)


def test_a_slow_server_is_unavailable_and_the_attempt_is_counted(serve: Any) -> None:
    llm = model(serve(slow(5.0)), attempts=1)
    with pytest.raises(ModelUnavailable, match="time limit"):
        llm.ask(Ask(HELLO.messages, "test", timeout=0.1))
    assert len(llm.spent()) == 1


def test_nobody_listens() -> None:
    llm = OpenAIModel(Llm(base_url="http://127.0.0.1:9/v1", attempts=1))
    with pytest.raises(ModelUnavailable):
        llm.ask(HELLO)


def test_a_server_that_asks_to_wait_long_is_not_waited_for(serve: Any) -> None:
    sleeps: list[float] = []
    with pytest.raises(ModelUnavailable) as raised:
        model(serve(failure(429, retry_after=600), "never"), sleeps, attempts=5).ask(HELLO)
    assert sleeps == []
    assert raised.value.retry_after == 600


def test_parameters_that_a_reasoning_model_refuses_are_changed_once_and_remembered(serve: Any) -> None:
    server = serve(
        failure(400, "Unsupported parameter: 'max_tokens' is not supported with this model."),
        failure(400, "Unsupported value: 'temperature' does not support 0.2. Only the default (1) value is supported."),
        "one",
        "two",
    )
    llm = model(server)
    assert [llm.ask(HELLO).text, llm.ask(HELLO).text] == ["one", "two"]
    assert llm.adapted == {"max_tokens", "temperature"}
    for served in server.served[2:]:
        assert served.body["max_completion_tokens"] == 4096
        assert "temperature" not in served.body and "max_tokens" not in served.body


def test_an_answer_that_was_cut_off_says_so(serve: Any) -> None:
    assert model(serve(half("abcdef"))).ask(HELLO).finish == "length"


def test_tools_are_sent_and_calls_read(serve: Any) -> None:
    tool = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}
    server = serve(Answer(None, tool_calls=(("read", {"path": "a.md"}),)))
    reply = model(server).ask(Ask(HELLO.messages, "test", tools=(tool,)))
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("read", '{"path": "a.md"}')]
    assert server.served[0].body["tools"] == [tool]


FIELDS = {
    True: {"chat_template_kwargs": {"enable_thinking": False}},
    "vllm": {"chat_template_kwargs": {"enable_thinking": False}},
    "deepseek": {"enable_thinking": False},
    "dashscope": {"enable_thinking": False},
    "openai": {"reasoning_effort": "low"},
    "anthropic": {"thinking": {"type": "disabled"}},
    "kimi": {"thinking": {"type": "disabled"}},
    "gemini": {"thinking_config": {"thinking_budget": 0}},
}


@pytest.mark.parametrize("style", [False, *FIELDS])
def test_thinking_is_turned_off_as_each_server_wants_it(serve: Any, style: bool | str) -> None:
    server = serve("ok")
    model(server, disable_thinking=style).ask(HELLO)
    sent = {
        key: value
        for key, value in server.served[0].body.items()
        if key not in ("model", "messages", "max_tokens", "temperature")
    }
    assert sent == FIELDS.get(style, {})


def test_thinking_rules_leave_other_bodies_alone() -> None:
    assert without_thinking({"input": ["x"]}, "vllm") == {"input": ["x"]}
    body = {"messages": [], "chat_template_kwargs": {"a": 1}}
    assert without_thinking(body, True)["chat_template_kwargs"] == {"a": 1, "enable_thinking": False}
    assert body["chat_template_kwargs"] == {"a": 1}
    with pytest.raises(ConfigError, match=STYLES[0]):
        without_thinking({"messages": []}, "qwen")


def test_the_fake_server_streams_and_reports_usage_only_when_asked() -> None:
    import openai

    with FakeServer(["a longer answer", "a longer answer"]) as server:
        client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)
        for options in ({}, {"stream_options": {"include_usage": True}}):
            chunks = list(
                client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "x"}], stream=True, **options
                )  # type: ignore[call-overload]
            )
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
            assert text == "a longer answer"
            assert any(chunk.usage for chunk in chunks) == bool(options)
        client.close()


def test_the_fake_server_embeds_similar_texts_alike_and_plays_functions() -> None:
    import openai

    def script(request: Request) -> str:
        return f"{request.number}: {request.last}"

    with FakeServer(script) as server:
        client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)
        data = client.embeddings.create(
            model="m", input=["green tea", "green teas", "a train"], encoding_format="float"
        ).data
        a, b, c = (item.embedding for item in data)
        assert sum(x * y for x, y in zip(a, b, strict=True)) > sum(x * y for x, y in zip(a, c, strict=True))
        llm = model(server)
        assert [llm.ask(HELLO).text, llm.ask(HELLO).text] == ["0: hello", "1: hello"]
        client.close()


def test_a_script_that_is_over_is_an_error() -> None:
    with FakeServer([]) as server, pytest.raises(ModelUnavailable, match="the script is over"):
        model(server, attempts=1).ask(HELLO)
