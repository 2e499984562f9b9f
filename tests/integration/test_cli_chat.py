"""`parley chat` with a gateway, at a terminal and from a pipe, with scripted services."""

import asyncio
import io
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from cli.chat import run
from cli.chat.chat_session import ChatSession
from cli.chat.terminal import TerminalFrontend
from parley.client import Parley
from parley.events import parse_event
from parley.events.values import Check, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand
from shared.environment import child_environment
from shared.settings import Settings
from shared.story import finish_action
from tests.support.gateway import World, serving
from tests.support.timeouts import WAIT_TIMEOUT

ROOT = Path(__file__).parents[2]
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)")
ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"


class Services:
    """Plays all services: commits what `commands` returns, except for requests that contain "wait"."""

    def __init__(self, world: World, commands: Callable[[Session], tuple[AnyCommand, ...]]) -> None:
        self.world = world
        self._commands = commands
        self.ids: list[str] = []
        self._done: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def on_event(self, _: str, body: bytes) -> None:
        event = parse_event(body)
        if event.id not in self._done:
            self._done.add(event.id)
            self.ids += [event.session_id] if event.version == 1 else []
            task = asyncio.create_task(self._work(event.session_id, event.version))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def session(self) -> Session:
        return await self.world.story(self.ids[0]).load()

    async def _work(self, session_id: str, version: int) -> None:
        story = self.world.story(session_id)
        session = await story.load()
        if version not in (work.version for work in session.works) or "wait" in session.words.request:
            return
        for command in self._commands(session):
            await story.commit(command)


def _commands(session: Session) -> tuple[AnyCommand, ...]:
    match "planning" if session.reply else session.phase:
        case "planning" if "fail" in session.words.request:
            return (c.Fail(reason="The model said nothing."),)
        case "planning":
            steps = (Step(text="Read two numbers"), *(Step(text=message.text) for message in session.words.unread))
            return (c.DraftPlan(goal="A calculator", steps=steps),)
        case "coding":
            return (c.DraftCode(code="print(1.5 + 2)\n"),)
        case "verifying" if session.turn is None:
            return (c.VerifyCode(checks=(Check(name="tests", ok=True),)),)
        case "verifying":
            return (c.VerifyTurn(status="success", next_action="complete", reasoning="It printed 3.5."),)
        case _:
            return (c.Start(), finish_action(action_id="1.1", ok=True, result={"stdout": "3.5\n"}, seconds=0.1))


@asynccontextmanager
async def gateway_with_services() -> AsyncIterator[tuple[str, Services]]:
    """A gateway with its services. Yields the URL of its WebSocket, and the services."""
    world = World()
    services = Services(world, _commands)
    await world.bus.subscribe("feed.>", services.on_event)
    async with serving(world.app) as address:
        yield f"ws://{address}/ws", services


class Terminal(io.StringIO):
    """Records everything written to a terminal; `text` is without escape sequences."""

    def __init__(self) -> None:
        super().__init__()
        self._written = asyncio.Event()

    def write(self, text: str) -> int:
        self._written.set()
        return super().write(text)

    @property
    def text(self) -> str:
        return ESCAPES.sub("", self.getvalue())

    async def shows(self, *words: str) -> None:
        """Wait until these texts have appeared on the screen, in this order."""
        try:
            async with asyncio.timeout(WAIT_TIMEOUT):
                while not re.search(".*".join(map(re.escape, words)), self.text, re.DOTALL):
                    self._written.clear()
                    await self._written.wait()
        except TimeoutError:
            raise AssertionError(f"{words} are not on the screen:\n{self.text[-4000:]}") from None


class TerminalUser:
    """A user at a terminal with `parley chat`."""

    def __init__(self, keyboard: PipeInput, terminal: Terminal, talk: ChatSession) -> None:
        self._keyboard, self.terminal, self.talk = keyboard, terminal, talk
        self.shows = terminal.shows

    def types(self, text: str) -> None:
        self._keyboard.send_text(text)


@asynccontextmanager
async def sitting(
    url: str, *, columns: int = 80, session_id: str | None = None, yes: bool = False
) -> AsyncIterator[TerminalUser]:
    """Run `parley chat`; it must end within 10 seconds after the block."""
    terminal = Terminal()
    output = Vt100_Output(terminal, lambda: Size(rows=40, columns=columns), term="xterm", enable_cpr=False)
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=output):
        async with Parley(url, timeout=0) as gateway, gateway.connect(session_id, view=2) as connection:
            screen = TerminalFrontend(url)
            talk = ChatSession(gateway, connection, screen, yes=yes)
            screen.on_interrupt = talk.interrupt
            running = asyncio.create_task(talk.run())
            try:
                yield TerminalUser(keyboard, terminal, talk)
                async with asyncio.timeout(WAIT_TIMEOUT):
                    assert await running == 0
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


async def test_the_whole_conversation_at_a_narrow_terminal() -> None:
    async with gateway_with_services() as (url, services), sitting(url, columns=40) as person:
        await person.shows("What should we build?")
        person.types("Help me create a calculator" + ENTER)
        await person.shows("Plan 1", "Read two numbers", "1 Approve")
        person.types("2" + ENTER)
        await person.shows("What should be different?")
        person.types("Show the result" + ENTER)
        await person.shows("Plan 2", "Show the result", "1 Approve")
        person.types("approve" + ENTER)
        await person.shows("print(1.5 + 2)", "✓ tests", "1 Approve")
        person.types("1" + ENTER)
        await person.shows("Run the code")
        person.types("/run" + ENTER)
        await person.shows("3.5", "It printed 3.5.", "Run the code")
        person.types("/usage" + ENTER + "/quit" + ENTER)
    session = await services.session()
    assert session.code
    assert (session.code.status, session.phase, session.counts.plans) == ("approved", "resting", 2)


async def test_ctrl_c_stops_work_and_quits_at_a_prompt() -> None:
    async with gateway_with_services() as (url, services), sitting(url) as person:
        await person.shows("What should we build?")
        person.types("wait for me" + ENTER)
        await person.shows("planner is drafting a plan", "Ctrl-C stops")
        person.types(CTRL_C)
        await person.shows("Stopped.", "Resume")
        assert (await services.session()).rest_reason == "stopped"
        person.types(CTRL_C)


async def test_ctrl_c_first_clears_a_half_typed_line() -> None:
    async with gateway_with_services() as (url, services), sitting(url) as person:
        await person.shows("What should we build?")
        person.types("not this" + CTRL_C + "but that" + ENTER)
        await person.shows("but that", "1 Approve")
        assert (await services.session()).words.request == "but that"
        person.types(CTRL_D)


async def test_a_plan_is_edited_in_the_users_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "sed -i s/Read/Fetch/")
    async with gateway_with_services() as (url, services), sitting(url) as person:
        await person.shows("What should we build?")
        person.types("A calculator" + ENTER)
        await person.shows("1 Approve")
        person.types("3" + ENTER)
        await person.shows("Plan 2", "Fetch two numbers")
        person.types(CTRL_D)
        plan = (await services.session()).plan
        assert plan
        assert (plan.goal, plan.by) == ("A calculator", "user:local")
        assert [step.text for step in plan.steps] == ["Fetch two numbers"]


async def test_a_second_terminal_shows_the_session_and_what_the_first_does() -> None:
    async with gateway_with_services() as (url, services), sitting(url) as first:
        await first.shows("What should we build?")
        first.types("A calculator" + ENTER)
        await first.shows("1 Approve")
        async with sitting(url, session_id=services.ids[0]) as second:
            await second.shows(f"Session {services.ids[0]}", "A calculator", "Plan 1", "1 Approve")
            first.types("1" + ENTER)
            await second.shows("You approved plan 1", "print(1.5 + 2)")
            second.types("/journal" + ENTER)
            await second.shows("1 · You A calculator")
            second.types(CTRL_D)
        first.types(CTRL_D)
        assert second.terminal.text.count("You approved plan 1") == 2  # as it happened, and in the journal


async def test_a_failure_offers_a_retry_and_yes_approves_automatically() -> None:
    async with gateway_with_services() as (url, _), sitting(url, yes=True) as person:
        await person.shows("What should we build?")
        person.types("fail please" + ENTER)
        await person.shows("Failed while planning", "1 Retry")
        person.types("another thing" + ENTER)
        await person.shows("You approved plan 1", "You approved code 1", "Run the code")
        person.types(CTRL_D)


async def piped(url: str, request: str = "", *, stdin: str = "", **options: Any) -> tuple[int, str, str]:
    """The chat of `parley chat` without a terminal, in this process: a new one takes a second to start."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        code = await run.chat(Settings(), url=url, request=request, **options)
    return code, out.getvalue(), err.getvalue()


async def script(url: str, *words: str, stdin: str = "") -> tuple[int, str, str]:
    """Run `parley chat` as a program whose stdin and stdout are pipes."""
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "cli.main",
        "chat",
        "--url",
        url,
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env=child_environment(),
    )
    async with asyncio.timeout(WAIT_TIMEOUT):
        out, err = await program.communicate(stdin.encode())
    assert program.returncode is not None
    return program.returncode, out.decode(), err.decode()


async def test_a_script_without_yes_stops_at_the_first_review() -> None:
    async with gateway_with_services() as (url, services):
        code, out, err = await piped(url, stdin="A calculator\n")
        assert code == 3
        assert "Read two numbers" in out
        assert "--yes" in out
        assert f"parley chat --session {services.ids[0]}" in err
        assert "\x1b" not in out + err
        assert (await services.session()).phase == "awaiting_approval"


async def test_a_script_can_answer_line_by_line_and_resume_later() -> None:
    async with gateway_with_services() as (url, services):
        code, out, _ = await script(url, stdin="A calculator\nShow the result\n1\n")
        assert code == 3, out  # the code is in review now
        assert "Plan 2" in " ".join(out.split())
        code, out, _ = await script(url, "--session", services.ids[0], stdin="approve\nRun the code\n")
        assert code == 0
        assert "3.5" in out.splitlines()


async def test_a_script_that_cannot_continue_has_an_exit_code_and_a_reason() -> None:
    async with gateway_with_services() as (url, _):
        assert (await piped(url))[0] == 2
        code, out, _ = await piped(url, session_id="nosuch")
        assert code == 1
        assert "no session nosuch" in out
        assert (await piped(url, "fail", yes=True))[0] == 1
