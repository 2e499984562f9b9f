"""The words of one typed call to a model."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict

from pydantic import BaseModel, ConfigDict, Field

Role = Literal["planner", "generator", "verifier", "executor"]
Outcome = Literal["ok", "invalid", "failed", "cancelled"]


class Message(TypedDict):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class Call(BaseModel):
    """One HTTP call and what it cost; failed and cancelled ones are calls too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    role: str
    prompt_tokens: int = Field(ge=0)
    cached_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    cost: float = Field(ge=0, description="US dollars, 0 where the model has no price")
    latency: float = Field(ge=0, description="seconds")
    attempts: int = Field(ge=1, description="which HTTP call of this question it was, 1 is the first")
    outcome: Outcome
    estimated: bool = Field(description="the server told no usage: tokens are characters / 4")


OnCall = Callable[[Call], Awaitable[None]]
OnPartial = Callable[[Mapping[str, Any]], Awaitable[None]]


class Model(Protocol):
    """Anything that answers a prompt with a validated object."""

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
        """Return the reply as `reply`; raise a `ModelError` after bounded tries.

        For a `quality` another model may be configured than for the role alone; a `temperature` configured for the
        role comes before the one that is asked for here.

        `on_call` hears of every HTTP call, also of failed and cancelled ones. `on_partial` gets the object as far as
        it has come, a few times a second and once more when it is whole; after a failed try it begins anew.
        """
        ...
