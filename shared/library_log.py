"""The log of templates: every version of every template, each appended behind the one that it was made from.

The last message of a template is what it is now; what deletes it also removes the messages before.
"""

from typing import Annotated, Literal, Protocol

from pydantic import AwareDatetime, Field, TypeAdapter

from parley.events.values import Line, Stored
from parley.protocol.templates import Schedule, Template, TemplateId
from shared.log_reading import EXPECTED, StoredMessage

ROLLUP = "Nats-Rollup"
LARGEST = 250_000  # bytes of a message


class TemplateEvent(Stored):
    """`version` counts the template's messages, 1..n. `actor` is `user:<id>`."""

    id: TemplateId
    version: Annotated[int, Field(ge=1)]
    owner: Line
    actor: Line
    at: AwareDatetime


class TemplateSaved(TemplateEvent):
    """The template as it is from now on. `fingerprints`: of its tools. `seed`: ids of its runs follow from it."""

    type: Literal["template.saved"] = "template.saved"
    template: Template
    fingerprints: dict[str, str] = Field(default_factory=dict)
    schedule: Schedule | None = None
    seed: Line


class TemplateDeleted(TemplateEvent):
    type: Literal["template.deleted"] = "template.deleted"


AnyTemplateEvent = Annotated[TemplateSaved | TemplateDeleted, Field(discriminator="type")]
TEMPLATE_EVENT: TypeAdapter[TemplateSaved | TemplateDeleted] = TypeAdapter(AnyTemplateEvent)


class LibraryLog(Protocol):
    async def append(self, template_id: str, body: bytes, *, after: int, last: bool = False) -> StoredMessage:
        """Store the message if the template's last position is `after`; `last`: those before it are removed.

        Raises shared.log's LostRace, Unsure (among them LogFull), LogDown.
        """
        ...

    async def read(self, *, after: int, limit: int = 500) -> list[StoredMessage]:
        """The messages of all templates with a position over `after`, in order. Raises LogDown."""
        ...


def subject_of(template_id: str) -> str:
    return f"library.{template_id}"


def expected(after: int) -> dict[str, str]:
    """The headers of a guarded append: the guard looks at the very subject of the message."""
    return {EXPECTED: str(after)}
