"""Requests to plan_store about templates, and the replies. Templates are private, so each request names the user."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from parley.events.values import Line
from parley.protocol.templates import Schedule, ScheduledRun, Template, TemplateId
from shared.store_api.base import StoreMessage
from shared.store_api.messages import Limit, Offset, User


class TemplateRequest(StoreMessage):
    user: User
    template_id: TemplateId


class SaveTemplate(TemplateRequest):
    """`expected`: the version that it changes; 0: a new template. Repeating the request creates no second template."""

    expected: Annotated[int, Field(ge=0, le=2**48)] = 0
    template: Template
    fingerprints: Annotated[dict[Line, Line], Field(max_length=100)] = Field(default_factory=dict)


class ScheduleTemplate(TemplateRequest):
    """`schedule` None: the template runs only by hand."""

    expected: Annotated[int, Field(ge=1, le=2**48)]
    schedule: Schedule | None = None


class GetTemplate(TemplateRequest): ...


class DeleteTemplate(TemplateRequest):
    expected: Annotated[int, Field(ge=1, le=2**48)] | None = None


class ListTemplates(StoreMessage):
    """Newest first."""

    user: User
    limit: Limit = 50
    offset: Offset = 0


class TemplateRecord(StoreMessage):
    """A template as it is stored. `next_run`: when its schedule is due next."""

    id: str
    version: int
    template: Template
    fingerprints: dict[str, str]
    schedule: Schedule | None
    next_run: AwareDatetime | None
    last_run: ScheduledRun | None
    at: AwareDatetime


class TemplateRecords(StoreMessage):
    items: tuple[TemplateRecord, ...]
    total: int


class TemplateDeletedReply(StoreMessage):
    template_id: str
