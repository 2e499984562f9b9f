"""The conversation itself: what the gateway says goes into the view, what the person types goes to the gateway."""

import asyncio
import contextlib
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from rich.console import RenderableType
from rich.text import Text

from cli.chat import journal, lists, render
from cli.chat.choices import chosen, understand
from cli.chat.decisions import approve
from cli.chat.doing import Doing, Local, More, Say, Send, SendAll
from cli.chat.edit import edit
from cli.chat.first import AS_IT_IS, First
from cli.chat.forms import tables
from cli.chat.local import export, locally
from cli.chat.slash import command
from cli.chat.state import Ask, View
from cli.chat.view import fold
from cli.visible import visible
from parley.client import Connection, Parley, ParleyError
from parley.client.connection import Received
from parley.client.socket import Link
from parley.events.values import SessionSettings
from parley.protocol import client as c
from parley.protocol import server as s
from parley.protocol.screen import ActionSection, ScreenEvent, ScreenSnapshot
from parley.protocol.tools import Preview
from parley.protocol.words import TERMINAL

DONE, FAILED, NOTHING_ASKED, NEEDS_A_PERSON = 0, 1, 2, 3
ECHO = 5.0  # seconds that a script waits for what its last line does
HISTORY = 20  # lines of what was before, on coming back to a session
_REVIEWS = ("plan", "code", "actions")


class Front(Protocol):
    """Where it is shown and typed: the terminal (`Screen`) or a pipe (`Script`)."""

    def show(self, what: RenderableType) -> None: ...
    def update(self, view: View) -> None: ...
    async def line(self) -> str | None: ...
    async def edit(self, text: str, suffix: str) -> str | None: ...


class Talk:
    """One conversation over one connection. `yes` approves whatever is in review; `scripted`: nobody is there to ask.

    `first` is chosen for the first request; else it is as the session has it.
    """

    def __init__(  # noqa: PLR0913  what a conversation consists of
        self,
        parley: Parley,
        connection: Connection,
        front: Front,
        *,
        yes: bool = False,
        scripted: bool = False,
        first: First = AS_IT_IS,
    ) -> None:
        self._parley, self._connection, self._front = parley, connection, front
        self._yes, self._scripted = yes, scripted
        self._first = first
        self._cards: set[str] = set()  # hashes of the actions that were shown for a yes
        self.view = View(session_id=connection.session_id or "")
        self._joined: int | None = None if connection.session_id else 0  # the session's version when we came to it
        self._answers: set[str] = set()  # ids of the messages that answer what was asked
        self._seen: Ask | None = None  # what was asked last on the screen
        self._news = asyncio.Event()
        self._refused = self._stopping = self._looking = False  # _looking: up what the actions would change

    async def run(self, request: str = "") -> int:
        """Until the person leaves or the script ends; the exit code. Raises ParleyError."""
        reading = asyncio.create_task(self._read())
        typing = asyncio.create_task(self._follow_script() if self._scripted else self._follow_person(request))
        try:
            await asyncio.wait({reading, typing}, return_when=asyncio.FIRST_COMPLETED)
            return (typing if typing.done() else reading).result()
        finally:
            for task in (reading, typing):
                task.cancel()
            await asyncio.gather(reading, typing, return_exceptions=True)

    def interrupt(self) -> bool:
        """Ctrl-C: stop what goes on, once; when nothing does, or at the second time, True: leave."""
        if not self.view.greeting or not self.view.working or self._stopping:
            return True
        self._stopping = True
        self._front.show(Text(TERMINAL["leaving"], style="yellow"))
        self._task = asyncio.create_task(self._connection.send(c.Stop(type="stop")))
        return False

    @property
    def ready(self) -> bool:
        """Something is asked, all that led to it has been shown, and it is not what I have answered just now."""
        return self.view.ask is not None and not self._looking

    # --- from the gateway

    async def _read(self) -> int:
        async for message in self._connection:
            if isinstance(message, Link):
                self._link(message)
            elif not self._take(message):
                return FAILED
            else:
                await self._show_ask()
            self._front.update(self.view)
            if self._yes and self.ready and (doing := _agreed(self.view)):
                await self._do(doing)
            self._news.set()
        return FAILED

    def _link(self, link: Link) -> None:
        if self._scripted and not self.view.online and link is Link.UP:
            self._front.show(Text(TERMINAL["connected"]))
        elif self._scripted and link is Link.DOWN:
            self._front.show(Text(TERMINAL["offline"].format(url=self._connection.url)))
        self.view = replace(self.view, online=link is Link.UP)

    def _take(self, message: Received) -> bool:
        """Fold one message in and show it; False when there is nothing to go on with."""
        before, view = self.view, fold(self.view, message, self._connection.screen)
        self.view = replace(view, answering=bool(self._answers & self._connection.pending))
        if isinstance(message, s.Greeting):
            if not before.greeting:
                self._front.show(render.greeting(message, begins=self._joined is not None))
        elif isinstance(message, ScreenSnapshot):
            self._joined = message.version or 0 if self._joined is None else self._joined
        elif isinstance(message, ScreenEvent):
            self._show_event(message)
        elif told := render.told(message):
            self._front.show(told)
        if isinstance(message, s.Error):
            return self._was_refused()
        return True

    def _show_event(self, message: ScreenEvent) -> None:
        """What was before we came is shown at once, as it came out."""
        event, joined = message.event, self._joined or 0
        if event.version > joined:
            shown = journal.happened(message, self.view, mine=self._connection.sent_here(event.id))
            if shown is not None:
                self._front.show(shown)
        elif event.version == joined:
            self._came_back()

    def _came_back(self) -> None:
        stands = self.view.stands
        title = visible(stands.title or stands.request) if stands else ""
        self._front.show(Text(TERMINAL["session"].format(session=self.view.session_id, title=title), style="bold"))
        lines = journal.lines(self.view)
        if len(lines) > HISTORY:
            self._front.show(Text(TERMINAL["events_before"].format(count=len(lines) - HISTORY), style="dim"))
        for line in lines[-HISTORY:]:
            self._front.show(line)

    async def _show_ask(self) -> None:
        """Once each; a plan or code that is still the same after a remark is not shown again."""
        ask = self.view.asked
        if ask is None and self._seen and self._seen.kind not in ("plan", "code"):
            self._seen = None
        if ask is None or not self.ready:
            return
        self._stopping = False
        if ask != self._seen:
            shown = render.asked(self.view, await self._previews(ask))
            if shown is not None:
                self._front.show(shown)
        self._seen = ask

    async def _previews(self, ask: Ask) -> dict[str, Preview | None]:
        """What the actions that are asked for the first time would change."""
        new = [action for action in ask.actions if f"{action.action_id} {action.hash}" not in self._cards]
        self._cards.update(f"{action.action_id} {action.hash}" for action in new)
        self._looking = bool(new)
        told = await asyncio.gather(*map(self._preview, new))
        self._looking = False
        return dict(zip((action.action_id for action in new), told, strict=True))

    async def _preview(self, action: ActionSection) -> Preview | None:
        try:
            return await self._parley.session(self.view.session_id).preview(action.action_id)
        except ParleyError:
            return None

    def _was_refused(self) -> bool:
        """False: there is no such session to talk in."""
        self._stopping = self._yes = False
        self._refused = True
        return self._joined is not None

    # --- from the person

    async def _follow_person(self, request: str) -> int:
        if request:
            await self._until(lambda: self.ready)
            await self._obey(request)
        while (line := await self._front.line()) is not None:
            if await self._obey(line.strip()):
                break
        return DONE

    async def _follow_script(self) -> int:
        while True:
            await self._until(lambda: self.ready or self._refused)
            await self._arrived()
            ask = self.view.ask
            if self._refused or ask is None:
                return FAILED
            line = await self._front.line()
            if line is None:
                return self._end(ask)
            if await self._obey(line):
                return DONE

    async def _arrived(self) -> None:
        """What was sent has been heard of again; or nobody tells, for what changes nothing makes no event."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ECHO):
                await self._until(lambda: not self._connection.pending or self._refused)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._news.clear()
            await self._news.wait()

    def _end(self, ask: Ask) -> int:
        """The script has no more lines: the exit code, and why."""
        match ask.kind:
            case "start":
                self._front.show(Text(TERMINAL["no_request"]))
                return NOTHING_ASKED
            case "rest" | "stopped" | "completed":
                return DONE
            case "failed":
                return FAILED
            case "plan" | "code" | "actions":
                words = TERMINAL["needs_approval"]
            case _:
                words = TERMINAL["needs_answer"]
        self._front.show(Text(words))
        return NEEDS_A_PERSON

    async def _obey(self, line: str) -> bool:
        """Do what the line says; True when it says to leave."""
        if line:
            self._front.show(Text.assemble(("› ", "bold"), line, (chosen(line, self.view), "dim")))
        doing = command(line, self.view) if line.startswith("/") else understand(line, self.view)
        if isinstance(doing, Local) and doing.name == "quit":
            return True
        await self._do(await edit(self.view, self._front.edit) if doing == Local("edit") else doing)
        self._front.update(self.view)
        return False

    async def _do(self, doing: Doing) -> None:
        match doing:
            case Send(message=message, moves=moves):
                await self._send(message, moves=moves)
            case SendAll(messages=messages):
                for message in messages:
                    await self._send(message, moves=True)
            case More(ask=ask):
                self.view = replace(self.view, own=None if ask == self.view.asked else ask)
            case Say(text=text) if text:
                self._front.show(Text(text, style="yellow"))
            case Local(name="workflow", argument=argument):
                self._first = self._first._replace(workflow=argument)
                self._front.show(Text(TERMINAL["workflow_next"].format(workflow=argument), style="dim"))
            case Local(name=name, argument=argument) if name in lists.NAMES:
                self._front.show(await lists.listed(name, argument, self._parley))
            case Local(name="export", argument=argument):
                self._front.show(await export(self._parley.session(self.view.session_id), argument))
            case Local(name=name, argument=argument):
                self._front.show(locally(self.view, name, argument))

    async def _send(self, message: c.ClientMessage, *, moves: bool) -> None:
        if isinstance(message, c.UserMessage) and self._first != AS_IT_IS:
            now = self.view.stands.settings if self.view.stands else SessionSettings()
            message = message.model_copy(update=self._first.choices(now))
            self._first = AS_IT_IS
        message_id = uuid.uuid4().hex
        if moves:  # before it is sent: the reply may be here sooner than we are back
            self._answers.add(message_id)
            self.view = replace(self.view, own=None, answering=True)
        await self._connection.send(message.model_copy(update={"id": message_id}))


def _agreed(view: View) -> Doing | None:
    """With --yes: what is in review is approved, and proposed tables are taken. Other questions need a person."""
    if view.ask and view.ask.kind in _REVIEWS:
        return approve(view)
    return understand("yes", view) if tables(view.ask) else None
