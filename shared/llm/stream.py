"""Collects a streamed reply."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from openai import AsyncStream
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import ValidationError

from shared.llm.errors import ModelFailed
from shared.llm.faults import InvalidReply, TransientFault, shorten
from shared.llm.parsing import partial_object
from shared.llm.types import OnPartial
from shared.llm.usage import Tokens

REPLY_LIMIT = 1_000_000  # characters
PARTIAL_EVERY = 1 / 30  # seconds


@dataclass
class PartialReply:
    """The part of a reply that has arrived. The usage of a cancelled call is estimated from it."""

    text: str = ""
    thoughts: int = 0  # characters of reasoning that is not part of the reply
    refusal: str = ""
    finish: str | None = None
    usage: CompletionUsage | None = None
    refused: bool = False  # the server did not accept the request: no tokens were used
    shown: float = field(default=0.0, repr=False)

    def tokens(self) -> Tokens | None:
        """The server's count, if it sent one."""
        if self.usage is None:
            return None
        details = self.usage.prompt_tokens_details
        cached = (details.cached_tokens if details else 0) or 0
        return Tokens(self.usage.prompt_tokens or 0, cached, self.usage.completion_tokens or 0)

    def estimated_tokens(self) -> int:
        """Completion tokens, estimated for servers that do not count."""
        return ceil((len(self.text) + self.thoughts) / 4)

    def take(self, *, content: str | None, extra: object, finish: str | None) -> None:
        """Add one piece; `extra` is its delta or message, with fields that only some servers send."""
        self.text += content or ""
        self.thoughts += len(getattr(extra, "reasoning_content", None) or getattr(extra, "reasoning", None) or "")
        self.refusal += getattr(extra, "refusal", None) or ""
        self.finish = finish or self.finish
        if len(self.text) + self.thoughts > REPLY_LIMIT:
            raise ModelFailed(f"the reply is longer than {REPLY_LIMIT:,} characters", raw=self.text[:10_000])


async def collect(
    stream: AsyncStream[ChatCompletionChunk],
    draft: PartialReply,
    on_partial: OnPartial | None,
    on_chunk: Callable[[], None] = lambda: None,
) -> None:
    """Read the whole stream into `draft`; raise TransientFault if it is cut or not a reply, or ModelFailed."""
    async with stream:
        if "text/event-stream" in stream.response.headers.get("content-type", ""):
            async for chunk in stream:
                on_chunk()
                _take_chunk(draft, chunk)
                await _report_partial(draft, on_partial)
        else:
            _take_body(draft, (await stream.response.aread()).decode(errors="replace"))
    _check_end(draft)


def _take_chunk(draft: PartialReply, chunk: ChatCompletionChunk) -> None:
    draft.usage = chunk.usage or draft.usage
    for choice in (chunk.choices or [])[:1]:  # the chunk that carries usage has none
        if choice.delta:
            draft.take(content=choice.delta.content, extra=choice.delta, finish=choice.finish_reason)
        else:
            draft.finish = choice.finish_reason or draft.finish


def _take_body(draft: PartialReply, body: str) -> None:
    """Read a reply that is not streamed. Some servers do not stream, or send errors with status 200."""
    try:
        data = json.loads(body)
    except ValueError:
        raise TransientFault(
            f"the endpoint answered with a page instead of a reply (is its address right?): {shorten(body, 80)}",
            raw=body,
        ) from None
    if not isinstance(data, dict) or not data.get("choices"):
        error: Any = data.get("error", data) if isinstance(data, dict) else data
        message = error.get("message", error) if isinstance(error, dict) else error
        raise TransientFault(f"the endpoint answered with an error: {shorten(str(message))}", raw=body)
    completion = _completion(data, body)
    choice = completion.choices[0]
    draft.usage = completion.usage
    draft.take(content=choice.message.content, extra=choice.message, finish=choice.finish_reason)


def _completion(data: dict[str, Any], body: str) -> ChatCompletion:
    try:
        return ChatCompletion.model_validate(data)
    except ValidationError:
        raise TransientFault("the endpoint answered with something that is no chat completion", raw=body) from None


async def _report_partial(draft: PartialReply, on_partial: OnPartial | None) -> None:
    now = time.monotonic()
    if on_partial is None or now - draft.shown < PARTIAL_EVERY or not draft.text:
        return
    if (partial := partial_object(draft.text)) is not None:
        draft.shown = now
        await on_partial(partial)


def _check_end(draft: PartialReply) -> None:
    if draft.refusal and not draft.text:
        raise ModelFailed(f"the model refused: {shorten(draft.refusal)}", raw=draft.refusal)
    match draft.finish:
        case None:
            raise TransientFault("the reply was cut off", raw=draft.text)
        case "length":
            raise InvalidReply("it was cut at the model's length limit: answer more briefly", raw=draft.text, cut=True)
        case "content_filter":
            raise ModelFailed("the endpoint's content filter stopped the reply", raw=draft.text)
        case _:
            return
