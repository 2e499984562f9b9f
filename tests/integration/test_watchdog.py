"""The watchdog ends a service whose event loop is blocked; a message that does so again and again is given up."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.operate.ports import free_port
from cli.operate.supervisor import ProcessSpec, SupervisedProgram, Supervisor
from shared.bus import Bus
from shared.environment import child_environment
from shared.services import SERVICES
from shared.settings import Settings
from tests.support.inbox import Inbox, consuming, store, until_idle
from tests.support.nats import NatsServer
from tests.support.timeouts import WAIT_TIMEOUT

LIMIT = 2  # seconds
ENDED = "was ended by its watchdog, because its event loop was blocked"


class Supervised(NamedTuple):
    """A process under the supervisor, whose messages are `notes`. `lines` are the process's output."""

    program: SupervisedProgram
    notes: list[str]
    lines: list[str]
    noted: asyncio.Event

    @property
    def pid(self) -> int:
        assert self.program.process
        return self.program.process.pid

    async def until_ended(self) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            await self.noted.wait()


@asynccontextmanager
async def supervised(home: Path, *arguments: str, **environment: str) -> AsyncIterator[Supervised]:
    """`tests.support.blocked` under the supervisor of `parley up`."""
    notes, lines, noted = list[str](), list[str](), asyncio.Event()

    def note(text: str) -> None:
        notes.append(text)
        noted.set()

    environment |= {"PARLEY_HOME": str(home), "WATCHDOG_TIMEOUT": str(LIMIT), "GRACEFUL_TIMEOUT": "0"}
    command = (sys.executable, "-m", "tests.support.blocked", *arguments)
    async with Supervisor(
        home / "logs", line=lambda _, text: lines.append(text), note=lambda _, text: note(text)
    ) as supervisor:
        program = supervisor.start(ProcessSpec("blocked", command, child_environment(**environment)))
        yield Supervised(program, notes, lines, noted)


@pytest.mark.parametrize(
    ("way", "service"), [*(("regex", name) for name in SERVICES), ("sum", "planner"), ("sleep", "planner")]
)
async def test_a_blocked_service_says_where_it_is_and_is_started_again(way: str, service: str, tmp_path: Path) -> None:
    environment = {
        "NATS_URL": f"nats://127.0.0.1:{free_port()}",  # nobody answers: the service waits and watches
        "AGENT_PORT": str(free_port()),
        "PARLEY_AUTH": "none",
    }
    async with supervised(tmp_path, way, SERVICES[service].module, **environment) as process:
        await process.until_ended()
    assert process.notes == [f"{ENDED}; starting it again in 0.5 s"]
    assert any("in block" in line for line in process.lines), "the log has the stack"


class Blocked(NamedTuple):
    """The supervised consumer, and the messages that it has handled."""

    process: Supervised
    done: list[str]
    changed: asyncio.Event

    async def until_done(self, message: str) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while message not in self.done:
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def consumer(settings: Settings, nats: NatsServer, bus: Bus) -> AsyncIterator[Blocked]:
    done, changed = list[str](), asyncio.Event()

    async def on_done(_: str, body: bytes) -> None:
        done.append(body.decode())
        changed.set()

    await bus.subscribe("delta.done.x", on_done)
    environment = {"NATS_URL": nats.url_of("planner"), "ACK_WAIT": str(settings.ack_wait), "MAX_DELIVER": "3"}
    async with supervised(settings.parley_home, **environment) as process:
        yield Blocked(process, done, changed)


@pytest.mark.redelivers
async def test_a_message_that_ends_its_worker_becomes_a_dead_letter_and_the_rest_is_handled(
    nats: NatsServer, bus: Bus, settings: Settings
) -> None:
    dead = Inbox()
    async with consumer(settings, nats, bus) as blocked:
        await store(bus, b"before", b"regex", b"beside")
        async with consuming(settings, dead, durable="dead_letters"):
            await dead.until(1)
            await until_idle(bus)
    assert set(blocked.done) == {"before", "beside"}
    (letter,) = [json.loads(delivery.data) for delivery in dead.got]
    assert (letter["stream_seq"], letter["deliveries"]) == (2, 4)
    assert letter["reason"] == "given up after 3 attempts: each ended the process, or the message could not be handled"
    assert [note.partition(";")[0] for note in blocked.process.notes] == [ENDED, ENDED, ENDED]


async def test_a_frozen_service_is_not_blocked(nats: NatsServer, bus: Bus, settings: Settings) -> None:
    async with consumer(settings, nats, bus) as blocked:
        await store(bus, b"first")
        await blocked.until_done("first")
        pid = blocked.process.pid
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(1.5 * LIMIT)  # the test is about this time
        os.kill(pid, signal.SIGCONT)
        await store(bus, b"another")
        await blocked.until_done("another")
        assert blocked.process.pid == pid
    assert blocked.process.notes == []
