"""Limits for results: one too large for an event goes to the object store, and the event keeps an excerpt."""

from typing import Protocol

from pydantic import JsonValue
from pydantic_core import to_json, to_jsonable_python

from parley.events.values import Artefact, Effect
from services.executor.tools import ToolResult
from shared.domain.memory import text_of
from shared.domain.session import Session
from shared.logging import conceal, excerpt_of
from shared.repair.schema import is_finite

EXCERPT = 4_000  # characters
SHORT_EXCERPT = 200  # characters, once the session has no room left
MAX_SESSION_RESULTS = 2_000_000  # bytes of all results in a session; further ones go to the object store
MAX_ERROR = 2_000


class ArtefactWriter(Protocol):
    """Stores artefacts."""

    async def keep(self, name: str, data: bytes) -> Artefact: ...


def with_json_value(result: ToolResult, value: object, effect: Effect) -> ToolResult:
    """The result with this value as JSON. If JSON cannot express it, a read has failed; a write still counts."""
    try:
        return result._replace(value=_finite(to_jsonable_python(value)))
    except ValueError as error:
        ok = result.ok and effect != "read"
        return result._replace(ok=ok, value=None, error=unstorable_error(result.error, error))


def _finite(value: JsonValue) -> JsonValue:
    """The value. Raises ValueError if it has a number that is not finite."""
    if not is_finite(value):
        raise ValueError("it has a number that is not finite")
    return value


def remaining_result_bytes(session: Session) -> int:
    """Bytes of further results that the session has room for."""
    turn = session.turn.actions if session.turn else ()
    results = {action.spec.id: action.result for action in (*session.begun_steps, *session.left_running, *turn)}
    return max(MAX_SESSION_RESULTS - sum(len(to_json(result)) for result in results.values() if result is not None), 0)


def spill_if_large(
    result: ToolResult, largest: int, room: int = MAX_SESSION_RESULTS
) -> tuple[ToolResult, bytes | None]:
    """The result as an event carries it; and the complete text, secrets concealed, if the event has only an excerpt.

    The event carries a result of at most `largest` bytes that fits into the session's `room`, in bytes.
    """
    result = result._replace(error=excerpt_of(result.error, MAX_ERROR).encode(errors="replace").decode())
    try:
        if result.value is None or len(to_json(result.value)) <= min(largest, room):
            return result, None
    except ValueError as error:  # JSON cannot express it
        return result._replace(value=None, error=unstorable_error(result.error, error)), None
    text = conceal(text_of(result.value))
    beginning = text[: EXCERPT if room > EXCERPT else SHORT_EXCERPT]
    return result._replace(value=f"{beginning}…"), text.encode()


def unstorable_error(tool_error: str, problem: Exception) -> str:
    """The error of an outcome whose result cannot be stored: the tool's own error and the reason."""
    return excerpt_of(f"{tool_error} The result cannot be kept: {problem}".strip(), MAX_ERROR)
