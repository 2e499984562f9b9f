"""What plan_store does with a delivery, and with each kind of request."""

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import partial

import structlog
from pydantic import ValidationError

from parley.events.problems import sentences
from services.plan_store import plans, queries
from services.plan_store.database import Database, DatabaseDown
from services.plan_store.dead_letters import dismiss, list_dead
from services.plan_store.diff import diff
from services.plan_store.history import StoreLog
from services.plan_store.library import list_library, list_proposals, similar
from services.plan_store.patience import patiently
from services.plan_store.projection import Projector
from services.plan_store.purge import purge
from services.plan_store.recall import forget, list_memories, recall
from services.plan_store.tasks import plan_tasks
from services.plan_store.templates import Templates
from shared import store_api as api
from shared.bus import Delivery
from shared.domain.session import SESSION
from shared.log import LogDown

log = structlog.get_logger("plan_store")
LARGEST = 4 * 1024 * 1024  # bytes of a message where max_payload is as documented
Responder = Callable[[str, bytes], Awaitable[bytes]]


async def project(projector: Projector, delivery: Delivery) -> None:
    """A delivery says only that there is something; while log or database are down it waits here, alive."""
    tokens = delivery.subject.split(".")
    if len(tokens) < 3:
        log.warning("not_of_a_session", subject=delivery.subject[:300], position=delivery.position)
        return
    await patiently(partial(projector.nudge, tokens[1], delivery.position, delivery.raw))


class Requests:
    """Every verb. What is asked of one session is answered from rows that were brought up to date first."""

    def __init__(
        self,
        log: StoreLog,
        database: Database,
        projector: Projector,
        max_payload: Callable[[], int] = lambda: LARGEST,
        *,
        templates: Templates | None = None,
    ) -> None:
        """`max_payload`: bytes that the broker takes in one message. Without `templates`, none are kept."""
        self._templates = templates
        self._max_payload = max_payload
        self._log = log
        self._database = database
        self._projector = projector
        self._comparing = asyncio.Semaphore(1)  # a comparison keeps the interpreter busy, thread or not

    def responders(self) -> dict[str, Responder]:
        """What answers on which subject."""
        return dict(
            (
                _responder(api.SESSION_LOAD, self.load),
                _responder(api.SESSION_PART, self.part),
                _responder(api.SESSION_GET, self.get),
                _responder(api.SESSION_LIST, partial(queries.list_sessions, self._database)),
                _responder(api.SESSION_PURGE, partial(purge, self._log, self._database, self._projector)),
                _responder(api.JOURNAL_READ, self.journal),
                _responder(api.PLAN_LIST, partial(plans.list_plans, self._database)),
                _responder(api.PLAN_GET, self.plan),
                _responder(api.PLAN_VERSIONS, self.plan_versions),
                _responder(api.PLAN_TASKS, self.plan_tasks),
                _responder(api.PLAN_DIFF, self.plan_diff),
                _responder(api.CODE_VERSIONS, self.code_versions),
                _responder(api.USAGE_TOTALS, self.usage),
                _responder(api.MEMORY_RECALL, partial(recall, self._database)),
                _responder(api.MEMORY_LIST, partial(list_memories, self._database)),
                _responder(api.MEMORY_FORGET, partial(forget, self._database)),
                _responder(api.LIBRARY_LIST, partial(list_library, self._database)),
                _responder(api.LIBRARY_SIMILAR, partial(similar, self._database)),
                _responder(api.PROPOSAL_LIST, partial(list_proposals, self._database)),
                _responder(api.DEAD_LIST, partial(list_dead, self._database)),
                _responder(api.DEAD_DISMISS, partial(dismiss, self._database)),
                _responder(api.HEALTH, self.health),
            )
        ) | (self._template_responders(self._templates) if self._templates else {})

    def _template_responders(self, templates: Templates) -> dict[str, Responder]:
        return dict(
            (
                _responder(api.TEMPLATE_SAVE, templates.save),
                _responder(api.TEMPLATE_SCHEDULE, templates.schedule),
                _responder(api.TEMPLATE_GET, templates.get),
                _responder(api.TEMPLATE_LIST, templates.list),
                _responder(api.TEMPLATE_DELETE, templates.delete),
            )
        )

    async def load(self, ask: api.LoadSession) -> api.LoadedSession:
        session, position = await self._projector.look(ask.session_id, at_least=ask.at_least, version=ask.version)
        return api.LoadedSession(session=session, position=position)

    async def part(self, ask: api.LoadPart) -> api.SessionPart:
        """As `load`, half a message at a time."""
        session, position = await self._projector.look(ask.session_id, at_least=ask.at_least, version=ask.version)
        body = await asyncio.to_thread(SESSION.dump_json, session)
        return api.SessionPart(
            version=session.version,
            position=position,
            size=len(body),
            digest=hashlib.sha256(body).hexdigest(),
            data=b64encode(body[ask.offset : ask.offset + self._room // 2]),
        )

    @property
    def _room(self) -> int:
        """Bytes for the contents of an answer: what is around them, and what JSON makes of them, needs some too."""
        return min(queries.ANSWER_BYTES, self._max_payload()) * 6 // 7

    async def get(self, ask: api.GetSession) -> api.SessionSummary:
        await self._projector.load(ask.session_id)
        return await queries.get_session(self._database, ask)

    async def journal(self, ask: api.ReadJournal) -> api.JournalPage:
        await self._projector.load(ask.session_id)
        return await queries.read_journal(self._database, ask, min(queries.PAGE_BYTES, self._room))

    async def plan(self, ask: api.GetPlan) -> api.PlanRecord:
        await self._projector.load(ask.session_id)
        return await plans.get_plan(self._database, ask)

    async def plan_versions(self, ask: api.PlanVersions) -> api.PlanHistory:
        await self._projector.load(ask.session_id)
        return await plans.plan_versions(self._database, ask.session_id, self._room)

    async def plan_tasks(self, ask: api.TasksOfPlans) -> api.PlanTasks:
        await self._projector.load(ask.session_id)
        return await plan_tasks(self._database, ask.session_id)

    async def plan_diff(self, ask: api.DiffPlans) -> api.PlanDiff:
        old = await self.plan(api.GetPlan(session_id=ask.session_id, version=ask.old))
        new = await self.plan(api.GetPlan(session_id=ask.session_id, version=ask.new))
        async with self._comparing:
            return await asyncio.to_thread(diff, old, new)

    async def code_versions(self, ask: api.CodeVersions) -> api.CodeHistory:
        await self._projector.load(ask.session_id)
        return await plans.code_versions(self._database, ask, self._room)

    async def usage(self, ask: api.UsageTotals) -> api.UsageReport:
        if ask.session_id is not None:
            await self._projector.load(ask.session_id)
        return await queries.usage_totals(self._database, ask)

    async def health(self, _: api.Health) -> api.HealthReport:
        return await queries.health(self._database)


def _responder[Q: api.Message, A: api.Message](
    verb: api.Verb[Q, A], handle: Callable[[Q], Awaitable[A]]
) -> tuple[str, Responder]:
    async def respond(_: str, body: bytes) -> bytes:
        try:
            answer = (await handle(verb.request.model_validate_json(body))).model_dump_json().encode()
        except Exception as error:
            return _refusal(verb.name, error)
        if len(answer) > queries.ANSWER_BYTES:
            return _refusal(
                verb.name, api.StoreError("too_large", f"The answer has {len(answer)} bytes: ask for less.")
            )
        return answer

    return verb.subject, respond


def _refusal(verb: str, error: Exception) -> bytes:
    code: api.Code
    message = str(error)
    match error:
        case api.StoreError():
            code = error.code
        case ValidationError() if error.title in _REQUESTS:
            code, message = "bad_request", sentences(error.errors(), whole="request")
        case DatabaseDown():
            code = "database_down"
        case LogDown():
            code = "log_down"
        case _:
            log.exception("request_failed", verb=verb, exc_info=error)
            code, message = "failed", "plan_store could not answer; its log says why."
    return api.Failed(error=api.Problem(code=code, message=message)).model_dump_json().encode()


_REQUESTS = {verb.request.__name__ for verb in api.VERBS}
