"""The watchdog ends a service whose event loop is blocked; a message that blocks it twice becomes a dead letter."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest

from cli.operate.supervisor import ProcessSpec, SupervisedProgram, Supervisor
from services.plan_store.operations.metrics import count_exits
from shared.bus import Bus, Delivery
from shared.bus.jetstream_api import subjects_of
from shared.bus.watchdog_strikes import WatchdogStrikes
from shared.environment import child_environment
from shared.settings import Settings
from shared.telemetry import metrics
from tests.e2e.parley_process import command_line, descendants
from tests.support.inbox import Inbox, consuming, store, until_idle
from tests.support.nats import NatsServer
from tests.support.timeouts import WAIT_TIMEOUT

LIMIT = 2  # seconds
ENDED = "was ended by its watchdog, because its event loop was blocked"


class Services(NamedTuple):
    """Supervised processes of `tests.support.blocked` with the planner's NATS user, and their output.

    `notes` are the supervisor's messages, `log` is the processes' log, `reports` has both their messages and log lines.
    """

    children: list[SupervisedProgram]
    notes: list[str]
    log: list[dict[str, Any]]
    reports: "asyncio.Queue[tuple[str, str]]"
    noted: asyncio.Event

    @property
    def pid(self) -> int:
        assert self.children[0].process
        return self.children[0].process.pid

    async def until(self, *expected: tuple[str, str]) -> None:
        """Wait for these reports: `("began.regex", "2")` is a second delivery, `("log", "ready")` a line of the log."""
        missing = set(expected)
        async with asyncio.timeout(WAIT_TIMEOUT):
            while missing:
                missing.discard(await self.reports.get())

    async def until_ended(self, times: int) -> None:
        """Wait until the supervisor has seen this number of processes end."""
        async with asyncio.timeout(WAIT_TIMEOUT):
            while len(self.notes) < times:
                self.noted.clear()
                await self.noted.wait()


@asynccontextmanager
async def blocked(settings: Settings, nats: NatsServer, bus: Bus, replicas: int = 1) -> AsyncIterator[Services]:
    services = Services([], [], [], asyncio.Queue(), asyncio.Event())

    async def on_delta(subject: str, body: bytes) -> None:
        services.reports.put_nowait((subject.removeprefix("delta."), body.decode()))

    def logged(text: str) -> None:
        entry = json.loads(text)
        services.log.append(entry)
        services.reports.put_nowait(("log", entry["event"]))

    def noted(text: str) -> None:
        services.notes.append(text)
        services.noted.set()

    await bus.subscribe("delta.>", on_delta)
    environment = child_environment(
        NATS_URL=nats.url_of("planner"),
        ACK_WAIT=str(settings.ack_wait),
        WATCHDOG_TIMEOUT=str(LIMIT),
        GRACEFUL_TIMEOUT="0",
    )
    command = (sys.executable, "-m", "tests.support.blocked")
    async with Supervisor(
        settings.parley_home / "logs",
        line=lambda _, text: logged(text),
        note=lambda _, text: noted(text),
    ) as supervisor:
        for number in range(replicas):
            services.children.append(supervisor.start(ProcessSpec(f"blocked-{number}", command, environment)))
        yield services


async def strikes(bus: Bus) -> set[str]:
    return set(await subjects_of(bus.client, "WATCHDOG", "watchdog.>", seconds=WAIT_TIMEOUT))


@pytest.mark.parametrize(
    ("how", "replicas"),
    [("regex", 1), pytest.param("sum", 2, marks=pytest.mark.long), pytest.param("sleep", 1, marks=pytest.mark.long)],
)
async def test_a_message_that_blocks_a_service_twice_becomes_a_dead_letter_and_the_rest_is_handled(
    how: str, replicas: int, nats: NatsServer, bus: Bus, settings: Settings
) -> None:
    dead = Inbox()
    async with blocked(settings, nats, bus, replicas) as services:
        await store(bus, b"innocent-1", b"innocent-2")
        await services.until(("began.innocent-1", "1"), ("began.innocent-2", "1"))
        await store(bus, how.encode())
        async with consuming(settings, dead, durable="dead_letters"):
            await services.until(("began." + how, "2"))
            await dead.until(1)
        await store(bus, b"another")
        await services.until(("done.another", "1"))
        await until_idle(bus)
        await services.until_ended(2)  # with two replicas the second may still be ending
    letter = json.loads(dead.got[0].data)
    assert letter["stream_seq"] == 3
    assert letter["deliveries"] == 3
    assert "twice its event loop was blocked by this message, at tests/support/blocked.py:" in letter["reason"]
    notes = [note.partition(";")[0].removesuffix(" while stopping") for note in services.notes]
    assert notes == [ENDED, ENDED]
    ends = [entry for entry in services.log if entry["event"] == "ended_by_watchdog"]
    assert ["in block" in end["where"] for end in ends] == [True, True]
    assert "watchdog.strike.SESSIONS.planner.3" in await strikes(bus)
    await count_exits(bus)
    assert metrics.REGISTRY.get_sample_value("parley_watchdog_recent_exits", {"service": "planner"}) == 2


# --- the effect of strikes that the test stores itself, which is faster

REPLY = "$JS.ACK.SESSIONS.planner.1.1.1.1795369238157337900.0"  # of the first message


async def refuse_first(delivery: Delivery) -> None:
    if delivery.data == b"struck" and delivery.deliveries == 1:
        raise ValueError("only what comes again is looked up")


async def test_a_message_with_a_strike_is_handled_exclusively(bus: Bus, settings: Settings) -> None:
    began_beside = list[bytes]()

    async def handle(delivery: Delivery) -> None:
        await refuse_first(delivery)
        if delivery.data == b"struck":
            await store(bus, b"beside")
            while (await bus.consumer_state("planner")).delivered < 2:
                pass  # each check awaits a request
            began_beside.extend(inbox.bodies[2:])

    inbox = Inbox(handle)
    await WatchdogStrikes(bus.client).add([REPLY], "here")
    async with consuming(settings, inbox):
        await store(bus, b"struck")
        await inbox.until(3)
        await until_idle(bus)
    assert began_beside == []
    assert inbox.bodies == [b"struck", b"struck", b"beside"]


async def test_a_message_with_two_strikes_becomes_a_dead_letter_unhandled(bus: Bus, settings: Settings) -> None:
    inbox, dead = Inbox(refuse_first), Inbox()
    for _ in range(2):
        await WatchdogStrikes(bus.client).add([REPLY], "shared/repair/values.py:75 in fits")
    async with consuming(settings, inbox), consuming(settings, dead, durable="dead_letters"):
        await store(bus, b"struck", b"another")
        await dead.until(1)
        await until_idle(bus)
    assert inbox.bodies == [b"struck", b"another"]
    assert "at shared/repair/values.py:75 in fits" in json.loads(dead.got[0].data)["reason"]


# --- ends that give no strike


@pytest.mark.redelivers
async def test_a_process_killed_from_outside_gets_no_strike(nats: NatsServer, bus: Bus, settings: Settings) -> None:
    async with blocked(settings, nats, bus) as services:
        await store(bus, b"sleep")
        for delivery in (1, 2):
            await services.until(("began.sleep", str(delivery)))
            os.kill(services.pid, signal.SIGKILL)
        await services.until(("began.sleep", "3"))
        assert await strikes(bus) == set()


async def test_a_guard_that_ended_is_replaced(nats: NatsServer, bus: Bus, settings: Settings) -> None:
    async with blocked(settings, nats, bus) as services:
        await services.until(("log", "ready"))
        (guard,) = [pid for pid in descendants(services.pid) if "shared.watchdog.guard" in command_line(pid)]
        os.kill(guard, signal.SIGKILL)
        await services.until(("log", "guard_ended"))
        await store(bus, b"sleep")
        await services.until(("log", "ended_by_watchdog"))


async def test_a_frozen_service_is_not_blocked(nats: NatsServer, bus: Bus, settings: Settings) -> None:
    async with blocked(settings, nats, bus) as services:
        await store(bus, b"innocent-1")
        await services.until(("began.innocent-1", "1"))
        pid = services.pid
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(1.5 * LIMIT)  # the test is about this time
        os.kill(pid, signal.SIGCONT)
        await store(bus, b"another")
        await services.until(("done.another", "1"))
        assert services.pid == pid
    assert services.notes == []
    assert await strikes(bus) == set()
