"""The model client against a scripted transport: its requests, retries, repairs, fallbacks and reports."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel, ConfigDict
from structlog.testing import capture_logs

from parley.events.values import ModelCall
from shared.llm import Message, ModelFailed, ModelMisconfigured, ModelRequest, ModelUnreachable
from shared.llm.client import OpenAIModel
from shared.settings import Settings
from shared.telemetry.metrics import REGISTRY


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str
    number: int = 0


class Another(BaseModel):
    other: int


KEY = "sk-very-secret-key"
MESSAGES: list[Message] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Six times seven?"}]
GOOD = '{"text": "it is 42", "number": 42}'
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 10,
    "total_tokens": 110,
    "prompt_tokens_details": {"cached_tokens": 40},
}
type ScriptedAnswer = Callable[[httpx2.Request], httpx2.Response] | httpx2.Response | Exception


def sse(*texts: str, finish: str | None = "stop", usage: Mapping[str, Any] | None = USAGE) -> httpx2.Response:
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        chunks.append({"choices": [], "usage": usage})
    body = "".join(f"data: {json.dumps({'id': 'x', 'created': 1, 'model': 'm', **chunk})}\n\n" for chunk in chunks)
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=f"{body}data: [DONE]\n\n")


def error(status: int, message: str = "no", **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json={"error": {"message": message}}, headers=headers)


class ScriptedClient:
    """A model client whose transport gives these answers in order; one request too many fails the test."""

    def __init__(self, *answers: ScriptedAnswer, **settings: Any) -> None:
        self.answers = list(answers)
        self.sent: list[dict[str, Any]] = []
        self.calls: list[ModelCall] = []
        self.partials: list[Mapping[str, Any]] = []
        options = {"openai_base_url": "http://model/v1", "openai_api_key": KEY, "openai_model": "m"} | settings
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))
        self.model = OpenAIModel(Settings(**options), http_client=http, first_wait=0.001)

    async def ask(self, messages: list[Message] = MESSAGES, model: str = "") -> Answer:
        try:
            return await self.model.ask(
                ModelRequest(
                    "planner", messages, Answer, model=model, on_call=_into(self.calls), on_partial=_into(self.partials)
                )
            )
        finally:
            assert len(self.calls) <= len(self.sent)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        if request.url.path == "/v1/chat/completions":
            self.sent.append(json.loads(request.content))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx2.Response) else answer(request)


def _into(items: list[Any]) -> Callable[[Any], Awaitable[None]]:
    async def add(item: Any) -> None:
        items.append(item)

    return add


async def test_a_call_reports_its_tokens_and_cost() -> None:
    client = ScriptedClient(sse(GOOD[:9], GOOD[9:]), parley_prices={"m": (10.0, 1.0, 100.0)})
    assert await client.ask() == Answer(text="it is 42", number=42)
    [call] = client.calls
    assert (call.prompt_tokens, call.cached_tokens, call.completion_tokens) == (100, 40, 10)
    assert call.cost == pytest.approx((60 * 10 + 40 * 1 + 10 * 100) / 1e6)
    assert (call.model, call.role, call.attempt, call.outcome, call.estimated) == ("m", "planner", 1, "ok", False)


async def test_the_request_body() -> None:
    client = ScriptedClient(sse(GOOD), parley_models={"planner": "big"}, parley_temperatures={"planner": 0.2})
    await client.ask()
    [body] = client.sent
    assert (body["model"], body["temperature"], body["stream"]) == ("big", 0.2, True)
    assert body["stream_options"] == {"include_usage": True}
    assert body["messages"] == MESSAGES
    schema = body["response_format"]["json_schema"]
    assert (schema["name"], schema["strict"]) == ("Answer", True)
    assert schema["schema"]["required"] == ["text", "number"]
    assert schema["schema"]["additionalProperties"] is False


async def test_a_named_model_must_be_configured() -> None:
    client = ScriptedClient(sse(GOOD), sse(GOOD), parley_models={"planner": "big", "verifier.economy": "small"})
    for name in ("small", "m"):
        await client.ask(model=name)
    assert [body["model"] for body in client.sent] == ["small", "m"]
    with pytest.raises(ModelMisconfigured, match="“huge” is not configured here") as failed:
        await client.ask(model="huge")
    assert failed.value.reason.endswith("These can be named: big, m, small.")
    assert (failed.value.retryable, len(client.sent)) == (False, 2)


async def test_tokens_are_estimated_where_the_server_does_not_count() -> None:
    client = ScriptedClient(sse(GOOD, usage=None))
    await client.ask()
    [call] = client.calls
    assert call.estimated
    assert call.prompt_tokens == -(-sum(len(message["content"]) for message in MESSAGES) // 4)
    assert (call.cached_tokens, call.completion_tokens) == (0, -(-len(GOOD) // 4))


@pytest.mark.parametrize("word", ["temperature", "stream_options"])
async def test_an_option_that_the_server_refuses_is_left_out_and_remembered(word: str) -> None:
    client = ScriptedClient(
        error(400, f"unsupported: {word}"), sse(GOOD), sse(GOOD), parley_temperatures={"planner": 1.0}
    )
    await client.ask()
    await client.ask()
    assert [word in body for body in client.sent] == [True, False, False]
    assert all("response_format" in body for body in client.sent), "all other options stay"
    assert [call.outcome for call in client.calls] == ["failed", "ok", "ok"]
    assert client.calls[0].prompt_tokens == 0, "a refused request used nothing"


async def test_formats_fall_back_one_by_one_and_the_schema_moves_into_the_prompt() -> None:
    refusals = error(400, "json_schema: unknown grammar"), error(422, "response_format: extra fields not permitted")
    client = ScriptedClient(*refusals, sse(f"Sure!\n```json\n{GOOD}\n```"), sse(GOOD))
    await client.ask()
    await client.ask()
    formats = [body.get("response_format", {}).get("type") for body in client.sent]
    assert formats == ["json_schema", "json_object", None, None]
    assert '"number"' in client.sent[2]["messages"][0]["content"]
    assert client.sent[2]["messages"][0]["content"].startswith("Be brief.")
    assert client.sent[2]["messages"][1:] == MESSAGES[1:]


async def test_a_request_that_is_refused_in_every_form_fails_and_nothing_is_remembered() -> None:
    client = ScriptedClient(*(error(400, "invalid schema") for _ in range(3)), sse(GOOD))
    with pytest.raises(ModelFailed, match="invalid schema") as failed:
        await client.ask()
    assert not failed.value.retryable
    await client.ask()
    assert "response_format" in client.sent[-1]


async def test_a_rejected_request_without_a_fallback_fails_at_once() -> None:
    client = ScriptedClient(error(400, "this model does not know the role assistant"))
    with pytest.raises(ModelFailed, match="the role assistant"):
        await client.ask()
    assert len(client.sent) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9123 tokens."),
        (400, "request (9123 tokens) exceeds the available context size (8192 tokens), try increasing it"),
        (500, "Context size has been exceeded."),
        (400, "prompt is too long: 208310 tokens > 200000 maximum"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens"),
        (400, "Prompt contains 40000 tokens and is too large for model with 32768 maximum context length"),
        (400, "The number of tokens to keep from the initial prompt is greater than the context length"),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
        (400, "Range of input length should be [1, 30720]"),
        (413, "Input is too long for requested model."),
    ],
)
async def test_a_prompt_over_the_context_fails_at_once_with_advice(status: int, message: str) -> None:
    client = ScriptedClient(error(status, message))
    with pytest.raises(
        ModelFailed, match="no longer fits the model's context: serve the model with a larger context"
    ) as failed:
        await client.ask()
    assert message in failed.value.reason
    assert len(client.sent) == 1


async def test_a_reply_cut_at_the_length_limit_is_not_quoted_back() -> None:
    client = ScriptedClient(sse('{"text": "' + "again and " * 500, finish="length"), sse(GOOD))
    await client.ask()
    echoed, complaint = client.sent[1]["messages"][-2:]
    assert echoed["content"] == "(too long)"
    assert "length limit" in complaint["content"]


async def test_a_mode_is_downgraded_for_one_reply_type_and_logged_once() -> None:
    client = ScriptedClient(error(400, "invalid schema"), sse(GOOD), sse(GOOD), sse('{"other": 1}'))
    labels = {"model": "m", "reply": "Answer", "mode": "json_object"}
    before = REGISTRY.get_sample_value("parley_model_downgrades_total", labels) or 0
    with capture_logs() as logged:
        await client.ask()
        await client.ask()
    await client.model.ask(ModelRequest("planner", MESSAGES, Another, on_call=_into(client.calls)))
    formats = [body["response_format"]["type"] for body in client.sent]
    assert formats == ["json_schema", "json_object", "json_object", "json_schema"]
    downgrades = [(line["event"], line["reply"], line["mode"]) for line in logged]
    assert downgrades == [("reply_mode_downgraded", "Answer", "json_object")]
    assert REGISTRY.get_sample_value("parley_model_downgrades_total", labels) == before + 1


async def test_an_invalid_reply_is_quoted_back_with_errors_that_hide_its_values() -> None:
    bad = '{"text": "x", "number": "seven hundred", "mood": 1}'
    client = ScriptedClient(sse(bad), sse(GOOD))
    assert (await client.ask()).number == 42
    echoed, complaint = client.sent[1]["messages"][-2:]
    assert echoed == {"role": "assistant", "content": bad}
    assert "number: " in complaint["content"]
    assert "mood: " in complaint["content"]
    assert "seven hundred" not in complaint["content"]
    assert [(call.outcome, call.attempt) for call in client.calls] == [("invalid", 1), ("ok", 2)]


async def test_after_two_repairs_the_call_fails_with_the_raw_reply() -> None:
    client = ScriptedClient(sse('{"text": 1}'), sse('{"text": 2}'), sse('{"text": 3}'))
    with pytest.raises(ModelFailed, match="not valid") as failed:
        await client.ask()
    assert failed.value.raw == '{"text": 3}'
    assert len(client.sent[2]["messages"]) == len(MESSAGES) + 2, "only the last bad reply is sent back"


async def test_a_prose_reply_downgrades_the_mode() -> None:
    client = ScriptedClient(sse("The answer is forty-two."), sse(GOOD), sse(GOOD))
    await client.ask()
    await client.ask()
    assert [body["response_format"]["type"] for body in client.sent] == ["json_schema", "json_object", "json_object"]


async def test_thoughts_are_not_quoted_back() -> None:
    client = ScriptedClient(sse('<think>Perhaps {"text": "a"}</think>Forty-two.'), sse(GOOD))
    await client.ask()
    assert client.sent[1]["messages"][-2] == {"role": "assistant", "content": "Forty-two."}


@pytest.mark.parametrize("text", ["", "<think>It is 42.</think>"])
async def test_an_empty_reply_downgrades_the_mode(text: str) -> None:
    client = ScriptedClient(sse(text), sse(text), sse(text))
    with pytest.raises(ModelFailed, match="it is empty" if not text else "put into the thoughts"):
        await client.ask()
    formats = [body.get("response_format", {}).get("type") for body in client.sent]
    assert formats == ["json_schema", "json_object", None]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (error(503, "warming up"), "503"),
        (error(429, "slow down", **{"retry-after": "0.01"}), "429"),
        (httpx2.ReadTimeout("slow"), "in time"),
        (httpx2.RemoteProtocolError("gone"), "connection"),
        (sse(GOOD[:-9], finish=None), "cut off"),
        (httpx2.Response(200, text="<html>"), "page"),
        (httpx2.Response(200, json={"error": {"message": "overloaded"}}), "overloaded"),
        (httpx2.Response(200, json=[1]), "error"),
        (httpx2.Response(200, headers={"content-type": "text/event-stream"}, text="data: nonsense\n\n"), "nonsense"),
        (httpx2.Response(200, headers={"content-type": "text/event-stream"}, text='data: {"choices":\n\n'), "not JSON"),
        (httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=""), "cut off"),
        (httpx2.Response(200, text=f"data: {'[' * 1200}{']' * 1200}\n\n"), "nested too deeply"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_transient_fault_is_retried_a_limited_number_of_times(fault: ScriptedAnswer, reason: str) -> None:
    client = ScriptedClient(fault, sse(GOOD))
    assert (await client.ask()).number == 42
    assert [call.outcome for call in client.calls] == ["failed", "ok"]
    client = ScriptedClient(fault, fault, model_max_attempts=2)
    with pytest.raises(ModelFailed, match=reason) as failed:
        await client.ask()
    assert failed.value.retryable
    assert len(client.sent) == 2


@pytest.mark.parametrize(
    ("fault", "setting"),
    [
        (error(401, f"Incorrect API key: {KEY}"), "OPENAI_API_KEY"),
        (error(403), "OPENAI_API_KEY"),
        (error(404), "OPENAI_BASE_URL and OPENAI_MODEL"),
        (error(402), "account"),
        (httpx2.Response(429, json={"error": {"message": "pay", "code": "insufficient_quota"}}), "quota"),
    ],
)
async def test_wrong_settings_are_named_and_not_retried(fault: ScriptedAnswer, setting: str) -> None:
    client = ScriptedClient(fault)
    with pytest.raises(ModelMisconfigured, match=setting) as wrong:
        await client.ask()
    assert not wrong.value.retryable
    assert KEY not in str(wrong.value)


async def test_the_settings_named_are_those_in_use() -> None:
    client = ScriptedClient(error(401), openai_base_url="", openai_api_key="", internlm_api_key=KEY)
    with pytest.raises(ModelMisconfigured, match="INTERNLM_API_KEY"):
        await client.ask()


async def test_an_unreachable_endpoint_is_reported_with_its_address() -> None:
    client = ScriptedClient(httpx2.ConnectError("refused"))
    with pytest.raises(ModelUnreachable, match="http://model/v1"):
        await client.ask()
    assert [(call.outcome, call.prompt_tokens) for call in client.calls] == [("failed", 0)]


async def test_refusals_and_content_filters_are_reported_as_such() -> None:
    refusal = {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "refusal": "I must not"}}]
    }
    with pytest.raises(ModelFailed, match="I must not"):
        await ScriptedClient(httpx2.Response(200, json=_completion(refusal))).ask()
    with pytest.raises(ModelFailed, match="content filter"):
        await ScriptedClient(sse("{", finish="content_filter")).ask()


def _completion(body: dict[str, Any]) -> dict[str, Any]:
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m"} | body


async def test_an_endless_reply_fails() -> None:
    with pytest.raises(ModelFailed, match="longer than"):
        await ScriptedClient(sse("x" * 1_000_001)).ask()


@pytest.mark.parametrize(
    ("listed", "used"),
    [
        (httpx2.Response(200, json={"object": "list", "data": [{"id": "first"}, {"id": "second"}]}), "first"),
        (httpx2.Response(200, json={"object": "list", "data": []}), "gpt-5-mini"),
        (error(404), "gpt-5-mini"),
        (httpx2.Response(200, text="<html>"), "gpt-5-mini"),
    ],
)
async def test_the_default_model_is_the_first_that_the_endpoint_lists(listed: httpx2.Response, used: str) -> None:
    client = ScriptedClient(listed, sse(GOOD), openai_model="")
    await client.ask()
    assert client.sent[0]["model"] == used


async def test_openais_model_list_is_not_requested() -> None:
    client = ScriptedClient(sse(GOOD), openai_model="", openai_base_url="")
    await client.ask()
    assert client.sent[0]["model"] == "gpt-5-mini"


async def test_without_settings_the_rehearsal_model_is_used() -> None:
    model = OpenAIModel(Settings(openai_base_url="", openai_api_key="", rehearsal_port=23333))
    assert "127.0.0.1:23333" in str(model._client.base_url)
    await model.aclose()
