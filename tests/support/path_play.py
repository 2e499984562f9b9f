"""Runs sessions of the workflow `flow` in one process: the services' handlers over logs in memory.

The rehearsal model's rules stand in for the model. There is no server and no real bus; only the user is scripted: they
approve every change at once and answer questions from a list.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast
from uuid import uuid4

from pydantic import BaseModel, JsonValue, ValidationError

from parley.events.values import Artefact, Service, SessionSettings, Workflow
from parley.protocol.flows import FLOWS_LIST
from parley.protocol.pages import LibraryPage
from parley.protocol.tools import TOOLS_CHECK, TOOLS_LIST
from rehearsal.openai_schema import CompletionMessage
from rehearsal.prompt import read_prompt
from rehearsal.rules import answer
from services.executor.app import open_executor
from services.generator.agentflow import rules_of
from services.generator.app import write
from services.planner.app import open_planner
from services.verifier.app import verify
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.rules.decide import AnyCommand
from shared.llm import ModelFailed, ModelRequest, ScriptedModel
from shared.log import SessionAtPosition, accept, commit
from shared.settings import Settings
from shared.store import StoreUnavailable
from shared.testing import InMemoryLog
from shared.worker import Drafts, Handler, ServiceContext, WorkContext, WorkerDeps
from tests.support.flow_walk import waiting

MAX_WORK = 400  # steps of services and user for one request: more mean an endless loop
Responder = Callable[[str, bytes], Awaitable[bytes | None]]


class RuleModel:
    """The rehearsal model without its server."""

    async def ask[R: BaseModel](self, request: ModelRequest[R]) -> R:
        read = read_prompt([CompletionMessage(role=text["role"], content=text["content"]) for text in request.messages])
        bare_request = ModelRequest(request.role, request.messages, request.reply, request.on_call)
        return await ScriptedModel(_parse_reply(answer(read), request.reply)).ask(bare_request)


def _parse_reply(content: dict[str, Any] | str, reply: type[BaseModel]) -> BaseModel | ModelFailed:
    """The validated reply; an invalid one becomes ModelFailed, as after a client's retries."""
    try:
        return reply.model_validate(content)
    except ValidationError as error:
        return ModelFailed(f"The reply is not what was asked for: {error.error_count()} problems.")


class LocalBus:
    """Stands in for `Bus` where services in one process send each other requests."""

    def __init__(self) -> None:
        self._answers: dict[str, Responder] = {}

    async def answer(self, subject: str, handler: Responder, *, queue: str = "") -> None:
        self._answers[subject] = handler

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
        message = await self._answers[subject](subject, data)
        assert message is not None
        return message

    async def subscribe(self, subject: str, handler: object) -> None:
        """Nobody publishes here."""

    async def keep(self, name: str, data: bytes) -> Artefact:
        return Artefact(name=name, size=len(data), sha256="")


class SessionLogs:
    """A separate log for each session, and an empty library."""

    def __init__(self) -> None:
        self.logs: dict[str, InMemoryLog] = {}
        self._known: dict[str, SessionAtPosition] = {}

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        """The session, folded incrementally. Ignores `version`."""
        assert version is None
        loaded = self._known.get(session_id) or SessionAtPosition(Session(session_id), 0)
        for raw in await self.logs[session_id].read(session_id, after=loaded.position):
            loaded, _, _ = accept(loaded, raw)
        self._known[session_id] = loaded
        return loaded

    async def ask(self, verb: str, **_: Any) -> Any:
        if verb == "library.similar":
            return LibraryPage(items=(), total=0).model_dump(mode="json")
        raise StoreUnavailable(f"There is no plan store here that could answer {verb}.")


class LocalServices:
    """The services in this process; `talk` gives a new session."""

    def __init__(self, settings: Settings, model: RuleModel, handlers: dict[Service, Handler], bus: LocalBus) -> None:
        self.settings, self.model, self.handlers, self.bus = settings, model, handlers, bus
        self.shelves = SessionLogs()

    def talk(self, *replies: str, **wanted: Any) -> "ScriptedSession":
        session_id = uuid4().hex[:16]
        self.shelves.logs[session_id] = InMemoryLog()
        return ScriptedSession(self, session_id, list(replies), SessionSettings(**({"confirm": "nothing"} | wanted)))


@asynccontextmanager
async def local_services(settings: Settings) -> AsyncIterator[LocalServices]:
    """The services, with a real executor over the retail store and database of these settings."""
    bus = LocalBus()
    services = LocalServices(
        settings,
        RuleModel(),
        {"verifier": verify, "generator": partial(write, rules_of=partial(rules_of, cast(Bus, bus)))},
        bus,
    )
    context = ServiceContext(settings, cast(Bus, bus), services.shelves)
    async with AsyncExitStack() as opened:
        tools = await opened.enter_async_context(open_executor(context))
        await bus.answer(TOOLS_LIST, tools.requests.list)
        await bus.answer(TOOLS_CHECK, tools.requests.check)
        await bus.answer(FLOWS_LIST, tools.guide.list)
        services.handlers["executor"] = tools.executor.run_batch
        services.handlers["planner"] = await opened.enter_async_context(open_planner(context))
        yield services


class ScriptedSession:
    """One user's session with scripted answers. `questions` holds those asked; one without answer ends the request."""

    def __init__(self, services: LocalServices, session_id: str, replies: list[str], settings: SessionSettings) -> None:
        self.id = session_id
        self.questions: list[str] = []
        self._services, self._left, self._settings = services, replies, settings

    async def says(self, text: str, *, workflow: Workflow = "flow", until: tuple[str, ...] = ()) -> Session:
        """The session once the request is over or one of the phases `until` is reached."""
        await self._execute_as_user(c.Say(text=text, workflow=workflow, settings=self._settings))
        for _ in range(MAX_WORK):
            session = await self.session()
            if session.phase in until or not await self._advance(session):
                return session
        raise AssertionError(f"still {session.phase} after {MAX_WORK} pieces of work: {text}")

    async def session(self) -> Session:
        return (await self._services.shelves.load(self.id)).session

    async def _advance(self, session: Session) -> bool:
        """Do the next step of a service or the user; False if none is due."""
        if session.works:
            await self._serve(session.works[0].service)
        elif session.phase == "awaiting_approval":
            plan = session.plan
            if plan and plan.task and not undecided_actions(session.turn):
                await self._execute_as_user(c.Approve(version=plan.version, hash=plan.hash))
                return True
            action = waiting(session)
            await self._execute_as_user(c.Approve(version=session.version, action_id=action.spec.id, hash=action.hash))
        elif session.phase == "awaiting_input" and session.question:
            self.questions.append(session.question.text)
            if not self._left:
                return False
            await self._execute_as_user(c.Answer(text=self._left.pop(0)))
        elif session.phase == "escalated":
            await self._execute_as_user(c.Say(text="I have seen to it."))
        else:
            return False
        return True

    async def _serve(self, service: Service) -> None:
        services = self._services
        log = services.shelves.logs[self.id]
        deps = WorkerDeps(service, services.shelves, log, services.model, Drafts(None), services.settings)
        context = WorkContext(deps, await services.shelves.load(self.id), cause=self.id)
        try:
            command: AnyCommand | None = await services.handlers[service](context)
        except ModelFailed as error:
            command = c.Fail(reason=error.reason)
        if command is not None:
            await context.record(command)

    async def _execute_as_user(self, command: AnyCommand) -> None:
        loaded = await self._services.shelves.load(self.id)
        by = CommandMeta("user:ann", datetime.now(UTC), uuid4().hex[:12])
        await commit(self._services.shelves.logs[self.id], loaded, command, by)


def outputs(session: Session, node: str) -> dict[str, JsonValue] | None:
    """The outputs of this node's last run for this request."""
    assert session.turn
    runs = [a for a in session.turn.actions if a.spec.tool.endswith(f".{node}") and a.status == "finished"]
    result = runs[-1].result if runs else None
    return result if isinstance(result, dict) else None
