"""A model that says what a test wrote down, and stops hard when it is asked anything else."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel

from shared.llm.types import Call, Message, OnCall, OnPartial, Outcome, Role


class Prompt(NamedTuple):
    """What the model was asked."""

    role: Role
    messages: list[Message]
    reply: type[BaseModel]

    @property
    def text(self) -> str:
        """All messages as one text."""
        return "\n\n".join(message["content"] for message in self.messages)


class ScriptedModel:
    """Gives the replies in order; an exception in their place is raised. Each question is one call of 14 tokens."""

    def __init__(self, *replies: BaseModel | Exception) -> None:
        self._replies = list(replies)
        self.prompts: list[Prompt] = []

    async def ask[R: BaseModel](  # noqa: PLR0913  a question has as many sides
        self,
        role: Role,
        messages: Sequence[Message],
        reply: type[R],
        *,
        quality: str = "",
        temperature: float | None = None,
        on_call: OnCall,
        on_partial: OnPartial | None = None,
    ) -> R:
        """See `Model.ask`; AssertionError where the script has no such reply."""
        self.prompts.append(Prompt(role, list(messages), reply))
        if not self._replies:
            raise AssertionError(f"the script has no reply left for {role}, who wants {reply.__name__}")
        scripted = self._replies.pop(0)
        if isinstance(scripted, Exception):
            await on_call(_call(role, "failed"))
            raise scripted
        if not isinstance(scripted, reply):
            raise AssertionError(f"{role} wants {reply.__name__}, the script says {type(scripted).__name__}")
        await on_call(_call(role, "ok"))
        if on_partial:
            await on_partial(scripted.model_dump(mode="json"))
        return scripted


def _call(role: Role, outcome: Outcome) -> Call:
    return Call(
        model="scripted",
        role=role,
        prompt_tokens=10,
        cached_tokens=0,
        completion_tokens=4,
        cost=0.0,
        latency=0.0,
        attempts=1,
        outcome=outcome,
        estimated=False,
    )
