"""The scheduler, actor `keeper` in events: does what no user and no worker does.

It expires approvals, wakes waiting steps, records dead letters, and fails work that was lost.
"""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Protocol

import structlog
from pydantic import AwareDatetime, BaseModel, ValidationError
from sqlalchemy import Column, func, select

from parley.events import parse_event
from services.plan_store.database import ProjectionDatabase, upsert
from services.plan_store.operations.purge import complete_purge, incomplete_purges
from services.plan_store.projection import unprojected
from services.plan_store.projection.history import ProjectedSession, StoreLog
from services.plan_store.projection.projector import Projector
from services.plan_store.projection.unprojected import storable_id
from services.plan_store.scheduler.clock import repeat, wall_clock
from services.plan_store.scheduler.polling import WAKE, Poller, PollingBroker, PollProgress, pending_waits, read_timer
from services.plan_store.tables import WORKS, dead_letters, journal, sessions
from shared.bus import BusUnavailable, ConsumerState, Delivery, Unprocessable
from shared.domain.kernel.actors import KEEPER
from shared.domain.kernel.commands import CommandMeta, Expire, Fail, Wake, Work
from shared.domain.kernel.errors import CommandRefused, OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.steps.waiting_steps import due_steps
from shared.domain.turn.outcomes import close_abandoned
from shared.log import StoredMessage, UpgradeNeeded, commit
from shared.store_api import StoreError

log = structlog.get_logger("keeper")
APPROVAL = "approval"  # the other kind of timer
STREAM = "SESSIONS"


class SchedulerBroker(PollingBroker, Protocol):
    """The part of the bus that the scheduler needs."""

    async def consumer_state(self, durable: str) -> ConsumerState: ...


class Deadline(BaseModel):
    """The payload of an approval's timer: the version of the event that requested a decision."""

    requested_version: int


class Advisory(BaseModel):
    """The broker's advisory that a consumer terminated a message: refused, or after too many attempts."""

    stream: str
    consumer: str
    stream_seq: int
    reason: str = "no reason was given"
    timestamp: AwareDatetime


class Scheduler:
    """Every append is guarded by the version it was decided on, so several replicas can run at once."""

    def __init__(  # noqa: PLR0913  all dependencies, by name
        self,
        broker: SchedulerBroker,
        log: StoreLog,
        database: ProjectionDatabase,
        projector: Projector,
        *,
        stuck_work_timeout: float,
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        """`stuck_work_timeout`: seconds after which work that no consumer holds counts as lost."""
        self._broker = broker
        self._log = log
        self._database = database
        self._projector = projector
        self._stuck_after = timedelta(seconds=stuck_work_timeout)
        self._now = now
        self._poller = Poller(broker, log, now)

    # --- deliveries from the broker

    async def dead_letter(self, delivery: Delivery) -> None:
        """Record a message that a consumer gave up, and fail the work it began; the user can retry it."""
        try:
            advisory = Advisory.model_validate_json(delivery.data)
        except ValidationError as error:
            raise Unprocessable(f"not an advisory: {error.error_count()} errors") from error
        raw = await self._log.message(advisory.stream_seq) if advisory.stream == STREAM else None
        session_id = raw.subject.split(".")[1] if raw else ""
        row = {
            "stream": advisory.stream,
            "consumer": advisory.consumer,
            "stream_seq": advisory.stream_seq,
            "reason": advisory.reason[:500],
            "session_id": storable_id(session_id) if session_id else "",
            "subject": raw.subject[:300] if raw else "",
            "at": advisory.timestamp,
        }
        async with self._database.begin() as tx:
            await upsert(tx, dead_letters, [row])
        if raw and (work := _work_begun_by(raw, advisory.consumer)):
            await self._fail(session_id, work, f"The {work.service} gave the work up: {advisory.reason}")

    async def timer_fired(self, delivery: Delivery) -> None:
        """Handle a timer that fired: `timerfired.<session>.<kind>`."""
        _, session_id, kind = (*delivery.subject.split("."), "", "")[:3]
        if kind == WAKE:
            await self._wake(session_id, read_timer(delivery.data).polls)
            return
        try:
            deadline = Deadline.model_validate_json(delivery.data)
        except ValidationError as error:
            raise Unprocessable("not a deadline") from error
        if kind != APPROVAL:
            raise Unprocessable(f"no timer is of the kind {kind}")
        await self._expire(session_id, deadline.requested_version)

    # --- the sweep

    async def run_sweeps(self, may_sweep: Callable[[], Awaitable[bool]]) -> None:
        """Sweep for lost work and missed deadlines until cancelled, at times when `may_sweep` allows it."""

        async def sweep() -> None:
            if await may_sweep():
                await self.sweep()

        await repeat("sweep", sweep, seconds=self._stuck_after.total_seconds() / 4)

    async def sweep(self) -> None:
        """Fail old work that no consumer holds, handle missed timers, complete interrupted purges.

        Skips sessions that only a newer release can fold.
        """
        now = self._now()
        acknowledged: dict[str, int] = {}
        for session_id, work, position in await self._old_work(now - self._stuck_after):
            if work.service not in acknowledged:
                acknowledged[work.service] = (await self._broker.consumer_state(work.service)).acknowledged
            if position <= acknowledged[work.service]:  # its message is acknowledged, so no redelivery will come
                await self._fail(session_id, work, f"The {work.service} lost the work: nothing came of it.")
        for session_id in await self._overdue(sessions.c.approval_expires_at, now - self._stuck_after / 4):
            await self._expire(session_id)
        missed_before = now - self._stuck_after / 4
        for session_id in await self._overdue(sessions.c.wakes_at, missed_before):
            if not await self._poller.is_armed(
                session_id, after=missed_before
            ):  # a poll without news changes no row, so the timer may be newer
                await self._wake(session_id, {})
        await self.project_waiting()
        for session_id in await incomplete_purges(self._database):
            await complete_purge(self._log, self._database, session_id)

    async def project_waiting(self) -> None:
        """Project the sessions that an older release could not fold."""
        await unprojected.project_waiting(self._database, self._projector.project_up_to)

    async def _old_work(self, before: datetime) -> list[tuple[str, Work, int]]:
        """Session, work, and the position of the message that began it (or of the session's last message)."""
        s, j = sessions.c, journal.c
        works: list[tuple[str, Work, int]] = []
        async with self._database.begin() as tx:
            for service, version, since in WORKS:
                began = (j.session_id == s.id) & (j.version == version)
                query = select(s.id, service, version, func.coalesce(j.position, s.position))
                query = query.join_from(sessions, journal, began, isouter=True).where(unprojected.not_waiting())
                rows = await tx.execute(query.where(since < before, service.is_not(None)))
                works += [(row[0], Work(service=row[1], version=row[2]), row[3]) for row in rows]
        return works

    async def _overdue(self, deadline: Column[datetime], before: datetime) -> list[str]:
        async with self._database.begin() as tx:
            query = select(sessions.c.id).where(deadline < before, unprojected.not_waiting())
            return list(await tx.scalars(query))

    # --- timers

    async def session_projected(self, before: ProjectedSession, after: ProjectedSession) -> None:
        """Arm or cancel the timers of a session that was projected. The sweep makes up for a missed timer."""
        session = after.session
        is_new_request = before.session.since_version != session.since_version
        try:
            if before.expires_at != after.expires_at or is_new_request:
                await self._set_deadline(session, before.expires_at, after.expires_at)
            if pending_waits(before.session) != pending_waits(session):
                await self._poller.rearm(session)
        except BusUnavailable as error:
            log.warning("timer_not_set", session=session.id, error=str(error))

    async def _set_deadline(self, session: Session, before: datetime | None, at: datetime | None) -> None:
        if at is not None:
            payload = Deadline(requested_version=session.since_version).model_dump_json().encode()
            await self._broker.arm(session.id, APPROVAL, at, payload)
        elif before is not None:
            await self._broker.disarm(session.id, APPROVAL)

    # --- appends

    async def _fail(self, session_id: str, work: Work, reason: str) -> None:
        """Fail the work, and end the actions that it began: no worker will do either."""
        try:
            loaded = await self._projector.load(session_id)
            by = CommandMeta(actor=KEEPER, at=self._now(), work=work)
            if work in loaded.session.works:
                loaded, _ = await commit(self._log, loaded, Fail(reason=reason), by)
                log.warning("work_failed", session=session_id, work=work.service, version=work.version, reason=reason)
            for command in close_abandoned(loaded.session, work):
                with contextlib.suppress(OutOfTurn):  # the worker recorded the outcome first
                    loaded, _ = await commit(self._log, loaded, command, by)
                    log.warning("action_given_up", session=session_id, command=repr(command), version=work.version)
        except (StoreError, CommandRefused, UpgradeNeeded) as error:
            log.info("nothing_to_fail", session=session_id, reason=str(error))

    async def _expire(self, session_id: str, requested: int | None = None) -> None:
        """Expire the approval requested at version `requested`, by default the pending one."""
        try:
            loaded = await self._projector.load(session_id)
            requested = loaded.session.since_version if requested is None else requested
            await commit(
                self._log, loaded, Expire(requested_version=requested), CommandMeta(actor=KEEPER, at=self._now())
            )
            log.info("approval_expired", session=session_id, requested_version=requested)
        except (StoreError, CommandRefused, UpgradeNeeded) as error:
            log.info("nothing_to_expire", session=session_id, reason=str(error))

    async def _wake(self, session_id: str, polls: Mapping[str, PollProgress]) -> None:
        """End the waits whose time has come, and poll the steps that are due."""
        try:
            loaded = await self._projector.load(session_id)
            while due_steps(loaded.session, self._now()):
                loaded, _ = await commit(self._log, loaded, Wake(), CommandMeta(actor=KEEPER, at=self._now()))
                log.info("step_woken", session=session_id)
        except (StoreError, CommandRefused, UpgradeNeeded) as error:
            log.info("nothing_to_wake", session=session_id, reason=str(error))
            return
        await self._poller.poll(loaded, polls)


def _work_begun_by(raw: StoredMessage, consumer: str) -> Work | None:
    """The work that this message began, if it is an event and the consumer is a worker's."""
    try:
        return Work.model_validate({"service": consumer, "version": parse_event(raw.data).version})
    except ValidationError:
        return None
