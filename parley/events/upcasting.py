"""Older shapes of stored events, lifted to those of today."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

type Body = dict[str, JsonValue]

# By an event's type and the format that it was stored with. An upcaster returns the body with a higher `needs`, by
# which the next one is found, and keeps `type`, which is in the subject too. What it raises on a body of another shape
# makes that body unreadable. None is ever taken out.
UPCASTERS: dict[tuple[str, int], Callable[[Body], Body]] = {}


def lift(body: Body, upcasters: Mapping[tuple[str, int], Callable[[Body], Body]]) -> Body:
    """The body in today's shape, one step after the other."""
    while upcaster := upcasters.get((str(body.get("type")), _needs(body))):
        before, body = _needs(body), upcaster(body)
        if _needs(body) <= before:
            raise RuntimeError(f"The upcaster of {body.get('type')} from format {before} leads to no newer one.")
    return body


def _needs(body: Body) -> int:
    needs = body.get("needs", 1)
    return needs if isinstance(needs, int) else 0
