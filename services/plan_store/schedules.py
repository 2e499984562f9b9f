"""Templates that are due: each run begins one session of its owner, whose plan is put before them.

The id of the session follows from the template and the time that was due, and its first event must be the first of its
session: two keepers, or one that is started again, begin it once.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

import structlog
from pydantic import ValidationError
from sqlalchemy import RowMapping, select, update

from parley.protocol.templates import Run, Schedule
from parley.protocol.tools import TOOLS_LIST, ListTools, ToolPage, ToolSpec
from services.plan_store.database import Database
from services.plan_store.history import StoreLog
from services.plan_store.patience import DOWN
from services.plan_store.projection import Projector
from services.plan_store.queries import rows
from services.plan_store.template_rows import event_of, templates
from services.plan_store.templates import Templates
from shared.bus import BusDown
from shared.domain.admissible_reports import KEEPER, SCHEDULED
from shared.domain.commands import BeginFor, CommandMeta, EditPlan
from shared.domain.errors import Invalid, Refused
from shared.library_log import TemplateSaved
from shared.log import SessionAtPosition, UpgradeNeeded, commit
from shared.plan_checks.steps import checked, with_ids
from shared.store_api import StoreError
from shared.templates.checks import template_problems
from shared.templates.filling import filled
from shared.templates.schedules import last_until, next_after, session_of

log = structlog.get_logger("keeper")
SECONDS = 5.0  # between two looks
LATEST = timedelta(hours=24)  # what was due longer ago, while Parley did not run, is not made up for
AT_ONCE = 50
WORKFLOW = "execution_plan"


class Asks(Protocol):
    """What it needs of the bus."""

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes: ...  # noqa: ASYNC109


class Schedules:
    """`now`: the clock of a test."""

    def __init__(  # noqa: PLR0913  its whole world, by name
        self,
        bus: Asks,
        store_log: StoreLog,
        database: Database,
        projector: Projector,
        kept: Templates,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._bus = bus
        self._log = store_log
        self._database = database
        self._projector = projector
        self._templates = kept
        self._now = now

    async def keep_looking(self) -> None:
        """Begin what is due until cancelled."""
        while True:
            await asyncio.sleep(SECONDS)
            try:
                await self.begin_due()
            except DOWN as error:
                log.warning("schedules_put_off", error=str(error)[:500])
            except Exception:
                log.exception("schedules_failed")

    async def begin_due(self) -> None:
        """Begin every run that is due. What cannot be begun now is tried at the next look."""
        await self._templates.catch_up()
        c = templates.c
        due = (
            select(templates).where(c.next_run <= self._now(), c.body.is_not(None)).order_by(c.next_run).limit(AT_ONCE)
        )
        found = await rows(self._database, due)
        tools = await self._tools() if found else {}
        for row in found:
            try:
                await self._run(row, tools)
            except DOWN:
                raise
            except Exception:  # the others are due all the same
                log.exception("template_not_run", template=row["id"])

    async def _run(self, row: RowMapping, tools: dict[str, ToolSpec]) -> None:
        template = event_of(row)
        schedule = template.schedule
        if schedule is None:
            return
        due = last_until(schedule, row["next_run"], self._now())
        if self._now() - due > LATEST:
            run = Run(due=due, problem="Parley was not running then, nor for a day after.")
        else:
            run = await self._begun(template, schedule, due, tools)
        c = templates.c
        same = (c.id == row["id"], c.position == row["position"], c.next_run == row["next_run"])
        after = {"next_run": next_after(schedule, due), "last_run": run.model_dump(mode="json")}
        async with self._database.begin() as tx:
            await tx.execute(update(templates).where(*same).values(**after))
        log.info("template_run", template=template.id, due=due.isoformat(), session=run.session_id, problem=run.problem)

    async def _begun(
        self, template: TemplateSaved, schedule: Schedule, due: datetime, tools: dict[str, ToolSpec]
    ) -> Run:
        """The session with the plan in it, or why there is none. Raises what is down."""
        session_id = session_of(template.seed, due)
        try:
            if wrong := template_problems(template.template, tools, template.fingerprints):
                raise Invalid(" ".join(wrong))
            plan = filled(template.template, schedule.values)
            steps = with_ids([one for one in plan.steps if not isinstance(one, str)])
            found = checked(steps, tools, allowed=schedule.settings.tools if schedule.settings else ())
            if found.problems:
                raise Invalid(" ".join(found.problems))
            via = f"{SCHEDULED}{template.id}/{due.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
            begin = BeginFor(
                owner=template.owner,
                via=via,
                text=plan.goal or template.template.name,
                workflow=WORKFLOW,
                settings=schedule.settings,
            )
            edit = EditPlan(base=1, steps=found.steps, goal=plan.goal, notes=plan.notes, checks=found.checks)
            await self._append(session_id, begin, edit, due)
        except Refused as refused:
            return Run(due=due, problem=str(refused)[:2_000])
        except StoreError as error:
            if error.code != "purged":
                raise
        return Run(due=due, session_id=session_id)

    async def _append(self, session_id: str, begin: BeginFor, edit: EditPlan, due: datetime) -> None:
        """Both events, whichever of them another keeper has not appended before."""
        loaded = await self._projector.load(session_id)
        commands: tuple[BeginFor | EditPlan, ...] = (begin, edit)
        for version, command in enumerate(commands):
            by = CommandMeta(actor=KEEPER, at=self._now(), id=f"{due.astimezone(UTC):%Y%m%dT%H%M%S}.{version}")
            if loaded.session.version == version:
                loaded = await self._committed(loaded, command, by)

    async def _committed(
        self, loaded: SessionAtPosition, command: BeginFor | EditPlan, meta: CommandMeta
    ) -> SessionAtPosition:
        """Raises Refused where it cannot be, and nobody else has done it."""
        version = loaded.session.version
        try:
            return (await commit(self._log, loaded, command, meta))[0]
        except (Refused, UpgradeNeeded):
            newest = await self._projector.load(loaded.session.id)
            if newest.session.version == version:
                raise
            return newest

    async def _tools(self) -> dict[str, ToolSpec]:
        """Raises BusDown while no executor answers."""
        body = await self._bus.request(TOOLS_LIST, ListTools().model_dump_json().encode(), timeout=10)
        try:
            page = ToolPage.model_validate_json(body, extra="allow")
        except ValidationError as error:
            raise BusDown("The executor's answer cannot be read.") from error
        return {spec.name: spec for spec in page.tools}
