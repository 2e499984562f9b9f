"""Plan templates: their stored form, and their form in the REST API."""

from datetime import datetime, time
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, JsonValue

from parley.events.values import Line, SessionSettings, StepId, Stored, Value, is_none
from parley.protocol.bounds import Arguments, known_fields
from parley.protocol.views import RestModel

PARAMETER = r"^[A-Za-z][A-Za-z0-9_]{0,31}$"
TEMPLATE_ID = r"^[A-Za-z0-9_-]{1,64}$"
ParameterName = Annotated[str, Field(pattern=PARAMETER)]
TemplateId = Annotated[str, Field(pattern=TEMPLATE_ID)]
Words = Annotated[str, Field(max_length=2_000)]
JsonSchema = Annotated[dict[str, JsonValue], Field(max_length=50)]


class Parameter(Stored):
    """A value that the user of the template sets. If it is missing and not `required`, `default` is used."""

    name: ParameterName
    json_schema: JsonSchema = Field(default_factory=dict)
    description: Words = ""
    default: JsonValue = None
    required: bool = True


class TemplateStep(Stored):
    """One call. Its arguments may refer to parameters, `{{params.name}}`, and to outputs of earlier steps."""

    id: StepId
    text: Annotated[str, Field(min_length=1, max_length=2_000)]
    tool: Line
    arguments: Arguments = Field(default_factory=dict)
    after: Annotated[tuple[StepId, ...], Field(max_length=100)] = ()
    for_each: Annotated[str, Field(min_length=1, max_length=500)] | None = Field(None, exclude_if=is_none)


class Template(Stored):
    """A plan of tool calls with parameters. `goal` and the steps' texts may refer to parameters, too."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Words = ""
    goal: Line
    parameters: Annotated[tuple[Parameter, ...], Field(max_length=50)] = ()
    steps: Annotated[tuple[TemplateStep, ...], Field(min_length=1, max_length=100)]


class ChosenValue(Value):
    """A value in a plan that becomes a parameter: wherever it occurs, or only in this `step` or `argument`."""

    name: ParameterName
    value: JsonValue
    description: Words = ""
    required: bool = False
    step: StepId | None = None
    argument: Annotated[str, Field(max_length=500)] | None = None


class Schedule(Stored):
    """When a template runs by itself: daily at a time in a time zone, or once, with these values.

    The owner must approve each run's plan, unless the session's settings approve it.
    """

    daily: time | None = Field(None, exclude_if=is_none)
    zone: Annotated[str, Field(max_length=64)] = "UTC"
    once: AwareDatetime | None = Field(None, exclude_if=is_none)
    values: Arguments = Field(default_factory=dict)
    settings: SessionSettings | None = Field(None, exclude_if=is_none)


class ScheduledRun(Stored):
    """A scheduled run: the time it was due, and its session, or why it could not start."""

    due: AwareDatetime
    session_id: str = ""
    problem: str = ""


SentTemplate = Annotated[Template, known_fields(Template)]
SentSchedule = Annotated[Schedule, known_fields(Schedule)]


TemplateStatus = Literal["ready", "draft", "unchecked"]  # unchecked: the executor does not answer


class TemplateLine(RestModel):
    """A template in a list."""

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


class TemplateView(RestModel):
    """A template. A change names its `version`. A `draft` has `problems`: its tools are gone or have changed.

    A `shipped` one comes with Parley: all users can use it, none can change it. `form`: the JSON Schema of its values.
    """

    id: str
    version: int
    template: Template
    form: JsonSchema = Field(default_factory=dict)
    status: TemplateStatus
    problems: tuple[str, ...] = ()
    schedule: Schedule | None = None
    next_run: datetime | None = None
    last_run: ScheduledRun | None = None
    shipped: bool = False
    updated_at: datetime | None = None


class TemplatePage(RestModel):
    """My own templates, newest first, and those that come with Parley."""

    templates: tuple[TemplateLine, ...]
    total: int
    shipped: tuple[TemplateLine, ...] = ()


class Candidate(RestModel):
    """A value of a plan that can become a parameter: a suggested `name`, its first argument, and its steps."""

    name: str
    value: JsonValue
    argument: str
    steps: tuple[str, ...]


class CandidatePage(RestModel):
    """A plan's default template name, and its values that can become parameters."""

    name: str
    values: tuple[Candidate, ...]
