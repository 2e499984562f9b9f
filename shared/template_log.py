"""The log of templates: one message for each version, appended after the version that it changes.

A template's last message is its current state. Deleting a template also removes its earlier messages.
"""

from typing import Annotated, Literal, Protocol

from pydantic import AwareDatetime, Field, TypeAdapter

from parley.events.values import Line, Stored
from parley.protocol.templates import Schedule, Template, TemplateId
from shared.log_reading import EXPECTED_SEQUENCE, StoredMessage

ROLLUP = "Nats-Rollup"
MAX_MESSAGE_BYTES = 250_000  # bytes of a message


class TemplateEvent(Stored):
    """`version` counts the template's messages, 1..n. `actor` is `user:<id>`."""

    id: TemplateId
    version: Annotated[int, Field(ge=1)]
    owner: Line
    actor: Line
    at: AwareDatetime


class TemplateSaved(TemplateEvent):
    """The template's new state. `fingerprints`: of its tools, by name. `seed`: the ids of its runs derive from it."""

    type: Literal["template.saved"] = "template.saved"
    template: Template
    fingerprints: dict[str, str] = Field(default_factory=dict)
    schedule: Schedule | None = None
    seed: Line


class TemplateDeleted(TemplateEvent):
    type: Literal["template.deleted"] = "template.deleted"


AnyTemplateEvent = Annotated[TemplateSaved | TemplateDeleted, Field(discriminator="type")]
TEMPLATE_EVENT: TypeAdapter[TemplateSaved | TemplateDeleted] = TypeAdapter(AnyTemplateEvent)


class TemplateLog(Protocol):
    async def append(self, template_id: str, body: bytes, *, after: int, last: bool = False) -> int:
        """Store the message after position `after`, the template's last; `last` removes all messages before it.

        Returns its position. Raises shared.log's VersionConflict, Indeterminate (including LogFull), LogUnavailable.
        """
        ...

    async def read(self, *, after: int, limit: int = 500) -> list[StoredMessage]:
        """The messages of all templates with a position over `after`, in order. Raises LogUnavailable."""
        ...


def subject_of(template_id: str) -> str:
    return f"library.{template_id}"


def expected_headers(after: int) -> dict[str, str]:
    """The headers of a guarded append. The guard checks the message's own subject."""
    return {EXPECTED_SEQUENCE: str(after)}
