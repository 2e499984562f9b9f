"""The words of one typed call to a model."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict

from pydantic import BaseModel

from parley.events.values import ModelCall, Service

Role = Service  # who asks: models, temperatures and costs are told apart by it


class Message(TypedDict):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


BeforeCall = Callable[[], Awaitable[None]]
OnCall = Callable[[ModelCall], Awaitable[None]]
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
        model: str = "",
        temperature: float | None = None,
        refuse: Callable[[R], str] | None = None,
        before_call: BeforeCall | None = None,
        on_call: OnCall,
        on_partial: OnPartial | None = None,
    ) -> R:
        """Return the reply as `reply`; raise a `ModelError` after bounded tries.

        For a `quality` another model may be configured than for the role alone; a `model` that is named comes before
        both, and must be one that is configured. A `temperature` configured for the role comes before the one that is
        asked for here.

        `refuse` says why a valid reply cannot be taken, or "": such a reply is treated as one that is not valid.
        `before_call` is awaited before every HTTP call; what it raises ends the question, and no call is made.
        `on_call` hears of every HTTP call, also of failed and cancelled ones. `on_partial` gets the object as far as
        it has come, a few times a second and once more when it is whole; after a failed try it begins anew.
        """
        ...
