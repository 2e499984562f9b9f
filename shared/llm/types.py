"""The types of a model call."""

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict

from pydantic import BaseModel

from parley.events.values import ModelCall, Service

# Two threads that import modules of one package can wait for each other, and Python then fails one of the imports.
IMPORT_LOCK = threading.Lock()  # of the model's client, which threads import in the background
Role = Service  # the calling service, by which models, temperatures and costs are configured


class Message(TypedDict):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


BeforeCall = Callable[[], Awaitable[None]]
OnCall = Callable[[ModelCall], Awaitable[None]]
OnPartial = Callable[[Mapping[str, Any]], Awaitable[None]]
OnWait = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class ModelRequest[R: BaseModel]:
    """A question to a model: the prompt, the type of its reply, options, and callbacks.

    Models are configured by role (the calling service), or by role and `quality`. `model` overrides both, and must be
    a configured one. A temperature configured for the role overrides `temperature`.

    `refuse` returns why a valid reply is not acceptable, or "": a refused reply counts as invalid.
    `before_call` is awaited before every HTTP call; if it raises, no call is made and the error propagates.
    `on_call` gets every HTTP call, including failed and cancelled ones. `on_partial` gets the partial object a few
    times a second and the whole one at the end; after a failed attempt it starts again. `on_wait` gets the seconds that
    the server asks to wait, if they are more than a few, and 0 when that time is over.
    """

    role: Role
    messages: Sequence[Message]
    reply: type[R]
    on_call: OnCall
    quality: str = ""
    model: str = ""
    temperature: float | None = None
    refuse: Callable[[R], str] | None = None
    before_call: BeforeCall | None = None
    on_partial: OnPartial | None = None
    on_wait: OnWait | None = None


class Model(Protocol):
    """Anything that answers a prompt with a validated object."""

    async def ask[R: BaseModel](self, request: ModelRequest[R]) -> R:
        """Return the validated reply. Raises ModelError after bounded attempts."""
        ...
