"""How long and how large the fields of client messages may be, where the stored events that they become say nothing."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, WrapValidator

from parley.events.values import ActionId, Knowledge, Line, SessionSettings, Step, StepId, Value

MAX_VERSION = 2**48
MAX_TOKENS, MAX_COST = 2**53, 1e12
MAX_APPROVAL_TIMEOUT = 10 * 366 * 86_400  # seconds: no date is beyond what a date can be

Version = Annotated[int, Field(ge=1, le=MAX_VERSION, strict=True)]  # neither "3" nor true is a version
Hash = Annotated[str, Field(max_length=64)]  # SHA-256 in hex
IdOrEmpty = Annotated[str, Field(max_length=64)]  # an action's
Words = Annotated[str, Field(max_length=50_000)]  # a Text that may be empty
Preapproved = Annotated[tuple[StepId, ...], Field(max_length=100)]  # steps, by id
Arguments = Annotated[dict[Annotated[str, Field(max_length=500)], JsonValue], Field(max_length=200)]


def _within_reason(settings: SessionSettings) -> SessionSettings:
    """The numbers that a stored event does not limit."""
    bounds = (
        ("approval_timeout", settings.approval_timeout, MAX_APPROVAL_TIMEOUT),
        ("token_budget", settings.token_budget, MAX_TOKENS),
        ("cost_budget", settings.cost_budget, MAX_COST),
        ("call_budget", settings.call_budget, MAX_TOKENS),
        ("time_budget", settings.time_budget, MAX_TOKENS),
    )
    for name, value, most in bounds:
        if value is not None and value > most:
            raise ValueError(f"{name} may be {most:g} at most")
    return settings


def known_fields(kind: Any) -> WrapValidator:
    """Stored values keep fields that they do not know; a client's are refused."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    return WrapValidator(lambda value, _: adapter.validate_python(value, extra="forbid"))


_Knowledge = Annotated[tuple[Knowledge, ...], Field(max_length=20)]
_Steps = Annotated[tuple[Step | Line, ...], Field(min_length=1, max_length=100)]

Settings = Annotated[SessionSettings, known_fields(SessionSettings), AfterValidator(_within_reason)]
SentKnowledge = Annotated[_Knowledge, known_fields(_Knowledge)]
SentSteps = Annotated[_Steps, known_fields(_Steps)]


class OwnPlan(BaseModel):
    """A plan that the person brings along, instead of one that the planner drafts: for review, like any other."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: Line | None = None
    steps: SentSteps
    notes: Words = ""


class OwnAction(Value):
    """A person's own call of a tool. Its effect and policy are the tool's; without an id it gets the next free one."""

    id: ActionId | None = None
    tool: Line
    arguments: Arguments = Field(default_factory=dict)
    text: Annotated[str, Field(max_length=2_000)] = ""
    depends_on: Annotated[tuple[ActionId, ...], Field(max_length=50)] = ()
