"""Results that are too large for an event go to the object store; the event keeps their beginning."""

from typing import Protocol

import structlog
from pydantic_core import to_json

from services.executor.tools import Result
from shared.domain.memory import text_of
from shared.events.values import Artefact

log = structlog.get_logger("executor")
BEGINNING = 4_000  # characters
ERROR = 2_000


class Keeps(Protocol):
    """Where artefacts go: the bus."""

    async def keep(self, name: str, data: bytes) -> Artefact: ...


async def fitted(keeps: Keeps, name: str, result: Result, largest: int) -> tuple[Result, Artefact | None]:
    """The result as an event can carry it. What cannot be kept either is cut, and says so."""
    result = result._replace(error=result.error[:ERROR])
    if result.value is None or len(to_json(result.value)) <= largest:
        return result, None
    text = text_of(result.value)
    beginning = f"{text[:BEGINNING]}…"
    try:
        artefact = await keeps.keep(name, text.encode())
    except Exception as error:  # whatever the store says: what the tool did must be recorded
        log.warning("artefact_not_kept", name=name, error=repr(error))
        why = f"Only the beginning of its {len(text)} characters is here; the rest could not be kept: {error}"
        return result._replace(value=beginning, error=result.error or why[:ERROR]), None
    return result._replace(value=beginning), artefact
