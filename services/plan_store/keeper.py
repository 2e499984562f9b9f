"""The keeper: what must happen though no person and no worker does it. Deadlines, dead letters, lost work."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol

import structlog
from pydantic import AwareDatetime, BaseModel, ValidationError
from sqlalchemy import Column, func, select

from parley.events import parse_event
from services.plan_store import upgrades
from services.plan_store.database import Database, put
from services.plan_store.folded import Folded
from services.plan_store.history import StoreLog
from services.plan_store.parking import bounded
from services.plan_store.patience import DOWN
from services.plan_store.polling import WAKE, Poller, PollProgress, read_timer, waits
from services.plan_store.polling import Broker as PollingBroker
from services.plan_store.projection import Projector
from services.plan_store.purge import finish, unfinished
from services.plan_store.tables import dead_letters, journal, sessions
from shared.bus import BusDown, Consumer, Delivery, Park
from shared.domain.admissible_reports import KEEPER
from shared.domain.commands import CommandMeta, Expire, Fail, Wake, Work
from shared.domain.errors import OutOfTurn, Refused
from shared.domain.outcomes import abandoned
from shared.domain.session import Session
from shared.domain.waiting import due
from shared.log import StoredMessage, UpgradeNeeded, commit
from shared.store_api import StoreError

log = structlog.get_logger("keeper")
APPROVAL = "approval"  # the other kind of timer
STREAM = "SESSIONS"


class Broker(PollingBroker, Protocol):
    """What the keeper needs of the bus."""

    async def consumer(self, durable: str) -> Consumer: ...


class Deadline(BaseModel):
    """A timer's payload: nobody decided about what version `requested_version` asked for."""

    requested_version: int


class Advisory(BaseModel):
    """What the broker says when a consumer terminated a message: it was refused, or had its tries or strikes."""

    stream: str
    consumer: str
    stream_seq: int
    reason: str = "no reason was given"
    timestamp: AwareDatetime


def _now() -> datetime:
    return datetime.now(UTC)


class Keeper:
    """Everything it appends is guarded by the state it was decided on, so several keepers do no harm."""

    def __init__(  # noqa: PLR0913  its whole world, by name
        self,
        broker: Broker,
        log: StoreLog,
        database: Database,
        projector: Projector,
        *,
        stuck_work_timeout: float,
        now: Callable[[], datetime] = _now,
    ) -> None:
        """`stuck_work_timeout`: seconds from which on work that nobody has in hand counts as lost."""
        self._broker = broker
        self._log = log
        self._database = database
        self._projector = projector
        self._stuck_after = timedelta(seconds=stuck_work_timeout)
        self._now = now
        self._poller = Poller(broker, log, now)

    # --- what the broker tells

    async def dead_letter(self, delivery: Delivery) -> None:
        """Record a message that a consumer gave up; the session whose work it was fails, and can be retried."""
        try:
            advisory = Advisory.model_validate_json(delivery.data)
        except ValidationError as error:
            raise Park(f"not an advisory: {error.error_count()} errors") from error
        raw = await self._log.message(advisory.stream_seq) if advisory.stream == STREAM else None
        session_id = raw.subject.split(".")[1] if raw else ""
        row = {
            "stream": advisory.stream,
            "consumer": advisory.consumer,
            "stream_seq": advisory.stream_seq,
            "reason": advisory.reason[:500],
            "session_id": bounded(session_id) if session_id else "",
            "subject": raw.subject[:300] if raw else "",
            "at": advisory.timestamp,
        }
        async with self._database.begin() as tx:
            await put(tx, dead_letters, [row])
        if raw and (work := _work_begun_by(raw, advisory.consumer)):
            await self._fail(session_id, work, f"The {work.service} gave the work up: {advisory.reason}")

    async def expired(self, delivery: Delivery) -> None:
        """A timer has fired: `timerfired.<session>.<kind>`."""
        _, session_id, kind = (*delivery.subject.split("."), "", "")[:3]
        if kind == WAKE:
            await self._wake(session_id, read_timer(delivery.data).polls)
            return
        try:
            deadline = Deadline.model_validate_json(delivery.data)
        except ValidationError as error:
            raise Park("not a deadline") from error
        if kind != APPROVAL:
            raise Park(f"no timer is of the kind {kind}")
        await self._expire(session_id, deadline.requested_version)

    # --- the sweep

    async def keep_sweeping(self) -> None:
        """Look for lost work and missed deadlines until cancelled."""
        while True:
            await asyncio.sleep(self._stuck_after.total_seconds() / 4)
            try:
                await self.sweep()
            except DOWN as error:
                log.warning("sweep_put_off", error=str(error)[:500])
            except Exception:
                log.exception("sweep_failed")

    async def sweep(self) -> None:
        """Fail work that is old and lies with nobody, expire what a timer missed, end purges that broke off.

        Sessions that a newer release has continued are not judged.
        """
        now = self._now()
        done: dict[str, int] = {}
        for session_id, work, position in await self._old_work(now - self._stuck_after):
            if work.service not in done:
                done[work.service] = (await self._broker.consumer(work.service)).done
            if position <= done[work.service]:  # its message is acknowledged, however many others are not
                await self._fail(session_id, work, f"The {work.service} lost the work: nothing came of it.")
        for session_id in await self._overdue(sessions.c.approval_expires_at, now - self._stuck_after / 4):
            await self._expire(session_id)
        missed = now - self._stuck_after / 4
        for session_id in await self._overdue(sessions.c.wakes_at, missed):
            if not await self._poller.is_armed(session_id, after=missed):  # a look that showed nothing is in no row
                await self._wake(session_id, {})
        await self.take_up()
        for session_id in await unfinished(self._database):
            await finish(self._log, self._database, session_id)

    async def take_up(self) -> None:
        """Go on with the sessions that an older release had to leave."""
        await upgrades.take_up(self._database, self._projector.nudge)

    async def _old_work(self, before: datetime) -> list[tuple[str, Work, int]]:
        """Session, work, and the position of the message that gave it (that of the last one where it is not known)."""
        s, j = sessions.c, journal.c
        began = (j.session_id == s.id) & (j.version == s.work_version)
        query = select(s.id, s.work_service, s.work_version, func.coalesce(j.position, s.position))
        query = query.join_from(sessions, journal, began, isouter=True).where(upgrades.not_waiting())
        async with self._database.begin() as tx:
            found = (await tx.execute(query.where(s.work_since < before, s.work_service.is_not(None)))).all()
        return [(row[0], Work(service=row[1], version=row[2]), row[3]) for row in found]

    async def _overdue(self, deadline: Column[datetime], before: datetime) -> list[str]:
        async with self._database.begin() as tx:
            query = select(sessions.c.id).where(deadline < before, upgrades.not_waiting())
            return list(await tx.scalars(query))

    # --- timers

    async def moved(self, before: Folded, after: Folded) -> None:
        """Arm and cancel a session's timers as it is projected. One that is missed is made up by the sweep."""
        session = after.session
        asked_anew = before.session.since_version != session.since_version
        try:
            if before.expires_at != after.expires_at or asked_anew:
                await self._set_deadline(session, before.expires_at, after.expires_at)
            if waits(before.session) != waits(session):
                await self._poller.rearm(session)
        except BusDown as error:
            log.warning("timer_not_set", session=session.id, error=str(error))

    async def _set_deadline(self, session: Session, before: datetime | None, at: datetime | None) -> None:
        if at is not None:
            payload = Deadline(requested_version=session.since_version).model_dump_json().encode()
            await self._broker.arm(session.id, APPROVAL, at, payload)
        elif before is not None:
            await self._broker.disarm(session.id, APPROVAL)

    # --- what it appends

    async def _fail(self, session_id: str, work: Work, reason: str) -> None:
        """Nobody does this work any more, and nobody will end the actions that it began."""
        try:
            loaded = await self._projector.load(session_id)
            by = CommandMeta(actor=KEEPER, at=self._now(), work=work)
            if loaded.session.work == work:
                loaded, _ = await commit(self._log, loaded, Fail(reason=reason), by)
                log.warning("work_failed", session=session_id, work=work.service, version=work.version, reason=reason)
            for command in abandoned(loaded.session, work):
                with contextlib.suppress(OutOfTurn):  # whoever has it in hand told first
                    loaded, _ = await commit(self._log, loaded, command, by)
                    log.warning("action_given_up", session=session_id, action=command.action_id, version=work.version)
        except (StoreError, Refused, UpgradeNeeded) as error:
            log.info("nothing_to_fail", session=session_id, reason=str(error))

    async def _expire(self, session_id: str, requested: int | None = None) -> None:
        """Give up what was asked at version `requested`, or what is asked now."""
        try:
            loaded = await self._projector.load(session_id)
            requested = loaded.session.since_version if requested is None else requested
            await commit(
                self._log, loaded, Expire(requested_version=requested), CommandMeta(actor=KEEPER, at=self._now())
            )
            log.info("approval_expired", session=session_id, requested_version=requested)
        except (StoreError, Refused, UpgradeNeeded) as error:
            log.info("nothing_to_expire", session=session_id, reason=str(error))

    async def _wake(self, session_id: str, polls: Mapping[str, PollProgress]) -> None:
        """End the waits whose time has come, and make the looks that are due."""
        try:
            loaded = await self._projector.load(session_id)
            if due(loaded.session, self._now()):
                loaded, _ = await commit(self._log, loaded, Wake(), CommandMeta(actor=KEEPER, at=self._now()))
                log.info("steps_woken", session=session_id)
        except (StoreError, Refused, UpgradeNeeded) as error:
            log.info("nothing_to_wake", session=session_id, reason=str(error))
            return
        await self._poller.look(loaded, polls)


def _work_begun_by(raw: StoredMessage, consumer: str) -> Work | None:
    """The work that this message gave to the consumer, if it is an event and the consumer a worker's."""
    try:
        return Work.model_validate({"service": consumer, "version": parse_event(raw.data).version})
    except ValidationError:
        return None
