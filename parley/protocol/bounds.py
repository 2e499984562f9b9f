"""Limits on the fields of client messages, where the models of stored events have none."""

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    WrapValidator,
)

from parley.events.values import (
    TIME_ZONE,
    ActionId,
    Knowledge,
    Line,
    SessionSettings,
    Step,
    StepId,
    TimeZone,
    Value,
)

MAX_MESSAGE_BYTES = 256 * 1024  # of one message to the gateway, its attachments included
MAX_VERSION = 2**48
MAX_TOKENS, MAX_COST = 2**53, 1e12
MAX_APPROVAL_TIMEOUT = 10 * 366 * 86_400  # seconds; larger values overflow a datetime

Version = Annotated[int, Field(ge=1, le=MAX_VERSION, strict=True)]  # strict: neither "3" nor true
Hash = Annotated[str, Field(max_length=64)]  # SHA-256 in hex
IdOrEmpty = Annotated[str, Field(max_length=64)]  # of an action
Words = Annotated[str, Field(max_length=50_000)]  # like Text, but may be empty
Preapproved = Annotated[tuple[StepId, ...], Field(max_length=100)]  # steps, by id
Arguments = Annotated[dict[Annotated[str, Field(max_length=500)], JsonValue], Field(max_length=200)]


def _check_limits(settings: SessionSettings) -> SessionSettings:
    """Limit numbers that stored events do not."""
    bounds = (
        ("approval_timeout", settings.approval_timeout, MAX_APPROVAL_TIMEOUT),
        ("token_budget", settings.token_budget, MAX_TOKENS),
        ("cost_budget", settings.cost_budget, MAX_COST),
        ("call_budget", settings.call_budget, MAX_TOKENS),
        ("time_budget", settings.time_budget, MAX_TOKENS),
    )
    for name, value, limit in bounds:
        if value is not None and value > limit:
            raise ValueError(f"{name} may be {limit:g} at most")
    return settings


def known_fields(kind: Any) -> WrapValidator:
    """Refuse unknown fields, which the models of stored values would keep."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    return WrapValidator(lambda value, _: adapter.validate_python(value, extra="forbid"))


_Knowledge = Annotated[tuple[Knowledge, ...], Field(max_length=20)]
_Steps = Annotated[tuple[Step | Line, ...], Field(min_length=1, max_length=100)]


def _zone_or_none(value: Any) -> Any:
    """A zone that cannot be one counts as not sent: no message is lost because of its zone."""
    return value if isinstance(value, str) and len(value) <= 64 and re.fullmatch(TIME_ZONE, value) else None


SentTimeZone = Annotated[TimeZone | None, BeforeValidator(_zone_or_none)]
Settings = Annotated[SessionSettings, known_fields(SessionSettings), AfterValidator(_check_limits)]
SentKnowledge = Annotated[_Knowledge, known_fields(_Knowledge)]
SentSteps = Annotated[_Steps, known_fields(_Steps)]


class OwnPlan(BaseModel):
    """A plan that the user brings along, instead of one that the planner drafts. It is reviewed like any other."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: Line | None = Field(None, description="what the plan is for, in a sentence")
    steps: SentSteps = Field(description="what to do, in order: steps, or their texts")
    notes: Words = Field("", description="anything the steps do not say")


class OwnAction(Value):
    """A user's own tool call. Effect and policy are the tool's."""

    id: ActionId | None = Field(None, description="its id within the session; none: the gateway gives it one")
    tool: Line = Field(description="name of the tool")
    arguments: Arguments = Field(default_factory=dict, description="the tool's arguments")
    text: Annotated[str, Field(max_length=2_000, description="what it is for")] = ""
    depends_on: Annotated[
        tuple[ActionId, ...], Field(max_length=50, description="ids of actions that must succeed first")
    ] = ()
