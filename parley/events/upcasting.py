"""Lifts older shapes of stored events to the current one."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

type Body = dict[str, JsonValue]

# By event type and stored format. An upcaster returns the body with a higher `needs`, which finds the next upcaster,
# and keeps `type`, which is in the subject too. If it raises, the body is unreadable. Upcasters are never removed.
UPCASTERS: dict[tuple[str, int], Callable[[Body], Body]] = {}


def upcast(body: Body, upcasters: Mapping[tuple[str, int], Callable[[Body], Body]]) -> Body:
    """The body in its current shape, lifted one format at a time."""
    while upcaster := upcasters.get((str(body.get("type")), _needs(body))):
        before, body = _needs(body), upcaster(body)
        if _needs(body) <= before:
            raise RuntimeError(f"The upcaster of {body.get('type')} from format {before} leads to no newer one.")
    return body


def _needs(body: Body) -> int:
    needs = body.get("needs", 1)
    return needs if isinstance(needs, int) else 0
