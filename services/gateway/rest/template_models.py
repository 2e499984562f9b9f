"""What REST takes about templates."""

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from parley.events.values import SessionId, Text
from parley.protocol.bounds import Arguments, Settings
from parley.protocol.templates import TEMPLATE_ID, ChosenValue, SentSchedule, SentTemplate
from services.gateway.rest.execution_plan_models import Asked, Version

TemplateId = Annotated[str, Path(pattern=TEMPLATE_ID)]
Format = Literal["json", "yaml"]
TaskId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}(\.t[0-9]{1,15})?$")]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Document(_Body):
    """Either a `template`, or a `document` that holds one, as `format` has it."""

    template: SentTemplate | None = None
    document: Annotated[str, Field(max_length=250_000)] | None = None
    format: Format = "yaml"


class NewTemplate(Document):
    """`id` is your own id of this request: sent twice, it is done once."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None


class ChangedTemplate(Document):
    """`version`: the one that it is made from."""

    version: Version


class _Made(_Body):
    """`parameters`: values of the plan that become parameters, wherever they stand. Without a name: the goal."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    name: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=2_000)] = ""
    parameters: Annotated[tuple[ChosenValue, ...], Field(max_length=50)] = ()


class FromPlan(_Made):
    """The newest version of an execution plan, drafted or done."""

    task_id: TaskId


class FromSession(_Made):
    """What a session did: its finished calls, in order."""

    session_id: SessionId


class Scheduled(_Body):
    """Without a `schedule` it is run by hand only."""

    version: Version
    schedule: SentSchedule | None = None


class Use(Asked):
    """`values` of the parameters. With a `request`, the template is a hint to the planner, who makes the plan."""

    values: Arguments = Field(default_factory=dict)
    settings: Settings | None = None
    request: Text | None = None
