"""Polls for waiting steps: asks the executor to poll, and records only what the domain counts as news.

How often a step has polled, and when it polls next, is stored in the session's timer `wake`, not in the log. The timer
for the next poll is armed before the executor is asked, so a crash in between loses one poll at most.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

import structlog
from pydantic import AwareDatetime, BaseModel, ValidationError

from parley.protocol.tools import TOOLS_POLL, PollNow, PollResult
from services.plan_store.projection.history import StoreLog
from shared.bus import BusUnavailable
from shared.domain.kernel.actors import KEEPER
from shared.domain.kernel.commands import CommandMeta, RecordPoll
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.steps.polling import next_poll, polls_by_action
from shared.log import SessionAtPosition, UpgradeNeeded, commit

log = structlog.get_logger("keeper")
WAKE = "wake"  # the timer's kind
POLL_TIMEOUT = 50.0  # seconds for the executor's answer: its own time limit is shorter


class PollProgress(BaseModel):
    """The progress of a step that began to poll with the event of version `began`."""

    began: int
    polls: int
    next_poll: AwareDatetime


class WakeTimer(BaseModel):
    """The payload of the timer `wake`: when it fires, and the progress of each polling action."""

    at: AwareDatetime | None = None
    polls: dict[str, PollProgress] = {}


class PollingBroker(Protocol):
    """The part of the bus that the poller needs."""

    async def arm(self, session_id: str, kind: str, at: datetime, payload: bytes) -> None: ...
    async def disarm(self, session_id: str, kind: str) -> None: ...
    async def timer(self, session_id: str, kind: str) -> bytes | None: ...
    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes: ...  # noqa: ASYNC109


def pending_waits(session: Session) -> tuple[tuple[object, ...], ...]:
    """What the steps wait for, and since when they poll. When this changes, the timer is set again."""
    return tuple((a.spec.id, a.until, a.poll.began if a.poll else None) for a in session.waiting_actions)


class Poller:
    def __init__(self, broker: PollingBroker, store_log: StoreLog, now: Callable[[], datetime]) -> None:
        self._broker = broker
        self._log = store_log
        self._now = now
        self._under_way: set[tuple[str, str]] = set()  # session and action of requests without an answer yet

    async def rearm(self, session: Session) -> None:
        """Set the session's timer to when its next step is due. Raises BusUnavailable."""
        known = await self._known(session.id) if polls_by_action(session) else WakeTimer()
        await self._arm(session, _progress_of(session, known.polls))

    async def is_armed(self, session_id: str, *, after: datetime) -> bool:
        """Whether the session has a timer set for later than `after`; an older one was lost. Raises BusUnavailable."""
        known = await self._known(session_id)
        return known.at is not None and known.at > after

    async def poll(self, loaded: SessionAtPosition, known: Mapping[str, PollProgress]) -> None:
        """Poll the steps that are due, and arm the timer for the next ones. A paused session only postpones them.

        Raises BusUnavailable if the timer cannot be armed; then no step was polled.
        """
        session, now = loaded.session, self._now()
        progress = _progress_of(session, known)
        due = [a for a in session.waiting_actions if a.poll and progress[a.spec.id].next_poll <= now]
        for action in due:
            before, every = progress[action.spec.id], polls_by_action(session)[action.spec.id].every
            polls = before.polls + (not session.paused)
            after = before.model_copy(update={"polls": polls, "next_poll": next_poll(action, every, now)})
            progress[action.spec.id] = after
        await self._arm(session, progress)
        if not session.paused:
            await asyncio.gather(*(self._poll(loaded, action, progress[action.spec.id].polls) for action in due))

    async def _poll(self, loaded: SessionAtPosition, action: Action, polls: int) -> None:
        """Poll one step. If no executor answers, the next poll takes place as planned."""
        session, name = loaded.session, action.spec.id
        if (session.id, name) in self._under_way:
            return
        self._under_way.add((session.id, name))
        try:
            result = await self._request_poll(PollNow(session_id=session.id, action_id=name))
            command = RecordPoll(action_id=name, attempt=action.attempt, polls=polls, **dict(result))
            await commit(self._log, loaded, command, CommandMeta(actor=KEEPER, at=self._now()))
            log.info("step_polled", session=session.id, action=name, polls=polls, met=result.met)
        except (CommandRefused, UpgradeNeeded) as error:  # no news, or the step no longer polls
            log.debug("nothing_to_record", session=session.id, action=name, reason=str(error))
        except BusUnavailable as error:
            log.warning("step_not_polled", session=session.id, action=name, error=str(error))
        finally:
            self._under_way.discard((session.id, name))

    async def _request_poll(self, ask: PollNow) -> PollResult:
        """Raises BusUnavailable while no executor answers."""
        body = await self._broker.request(TOOLS_POLL, ask.model_dump_json().encode(), timeout=POLL_TIMEOUT)
        try:
            return PollResult.model_validate_json(body, extra="ignore")
        except ValidationError as error:
            raise BusUnavailable("The executor's answer cannot be read.") from error

    async def _known(self, session_id: str) -> WakeTimer:
        return read_timer(await self._broker.timer(session_id, WAKE))

    async def _arm(self, session: Session, progress: Mapping[str, PollProgress]) -> None:
        times = [a.until for a in session.waiting_actions if a.poll is None and a.until is not None]
        times += [action.next_poll for action in progress.values()]
        if not times:
            await self._broker.disarm(session.id, WAKE)
            return
        timer = WakeTimer(at=min(times), polls=dict(progress))
        await self._broker.arm(session.id, WAKE, min(times), timer.model_dump_json().encode())


def read_timer(payload: bytes | None) -> WakeTimer:
    """The payload of a timer; an empty one if it cannot be read."""
    try:
        return WakeTimer.model_validate_json(payload or b"{}")
    except ValidationError:
        return WakeTimer()


def _progress_of(session: Session, known: Mapping[str, PollProgress]) -> dict[str, PollProgress]:
    """The progress of each polling step: as the timer has it, or as the log does if that is newer."""
    progress: dict[str, PollProgress] = {}
    for name, poll in polls_by_action(session).items():
        from_log = PollProgress(began=poll.began, polls=poll.polls, next_poll=poll.next_poll)
        from_timer = known.get(name)
        progress[name] = (
            from_timer if from_timer and from_timer.began == poll.began and from_timer.polls >= poll.polls else from_log
        )
    return progress
