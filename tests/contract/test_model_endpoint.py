"""The model client against imitations of several kinds of OpenAI-compatible servers, as observed in practice."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict

from parley.events.values import ModelCall
from shared.llm import Message, ModelFailed, ModelRequest
from shared.llm.client import OpenAIModel
from shared.settings import Settings
from tests.support.serving import serving


class TextPlan(BaseModel):
    model_config = ConfigDict(extra="forbid")
    question: str | None
    goal: str
    steps: list[str]
    notes: str


PLAN = TextPlan(question=None, goal="Tea", steps=["Boil water", "Wait"], notes="")
TEXT = PLAN.model_dump_json()
USAGE = {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}
MESSAGES: list[Message] = [{"role": "system", "content": "You plan."}, {"role": "user", "content": "Make tea"}]
type Kind = Callable[[dict[str, Any]], Response]


def chunk(**fields: Any) -> str:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps(head | fields)}\n\n"


def delta(finish: str | None = None, **fields: Any) -> str:
    return chunk(choices=[{"index": 0, "delta": fields, "finish_reason": finish}])


def stream(events: Iterator[str]) -> Response:
    return StreamingResponse(events, media_type="text/event-stream")


def rejects(message: str) -> Response:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error"}}, 400)


def format_of(body: dict[str, Any]) -> str:
    return str(body.get("response_format", {}).get("type", "text"))


def openai_style(body: dict[str, Any]) -> Response:
    """Requires every property of a strict schema; sends an empty delta first, and the usage last, without choices."""
    shape = body["response_format"]["json_schema"]
    if shape["strict"] and set(shape["schema"]["required"]) != set(shape["schema"]["properties"]):
        return rejects("every property must be required")

    def events() -> Iterator[str]:
        yield delta(role="assistant", content="", refusal=None)
        for start in range(0, len(TEXT), 7):
            yield delta(content=TEXT[start : start + 7])
        yield delta(finish="stop")
        yield chunk(choices=[], usage=USAGE | {"prompt_tokens_details": {"cached_tokens": 16}})
        yield "data: [DONE]\n\n"

    return stream(events())


def without_json_schema(body: dict[str, Any]) -> Response:
    """Supports JSON mode only, like older local servers, and repeats the usage in every chunk."""
    if format_of(body) == "json_schema":
        return rejects("response_format json_schema is not supported by this backend")

    def events() -> Iterator[str]:
        for start in range(0, len(TEXT), 20):
            yield chunk(choices=[{"index": 0, "delta": {"content": TEXT[start : start + 20]}}], usage=USAGE)
        yield chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], usage=USAGE)
        yield "data: [DONE]\n\n"

    return stream(events())


def ignores_the_schema(body: dict[str, Any]) -> Response:
    """Accepts any format, but answers in prose unless the prompt contains the schema."""
    has_schema = any("JSON schema" in message["content"] for message in body["messages"])
    text = f"Of course!\n\n```json\n{TEXT}\n```\nAnything else?" if has_schema else "First boil water, then wait."
    return stream(iter([delta(content=text), delta(finish="stop"), chunk(choices=[], usage=USAGE), "data: [DONE]\n\n"]))


def without_usage(body: dict[str, Any]) -> Response:
    """Rejects stream_options and reports no usage."""
    if "stream_options" in body:
        return rejects("Unrecognized request argument supplied: stream_options")
    return stream(iter([delta(content=TEXT), delta(finish="stop"), "data: [DONE]\n\n"]))


def with_reasoning(_: dict[str, Any]) -> Response:
    """Sends reasoning in a separate field and also within the text."""

    def events() -> Iterator[str]:
        yield ": keep-alive\n\n"
        for word in ("What ", "about ", '{"goal": "coffee"}?'):
            yield delta(reasoning_content=word, content=None)
        yield delta(content="<think>Tea it is.</think>\n")
        yield delta(content=TEXT)
        yield delta(finish="stop", content=None)
        yield chunk(choices=[], usage=USAGE)
        yield "data: [DONE]\n\n"

    return stream(events())


def with_empty_choices_first(_: dict[str, Any]) -> Response:
    """Sends a chunk about content filters without choices first, and never sends [DONE]."""
    first = chunk(choices=[], prompt_filter_results=[{"prompt_index": 0}])
    return stream(iter([first, delta(content=TEXT), delta(finish="stop"), chunk(choices=[], usage=USAGE)]))


def in_one_piece(_: dict[str, Any]) -> Response:
    """Ignores the request to stream."""
    choice = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    return JSONResponse(head | {"choices": [choice], "usage": USAGE})


def without_temperature(body: dict[str, Any]) -> Response:
    """Rejects a temperature, like some reasoning models."""
    if "temperature" in body:
        return rejects("Unsupported value: 'temperature' does not support 0.3 with this model.")
    return openai_style(body)


def with_a_strict_template(body: dict[str, Any]) -> Response:
    """Has a chat template that knows no role `system` and takes user and assistant only in turn; ignores formats."""
    roles = [message["role"] for message in body["messages"]]
    if "system" in roles:
        return rejects("System role not supported")
    if roles != (["user", "assistant"] * len(roles))[: len(roles)] or roles[-1] != "user":
        return rejects("Conversation roles must alternate user/assistant/user/assistant/...")
    return ignores_the_schema(body)


# Kind of server -> outcomes of the calls for the first request. The second request always takes one call.
KINDS: dict[Kind, list[str]] = {
    openai_style: ["ok"],
    without_json_schema: ["failed", "ok"],
    ignores_the_schema: ["invalid", "ok"],
    without_usage: ["failed", "ok"],
    with_reasoning: ["ok"],
    with_empty_choices_first: ["ok"],
    in_one_piece: ["ok"],
    without_temperature: ["failed", "ok"],
    with_a_strict_template: ["failed", "invalid", "ok"],
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_every_kind_of_server_gives_the_same_reply(kind: Kind) -> None:
    app = FastAPI()
    calls: list[ModelCall] = []
    partials: list[Any] = []

    @app.post("/v1/chat/completions")
    async def complete(request: Request) -> Response:
        return kind(await request.json())

    async def on_call(call: ModelCall) -> None:
        calls.append(call)

    async def on_partial(partial: Any) -> None:
        partials.append(partial)

    async with serving(app) as url:
        settings = Settings(
            openai_base_url=f"{url}/v1", openai_model="m", model_timeout=10, parley_temperatures={"planner": 0.3}
        )
        model = OpenAIModel(settings, first_wait=0.01)
        assert (
            await model.ask(ModelRequest("planner", MESSAGES, TextPlan, on_call=on_call, on_partial=on_partial)) == PLAN
        )
        first_outcomes = [call.outcome for call in calls]
        assert await model.ask(ModelRequest("planner", MESSAGES, TextPlan, on_call=on_call)) == PLAN
        await model.aclose()
    assert first_outcomes == KINDS[kind]
    assert [call.outcome for call in calls[len(first_outcomes) :]] == ["ok"], "the client must remember"
    assert partials[-1] == PLAN.model_dump()
    assert calls[-1].estimated is (kind is without_usage)
    assert calls[-1].completion_tokens == (-(-len(TEXT) // 4) if kind is without_usage else 9)
    assert calls[-1].cached_tokens == (16 if kind in (openai_style, without_temperature) else 0)


async def test_a_request_that_fails_in_every_mode_does_not_downgrade_the_next_one() -> None:
    app = FastAPI()
    formats: list[str] = []

    @app.post("/v1/chat/completions")
    async def complete(request: Request) -> Response:
        body = await request.json()
        formats.append(format_of(body))
        if len(formats) > 3:
            return openai_style(body)
        return stream(iter([delta(content="I cannot do that."), delta(finish="stop"), "data: [DONE]\n\n"]))

    async def on_call(_: ModelCall) -> None:
        pass

    async with serving(app) as url:
        model = OpenAIModel(Settings(openai_base_url=f"{url}/v1", openai_model="m"), first_wait=0.01)
        with pytest.raises(ModelFailed, match="not valid"):
            await model.ask(ModelRequest("planner", MESSAGES, TextPlan, on_call=on_call))
        assert await model.ask(ModelRequest("planner", MESSAGES, TextPlan, on_call=on_call)) == PLAN
        await model.aclose()
    assert formats == ["json_schema", "json_object", "text", "json_schema"]
