"""A chat session: applies the gateway's messages to the view, and sends the user's input to the gateway."""

import asyncio
import contextlib
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from rich.console import RenderableType
from rich.text import Text

from cli.chat import render, render_journal
from cli.chat.choices import auto_approval, choice_label, interpret
from cli.chat.edit import edit_in_review
from cli.chat.effects import AskFurther, ChatEffect, RunLocally, SendMessage, SendMessages, ShowText
from cli.chat.first_request import UNCHANGED, FirstRequest
from cli.chat.local_commands import run_local
from cli.chat.slash import slash_command
from cli.chat.state import ChatView, InputRequest, fold
from cli.text import visible
from parley.client import Connection, Parley, ParleyError
from parley.client.connection import Received
from parley.client.socket import Link
from parley.events.values import SessionSettings
from parley.protocol import client as c
from parley.protocol import server as s
from parley.protocol.screen import ActionSection, ScreenEvent, ScreenSnapshot
from parley.protocol.tools import Preview
from parley.protocol.words import TERMINAL
from shared.time_zones import own_time_zone

DONE, FAILED, NO_REQUEST, NEEDS_USER = 0, 1, 2, 3
ECHO_TIMEOUT = 5.0  # seconds that a script waits for the effect of its last line
MAX_HISTORY = 20  # journal lines shown when a session is resumed


class Frontend(Protocol):
    """Shows output and reads input: `TerminalFrontend` or `PipeFrontend`."""

    def show(self, what: RenderableType) -> None: ...
    def update(self, view: ChatView) -> None: ...
    async def line(self) -> str | None: ...
    async def edit(self, text: str, suffix: str) -> str | None: ...


class ChatSession:
    """One conversation over one connection. `yes` approves whatever is in review; `scripted`: no user is present.

    `first` has the options of the first request.
    """

    def __init__(  # noqa: PLR0913  all parts, by name
        self,
        parley: Parley,
        connection: Connection,
        front: Frontend,
        *,
        yes: bool = False,
        scripted: bool = False,
        first: FirstRequest = UNCHANGED,
    ) -> None:
        self._parley, self._connection, self._front = parley, connection, front
        self._yes, self._scripted = yes, scripted
        self._first = first
        self._shown_actions: set[str] = set()  # ids and hashes of the actions shown for approval
        self.view = ChatView(session_id=connection.session_id or "")
        # The session's version when this client joined; None before the snapshot.
        self._joined_version: int | None = None if connection.session_id else 0
        self._answers: set[str] = set()  # ids of the messages that answer a request
        self._shown_request: InputRequest | None = None  # the request shown last
        self._changed = asyncio.Event()
        self._is_refused = self._is_stopping = self._is_previewing = False

    async def run(self, request: str = "") -> int:
        """Run until the user leaves or the script ends. Returns the exit code. Raises ParleyError."""
        reading = asyncio.create_task(self._read())
        typing = asyncio.create_task(self._follow_script() if self._scripted else self._follow_user(request))
        try:
            await asyncio.wait({reading, typing}, return_when=asyncio.FIRST_COMPLETED)
            return (typing if typing.done() else reading).result()
        finally:
            for task in (reading, typing):
                task.cancel()
            await asyncio.gather(reading, typing, return_exceptions=True)

    def interrupt(self) -> bool:
        """Handle Ctrl-C: stop the work in progress. True, to leave, if there is none or at the second call."""
        if not self.view.greeting or not self.view.is_working or self._is_stopping:
            return True
        self._is_stopping = True
        self._front.show(Text(TERMINAL["leaving"], style="yellow"))
        self._task = asyncio.create_task(self._connection.send(c.Stop(type="stop")))
        return False

    @property
    def ready(self) -> bool:
        """Whether a request is open, and everything that led to it has been shown."""
        return self.view.request is not None and not self._is_previewing

    # --- from the gateway

    async def _read(self) -> int:
        async for message in self._connection:
            if isinstance(message, Link):
                self._apply_link(message)
            elif not self._apply(message):
                return FAILED
            else:
                await self._show_open_request()
            self._front.update(self.view)
            if self._yes and self.ready and (effect := auto_approval(self.view)):
                await self._run_effect(effect)
            self._changed.set()
        return FAILED

    def _apply_link(self, link: Link) -> None:
        if self._scripted and not self.view.is_online and link is Link.UP:
            self._front.show(Text(TERMINAL["connected"]))
        elif self._scripted and link is Link.DOWN:
            self._front.show(Text(TERMINAL["offline"].format(url=self._connection.url)))
        self.view = replace(self.view, is_online=link is Link.UP)

    def _apply(self, message: Received) -> bool:
        """Apply and show one message. False if the chat cannot go on."""
        before, view = self.view, fold(self.view, message, self._connection.screen)
        self.view = replace(view, is_answering=bool(self._answers & self._connection.pending))
        if isinstance(message, s.Greeting):
            if not before.greeting:
                self._front.show(render.render_greeting(message, begins=self._joined_version is not None))
        elif isinstance(message, ScreenSnapshot):
            self._joined_version = message.version or 0 if self._joined_version is None else self._joined_version
        elif isinstance(message, ScreenEvent):
            self._show_event(message)
        elif rendered := render.render_message(message):
            self._front.show(rendered)
        if isinstance(message, s.Error):
            return self._handle_error()
        return True

    def _show_event(self, message: ScreenEvent) -> None:
        """Show an event. Those from before this client joined are shown together, as a summary."""
        joined = self._joined_version or 0
        if message.version > joined:
            mine = self._connection.sent_here(message.event_id)
            if rendered := render_journal.render_event(message, self.view, mine=mine):
                self._front.show(rendered)
        elif message.version == joined:
            self._show_history()

    def _show_history(self) -> None:
        sections = self.view.sections
        title = visible(sections.title or sections.request) if sections else ""
        self._front.show(Text(TERMINAL["session"].format(session=self.view.session_id, title=title), style="bold"))
        lines = render_journal.journal_lines(self.view)
        if len(lines) > MAX_HISTORY:
            self._front.show(Text(TERMINAL["events_before"].format(count=len(lines) - MAX_HISTORY), style="dim"))
        for line in lines[-MAX_HISTORY:]:
            self._front.show(line)

    async def _show_open_request(self) -> None:
        """Show a new request once. What a message left unchanged is not shown again."""
        request = self.view.gateway_request
        if request is None and self._shown_request and self._shown_request.kind not in ("plan", "code", "offer"):
            self._shown_request = None
        if request is None or not self.ready:
            return
        self._is_stopping = False
        if request != self._shown_request:
            rendered = render.render_request(self.view, await self._previews(request))
            if rendered is not None:
                self._front.show(rendered)
        self._shown_request = request

    async def _previews(self, request: InputRequest) -> dict[str, Preview | None]:
        """Previews of the actions that are shown for the first time."""
        new = [action for action in request.actions if f"{action.action_id} {action.hash}" not in self._shown_actions]
        self._shown_actions.update(f"{action.action_id} {action.hash}" for action in new)
        self._is_previewing = bool(new)
        previews = await asyncio.gather(*map(self._preview, new))
        self._is_previewing = False
        return dict(zip((action.action_id for action in new), previews, strict=True))

    async def _preview(self, action: ActionSection) -> Preview | None:
        try:
            return await self._parley.session(self.view.session_id).preview(action.action_id)
        except ParleyError:
            return None

    def _handle_error(self) -> bool:
        """Handle an error message. False if the session does not exist."""
        self._is_stopping = self._yes = False
        self._is_refused = True
        return self._joined_version is not None

    # --- from the user

    async def _follow_user(self, request: str) -> int:
        if request:
            await self._wait_until(lambda: self.ready)
            await self._run_line(request)
        while (line := await self._front.line()) is not None:
            if await self._run_line(line.strip()):
                break
        return DONE

    async def _follow_script(self) -> int:
        while True:
            await self._wait_until(lambda: self.ready or self._is_refused)
            await self._wait_for_effects()
            request = self.view.request
            if self._is_refused or request is None:
                return FAILED
            line = await self._front.line()
            if line is None:
                return self._end_script(request)
            if await self._run_line(line):
                return DONE

    async def _wait_for_effects(self) -> None:
        """Wait until sent messages have had their effect, or for `ECHO_TIMEOUT`: some cause no event."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ECHO_TIMEOUT):
                await self._wait_until(lambda: not self._connection.pending or self._is_refused)

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    def _end_script(self, request: InputRequest) -> int:
        """The script has no more lines: say why it ends, and return the exit code."""
        match request.kind:
            case "start":
                self._front.show(Text(TERMINAL["no_request"]))
                return NO_REQUEST
            case "rest" | "stopped" | "completed":
                return DONE
            case "failed":
                return FAILED
            case "plan" | "code" | "actions":
                words = TERMINAL["needs_approval"]
            case _:
                words = TERMINAL["needs_answer"]
        self._front.show(Text(words))
        return NEEDS_USER

    async def _run_line(self, line: str) -> bool:
        """Do what the line says. True if it says to leave."""
        if line:
            self._front.show(Text.assemble(("› ", "bold"), line, (visible(choice_label(line, self.view)), "dim")))
        effect = slash_command(line, self.view) if line.startswith("/") else interpret(line, self.view)
        if isinstance(effect, RunLocally) and effect.name == "quit":
            return True
        if effect == RunLocally("edit"):
            effect = await edit_in_review(self.view, self._front.edit)
        await self._run_effect(effect)
        self._front.update(self.view)
        return False

    async def _run_effect(self, effect: ChatEffect) -> None:
        match effect:
            case SendMessage(message=message, is_answer=is_answer):
                await self._send(message, is_answer=is_answer)
            case SendMessages(messages=messages):
                for message in messages:
                    await self._send(message, is_answer=True)
            case AskFurther(request=request):
                self.view = replace(self.view, local_request=None if request == self.view.gateway_request else request)
            case ShowText(text=text) if text:
                self._front.show(Text(text, style="yellow"))
            case RunLocally(name="workflow", argument=argument):
                self._first = self._first._replace(workflow=argument)
                self._front.show(Text(TERMINAL["workflow_next"].format(workflow=argument), style="dim"))
            case RunLocally(name=name, argument=argument):
                self._front.show(await run_local(self.view, self._parley, name, argument))

    async def _send(self, message: c.ClientMessage, *, is_answer: bool) -> None:
        if isinstance(message, c.UserMessage):
            message = message.model_copy(update={"time_zone": own_time_zone()})
        if isinstance(message, c.UserMessage) and self._first != UNCHANGED:
            now = self.view.sections.settings if self.view.sections else SessionSettings()
            message = message.model_copy(update=self._first.message_fields(now))
            self._first = UNCHANGED
        message_id = uuid.uuid4().hex
        if is_answer:  # before sending, because the reply may arrive before `send` returns
            self._answers.add(message_id)
            self.view = replace(self.view, local_request=None, is_answering=True)
        await self._connection.send(message.model_copy(update={"id": message_id}))
