"""Results that are too large for an event go to the object store; the event keeps their beginning."""

import json
from typing import Protocol

from pydantic import JsonValue
from pydantic_core import to_json, to_jsonable_python

from parley.events.values import Artefact, Effect
from services.executor.tools import Result
from shared.domain.memory import text_of
from shared.domain.session import Session
from shared.logging import conceal

BEGINNING = 4_000  # characters
SHORT_BEGINNING = 200  # characters, once a session holds all that it may hold
MOST_RESULTS = 2_000_000  # bytes of results that a session holds together; further ones are kept beside the log
ERROR = 2_000


class Keeps(Protocol):
    """Where artefacts go: the bus."""

    async def keep(self, name: str, data: bytes) -> Artefact: ...


def with_value(result: Result, value: object, effect: Effect) -> Result:
    """The result with this value as JSON. Where it cannot be told in JSON a read has failed, and a change is made."""
    try:
        return result._replace(value=to_jsonable_python(value))
    except ValueError as error:
        ok = result.ok and effect != "read"
        return result._replace(ok=ok, value=None, error=not_kept(result.error, error))


def parsed(result: JsonValue) -> JsonValue:
    """The value that a tool gave: some give their objects as JSON text."""
    if isinstance(result, str) and result[:1] in ("{", "["):
        try:
            value: JsonValue = json.loads(result)
        except ValueError:
            return result
        return value
    return result


def room_for_results(session: Session) -> int:
    """Bytes of results that the session can hold besides those it holds already."""
    turn = session.turn.actions if session.turn else ()
    held = {action.spec.id: action.result for action in (*session.begun_steps, *session.left_running, *turn)}
    return max(MOST_RESULTS - sum(len(to_json(result)) for result in held.values() if result is not None), 0)


def fitted(result: Result, largest: int, room: int = MOST_RESULTS) -> tuple[Result, bytes | None]:
    """The result as an event can carry it, and the whole of it, without secrets, where that is only its beginning.

    It is whole if it has no more than `largest` bytes, and fits into the session's `room`.
    """
    result = result._replace(error=result.error[:ERROR].encode(errors="replace").decode())
    try:
        if result.value is None or len(to_json(result.value)) <= min(largest, room):
            return result, None
    except ValueError as error:  # no JSON can tell it
        return result._replace(value=None, error=not_kept(result.error, error)), None
    text = conceal(text_of(result.value))
    beginning = text[: BEGINNING if room > BEGINNING else SHORT_BEGINNING]
    return result._replace(value=f"{beginning}…"), text.encode()


def not_kept(said: str, problem: Exception) -> str:
    """The error of an outcome whose result no event can hold: what the tool said, and that."""
    return f"{said} The result cannot be kept: {problem}".strip()[:ERROR]
