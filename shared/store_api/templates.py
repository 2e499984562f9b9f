"""What plan_store is asked about templates: private, so each request names the user whose they are."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from parley.events.values import Line
from parley.protocol.templates import Run, Schedule, Template, TemplateId
from shared.store_api.base import Message
from shared.store_api.messages import Limit, Offset, User


class OfTemplate(Message):
    user: User
    template_id: TemplateId


class SaveTemplate(OfTemplate):
    """`expected`: the version that it is made from; 0: it is new. Sent again, a new one is the same one."""

    expected: Annotated[int, Field(ge=0, le=2**48)] = 0
    template: Template
    fingerprints: Annotated[dict[Line, Line], Field(max_length=100)] = Field(default_factory=dict)


class ScheduleTemplate(OfTemplate):
    """None: it is run by hand only."""

    expected: Annotated[int, Field(ge=1, le=2**48)]
    schedule: Schedule | None = None


class GetTemplate(OfTemplate): ...


class DeleteTemplate(OfTemplate):
    expected: Annotated[int, Field(ge=1, le=2**48)] | None = None


class ListTemplates(Message):
    """Newest first."""

    user: User
    limit: Limit = 50
    offset: Offset = 0


class TemplateRecord(Message):
    """A template as it is stored. `next_run`: when its schedule is due next."""

    id: str
    version: int
    template: Template
    fingerprints: dict[str, str]
    schedule: Schedule | None
    next_run: AwareDatetime | None
    last_run: Run | None
    at: AwareDatetime


class TemplateRecords(Message):
    items: tuple[TemplateRecord, ...]
    total: int


class TemplateGone(Message):
    template_id: str
