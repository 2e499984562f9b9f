"""Templates of plans: what is stored of them, and what is told of them over REST."""

from datetime import datetime, time
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from parley.events.values import Line, SessionSettings, StepId, Stored, Value, is_none
from parley.protocol.bounds import Arguments, known_fields

PARAMETER = r"^[A-Za-z][A-Za-z0-9_]{0,31}$"
TEMPLATE_ID = r"^[A-Za-z0-9_-]{1,64}$"
ParameterName = Annotated[str, Field(pattern=PARAMETER)]
TemplateId = Annotated[str, Field(pattern=TEMPLATE_ID)]
Words = Annotated[str, Field(max_length=2_000)]
JsonSchema = Annotated[dict[str, JsonValue], Field(max_length=50)]


class Parameter(Stored):
    """A value that is set when the template is used. Without one, and not `required`, `default` is taken."""

    name: ParameterName
    json_schema: JsonSchema = Field(default_factory=dict)
    description: Words = ""
    default: JsonValue = None
    required: bool = True


class TemplateStep(Stored):
    """One call. Its arguments may refer to parameters, `{{params.name}}`, and to what earlier steps give."""

    id: StepId
    text: Annotated[str, Field(min_length=1, max_length=2_000)]
    tool: Line
    arguments: Arguments = Field(default_factory=dict)
    after: Annotated[tuple[StepId, ...], Field(max_length=100)] = ()
    for_each: Annotated[str, Field(min_length=1, max_length=500)] | None = Field(None, exclude_if=is_none)


class Template(Stored):
    """A plan of tool calls with parameters. `goal` and the steps' texts may name parameters, too."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Words = ""
    goal: Line
    parameters: Annotated[tuple[Parameter, ...], Field(max_length=50)] = ()
    steps: Annotated[tuple[TemplateStep, ...], Field(min_length=1, max_length=100)]


class ChosenValue(Value):
    """A value of a plan's arguments that is to be a parameter: wherever it stands, or in this `step` or `argument`."""

    name: ParameterName
    value: JsonValue
    description: Words = ""
    required: bool = False
    step: StepId | None = None
    argument: Annotated[str, Field(max_length=500)] | None = None


class Schedule(Stored):
    """When a template is run by itself: each day at a time of a time zone, or once, with these values.

    The plan is put before the owner for approval, unless the session's settings approve it.
    """

    daily: time | None = Field(None, exclude_if=is_none)
    zone: Annotated[str, Field(max_length=64)] = "UTC"
    once: AwareDatetime | None = Field(None, exclude_if=is_none)
    values: Arguments = Field(default_factory=dict)
    settings: SessionSettings | None = Field(None, exclude_if=is_none)


class Run(Stored):
    """One run by schedule: the time it was due, and its session; or why none was begun."""

    due: AwareDatetime
    session_id: str = ""
    problem: str = ""


SentTemplate = Annotated[Template, known_fields(Template)]
SentSchedule = Annotated[Schedule, known_fields(Schedule)]


TemplateStatus = Literal["ready", "draft", "unchecked"]  # unchecked: nobody says which tools there are now


class Told(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TemplateLine(Told):
    """A template in a list. `problems`: why it cannot be used as it is; none: it can."""

    id: str
    version: int
    name: str
    description: str
    steps: int
    parameters: tuple[str, ...]
    status: TemplateStatus
    shipped: bool = False
    next_run: datetime | None = None
    updated_at: datetime | None = None


class TemplateView(Told):
    """A template as it stands. A change names its `version`. A `draft` has `problems`: its tools are gone, or others.

    A `shipped` one comes with Parley: everybody can use it, and nobody change it. `form`: its values' JSON Schema.
    """

    id: str
    version: int
    template: Template
    form: JsonSchema = Field(default_factory=dict)
    status: TemplateStatus
    problems: tuple[str, ...] = ()
    schedule: Schedule | None = None
    next_run: datetime | None = None
    last_run: Run | None = None
    shipped: bool = False
    updated_at: datetime | None = None


class TemplatePage(Told):
    """My own, newest first; and those that come with Parley."""

    templates: tuple[TemplateLine, ...]
    total: int
    shipped: tuple[TemplateLine, ...] = ()


class Candidate(Told):
    """A value of a plan that can become a parameter: a `name` for it, the argument where it stands first, its steps."""

    name: str
    value: JsonValue
    argument: str
    steps: tuple[str, ...]


class CandidatePage(Told):
    """Of a plan: the name that its template would have, and the values that can become parameters."""

    name: str
    values: tuple[Candidate, ...]
