"""How a server's bytes become a reply: events, types of fields, errors, and the messages that are sent."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from shared.llm import Message
from shared.llm.completion import PartialReply, PartialToolCall, Tokens, count_tokens
from shared.llm.faults import TransientFault, read_error
from shared.llm.schema import Capabilities, chat_messages
from shared.llm.stream import collect
from tests.support.cpu_time import takes_at_most
from tests.support.timeouts import WAIT_TIMEOUT

KEEP_ALIVE, DONE = b": keep-alive\n\n", b"data: [DONE]\n\n"


class Answer(BaseModel):
    text: str


def event(finish: str | None = None, **delta: Any) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]})}\n\n".encode()


async def read(*pieces: bytes) -> tuple[PartialReply, int]:
    """The reply in these pieces, and how many of them counted as a sign of life."""
    draft, count = PartialReply(), 0

    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    def on_data() -> None:
        nonlocal count
        count += 1

    await collect(httpx2.Response(200, content=body()), draft, None, on_data=on_data)
    return draft, count


async def test_keep_alives_count_as_data_until_the_reply_is_finished() -> None:
    thinking = [KEEP_ALIVE] * 5
    draft, count = await read(*thinking, event(content="a"), *thinking, event("stop"), *thinking, DONE)
    assert (draft.text, count) == ("a", 12)


async def test_what_has_arrived_is_reported_although_the_server_pauses() -> None:
    """Two pieces come at once, so the second one is within the pause between two reports."""
    reported = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield event(content='{"text": "a')
        yield event(content="b")
        await reported.wait()
        yield event("stop", content='c"}') + DONE

    async def on_partial(partial: Mapping[str, Any]) -> None:
        if partial == {"text": "ab"}:
            reported.set()

    async with asyncio.timeout(WAIT_TIMEOUT):
        await collect(httpx2.Response(200, content=body()), PartialReply(), on_partial, ["text"])


async def test_an_error_of_a_report_is_raised() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield event(content='{"text": "a')
        await asked.wait()
        yield event("stop", content='"}') + DONE

    async def on_partial(_: Mapping[str, Any]) -> None:
        asked.set()
        raise LookupError("no such field")

    asked = asyncio.Event()
    with pytest.raises(LookupError):
        await collect(httpx2.Response(200, content=body()), PartialReply(), on_partial, ["text"])


async def test_data_counts_although_the_reason_came_with_the_thoughts() -> None:
    early = event("stop", reasoning_content="hm")
    draft, count = await read(early, event(content="a"), event(content="b"), KEEP_ALIVE, event("stop"), DONE)
    assert (draft.text, count) == ("ab", 4)


async def test_events_in_one_line_are_all_read() -> None:
    glued = (event(content="do ") + event(content="not ")).replace(b"\n\ndata", b"data")
    draft, _ = await read(glued, event("stop", content="touch"), DONE)
    assert draft.text == "do not touch"


@given(st.lists(st.integers(1, 40), max_size=30))
async def test_an_answer_may_be_cut_into_any_pieces(sizes: list[int]) -> None:
    text = '\ufeff: hi\r\ndata: {"choices": [{"delta": {"content": "茶 🚀"}}]}\r\n\r\nid: 1\r\rdata:[DONE]'.encode()
    pieces = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    draft, _ = await read(*pieces, text)
    assert (draft.text, draft.stream_done) == ("茶 🚀", True)


async def test_nothing_after_done_is_awaited() -> None:
    draft, _ = await read(event("stop", content="a") + DONE, event(content="b"))
    assert draft.text == "a"


async def test_a_broken_event_is_not_passed_over() -> None:
    with pytest.raises(TransientFault, match="not JSON"):
        await read(event(content="a"), b'data: {"choices": [{"delta": {"content": "b\n\n', event("stop", content="c"))


def test_many_values_in_one_line_are_read_in_linear_time() -> None:
    pieces = b"data: " + b"[1]" * 300_000 + b"\n\n", event("stop", content="a")
    assert takes_at_most(20, lambda: asyncio.run(read(*pieces)))


@pytest.mark.parametrize(
    ("content", "text", "thoughts"),
    [
        ("a", "a", ""),
        (None, "", ""),
        (5, "", ""),
        ([{"type": "text", "text": "a"}, "b", {"type": "output_text", "text": "c"}], "abc", ""),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}],
            "a",
            "hm",
        ),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "reasoning", "text": "so"}], "", "hmso"),
        ([{"type": "image_url", "image_url": {}}, {"type": "redacted_thinking", "data": "x"}], "", ""),
        ([{"text": "a"}, {"text": "b"}], "ab", ""),
        ({"text": "the object itself"}, '{"text": "the object itself"}', ""),
        ({"reasoning": "short", "text": "a"}, '{"reasoning": "short", "text": "a"}', ""),
        ({"thinking": "short", "text": "a"}, '{"thinking": "short", "text": "a"}', ""),
        ({"summary": "short", "text": "a"}, '{"summary": "short", "text": "a"}', ""),
    ],
)
def test_content_of_any_type(content: object, text: str, thoughts: str) -> None:
    reply = PartialReply()
    reply.take({"choices": [{"message": {"content": content}}]})
    assert (reply.text, reply.thoughts) == (text, thoughts)


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"content": "a"}, "delta": {"content": ""}},
        {"message": {"content": "a"}, "delta": {"role": "assistant", "content": None}},
        {"message": {"content": "a"}, "delta": {}},
        {"message": {"content": "a so far"}, "delta": {"content": "a"}},
        {"message": {}, "delta": {"content": "a"}},
    ],
)
def test_a_message_and_a_delta_in_one_choice_are_not_added(choice: dict[str, Any]) -> None:
    reply = PartialReply()
    reply.take({"choices": [choice]})
    assert (reply.text, reply.stream_done) == ("a", False)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda values: (
            st.lists(values, max_size=3)
            | st.dictionaries(
                st.sampled_from(["choices", "delta", "message", "content", "usage", "index", "tool_calls", "id"]),
                values,
            )
        ),
        max_leaves=12,
    )
)
def test_no_type_of_any_field_is_an_error(value: Any) -> None:
    reply = PartialReply()
    reply.take({"choices": [{"delta": value, "index": value, "finish_reason": value, "usage": value}], "usage": value})
    reply.take({"choices": value, "x_groq": value})
    reply.take(value)
    assert reply.estimated_tokens() >= 0


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 20, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 16}}, (20, 16, 9)),
        ({"prompt_tokens": "20", "completion_tokens": 9.0, "prompt_tokens_details": None}, (20, 0, 9)),
        ({"input_tokens": 20, "output_tokens": 9, "cache_read_input_tokens": 4}, (20, 4, 9)),
        ({"prompt_tokens": 20, "completion_tokens": 9, "prompt_cache_hit_tokens": 99}, (20, 20, 9)),
        ({"prompt_tokens": -1, "completion_tokens": 9}, (0, 0, 9)),
        ({"prompt_tokens": True, "completion_tokens": [9]}, (1, 0, 0)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": 1e300, "completion_tokens": float("nan")}, None),
        ({"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 399}, (12, 0, 387)),  # xAI, Gemini: thoughts
        ({"prompt_tokens": 12, "total_tokens": 13}, (12, 0, 1)),
        ({"completion_tokens": 9, "total_tokens": 29}, (0, 0, 9)),
        ({"input_tokens": 20, "output_tokens": 9, "cache_read_input_tokens": 99, "total_tokens": 128}, (20, 20, 9)),
        ({"total_tokens": 29}, None),
        ([20, 9], None),
        (None, None),
    ],
)
def test_usage_in_many_spellings(usage: object, tokens: tuple[int, ...] | None) -> None:
    assert count_tokens(usage) == (tokens and Tokens(*tokens))


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        *[(reason, "stop") for reason in ("stop", "eos", "end_turn", "stop_sequence", "STOP", "tool_calls")],
        *[
            (reason, "length")
            for reason in ("length", "MAX_TOKENS", "max-tokens", "MaxTokens", "model_length", "FinishReason.LENGTH")
        ],
        *[(reason, "stop") for reason in ("tool-calls", "end-turn", "EndTurn", "FinishReason.STOP")],
        *[(reason, "filter") for reason in ("content_filter", "SAFETY", "FINISH_REASON_SAFETY", "content-filter")],
        *[(reason, "filter") for reason in ("content_filter: PROHIBITED_CONTENT", "content_filter: OTHER")],
        *[(reason, "error") for reason in ("error", "abort", "insufficient_system_resource")],
        *[(f"function_call_filter: {reason}", "error") for reason in ("MALFORMED_FUNCTION_CALL", "NEW_REASON")],
        *[(reason, None) for reason in ("", "null", "unknown", None, 5, {"type": "stop"})],
    ],
)
def test_a_finish_reason_is_mapped_by_meaning(reason: object, finish: str | None) -> None:
    reply = PartialReply()
    reply.take({"choices": [{"delta": {"content": "a"}, "finish_reason": reason}]})
    assert reply.finish == finish


def test_pieces_of_tool_calls_belong_to_the_call_of_their_index() -> None:
    def piece(index: int | None, arguments: str, call_id: str | None = None) -> dict[str, Any]:
        function = {"name": "x" if call_id else None, "arguments": arguments}
        call = {"id": call_id, "function": function} | ({} if index is None else {"index": index})
        return {"choices": [{"delta": {"tool_calls": [call]}}]}

    def arguments(*pieces: dict[str, Any]) -> list[str]:
        reply = PartialReply()
        for item in pieces:
            reply.take(item)
        return [call.arguments.getvalue() for call in reply.tool_calls]

    assert arguments(piece(0, "{", "a"), piece(0, "1"), piece(1, "2", "b"), piece(0, "}")) == ["{1}", "2"]
    assert arguments(piece(0, "{1}", "a"), piece(0, "{2}", "b")) == ["{1}", "{2}"]
    assert arguments(piece(0, "{", "a"), piece(0, "}", "a")) == ["{}"]
    assert arguments(piece(None, "{", "a"), piece(None, "}")) == ["{}"]
    assert PartialToolCall(0, "a").name == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": "why"}', "why"),
        ({"message": "why"}, "why"),
        ({"detail": "why"}, "why"),
        ({"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "why"}]}, "messages.0.role: why"),
        ({"error": {"message": "why", "code": "x"}}, "why"),
        ({"errors": ["why", {"message": "and"}]}, "why; and"),
        (["why"], "why"),
        ([{"error": {"message": "why"}}], "why"),
        ({"type": "error", "error": {"type": "x", "message": "why"}}, "why"),
        ({"error": {"message": '{"error": {"message": "why"}}'}}, "why"),
        ({"error": {"message": "outer", "metadata": {"raw": '{"message": "why"}'}}}, "outer; why"),
        ({"error": "Bad Request", "message": "why"}, "Bad Request; why"),
        ({"error": {"code": "model_not_found"}}, "model_not_found"),
        ({"strange": "why"}, '{"strange": "why"}'),
        ({"code": 429, "errorMessage": "why"}, '{"code": 429, "errorMessage": "why"}'),
        ({"code": "X", "Message": "why"}, '{"code": "X", "Message": "why"}'),
        ({"status": "error", "error_msg": "why"}, '{"status": "error", "error_msg": "why"}'),
        ({"title": "Invalid.", "errors": {"model": ["why", "and"]}}, "model: why; model: and; Invalid."),
        ({"message": "Invalid.", "details": {"model": "why"}}, "Invalid.; model: why"),
        ({"errors": [{"field": "model", "defaultMessage": "why"}]}, "field: model; defaultMessage: why"),
        ({"error": {"message": '[{"path": ["model", 0], "message": "why"}]'}}, "model.0: why"),
        ({"error": "Bad Request", "reason": "this is why"}, "this is why; Bad Request"),
        ({"error": "Bad Request", "reason": "invalid_request"}, "Bad Request"),
        ({"error": {"message": "why", "metadata": {"flagged_input": "my billing"}}}, "why"),
        ({"error": {"message": "why", "details": [{"reason": "KEY", "domain": "x.com"}]}}, "why"),
        ("<html><head><style>p{}</style><title>502 Bad</title></head><p>why &amp; how", "502 Bad why & how"),
        ("why\n\nso", "why so"),
        ('"why"', "why"),
        ("{broken", "{broken"),
        ({}, ""),
        ("", ""),
        (None, ""),
    ],
)
def test_the_words_of_an_error_body(body: object, words: str) -> None:
    assert read_error(body).words == words


@pytest.mark.parametrize("body", ["<script" * 9_000, "<" * 90_000, "[" * 90_000, '{"error":' * 9_000, "<!--" * 9_000])
def test_a_hostile_error_body_is_read_soon(body: str) -> None:
    assert takes_at_most(10, lambda: read_error(body + "<html>"))


def test_of_a_body_with_very_many_texts_some_are_read() -> None:
    tens = [[f"{number + digit:03}." for digit in range(10)] for number in range(0, 1000, 10)]
    words = read_error({"error": [tens[start : start + 10] for start in range(0, 100, 10)]}).words
    assert words.split("; ") == [f"{number:03}." for number in range(200)]


SYSTEM: Message = {"role": "system", "content": "s"}
USER: Message = {"role": "user", "content": "u"}
ASSISTANT: Message = {"role": "assistant", "content": "a"}


@pytest.mark.parametrize(
    ("messages", "roles"),
    [
        ([SYSTEM, USER], "system user"),
        ([SYSTEM, USER, USER, ASSISTANT, ASSISTANT, USER], "system user assistant user"),
        ([SYSTEM, USER, SYSTEM, USER], "system user"),
        ([USER, SYSTEM], "system user"),
    ],
)
@pytest.mark.parametrize("mode", ["json_schema", "text"])
def test_messages_alternate_after_one_system_message(messages: list[Message], roles: str, mode: Any) -> None:
    chat = chat_messages(messages, Answer, Capabilities(mode), repair=[ASSISTANT, USER])
    assert [message["role"] for message in chat] == [*roles.split(), "assistant", "user"]
    assert ("JSON schema" in chat[0]["content"]) is (mode == "text")
    without = chat_messages(messages, Answer, Capabilities(mode, system=False), repair=[ASSISTANT, USER])
    assert [message["role"] for message in without][:1] == ["user"]
    assert without[0]["content"].startswith("s")
