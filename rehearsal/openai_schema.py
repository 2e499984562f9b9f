"""The part of OpenAI's chat completions schema that the rehearsal model supports."""

import json
import time
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MODEL_ID = "rehearsal"


class TextPart(BaseModel):
    """One part of a multi-part message. Parts that are not text are ignored."""

    type: str
    text: str = ""


class CompletionMessage(BaseModel):
    """One message of a request."""

    role: str
    content: str | list[TextPart] | None = None

    @property
    def text(self) -> str:
        """The content as one text."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content or [])


class ResponseFormat(BaseModel):
    """The requested format of the reply. The schema is ignored: the rules know the shape of their replies."""

    type: Literal["text", "json_object", "json_schema"] = "text"


class StreamOptions(BaseModel):
    """Whether the last chunk reports the usage."""

    include_usage: bool = False


class CompletionRequest(BaseModel):
    """A request; fields that rules cannot honour (temperature, seed, …) are accepted and ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str
    messages: list[CompletionMessage] = Field(min_length=1)
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    response_format: ResponseFormat = ResponseFormat()


class TokenUsage(BaseModel):
    """Token counts of one completion."""

    prompt: int
    cached: int
    completion: int

    def body(self) -> dict[str, Any]:
        """The JSON object of the response."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }


def completion(request_id: str, text: str, finish: str | None, usage: TokenUsage) -> dict[str, Any]:
    """A whole reply in one body."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return _head(request_id, "chat.completion") | {"choices": [choice], "usage": usage.body()}


def piece(request_id: str, *, text: str | None = None, finish: str | None = None) -> str:
    """One server-sent chunk: some text, or the end with its reason."""
    delta = {"role": "assistant", "content": text} if text is not None else {}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event(_head(request_id, "chat.completion.chunk") | {"choices": [choice]})


def usage_piece(request_id: str, usage: TokenUsage) -> str:
    """The chunk without choices that carries the usage."""
    return event(_head(request_id, "chat.completion.chunk") | {"choices": [], "usage": usage.body()})


def event(data: dict[str, Any]) -> str:
    """One server-sent event."""
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def error(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    """An error body."""
    return {"error": {"message": message, "type": kind, "code": code, "param": None}}


def _head(request_id: str, kind: str) -> dict[str, Any]:
    return {"id": request_id, "object": kind, "created": int(time.time()), "model": MODEL_ID}
