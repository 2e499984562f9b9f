"""Models that say what a test wrote down, and stop hard when they are asked anything else."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from shared.events.values import CallOutcome, ModelCall
from shared.llm.types import BeforeCall, Message, OnCall, OnPartial, Role

Reply = BaseModel | Exception


class Prompt(NamedTuple):
    """What the model was asked."""

    role: Role
    messages: list[Message]
    reply: type[BaseModel]
    temperature: float | None = None

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
    """Gives the replies in order; an exception in their place is raised. Each question is one call of 14 tokens.

    A subclass may override `reply_to`, which chooses the reply, and `stream`, which shows it as a draft.
    """

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.prompts: list[Prompt] = []

    def reply_to(self, prompt: Prompt) -> Reply:
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
        temperature: float | None = None,
        before_call: BeforeCall | None = None,
        on_call: OnCall,
        on_partial: OnPartial | None = None,
    ) -> R:
        """See `Model.ask`; AssertionError where the script has no such reply."""
        if before_call:
            await before_call()
        prompt = Prompt(role, list(messages), reply, temperature)
        self.prompts.append(prompt)
        scripted = self.reply_to(prompt)
        if isinstance(scripted, Exception):
            await on_call(_call(role, "failed"))
            raise scripted
        if not isinstance(scripted, reply):
            raise AssertionError(f"{role} wants {reply.__name__}, the script says {type(scripted).__name__}")
        await on_call(_call(role, "ok"))
        if on_partial:
            await self.stream(scripted, on_partial)
        return scripted

    async def stream(self, reply: BaseModel, on_partial: OnPartial) -> None:
        """Show the reply while it is being written: here all of it at once."""
        await on_partial(reply.model_dump(mode="json"))


class ModelByTask(ScriptedModel):
    """Gives the reply (JSON data or an exception) of each task, or the replies of a list one after the other."""

    def __init__(self, replies: Mapping[str, Any]) -> None:
        super().__init__()
        self.replies = dict(replies)

    def reply_to(self, prompt: Prompt) -> Reply:
        reply = self.replies[prompt.task]
        reply = reply.pop(0) if isinstance(reply, list) else reply
        return reply if isinstance(reply, Exception) else prompt.reply.model_validate(reply)


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
