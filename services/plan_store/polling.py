"""The looks of steps that poll: the keeper asks the executor for each, and records only what the domain calls news.

How often a step has looked, and when it looks next, lies in the session's one timer `wake`, not in the log. The timer
of the next look is armed before the executor is asked: a keeper that is ended in between loses one look, and no more.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

import structlog
from pydantic import AwareDatetime, BaseModel, ValidationError

from parley.protocol.tools import TOOLS_LOOK, Looked, LookNow
from services.plan_store.history import StoreLog
from shared.bus import BusDown
from shared.domain.admissible_reports import KEEPER
from shared.domain.commands import CommandMeta, RecordLook
from shared.domain.errors import Refused
from shared.domain.polling import next_look, polling
from shared.domain.session import Session
from shared.domain.state import Action
from shared.log import SessionAtPosition, UpgradeNeeded, commit

log = structlog.get_logger("keeper")
WAKE = "wake"  # the kind of timer
TIMEOUT = 50.0  # seconds for the answer to a look: the executor ends its call before


class PollProgress(BaseModel):
    """How far a step has come, that began to poll by the event of version `began`."""

    began: int
    looks: int
    next_look: AwareDatetime


class WakeTimer(BaseModel):
    """The payload of the timer `wake`: when it fires, and how the steps that poll stand, by action."""

    at: AwareDatetime | None = None
    polls: dict[str, PollProgress] = {}


class Broker(Protocol):
    """What it needs of the bus."""

    async def arm(self, session_id: str, kind: str, at: datetime, payload: bytes) -> None: ...
    async def disarm(self, session_id: str, kind: str) -> None: ...
    async def timer(self, session_id: str, kind: str) -> bytes | None: ...
    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes: ...  # noqa: ASYNC109


def waits(session: Session) -> tuple[tuple[object, ...], ...]:
    """What steps wait for, and since when they poll: once it is another, the timer is set anew."""
    waiting = session.turn.waiting if session.turn else ()
    return tuple((one.spec.id, one.until, one.poll.began if one.poll else None) for one in waiting)


class Poller:
    def __init__(self, broker: Broker, store_log: StoreLog, now: Callable[[], datetime]) -> None:
        self._broker = broker
        self._log = store_log
        self._now = now
        self._under_way: set[tuple[str, str]] = set()  # session and action, of looks that are not answered yet

    async def rearm(self, session: Session) -> None:
        """Have the session woken when its next step is due. Raises BusDown."""
        known = await self._known(session.id) if polling(session) else WakeTimer()
        await self._arm(session, _standing(session, known.polls))

    async def is_armed(self, session_id: str, *, after: datetime) -> bool:
        """Whether a timer wakes the session after that time: an older one was lost. Raises BusDown."""
        known = await self._known(session_id)
        return known.at is not None and known.at > after

    async def look(self, loaded: SessionAtPosition, known: Mapping[str, PollProgress]) -> None:
        """Make the looks that are due, and arm the timer for the next ones. A pause only puts them off.

        Raises BusDown where the timer cannot be armed; then no look was made.
        """
        session, now = loaded.session, self._now()
        standing = _standing(session, known)
        waiting = session.turn.waiting if session.turn else ()
        due = [action for action in waiting if action.poll and standing[action.spec.id].next_look <= now]
        for action in due:
            before, every = standing[action.spec.id], polling(session)[action.spec.id].every
            looks = before.looks + (not session.paused)
            after = before.model_copy(update={"looks": looks, "next_look": next_look(action, every, now)})
            standing[action.spec.id] = after
        await self._arm(session, standing)
        if not session.paused:
            await asyncio.gather(*(self._look(loaded, action, standing[action.spec.id].looks) for action in due))

    async def _look(self, loaded: SessionAtPosition, action: Action, looks: int) -> None:
        """One look. While no executor answers nothing is known: the next look is made all the same."""
        session, name = loaded.session, action.spec.id
        if (session.id, name) in self._under_way:
            return
        self._under_way.add((session.id, name))
        try:
            seen = await self._asked(LookNow(session_id=session.id, action_id=name))
            command = RecordLook(action_id=name, attempt=action.attempt, looks=looks, **dict(seen))
            await commit(self._log, loaded, command, CommandMeta(actor=KEEPER, at=self._now()))
            log.info("step_polled", session=session.id, action=name, looks=looks, met=seen.met)
        except (Refused, UpgradeNeeded) as error:  # nothing new, or it polls no longer
            log.debug("nothing_to_record", session=session.id, action=name, reason=str(error))
        except BusDown as error:
            log.warning("step_not_polled", session=session.id, action=name, error=str(error))
        finally:
            self._under_way.discard((session.id, name))

    async def _asked(self, ask: LookNow) -> Looked:
        """Raises BusDown while no executor answers."""
        body = await self._broker.request(TOOLS_LOOK, ask.model_dump_json().encode(), timeout=TIMEOUT)
        try:
            return Looked.model_validate_json(body, extra="ignore")
        except ValidationError as error:
            raise BusDown("The executor's answer cannot be read.") from error

    async def _known(self, session_id: str) -> WakeTimer:
        return read_timer(await self._broker.timer(session_id, WAKE))

    async def _arm(self, session: Session, standing: Mapping[str, PollProgress]) -> None:
        waiting = session.turn.waiting if session.turn else ()
        times = [action.until for action in waiting if action.poll is None and action.until is not None]
        times += [one.next_look for one in standing.values()]
        if not times:
            await self._broker.disarm(session.id, WAKE)
            return
        timer = WakeTimer(at=min(times), polls=dict(standing))
        await self._broker.arm(session.id, WAKE, min(times), timer.model_dump_json().encode())


def read_timer(payload: bytes | None) -> WakeTimer:
    """The payload of a timer; an empty one where nothing can be read from it."""
    try:
        return WakeTimer.model_validate_json(payload or b"{}")
    except ValidationError:
        return WakeTimer()


def _standing(session: Session, known: Mapping[str, PollProgress]) -> dict[str, PollProgress]:
    """How the steps stand that poll now: as the timer knows them, or as the log does, if that is newer."""
    standing: dict[str, PollProgress] = {}
    for name, poll in polling(session).items():
        logged = PollProgress(began=poll.began, looks=poll.looks, next_look=poll.next_look)
        timed = known.get(name)
        standing[name] = timed if timed and timed.began == poll.began and timed.looks >= poll.looks else logged
    return standing
