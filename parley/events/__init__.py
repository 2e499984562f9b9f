"""Every event that a session can record (`facts`), as one discriminated union with its JSON.

Subject: `session.<session_id>.<due>.<type>`. `shared.domain` computes who is due.
"""

from typing import Literal, get_args

from pydantic import JsonValue, TypeAdapter

from parley.events import envelope, facts
from parley.events.envelope import Event
from parley.events.facts import SessionEvent
from parley.events.upcasting import UPCASTERS, upcast
from parley.events.values import Service

type Due = Service | Literal["user", "nobody"]

EVENT_CLASSES: tuple[type[Event], ...] = get_args(get_args(SessionEvent)[0])
EVENTS: TypeAdapter[SessionEvent] = TypeAdapter(SessionEvent)
BODY: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


def types_made_by(service: str) -> tuple[str, ...]:
    """The types of the events that a service may append."""
    return tuple(event_class.type_name() for event_class in EVENT_CLASSES if service in event_class.made_by)


def parse_event(body: bytes | str) -> SessionEvent:
    """A stored body as an event.

    Raises pydantic.ValidationError (a ValueError) for anything that is not an event of a known type and shape.
    """
    if UPCASTERS:
        body = _upcast_body(body)
    return EVENTS.validate_json(body)


def _upcast_body(body: bytes | str) -> bytes | str:
    """The body in its newest shape. A body that cannot be upcast is returned as it is: the parser refuses it."""
    try:
        return BODY.dump_json(upcast(BODY.validate_json(body), UPCASTERS))
    except (ValueError, LookupError, TypeError, AttributeError):  # whatever an upcaster raises on an unknown shape
        return body


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
