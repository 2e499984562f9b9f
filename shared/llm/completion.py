"""Reads chat completions as servers really send them: whole, or in chunks; fields of any type."""

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Any, Literal, NamedTuple

from shared.domain.kernel.storable import storable
from shared.llm.errors import ModelFailed

REPLY_LIMIT = 1_000_000  # characters
MAX_COUNT = 10**9  # tokens; a larger count is an error of the server
MAX_TOOL_CALLS = 100
THOUGHTS = ("reasoning_content", "reasoning", "thinking", "reasoning_text", "thought", "reasoning_details")
ERROR_KEYS = ("error", "errors", "detail")
BOOKKEEPING = frozenset({"id", "object", "type", "created", "model", "usage", "choices"})  # of counts and pings
Finish = Literal["stop", "length", "filter", "error"]
_SPELLINGS: dict[Finish, str] = {
    "stop": "stop eos eos_token end end_turn stop_sequence stop_token complete completed done finish finished normal "
    "tool_calls tool_call tool_use function_call",
    "length": "length max_tokens max_output_tokens max_completion_tokens max_length model_length token_limit "
    "context_length model_context_window_exceeded incomplete",
    "filter": "content_filter content_filtered safety refusal recitation blocklist sensitive prohibited_content spii "
    "guardrail_intervened image_safety image_prohibited_content model_armor",
    "error": "error abort aborted cancelled canceled timeout failed network_error other insufficient_system_resource "
    "malformed_function_call function_call_filter unexpected_tool_call malformed_response unload",
}
FINISHES = {
    spelling.replace("_", ""): finish for finish, spellings in _SPELLINGS.items() for spelling in spellings.split()
}
Prices = Mapping[str, tuple[float, float, float]]


class Tokens(NamedTuple):
    """Token counts; `prompt` includes `cached`."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0


def estimate(texts: Iterable[str]) -> int:
    """Tokens in these texts if the server did not count them: ceil(characters / 4)."""
    return ceil(sum(map(len, texts)) / 4)


def cost(prices: Prices, model: str, tokens: Tokens) -> float:
    """The cost in US dollars; `prices` are per million prompt, cached and completion tokens."""
    prompt, cached, completion = prices.get(model, (0.0, 0.0, 0.0))
    fresh = max(0, tokens.prompt - tokens.cached)
    return (fresh * prompt + tokens.cached * cached + tokens.completion * completion) / 1_000_000


class ErrorAnswer(Exception):
    """The server reports an error with status 200, or within a stream. `body`: a JSON value or a text."""

    def __init__(self, body: object) -> None:
        super().__init__("the endpoint answered with an error")
        self.body = body

    @property
    def raw(self) -> str:
        """The body as a text."""
        return self.body if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False)


@dataclass
class PartialToolCall:
    """A call of a tool that the model made, perhaps in order to answer."""

    index: object
    id: object
    name: str = ""
    arguments: io.StringIO = field(default_factory=io.StringIO)


@dataclass
class PartialReply:
    """The part of a reply that has arrived. The usage of a cancelled call is estimated from it."""

    content: io.StringIO = field(default_factory=io.StringIO)
    reasoning: io.StringIO = field(default_factory=io.StringIO)
    tool_calls: list[PartialToolCall] = field(default_factory=list)
    refusal: str = ""
    finish: Finish | None = None  # None: the server did not say, or said something unknown
    stream_done: bool = False  # the server said that nothing follows
    usage: Tokens | None = None
    choice: int | None = None  # the index of the choice that is read
    non_completion: object = None  # the last value that is no part of a completion
    refused: bool = False  # the server did not accept the request: no tokens were used

    @property
    def text(self) -> str:
        """The answer, with thoughts that the server left in it."""
        return str(storable(self.content.getvalue()))

    @property
    def thoughts(self) -> str:
        """The reasoning that the server sent in a field of its own."""
        return str(storable(self.reasoning.getvalue()))

    @property
    def size(self) -> int:
        """Characters that have arrived."""
        return self.content.tell() + self.reasoning.tell() + sum(call.arguments.tell() for call in self.tool_calls)

    def estimated_tokens(self) -> int:
        """Completion tokens, estimated for servers that do not count."""
        return estimate([self.content.getvalue(), self.reasoning.getvalue()])

    def take(self, value: object, *, error: bool = False) -> None:
        """Add a chunk or a whole completion. With `error`, it is an error event. Raises ErrorAnswer or ModelFailed."""
        if isinstance(value, list):
            for item in value:
                self.take(item, error=error)
        if not isinstance(value, dict):
            if error:
                raise ErrorAnswer({"message": value})
            self.non_completion = value if value not in (None, []) else self.non_completion
            return
        reported = value if error else _reported_error(value)
        if reported and self.finish is None:
            raise ErrorAnswer(reported)
        if not isinstance(value.get("choices"), list) and value.keys() - BOOKKEEPING:
            self.non_completion = value
        for choice in _objects(value.get("choices")):
            self._take_choice(choice)
        groq = value.get("x_groq")
        for usage in (value.get("usage"), groq.get("usage") if isinstance(groq, dict) else None):
            self.usage = count_tokens(usage) or self.usage

    def _take_choice(self, choice: dict[str, Any]) -> None:
        index = choice.get("index") if isinstance(choice.get("index"), int) else 0
        if not (self.finish or self._has_answer()):
            self.choice = index  # LiteLLM sends the thoughts as a choice of their own
        if index != self.choice:
            return
        self.non_completion = None  # whatever came before did not end the reply
        delta, message = choice.get("delta"), choice.get("message")
        chunk = delta if isinstance(delta, dict) else {}
        self._take_message(chunk)
        if message is not None and not any(part for name, part in chunk.items() if name != "role"):
            fields = message if isinstance(message, dict) else {"content": message}
            if fields.get("content"):  # chunks may have come before
                self.content = io.StringIO()
            self._take_message(fields)
            self.stream_done = not isinstance(delta, dict)
        self.finish = _finish(choice.get("finish_reason")) or self.finish
        if self.finish == "stop" and _finish(choice.get("native_finish_reason")) == "error" and not self._has_answer():
            self.finish = "error"  # OpenRouter: the provider's reason
        self.usage = count_tokens(choice.get("usage")) or self.usage

    def _has_answer(self) -> bool:
        return bool(self.content.tell() or self.tool_calls)

    def _take_message(self, message: dict[str, Any]) -> None:
        parts = list(_parts(message.get("content")))
        self.content.writelines(text for text, is_thought in parts if not is_thought)
        self.reasoning.writelines(text for text, is_thought in parts if is_thought)
        for name in THOUGHTS:  # some servers send the same thoughts under two names
            if thoughts := "".join(text for text, _ in _parts(message.get(name))):
                self.reasoning.write(thoughts)
                break
        if isinstance(refusal := message.get("refusal"), str):
            self.refusal += refusal
        for position, call in enumerate(_objects(message.get("tool_calls"))):
            self._take_tool_call(call.get("index", position), call.get("id"), call.get("function"))
        self._take_tool_call(None, None, message.get("function_call"))
        if self.size > REPLY_LIMIT:
            raise ModelFailed(f"the reply is longer than {REPLY_LIMIT:,} characters", raw=self.text[:10_000])

    def _take_tool_call(self, index: object, call_id: object, function: object) -> None:
        """Add a tool call, or a piece of one: it continues the call of its index, unless it has another id."""
        if not isinstance(function, dict):
            return
        call = next((call for call in reversed(self.tool_calls) if call.index == index), None)
        if call is None or (call_id and call.id and call.id != call_id):
            call = PartialToolCall(index, call_id)
            self.tool_calls = [*self.tool_calls[-MAX_TOOL_CALLS:], call]
        name, arguments = function.get("name"), function.get("arguments")
        call.name = name if isinstance(name, str) and name else call.name
        call.arguments.write(arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else "")


def _reported_error(value: dict[str, Any]) -> dict[str, Any] | None:
    """The object with an error that a chunk reports of itself, of a choice (OpenRouter), or in `x_groq`."""
    if "error" in (value.get("object"), value.get("type")) or any(map(value.get, ERROR_KEYS)):
        return value
    parts = [*_objects(value.get("choices")), *_objects([value.get("x_groq")])]
    failed = (part for part in parts if part.get("error") and _finish(part.get("finish_reason")) in (None, "error"))
    return next(({"error": part["error"]} for part in failed), None)


def count_tokens(usage: object) -> Tokens | None:
    """The counts of a `usage`, in the spelling of several servers; None if it counts nothing."""
    if not isinstance(usage, dict):
        return None
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    completion = _count(usage, "completion_tokens", "output_tokens")
    if not completion and not prompt:
        return None
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    cached = _count(details, "cached_tokens") if isinstance(details, dict) else 0
    cached = cached or _count(usage, "prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens")
    if prompt:  # xAI and Gemini count the thoughts in the total alone, Anthropic perhaps the cache
        cache = _count(usage, "cache_read_input_tokens") + _count(usage, "cache_creation_input_tokens")
        completion = max(completion, _count(usage, "total_tokens") - prompt - cache)
    return Tokens(prompt, min(cached, prompt), completion)


def _count(counts: dict[str, Any], *names: str) -> int:
    """The first of these counts that is a number from 1 on, also written as a text; else 0."""
    for name in names:
        try:
            number = float(counts.get(name) or 0)
        except (TypeError, ValueError, OverflowError):
            continue
        if isfinite(number) and 1 <= number <= MAX_COUNT:
            return int(number)
    return 0


def _finish(reason: object) -> Finish | None:
    """What the finish reason means, in any server's spelling: `MaxTokens`, `FinishReason.STOP`, `content_filter: X`."""
    parts = re.split("[.:]", reason.lower()) if isinstance(reason, str) else []
    words = (re.sub("[^a-z]", "", part).removeprefix("finishreason") for part in parts)
    return next((FINISHES[word] for word in words if word in FINISHES), None)


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _parts(content: object, *, is_thought: bool = False, levels: int = 4) -> Iterator[tuple[str, bool]]:
    """The texts of a content, and whether they are thoughts: a text, a part, a list of parts, or an object of JSON."""
    match content:
        case str():
            yield content, is_thought
        case list() if levels:
            for part in content:
                untyped = isinstance(part, dict) and part.keys() == {"text"}
                yield from _parts(part["text"] if untyped else part, is_thought=is_thought, levels=levels - 1)
        case {"type": str(), "thinking": inner} | {"type": str(), "reasoning": inner} if levels:
            yield from _parts(inner, is_thought=True, levels=levels - 1)
        case {"type": str(), "summary": inner} if levels:
            yield from _parts(inner, is_thought=True, levels=levels - 1)
        case {"type": str() as kind, "text": str() as text}:
            yield text, is_thought or "reasoning" in kind or "thinking" in kind
        case {"type": str()}:
            return  # a reference, a picture, encrypted thoughts
        case dict():  # the object itself, where a server parses it
            yield json.dumps(content, ensure_ascii=False), is_thought
        case _:
            return
