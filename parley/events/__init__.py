"""Every event that a session can record (`facts`), as one discriminated union with its JSON.

Subject: `session.<session_id>.<due>.<type>`. `shared.domain` computes who is due.
"""

from typing import Literal, get_args

from pydantic import TypeAdapter

from parley.events import envelope, facts
from parley.events.envelope import Event
from parley.events.facts import SessionEvent
from parley.events.values import Service

type Due = Service | Literal["user", "nobody"]

EVENT_CLASSES: tuple[type[Event], ...] = get_args(get_args(SessionEvent)[0])
EVENTS: TypeAdapter[SessionEvent] = TypeAdapter(SessionEvent)


def types_made_by(service: str) -> tuple[str, ...]:
    """The types of the events that a service may append."""
    return tuple(event_class.type_name() for event_class in EVENT_CLASSES if service in event_class.made_by)


def parse_event(body: bytes | str) -> SessionEvent:
    """A stored body as an event.

    Raises pydantic.ValidationError (a ValueError) for anything that is not an event of a known type and shape.
    """
    return EVENTS.validate_json(body)


def dump_event(event: SessionEvent) -> bytes:
    """The stored body: compact JSON with all fields, except those of the envelope that hold their default."""
    return event.model_dump_json().encode()


__all__ = [
    "EVENTS",
    "EVENT_CLASSES",
    "Due",
    "Event",
    "SessionEvent",
    "dump_event",
    "envelope",
    "facts",
    "parse_event",
    "types_made_by",
]
