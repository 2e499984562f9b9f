"""Handles deliveries from the log and every kind of request."""

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import partial

import structlog
from pydantic import ValidationError

from parley.events.problems import problem_sentences
from services.plan_store.database import DatabaseUnavailable, ProjectionDatabase
from services.plan_store.operations.dead_letters import dismiss, list_dead
from services.plan_store.operations.purge import purge
from services.plan_store.projection.history import StoreLog
from services.plan_store.projection.projector import Projector
from services.plan_store.queries import plans, sessions
from services.plan_store.queries.library import list_library, list_proposals, similar
from services.plan_store.queries.plans import diff, plan_tasks
from services.plan_store.queries.recall import forget, list_memories, recall
from services.plan_store.scheduler.templates import TemplateStore
from shared import store_api as api
from shared.bus import Delivery
from shared.domain.kernel.session import SESSION
from shared.log import LogUnavailable
from shared.retry import retry_while_unavailable
from shared.unavailable import Unavailable

log = structlog.get_logger("plan_store")
MAX_PAYLOAD = 4 * 1024 * 1024  # bytes of a message with the documented max_payload
Responder = Callable[[str, bytes], Awaitable[bytes]]


@retry_while_unavailable(Unavailable, first=0.25, longest=10)
async def run_when_available[T](attempt: Callable[[], Awaitable[T]]) -> T:
    """Run `attempt`, which must be idempotent, until it succeeds."""
    return await attempt()


async def project(projector: Projector, delivery: Delivery) -> None:
    """Project the session up to the delivery. Waits as long as the log or database is down."""
    tokens = delivery.subject.split(".")
    if len(tokens) < 3:
        log.warning("not_of_a_session", subject=delivery.subject[:300], position=delivery.position)
        return
    await run_when_available(partial(projector.project_up_to, tokens[1], delivery.position, delivery.raw))


class RequestHandlers:
    """A handler for every verb. Requests about one session first bring its rows up to date."""

    def __init__(  # noqa: PLR0913  all dependencies, by name
        self,
        log: StoreLog,
        database: ProjectionDatabase,
        projector: Projector,
        max_payload: Callable[[], int] = lambda: MAX_PAYLOAD,
        *,
        templates: TemplateStore | None = None,
        health: Callable[[api.Health], Awaitable[api.HealthReport]] | None = None,
    ) -> None:
        """`max_payload`: bytes that the broker accepts in one message. Without `templates`, their verbs are missing.

        `health` answers the verb of that name; by default only the database is asked.
        """
        self._health = health or (lambda _: sessions.health(database))
        self._templates = templates
        self._max_payload = max_payload
        self._log = log
        self._database = database
        self._projector = projector
        self._comparing = asyncio.Semaphore(1)  # a diff blocks the interpreter even in a thread

    def responders(self) -> dict[str, Responder]:
        """The responder of each subject."""
        return dict(
            (
                _responder(api.SESSION_LOAD, self.load),
                _responder(api.SESSION_PART, self.part),
                _responder(api.SESSION_GET, self.get),
                _responder(api.SESSION_LIST, partial(sessions.list_sessions, self._database)),
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
                _responder(api.HEALTH, self._health),
            )
        ) | (self._template_responders(self._templates) if self._templates else {})

    def _template_responders(self, templates: TemplateStore) -> dict[str, Responder]:
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
        session, position = await self._projector.load_state(ask.session_id, at_least=ask.at_least, version=ask.version)
        return api.LoadedSession(session=session, position=position)

    async def part(self, ask: api.LoadPart) -> api.SessionPart:
        """As `load`, but in parts of at most half a message."""
        session, position = await self._projector.load_state(ask.session_id, at_least=ask.at_least, version=ask.version)
        body = await asyncio.to_thread(SESSION.dump_json, session)
        return api.SessionPart(
            version=session.version,
            position=position,
            size=len(body),
            digest=hashlib.sha256(body).hexdigest(),
            data=b64encode(body[ask.offset : ask.offset + self._answer_bytes // 2]),
        )

    @property
    def _answer_bytes(self) -> int:
        """Bytes for the content of an answer, less some for its envelope and for JSON escapes."""
        return min(sessions.ANSWER_BYTES, self._max_payload()) * 6 // 7

    async def get(self, ask: api.GetSession) -> api.SessionSummary:
        await self._projector.load(ask.session_id)
        return await sessions.get_session(self._database, ask)

    async def journal(self, ask: api.ReadJournal) -> api.JournalPage:
        await self._projector.load(ask.session_id)
        return await sessions.read_journal(self._database, ask, min(sessions.PAGE_BYTES, self._answer_bytes))

    async def plan(self, ask: api.GetPlan) -> api.PlanRecord:
        await self._projector.load(ask.session_id)
        return await plans.get_plan(self._database, ask)

    async def plan_versions(self, ask: api.PlanVersions) -> api.PlanHistory:
        await self._projector.load(ask.session_id)
        return await plans.plan_versions(self._database, ask.session_id, self._answer_bytes)

    async def plan_tasks(self, ask: api.ListPlanTasks) -> api.PlanTasks:
        await self._projector.load(ask.session_id)
        return await plan_tasks(self._database, ask.session_id)

    async def plan_diff(self, ask: api.DiffPlans) -> api.PlanDiff:
        old = await self.plan(api.GetPlan(session_id=ask.session_id, version=ask.old))
        new = await self.plan(api.GetPlan(session_id=ask.session_id, version=ask.new))
        async with self._comparing:
            return await asyncio.to_thread(diff, old, new)

    async def code_versions(self, ask: api.CodeVersions) -> api.CodeHistory:
        await self._projector.load(ask.session_id)
        return await plans.code_versions(self._database, ask, self._answer_bytes)

    async def usage(self, ask: api.GetUsage) -> api.UsageReport:
        if ask.session_id is not None:
            await self._projector.load(ask.session_id)
        return await sessions.usage_totals(self._database, ask)


def _responder[Q: api.StoreMessage, A: api.StoreMessage](
    verb: api.Verb[Q, A], handle: Callable[[Q], Awaitable[A]]
) -> tuple[str, Responder]:
    async def respond(_: str, body: bytes) -> bytes:
        try:
            answer = (await handle(verb.request.model_validate_json(body))).model_dump_json().encode()
        except Exception as error:
            return _refusal(verb.name, error)
        if len(answer) > sessions.ANSWER_BYTES:
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
            code, message = "bad_request", problem_sentences(error.errors(), whole="request")
        case DatabaseUnavailable():
            code = "database_down"
        case LogUnavailable():
            code = "log_down"
        case _:
            log.exception("request_failed", verb=verb, exc_info=error)
            code, message = "failed", "plan_store could not answer; its log says why."
    return api.ErrorReply(error=api.ErrorBody(code=code, message=message)).model_dump_json().encode()


_REQUESTS = {verb.request.__name__ for verb in api.VERBS}
