"""Request models of templates."""

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from parley.events.values import SessionId, Text
from parley.protocol.bounds import Arguments, Settings
from parley.protocol.templates import TEMPLATE_ID, ChosenValue, SentSchedule, SentTemplate
from services.gateway.rest.plan_models import TaskRequest, Version

TemplateId = Annotated[str, Path(pattern=TEMPLATE_ID)]
Format = Literal["json", "yaml"]
TaskId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}(\.t[0-9]{1,15})?$")]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Document(_Body):
    """Either a `template`, or a `document` in `format` that contains one."""

    template: SentTemplate | None = None
    document: Annotated[str, Field(max_length=250_000)] | None = None
    format: Format = "yaml"


class NewTemplate(Document):
    """`id` is your own id of this request: sent twice, it is carried out once."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None


class ChangedTemplate(Document):
    """`version`: the one that the change is based on."""

    version: Version


class _TemplateSource(_Body):
    """`parameters`: values of the plan that become parameters, wherever they occur. `name` defaults to the goal."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    name: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=2_000)] = ""
    parameters: Annotated[tuple[ChosenValue, ...], Field(max_length=50)] = ()


class FromPlan(_TemplateSource):
    """A template from the newest version of an execution plan, drafted or executed."""

    task_id: TaskId


class FromSession(_TemplateSource):
    """A template from a session's finished calls, in order."""

    session_id: SessionId


class Scheduled(_Body):
    """Without a `schedule` the template does not run by itself."""

    version: Version
    schedule: SentSchedule | None = None


class Use(TaskRequest):
    """`values` of the parameters. With a `request`, the planner makes the plan, with the template as a hint."""

    values: Arguments = Field(default_factory=dict)
    settings: Settings | None = None
    request: Text | None = None
