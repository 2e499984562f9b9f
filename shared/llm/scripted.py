"""Scripted models for tests, which fail when the script has no reply."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from parley.events.values import CallOutcome, ModelCall
from parley.reply import Kind, Reply
from shared.llm.types import Message, ModelRequest, OnPartial, Role

Scripted = BaseModel | Exception


class Prompt(NamedTuple):
    """A request that the model got."""

    role: Role
    messages: list[Message]
    reply: type[BaseModel]
    temperature: float | None = None
    model: str = ""

    @property
    def text(self) -> str:
        """All messages as one text."""
        return "\n\n".join(message["content"] for message in self.messages)

    @property
    def data(self) -> str:
        """All messages after the system text, with data from users, tools and programs."""
        return "\n\n".join(message["content"] for message in self.messages[1:])

    def sections(self, name: str) -> list[str]:
        """What each tag of this name encloses, in order."""
        tag = re.compile(rf"^<({name}-[0-9a-f]{{8}})>\n(.*?)\n</\1>$", re.DOTALL | re.MULTILINE)
        return [body for _, body in tag.findall(self.text)]

    @property
    def task(self) -> str:
        """The task's name, as the system message of `shared.llm.sections.prompt` states it."""
        return self.messages[0]["content"].partition("Task: ")[2].partition("\n")[0]


class ScriptedModel:
    """Returns the replies (or their kinds) in order, and raises those that are exceptions. A call counts 14 tokens.

    A subclass may override `reply_to`, which chooses the reply, and `stream`, which publishes the draft.
    """

    def __init__(self, *replies: Scripted) -> None:
        self._replies = list(replies)
        self.prompts: list[Prompt] = []

    def reply_to(self, prompt: Prompt) -> Scripted:
        """The reply to this prompt. Raises AssertionError if the script has none left."""
        if not self._replies:
            raise AssertionError(f"the script has no reply left for {prompt.role}, who wants {prompt.reply.__name__}")
        return self._replies.pop(0)

    async def ask[R: BaseModel](self, request: ModelRequest[R]) -> R:
        """See `Model.ask`. Raises AssertionError if the script has no such reply."""
        if request.before_call:
            await request.before_call()
        prompt = Prompt(request.role, list(request.messages), request.reply, request.temperature, request.model)
        self.prompts.append(prompt)
        while True:
            scripted = self.reply_to(prompt)
            if isinstance(scripted, Exception):
                await request.on_call(_call(request.role, "failed"))
                raise scripted
            answer = _as_reply(scripted, request.reply, request.role)
            if not (request.refuse and request.refuse(answer)):
                break
            await request.on_call(_call(request.role, "invalid"))
        await request.on_call(_call(request.role, "ok"))
        if request.on_partial:
            await self.stream(answer, request.on_partial)
        return answer

    async def stream(self, reply: BaseModel, on_partial: OnPartial) -> None:
        """Report the partial reply: here the whole reply at once."""
        await on_partial(reply.model_dump(mode="json"))


class ModelByTask(ScriptedModel):
    """Returns the reply of each task, or the replies of a list in order: JSON data or an exception.

    The data is the value of `reply`; without a `kind` it is validated as the first kind that it fits.
    """

    def __init__(self, replies: Mapping[str, Any]) -> None:
        super().__init__()
        self.replies = dict(replies)

    def reply_to(self, prompt: Prompt) -> Scripted:
        reply = self.replies[prompt.task]
        reply = reply.pop(0) if isinstance(reply, list) else reply
        return reply if isinstance(reply, Exception) else _first_matching_kind(reply, prompt.reply)


def _first_matching_kind(data: Mapping[str, Any], reply: type[BaseModel]) -> BaseModel:
    kinds = reply.kinds() if issubclass(reply, Reply) and "kind" not in data else ()
    for kind in kinds:
        with suppress(ValidationError):
            return reply.model_validate({"reply": {"kind": kind.model_fields["kind"].default, **data}})
    return reply.model_validate({"reply": data})


def _as_reply[R: BaseModel](scripted: BaseModel, reply: type[R], role: Role) -> R:
    """The scripted reply as the requested type: a kind is wrapped, and a reply is checked against the allowed kinds."""
    if isinstance(scripted, Kind):
        return reply.model_validate({"reply": scripted.model_dump()})
    if not issubclass(reply, type(scripted)):
        raise AssertionError(f"{role} wants {reply.__name__}, the script says {type(scripted).__name__}")
    return scripted if isinstance(scripted, reply) else reply.model_validate(scripted.model_dump())


def _call(role: Role, outcome: CallOutcome) -> ModelCall:
    return ModelCall(
        model="scripted",
        role=role,
        prompt_tokens=10,
        cached_tokens=0,
        completion_tokens=4,
        cost=0.0,
        latency=0.0,
        attempt=1,
        outcome=outcome,
        estimated=False,
    )
