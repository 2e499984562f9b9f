"""Models that say what a test wrote down, and stop hard when they are asked anything else."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from parley.events.values import CallOutcome, ModelCall
from parley.reply import Kind, Reply
from shared.llm.types import BeforeCall, Message, OnCall, OnPartial, Role

Scripted = BaseModel | Exception


class Prompt(NamedTuple):
    """What the model was asked."""

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
        """The last message: what people, tools and programs said."""
        return self.messages[-1]["content"]

    @property
    def task(self) -> str:
        """The task's name, as the system message of `shared.llm.sections.prompt` states it."""
        return self.messages[0]["content"].partition("Task: ")[2].partition("\n")[0]


class ScriptedModel:
    """Gives the replies (or their kinds) in order; an exception in their place is raised. A call counts 14 tokens.

    A subclass may override `reply_to`, which chooses the reply, and `stream`, which shows it as a draft.
    """

    def __init__(self, *replies: Scripted) -> None:
        self._replies = list(replies)
        self.prompts: list[Prompt] = []

    def reply_to(self, prompt: Prompt) -> Scripted:
        """The reply to this prompt. Raises AssertionError if the script has none left."""
        if not self._replies:
            raise AssertionError(f"the script has no reply left for {prompt.role}, who wants {prompt.reply.__name__}")
        return self._replies.pop(0)

    async def ask[R: BaseModel](  # noqa: PLR0913  a question has as many sides
        self,
        role: Role,
        messages: Sequence[Message],
        reply: type[R],
        *,
        quality: str = "",
        model: str = "",
        temperature: float | None = None,
        refuse: Callable[[R], str] | None = None,
        before_call: BeforeCall | None = None,
        on_call: OnCall,
        on_partial: OnPartial | None = None,
    ) -> R:
        """See `Model.ask`; AssertionError where the script has no such reply."""
        if before_call:
            await before_call()
        prompt = Prompt(role, list(messages), reply, temperature, model)
        self.prompts.append(prompt)
        while True:
            scripted = self.reply_to(prompt)
            if isinstance(scripted, Exception):
                await on_call(_call(role, "failed"))
                raise scripted
            found = _as_asked(scripted, reply, role)
            if not (refuse and refuse(found)):
                break
            await on_call(_call(role, "invalid"))
        await on_call(_call(role, "ok"))
        if on_partial:
            await self.stream(found, on_partial)
        return found

    async def stream(self, reply: BaseModel, on_partial: OnPartial) -> None:
        """Show the reply while it is being written: here all of it at once."""
        await on_partial(reply.model_dump(mode="json"))


class ModelByTask(ScriptedModel):
    """Gives the reply of each task, or the replies of a list one after the other: JSON data or an exception.

    The data is what stands under `reply`; without a `kind` the first kind is meant that can be made of it.
    """

    def __init__(self, replies: Mapping[str, Any]) -> None:
        super().__init__()
        self.replies = dict(replies)

    def reply_to(self, prompt: Prompt) -> Scripted:
        reply = self.replies[prompt.task]
        reply = reply.pop(0) if isinstance(reply, list) else reply
        return reply if isinstance(reply, Exception) else _of_some_kind(reply, prompt.reply)


def _of_some_kind(data: Mapping[str, Any], reply: type[BaseModel]) -> BaseModel:
    kinds = reply.kinds() if issubclass(reply, Reply) and "kind" not in data else ()
    for kind in kinds:
        with suppress(ValidationError):
            return reply.model_validate({"reply": {"kind": kind.model_fields["kind"].default, **data}})
    return reply.model_validate({"reply": data})


def _as_asked[R: BaseModel](scripted: BaseModel, reply: type[R], role: Role) -> R:
    """A kind is put under `reply`; a reply that is offered with other kinds now must be one of these."""
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
