"""Answers chat completions with a reply, or with the requested fault."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count as counter
from pathlib import Path
from typing import Any
from uuid import uuid4

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from rehearsal import openai_schema
from rehearsal.call_log import CallLog, ModelCallRecord
from rehearsal.faults import Fault, FaultBoard
from rehearsal.flows.path_planning import invalid_reply
from rehearsal.prompt import read_prompt
from rehearsal.rules import answer
from rehearsal.tokens import PrefixCache, count

LONGEST_HANG = 600.0
CHUNKS = 40  # at most, however long the reply is
PAGE = "<!doctype html><title>Proxy</title><p>This page stands where a model was expected.</p>"


@dataclass(frozen=True)
class CompletionReply:
    """A reply to send, and its fault. `finish` is None if the reply breaks off."""

    id: str
    text: str
    finish: str | None
    usage: openai_schema.TokenUsage
    fault: Fault


class RehearsalModel:
    """The model behind the endpoints; `pace` is the pause in seconds before each of at most 40 chunks."""

    def __init__(self, pace: float, ledger: Path | None = None) -> None:
        self.faults = FaultBoard()
        self.calls = CallLog(ledger)
        self._cache = PrefixCache()
        self._spoilt = counter()
        self._pace = pace

    async def complete(self, body: openai_schema.CompletionRequest, request: Request) -> Response:
        """Answer as an OpenAI-compatible server does."""
        prompt = read_prompt(body.messages)
        try:
            fault = self.faults.pick(body.model, prompt.task)
        except ValueError as bad:
            return JSONResponse(openai_schema.error(f"model {body.model!r}: {bad}", "invalid_request_error"), 400)
        record = self.calls.begin(ModelCallRecord(prompt.role, prompt.task, body.model))
        if await _client_left(request, LONGEST_HANG if fault.fault == "timeout" else fault.latency):
            self._ended(record, fault.fault or "cancelled")
            return Response(status_code=499)
        if (failure := _failure(fault, body)) is not None:
            self._ended(record, str(fault.fault))
            return failure
        content = answer(prompt)
        if fault.fault == "nonsense" and prompt.task == "path" and isinstance(content, dict):
            content = invalid_reply(content, next(self._spoilt))
        reply = self._reply(body, _json_text(content, body.response_format.type, fault), fault)
        record.prompt_tokens, record.completion_tokens = reply.usage.prompt, reply.usage.completion
        self.calls.save(record)
        if body.stream:
            return StreamingResponse(self._stream(body, reply, record), media_type="text/event-stream")
        self._ended(record, fault.fault or "ok")
        return JSONResponse(openai_schema.completion(reply.id, reply.text, reply.finish, reply.usage))

    def _ended(self, record: ModelCallRecord, outcome: str) -> None:
        record.outcome = outcome
        self.calls.save(record)

    def _reply(self, body: openai_schema.CompletionRequest, text: str, fault: Fault) -> CompletionReply:
        finish: str | None = "stop"
        match fault.fault:
            case "cut" | "midstream":
                text, finish = text[: len(text) // 2], None
            case "truncated":
                text, finish = text[: len(text) // 2], "length"
            case "garbled":
                text = text[: len(text) // 2] + ' ~~ "'
        texts = [message.text for message in body.messages]
        usage = openai_schema.TokenUsage(
            prompt=sum(map(count, texts)), cached=self._cache.count_cached(texts), completion=count(text)
        )
        return CompletionReply(f"chatcmpl-{uuid4().hex}", text, finish, usage, fault)

    async def _stream(
        self, body: openai_schema.CompletionRequest, reply: CompletionReply, record: ModelCallRecord
    ) -> AsyncIterator[str]:
        delay = self._pace if reply.fault.token_delay is None else reply.fault.token_delay
        size = max(8, -(-len(reply.text) // CHUNKS))
        disarmed = self.faults.disarmed
        try:
            yield openai_schema.piece(reply.id, text="")
            for start in range(0, len(reply.text), size):
                await asyncio.sleep(delay)
                if reply.fault.pause and start + size > len(reply.text) // 2:
                    await disarmed.wait()
                yield openai_schema.piece(reply.id, text=reply.text[start : start + size])
            self._ended(record, reply.fault.fault or "ok")
        finally:  # a client that leaves closes this generator
            if record.outcome == "running":
                self._ended(record, "cancelled")
        if reply.fault.fault == "midstream":
            yield openai_schema.event(openai_schema.error("the model broke down in mid-sentence", "server_error"))
        if reply.finish is None:
            return
        yield openai_schema.piece(reply.id, finish=reply.finish)
        if body.stream_options.include_usage:
            yield openai_schema.usage_piece(reply.id, reply.usage)
        yield "data: [DONE]\n\n"


async def _client_left(request: Request, seconds: float) -> bool:
    """Wait. Returns True if the client disconnected meanwhile, or after the longest hang."""
    if not seconds:
        return False
    try:
        async with asyncio.timeout(seconds):
            while (await request.receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return seconds >= LONGEST_HANG
    return True


def _failure(fault: Fault, body: openai_schema.CompletionRequest) -> Response | None:
    """The response for a fault that replaces the completion; None for the other faults."""
    match fault.fault:
        case "429":
            content = openai_schema.error("too many requests, as ordered", "rate_limit_error", "rate_limit_exceeded")
            return JSONResponse(content, 429, headers={"retry-after": f"{fault.retry_after:g}"})
        case "500":
            return JSONResponse(openai_schema.error("broken, as ordered", "server_error"), 500)
        case "error200":
            return JSONResponse(openai_schema.error("broken with status 200, as ordered", "server_error"))
        case "html":
            return HTMLResponse(PAGE)
        case _ if fault.refuses(body.response_format.type):
            kind = body.response_format.type
            return JSONResponse(
                openai_schema.error(f"response_format {kind} is not supported", "invalid_request_error"), 400
            )
        case _:
            return None


def _json_text(reply: dict[str, Any] | str, shape: str, fault: Fault) -> str:
    """The text of the reply: bare JSON if a response format was asked for, else JSON in prose."""
    if isinstance(reply, str):
        return reply if shape == "text" else json.dumps({"message": reply}, ensure_ascii=False)
    if fault.fault == "invented":
        reply = {"reply": {**reply["reply"], "confidence_level": 0.9, "mood": "cheerful"}}
    text = json.dumps(reply, ensure_ascii=False)
    return text if shape != "text" else f"Here is my reply.\n\n```json\n{text}\n```\n\nThat is all."
