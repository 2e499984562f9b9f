"""The client: begin sessions, follow them, and act in them as a user."""

import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal, Self
from urllib.parse import quote

from parley.client.connection import Connection, request_refused
from parley.client.endpoint import Endpoint
from parley.client.errors import RequestRefused
from parley.client.execution_plans import ExecutionPlans
from parley.client.rest import Rest, to_json
from parley.client.screen import Screen
from parley.client.templates import Templates
from parley.events import SessionEvent
from parley.events.values import Knowledge, SessionSettings, Workflow
from parley.protocol.client import CLIENT_MESSAGES
from parley.protocol.pages import JournalPage, LibraryPage, MemoryPage, SessionRows
from parley.protocol.screen import ScreenEvent, ScreenSnapshot
from parley.protocol.server import Error, EventMessage, Snapshot
from parley.protocol.tools import Preview, ToolPage

ExportFormat = Literal["md", "json", "py"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = ("md", "json", "py")
_WAITING_PHASES = frozenset({"awaiting_approval", "awaiting_input", "escalated", "resting", "failed"})
_PAGE_SIZE = 500  # events per request


class Parley:
    """`async with Parley(url, token=…) as parley`. `url` is that of the page (http) or of the socket (ws).

    `token`: a login token, an API key or a JWT. While Parley is unreachable, requests are repeated for `timeout`
    seconds. Every method may raise `parley.client.errors.ParleyError`.
    """

    def __init__(self, url: str, *, token: str = "", timeout: float = 60) -> None:
        self._endpoint = Endpoint(url, token)
        self._rest = Rest(self._endpoint, timeout=timeout)
        self._timeout = timeout
        self.url = self._endpoint.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rest.close()

    @property
    def execution_plans(self) -> ExecutionPlans:
        """Execution plans, by task."""
        return ExecutionPlans(self._rest)

    @property
    def templates(self) -> Templates:
        """Reusable plans with parameters."""
        return Templates(self._rest)

    async def start(  # noqa: PLR0913  the options of a request
        self,
        request: str,
        *,
        workflow: Workflow | None = None,
        settings: SessionSettings | Mapping[str, Any] | None = None,
        knowledge: Sequence[Knowledge] = (),
        time_zone: str | None = None,
        id: str | None = None,  # noqa: A002
    ) -> "RemoteSession":
        """Begin a session. `settings` are SessionSettings or a mapping such as `{"world": "own"}`.
        `time_zone`: the IANA name of the person's, such as Europe/Berlin, by which the session knows their day.

        With an `id` (letters, digits, _ and -, at most 64) repeated calls create only one session.
        """
        body = {
            "request": request,
            "id": id or uuid.uuid4().hex,
            "workflow": workflow,
            "settings": to_json(settings) if isinstance(settings, SessionSettings) else settings,
            "knowledge": [to_json(item) for item in knowledge],
        } | _given(time_zone=time_zone)
        answer = await self._rest.ask("POST", "/api/sessions", body=body)
        return self.session(answer["session_id"])

    def session(self, session_id: str) -> "RemoteSession":
        """An existing session. Sends no request."""
        return RemoteSession(self._rest, self._endpoint, session_id, timeout=self._timeout)

    def connect(self, session_id: str | None = None, *, after: int = 0, view: Literal[1, 2] = 1) -> Connection:
        """A live connection to this session after this version, or to a new session. It never stops reconnecting.

        With `view=2` it speaks protocol 2: sections of the view and journal entries.
        """
        return Connection(self._endpoint, session_id=session_id, after=after, view=view)

    async def sessions(
        self, query: str = "", *, states: Sequence[str] = (), limit: int = 50, offset: int = 0
    ) -> SessionRows:
        """My sessions that have every word of `query`, newest first."""
        return await self._rest.get(
            SessionRows, "/api/sessions", q=query, state=list(states), limit=limit, offset=offset
        )

    async def inbox(self) -> SessionRows:
        """My sessions that wait for a person."""
        return await self._rest.get(SessionRows, "/api/inbox")

    async def memories(self, query: str = "") -> MemoryPage:
        """Memories of my earlier requests that have every word of `query`, newest first."""
        return await self._rest.get(MemoryPage, "/api/memories", q=query)

    async def forget(self, memory_id: str) -> None:
        """Delete one of my memories, by its `id`. Raises RequestRefused (`not_found`) if there is none with this id."""
        await self._rest.ask("DELETE", f"/api/memories/{quote(memory_id, safe='')}")

    async def library(self, query: str = "") -> LibraryPage:
        """Answers that I accepted and that have every word of `query`."""
        return await self._rest.get(LibraryPage, "/api/library", q=query)

    async def tools(self, query: str = "", *, limit: int = 500) -> ToolPage:
        """The tools, best matches for `query` first."""
        return await self._rest.get(ToolPage, "/api/tools", q=query, limit=limit)

    async def me(self) -> dict[str, Any]:
        """The current user, and what this Parley can do."""
        answer: dict[str, Any] = await self._rest.ask("GET", "/api/me")
        return answer

    async def socket_url(self) -> str:
        """A short-lived URL that opens one WebSocket as me, for clients that cannot send headers, such as browsers."""
        answer = await self._rest.ask("POST", "/api/tickets")
        return f"{self._endpoint.socket_url}?ticket={answer['ticket']}"


class RemoteSession:
    """One session. Its messages go over REST and are carried out once, however often they have to be sent."""

    def __init__(self, rest: Rest, endpoint: Endpoint, session_id: str, *, timeout: float) -> None:
        self._rest, self._endpoint, self._timeout = rest, endpoint, timeout
        self._path = f"/api/sessions/{quote(session_id, safe='')}"
        self.id = session_id

    async def snapshot(self) -> Snapshot:
        """The current snapshot."""
        return await self._rest.get(Snapshot, self._path)

    async def journal(self, after: int = 0) -> tuple[SessionEvent, ...]:
        """All events after this version, in order."""
        events: list[SessionEvent] = []
        while True:
            page = await self._rest.get(JournalPage, f"{self._path}/journal", after=after, limit=_PAGE_SIZE)
            events += page.events
            if not page.events or page.events[-1].version >= page.version:
                return tuple(events)
            after = page.events[-1].version

    async def export(self, form: ExportFormat = "md") -> str:
        """The session as a file: Markdown to read, JSON to process, or its program."""
        return await self._rest.text(f"{self._path}/export", format=form)

    async def preview(self, action_id: str) -> Preview:
        """What an action that awaits approval would change if it ran now."""
        return await self._rest.get(Preview, f"{self._path}/actions/{quote(action_id, safe='')}/preview")

    async def events(self, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """Every event after this version, once and in order, as it happens. Never ends by itself."""
        connection = Connection(self._endpoint, session_id=self.id, after=after, timeout=self._timeout)
        async with connection:
            async for message in connection:
                if isinstance(message, Error):
                    raise request_refused(message)
                if isinstance(message, EventMessage):
                    yield message.event

    async def screens(self) -> AsyncGenerator[Screen]:
        """The session as a screen shows it, now and after each event. Never ends by itself."""
        connection = Connection(self._endpoint, session_id=self.id, timeout=self._timeout, view=2)
        async with connection:
            async for message in connection:
                if isinstance(message, Error):
                    raise request_refused(message)
                is_new_event = isinstance(message, ScreenEvent) and message.version == connection.screen.version
                if is_new_event or isinstance(message, ScreenSnapshot):
                    yield connection.screen

    async def screen(self, version: int = 0) -> Screen:
        """The screen once the session has this version."""
        async with aclosing(self.screens()) as screens:
            async for screen in screens:
                if screen.version >= version:
                    return screen
        raise AssertionError("the screens of a session have no end")

    async def wait(self) -> Snapshot:
        """Wait until nothing happens by itself: the session waits for a person, offers something, rests, has failed, or
        is paused.
        """
        snapshot = await self.snapshot()
        if _is_waiting(snapshot):
            return snapshot
        async with aclosing(self.events(_version(snapshot))) as events:
            async for event in events:
                if event.version > _version(snapshot):
                    snapshot = await self.snapshot()
                    if _is_waiting(snapshot):
                        return snapshot
        raise AssertionError("the events of a session have no end")

    async def send(self, **message: Any) -> int:
        """Send any client message of the protocol, by its fields. Returns the session's version after it."""
        return int((await self._post(message))["version"])

    async def fork(self, version: int | None = None, *, id: str | None = None) -> "RemoteSession":  # noqa: A002
        """A new session from this one at `version` (default: now). With an `id`, repeated calls create only one."""
        answer = await self._post({"type": "fork", "version": version} | ({"id": id} if id else {}))
        return RemoteSession(self._rest, self._endpoint, answer["fork_id"], timeout=self._timeout)

    async def _post(self, message: Mapping[str, Any]) -> dict[str, Any]:
        prepared = CLIENT_MESSAGES.validate_python({"id": uuid.uuid4().hex, **message})
        try:
            answer: dict[str, Any] = await self._rest.ask("POST", f"{self._path}/messages", body=to_json(prepared))
        except RequestRefused as error:
            if error.code != "already_done":  # the first response was lost
                raise
            return {"version": _version(await self.snapshot())}
        return answer

    async def say(self, text: str, *, time_zone: str | None = None) -> int:
        """Send a user message: a request, a question, a change, or an answer, depending on the session's state.

        It never withdraws what waits or runs: where it asks for something else, Parley offers that (`take_offer`).
        """
        return await self.send(type="user_message", content=text, **_given(time_zone=time_zone))

    async def approve(self, action_id: str | None = None, *, remember: bool = False) -> int:
        """Approve what is in review now: the plan, the code, or the actions (or one of them)."""
        return await self._decide(True, action_id, remember=remember)

    async def reject(self, action_id: str | None = None, *, reason: str = "") -> int:
        """Reject what is in review now."""
        return await self._decide(False, action_id, reason=reason)

    async def feedback(self, text: str) -> int:
        """Say what should be different about what is in review."""
        return await self.send(type="feedback", content=text)

    async def answer(self, text: str, *, more: Sequence[str] = ()) -> int:
        """Answer the open question, and with `more` those that follow it, in their order."""
        return await self.send(type="answer", content=text, **({"more": list(more)} if more else {}))

    async def take_offer(self, version: int) -> int:
        """Put the offer of this version in the place of what waits or runs. `screen()` has it as `view.offer`."""
        return await self.send(type="take_offer", version=version)

    async def keep_offer(self, version: int) -> int:
        """Keep what waits or runs, and turn the offer of this version down."""
        return await self.send(type="keep_offer", version=version)

    async def stop(self, reason: str = "") -> int:
        return await self.send(type="stop", reason=reason)

    async def _decide(self, approved: bool, action_id: str | None, **more: Any) -> int:
        """Decide on the version and content that are in review now."""
        snapshot = await self.snapshot()
        waiting = snapshot.approval_request.actions if snapshot.approval_request else ()
        for action in [pending for pending in waiting if action_id in (None, pending.action_id)]:
            named = {"action_id": action.action_id, "hash": action.hash}
            decided = await self.send(type="approval", approved=approved, **named, **more)
            if action.action_id == action_id or action is waiting[-1]:
                return decided
        if snapshot.review is not None:
            bound = {"version": snapshot.review.version, "hash": snapshot.review.hash}
            return await self.send(type="approval", approved=approved, **bound, **more)
        what = f"Action {action_id} does not wait" if action_id else "Nothing waits"
        raise RequestRefused("not_now", f"{what} for approval in session {self.id}.")


def _given(**fields: Any) -> dict[str, Any]:
    """The fields that have a value: an older gateway refuses those that it does not know."""
    return {name: value for name, value in fields.items() if value is not None}


def _is_waiting(snapshot: Snapshot) -> bool:
    return snapshot.phase in _WAITING_PHASES or snapshot.paused or snapshot.continue_ is not None


def _version(snapshot: Snapshot) -> int:
    return snapshot.version or 0
