"""A running Parley as an object: begin sessions, follow them, and do what a person can do in them."""

import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal, Self
from urllib.parse import quote

from parley.client.connection import Connection, refusal
from parley.client.endpoint import Endpoint
from parley.client.errors import Refused
from parley.client.execution_plans import ExecutionPlans
from parley.client.rest import Rest, plain
from parley.client.screen import Screen
from parley.client.templates import Templates
from parley.events import SessionEvent
from parley.events.values import Knowledge, SessionSettings, Workflow
from parley.protocol.client import CLIENT_MESSAGES
from parley.protocol.pages import JournalPage, LibraryPage, MemoryPage, SessionRows
from parley.protocol.screen import ScreenEvent, ScreenSnapshot
from parley.protocol.server import Error, Event, Snapshot
from parley.protocol.tools import Preview, ToolPage

_DUE = frozenset({"awaiting_approval", "awaiting_input", "escalated", "resting", "failed"})
_PAGE = 500  # events asked for at once


class Parley:
    """`async with Parley(url, token=…) as parley`. The url is the page's (http) or the socket's (ws).

    `token` is the login token, an API key or a JWT. While Parley is away everything is tried again for `patience`
    seconds. Every method may raise `sdk.errors.ParleyError`.
    """

    def __init__(self, url: str, *, token: str = "", patience: float = 60) -> None:
        self._endpoint = Endpoint(url, token)
        self._rest = Rest(self._endpoint, patience=patience)
        self._patience = patience
        self.url = self._endpoint.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rest.close()

    @property
    def execution_plans(self) -> ExecutionPlans:
        """Plans that act, by task."""
        return ExecutionPlans(self._rest)

    @property
    def templates(self) -> Templates:
        """Plans to use again, with parameters."""
        return Templates(self._rest)

    async def start(
        self,
        request: str,
        *,
        workflow: Workflow | None = None,
        settings: SessionSettings | Mapping[str, Any] | None = None,
        knowledge: Sequence[Knowledge] = (),
        id: str | None = None,  # noqa: A002
    ) -> "Session":
        """Begin a session, with `settings` as values or as `{"world": "own"}`.

        With an `id` (letters, digits, _ and -, at most 64) the same call begins it only once.
        """
        body = {
            "request": request,
            "id": id or uuid.uuid4().hex,
            "workflow": workflow,
            "settings": plain(settings) if isinstance(settings, SessionSettings) else settings,
            "knowledge": [plain(item) for item in knowledge],
        }
        answer = await self._rest.ask("POST", "/api/sessions", body=body)
        return self.session(answer["session_id"])

    def session(self, session_id: str) -> "Session":
        """A session that exists already."""
        return Session(self._rest, self._endpoint, session_id, patience=self._patience)

    def connect(self, session_id: str | None = None, *, after: int = 0, view: Literal[1, 2] = 1) -> Connection:
        """This session live, after this version, or a new session. It reconnects however long Parley is away.

        With `view=2` it is what a screen needs: sections and journal entries instead of messages to conclude from.
        """
        return Connection(self._endpoint, session_id=session_id, after=after, view=view)

    async def sessions(
        self, query: str = "", *, states: Sequence[str] = (), limit: int = 50, offset: int = 0
    ) -> SessionRows:
        """My sessions, newest first, with every word of `query`."""
        return await self._rest.get(
            SessionRows, "/api/sessions", q=query, state=list(states), limit=limit, offset=offset
        )

    async def inbox(self) -> SessionRows:
        """My sessions in which a person is asked for something."""
        return await self._rest.get(SessionRows, "/api/inbox")

    async def memories(self, query: str = "") -> MemoryPage:
        """Memories of my earlier requests that the planner may be given, newest first, with every word of `query`."""
        return await self._rest.get(MemoryPage, "/api/memories", q=query)

    async def forget(self, memory_id: str) -> None:
        """Delete one of my memories, by its `id`. Raises Refused (`not_found`) where I have none of this id."""
        await self._rest.ask("DELETE", f"/api/memories/{quote(memory_id, safe='')}")

    async def library(self, query: str = "") -> LibraryPage:
        """Answers that I accepted, with every word of `query`."""
        return await self._rest.get(LibraryPage, "/api/library", q=query)

    async def tools(self, query: str = "", *, limit: int = 500) -> ToolPage:
        """The tools there are, those first whose words fit `query`."""
        return await self._rest.get(ToolPage, "/api/tools", q=query, limit=limit)

    async def me(self) -> dict[str, Any]:
        """Who I am there, and what that Parley can do."""
        answer: dict[str, Any] = await self._rest.ask("GET", "/api/me")
        return answer

    async def socket_url(self) -> str:
        """A URL that soon opens one WebSocket as me, for a client that cannot send headers, such as a browser."""
        answer = await self._rest.ask("POST", "/api/tickets")
        return f"{self._endpoint.socket_url}?ticket={answer['ticket']}"


class Session:
    """One session. What is said to it goes by REST and is done once, however often it had to be sent."""

    def __init__(self, rest: Rest, endpoint: Endpoint, session_id: str, *, patience: float) -> None:
        self._rest, self._endpoint, self._patience = rest, endpoint, patience
        self._path = f"/api/sessions/{session_id}"
        self.id = session_id

    async def snapshot(self) -> Snapshot:
        """Where things stand."""
        return await self._rest.get(Snapshot, self._path)

    async def journal(self, after: int = 0) -> tuple[SessionEvent, ...]:
        """All its events after this version, in order."""
        events: list[SessionEvent] = []
        while True:
            page = await self._rest.get(JournalPage, f"{self._path}/journal", after=after, limit=_PAGE)
            events += page.events
            if not page.events or page.events[-1].version >= page.version:
                return tuple(events)
            after = page.events[-1].version

    async def export(self, form: Literal["md", "json", "py"] = "md") -> str:
        """The session to take away: Markdown to read, JSON to process, or its program."""
        return await self._rest.text(f"{self._path}/export", format=form)

    async def preview(self, action_id: str) -> Preview:
        """What an action that waits for approval would change if it ran now."""
        return await self._rest.get(Preview, f"{self._path}/actions/{quote(action_id, safe='')}/preview")

    async def events(self, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """Every event after this version, once and in order, as it happens; it has no end."""
        connection = Connection(self._endpoint, session_id=self.id, after=after, patience=self._patience)
        async with connection:
            async for message in connection:
                if isinstance(message, Error):
                    raise refusal(message)
                if isinstance(message, Event):
                    yield message.event

    async def screens(self) -> AsyncGenerator[Screen]:
        """The session as a screen shows it: where it stands, and again after each event; it has no end."""
        connection = Connection(self._endpoint, session_id=self.id, patience=self._patience, view=2)
        async with connection:
            async for message in connection:
                if isinstance(message, Error):
                    raise refusal(message)
                told = isinstance(message, ScreenEvent) and message.version == connection.screen.version
                if told or isinstance(message, ScreenSnapshot):
                    yield connection.screen

    async def screen(self, version: int = 0) -> Screen:
        """Where it stands as soon as it has this version."""
        async with aclosing(self.screens()) as screens:
            async for screen in screens:
                if screen.version >= version:
                    return screen
        raise AssertionError("the screens of a session have no end")

    async def wait(self) -> Snapshot:
        """Until nothing will happen by itself: a person is asked for something, or it rests, failed or is paused."""
        shown = await self.snapshot()
        if _due(shown):
            return shown
        async with aclosing(self.events(_version(shown))) as events:
            async for event in events:
                if event.version > _version(shown):
                    shown = await self.snapshot()
                    if _due(shown):
                        return shown
        raise AssertionError("the events of a session have no end")

    async def send(self, **message: Any) -> int:
        """Any client message of the protocol, by its fields; the session's version after it."""
        return int((await self._post(message))["version"])

    async def fork(self, version: int | None = None, *, id: str | None = None) -> "Session":  # noqa: A002
        """A new session that begins as this one was at `version` (now). With an `id` the same call makes only one."""
        answer = await self._post({"type": "fork", "version": version} | ({"id": id} if id else {}))
        return Session(self._rest, self._endpoint, answer["fork_id"], patience=self._patience)

    async def _post(self, message: Mapping[str, Any]) -> dict[str, Any]:
        ready = CLIENT_MESSAGES.validate_python({"id": uuid.uuid4().hex, **message})
        try:
            answer: dict[str, Any] = await self._rest.ask("POST", f"{self._path}/messages", body=plain(ready))
        except Refused as error:
            if error.code != "already_done":  # sent again after an answer that was lost
                raise
            return {"version": _version(await self.snapshot())}
        return answer

    async def say(self, text: str) -> int:
        """A request, a remark in a review or at rest, an answer to a question: what the moment makes of it."""
        return await self.send(type="user_message", content=text)

    async def approve(self, action_id: str | None = None, *, remember: bool = False) -> int:
        """Yes to what is in review now: the plan, the code, or the actions (or one of them)."""
        return await self._decide(True, action_id, remember=remember)

    async def reject(self, action_id: str | None = None, *, reason: str = "") -> int:
        """No to it."""
        return await self._decide(False, action_id, reason=reason)

    async def feedback(self, text: str) -> int:
        """What should be different about what is in review."""
        return await self.send(type="feedback", content=text)

    async def answer(self, text: str) -> int:
        """The answer to the open question."""
        return await self.send(type="answer", content=text)

    async def stop(self, reason: str = "") -> int:
        return await self.send(type="stop", reason=reason)

    async def _decide(self, approved: bool, action_id: str | None, **more: Any) -> int:
        """Bound to the version and content that are shown now."""
        shown = await self.snapshot()
        waiting = shown.approval_request.actions if shown.approval_request else ()
        for action in [one for one in waiting if action_id in (None, one.action_id)]:
            named = {"action_id": action.action_id, "hash": action.hash}
            decided = await self.send(type="approval", approved=approved, **named, **more)
            if action.action_id == action_id or action is waiting[-1]:
                return decided
        if shown.review is not None:
            bound = {"version": shown.review.version, "hash": shown.review.hash}
            return await self.send(type="approval", approved=approved, **bound, **more)
        what = f"Action {action_id} does not wait" if action_id else "Nothing waits"
        raise Refused("not_now", f"{what} for approval in session {self.id}.")


def _due(shown: Snapshot) -> bool:
    return shown.phase in _DUE or shown.paused


def _version(shown: Snapshot) -> int:
    return shown.version or 0
