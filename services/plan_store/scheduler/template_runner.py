"""Runs scheduled templates: each run begins a session of the template's owner, with a plan for review.

The session's id follows from the template and the due time, so replicas and restarts begin it only once.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

import structlog
from pydantic import ValidationError
from sqlalchemy import RowMapping, select, update

from parley.protocol.templates import Schedule, ScheduledRun
from parley.protocol.tools import TOOLS_LIST, ListTools, ToolPage, ToolSpec
from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection.history import StoreLog
from services.plan_store.projection.projector import Projector
from services.plan_store.queries.sessions import rows
from services.plan_store.scheduler.clock import wall_clock
from services.plan_store.scheduler.templates import TemplateStore, event_of, templates
from shared.bus import BusUnavailable
from shared.domain.kernel.actors import KEEPER, TEMPLATE_PREFIX
from shared.domain.kernel.commands import BeginFor, CommandMeta, EditPlan
from shared.domain.kernel.errors import CommandRefused, Invalid
from shared.log import UpgradeNeeded, commit
from shared.plan_checks.steps import check_plan, with_ids
from shared.store_api import StoreError
from shared.template_log import TemplateSaved
from shared.templates.checks import fill_template, template_problems
from shared.templates.schedules import last_due_run, next_run_after, session_id_of_run
from shared.unavailable import Unavailable

log = structlog.get_logger("keeper")
INTERVAL = 5.0  # seconds between two checks for due runs
MAX_DELAY = timedelta(hours=24)  # a run that is later than this, because Parley did not run, is skipped
MAX_RUNS = 50
WORKFLOW = "execution_plan"


class ToolsBroker(Protocol):
    """The part of the bus that the runner needs."""

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes: ...  # noqa: ASYNC109


class TemplateRunner:
    """Begins the sessions of scheduled templates. `now` is the clock, which tests replace."""

    def __init__(  # noqa: PLR0913  all dependencies, by name
        self,
        bus: ToolsBroker,
        store_log: StoreLog,
        database: ProjectionDatabase,
        projector: Projector,
        template_store: TemplateStore,
        *,
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        self._bus = bus
        self._log = store_log
        self._database = database
        self._projector = projector
        self._templates = template_store
        self._now = now

    async def begin_due(self) -> None:
        """Begin every due run. A run that fails to begin is retried at the next check."""
        await self._templates.catch_up()
        c = templates.c
        due = (
            select(templates).where(c.next_run <= self._now(), c.body.is_not(None)).order_by(c.next_run).limit(MAX_RUNS)
        )
        result = await rows(self._database, due)
        tools = await self._tools() if result else {}
        for row in result:
            try:
                await self._run(row, tools)
            except Unavailable:
                raise
            except Exception:  # one failure must not stop the others
                log.exception("template_not_run", template=row["id"])

    async def _run(self, row: RowMapping, tools: dict[str, ToolSpec]) -> None:
        template = event_of(row)
        schedule = template.schedule
        if schedule is None:
            return
        due = last_due_run(schedule, row["next_run"], self._now())
        if self._now() - due > MAX_DELAY:
            run = ScheduledRun(due=due, problem="Parley was not running then, nor for a day after.")
        else:
            run = await self._begin(template, schedule, due, tools)
        c = templates.c
        unchanged = (c.id == row["id"], c.position == row["position"], c.next_run == row["next_run"])
        after = {"next_run": next_run_after(schedule, due), "last_run": run.model_dump(mode="json")}
        async with self._database.begin() as tx:
            await tx.execute(update(templates).where(*unchanged).values(**after))
        log.info("template_run", template=template.id, due=due.isoformat(), session=run.session_id, problem=run.problem)

    async def _begin(
        self, template: TemplateSaved, schedule: Schedule, due: datetime, tools: dict[str, ToolSpec]
    ) -> ScheduledRun:
        """Begin the session with its plan, or report why not. Raises Unavailable."""
        session_id = session_id_of_run(template.seed, due)
        try:
            if problems := template_problems(template.template, tools, template.fingerprints):
                raise Invalid(" ".join(problems))
            plan = fill_template(template.template, schedule.values)
            steps = with_ids([step for step in plan.steps if not isinstance(step, str)])
            result = check_plan(steps, tools, allowed=schedule.settings.tools if schedule.settings else ())
            if result.problems:
                raise Invalid(" ".join(result.problems))
            via = f"{TEMPLATE_PREFIX}{template.id}/{due.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
            begin = BeginFor(
                owner=template.owner,
                via=via,
                text=plan.goal or template.template.name,
                workflow=WORKFLOW,
                settings=schedule.settings,
                time_zone=schedule.zone,
            )
            edit = EditPlan(base=1, steps=result.steps, goal=plan.goal, notes=plan.notes, checks=result.checks)
            await self._append(session_id, begin, edit, due)
        except CommandRefused as refused:
            return ScheduledRun(due=due, problem=str(refused)[:2_000])
        except StoreError as error:
            if error.code != "purged":
                raise
        return ScheduledRun(due=due, session_id=session_id)

    async def _append(self, session_id: str, begin: BeginFor, edit: EditPlan, due: datetime) -> None:
        """Append both events, except those that another replica has appended. Raises CommandRefused."""
        loaded = await self._projector.load(session_id)
        commands: tuple[BeginFor | EditPlan, ...] = (begin, edit)
        for version, command in enumerate(commands):
            if loaded.session.version != version:
                continue
            meta = CommandMeta(actor=KEEPER, at=self._now(), id=f"{due.astimezone(UTC):%Y%m%dT%H%M%S}.{version}")
            try:
                loaded, _ = await commit(self._log, loaded, command, meta)
            except (CommandRefused, UpgradeNeeded):
                loaded = await self._projector.load(session_id)
                if loaded.session.version == version:
                    raise

    async def _tools(self) -> dict[str, ToolSpec]:
        """The executor's tools by name. Raises BusUnavailable while no executor answers."""
        body = await self._bus.request(TOOLS_LIST, ListTools().model_dump_json().encode(), timeout=10)
        try:
            page = ToolPage.model_validate_json(body, extra="allow")
        except ValidationError as error:
            raise BusUnavailable("The executor's answer cannot be read.") from error
        return {spec.name: spec for spec in page.tools}
