"""The watchdog: when an event loop counts as blocked, the shared memory, and which delivery gets the strike."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.bus.deliveries import DeliveryLock
from shared.watchdog.blocked_process import blocking_replies, innermost_frame
from shared.watchdog.memory import (
    MAX_DELIVERIES,
    MAX_SUBJECT_BYTES,
    NO_DELIVERY,
    UNKNOWN,
    ActiveDelivery,
    SharedMemory,
    create_memory,
)
from shared.watchdog.silence import SAMPLE_INTERVAL, Sample, Silence, main_thread_state
from tests.support.timeouts import WAIT_TIMEOUT

ROOT = Path(__file__).parents[2]


@pytest.fixture
def descriptor() -> Iterator[int]:
    descriptor = create_memory()
    yield descriptor
    os.close(descriptor)


def silence_after(*samples: Sample) -> Silence:
    silence = Silence()
    for sample in samples:
        silence.add(sample)
    return silence


# --- when a loop is blocked


def test_a_loop_with_heartbeats_is_not_silent() -> None:
    silence = silence_after(*(Sample(beat, "S", 0) for beat in range(1, 20)))
    assert (silence.silent, silence.blocked) == (0, 0)


def test_a_loop_that_runs_or_sleeps_without_heartbeats_is_blocked() -> None:
    burning = silence_after(*(Sample(1, "R", number * SAMPLE_INTERVAL) for number in range(11)))
    asleep = silence_after(*(Sample(1, "S", 0) for _ in range(11)))
    assert burning.blocked == asleep.blocked == 10 * SAMPLE_INTERVAL


def test_a_process_that_waits_for_a_cpu_is_silent_and_hardly_blocked() -> None:
    crowded = silence_after(*(Sample(1, "R", number * SAMPLE_INTERVAL / 10) for number in range(11)))
    assert crowded.silent == 10 * SAMPLE_INTERVAL
    assert crowded.blocked == pytest.approx(SAMPLE_INTERVAL)


@pytest.mark.parametrize("state", ["T", "t"])
def test_a_stopped_process_starts_from_zero_when_it_continues(state: str) -> None:
    samples = [Sample(1, "S", 0)] * 4 + [Sample(1, state, 0)] * 50
    assert silence_after(*samples).blocked == 0
    assert silence_after(*samples, Sample(1, "S", 0)).blocked == SAMPLE_INTERVAL


def test_a_loop_is_not_watched_before_its_start_and_after_its_end() -> None:
    assert silence_after(*[Sample(0, "S", 0)] * 50).blocked == 0
    assert silence_after(*[Sample(3, "S", 0)] * 9, *[Sample(0, "S", 0)] * 2).silent == 0


def test_the_main_threads_state_is_read_from_the_kernel() -> None:
    state, before = main_thread_state(os.getpid())
    assert state == "R"
    while main_thread_state(os.getpid())[1] <= before:
        pass


# --- the memory that the service and the guard share


def test_the_guard_sees_the_services_active_deliveries(descriptor: int) -> None:
    service, guard = SharedMemory(descriptor), SharedMemory(descriptor)
    service.beat, service.blocking_delivery = 7, UNKNOWN
    first, second = service.add("$JS.ACK.a"), service.add("$JS.ACK.bb")
    service.mark_running(second)
    assert (guard.beat, guard.blocking_delivery) == (7, UNKNOWN)
    assert guard.active_deliveries() == {
        first: ActiveDelivery("$JS.ACK.a", False),
        second: ActiveDelivery("$JS.ACK.bb", True),
    }
    service.remove(second)
    third = service.add("c")
    assert guard.active_deliveries() == {first: ActiveDelivery("$JS.ACK.a", False), third: ActiveDelivery("c", False)}
    assert third != second, "numbers are not reused, so a strike for the second delivery does not count for the third"


def test_deliveries_beyond_the_memory_are_ignored(descriptor: int) -> None:
    service = SharedMemory(descriptor)
    too_long = service.add("x" * (MAX_SUBJECT_BYTES + 1))
    numbers = [service.add("x" * 200) for _ in range(MAX_DELIVERIES + 5)]
    assert len(service.active_deliveries()) == MAX_DELIVERIES
    for number in (too_long, *numbers):
        service.mark_running(number)
        service.remove(number)
    assert service.active_deliveries() == {}
    for _ in range(MAX_DELIVERIES):
        service.add("y")
    assert len(service.active_deliveries()) == MAX_DELIVERIES, "all slots are free again"


# --- which delivery gets the strike


def test_the_blocking_delivery_gets_the_strike_or_all_running_ones_if_it_is_unknown() -> None:
    active = {4: ActiveDelivery("a", True), 5: ActiveDelivery("b", True), 6: ActiveDelivery("c", False)}
    assert blocking_replies(5, active) == ["b"]
    assert blocking_replies(UNKNOWN, active) == ["a", "b"]
    assert blocking_replies(NO_DELIVERY, active) == []
    assert blocking_replies(3, active) == ["a", "b"], "a task that an ended delivery left behind may block the loop"


def test_the_reported_frame_is_in_parleys_own_code() -> None:
    other_thread = f'Thread 0x1 (most recent call first):\n  File "{ROOT}/shared/log.py", line 1 in wrong\n\n'
    stack = (
        "Current thread 0x2 (most recent call first):\n"
        f'  File "{Path(os.__file__).parent}/re/__init__.py", line 167 in match\n'
        f'  File "{ROOT}/shared/repair/values.py", line 75 in fits\n'
        f'  File "{ROOT}/shared/bus/bus.py", line 9 in start\n'
    )
    assert innermost_frame(other_thread + stack) == "shared/repair/values.py:75 in fits"
    assert innermost_frame("") == "an unknown place"


# --- exclusive deliveries


async def test_an_exclusive_delivery_waits_for_others_and_blocks_new_ones() -> None:
    lock, log = DeliveryLock(), list[str]()
    ends = {name: asyncio.Event() for name in ("first", "struck", "second")}

    async def run(name: str, *, exclusive: bool = False) -> None:
        await lock.acquire(exclusive=exclusive)
        log.append(f"{name} begins")
        await ends[name].wait()
        log.append(f"{name} ends")
        lock.release(exclusive=exclusive)

    async with asyncio.TaskGroup() as tasks:
        for name in ends:
            tasks.create_task(run(name, exclusive=name == "struck"))
        for name, event in ends.items():
            for _ in range(10):
                await asyncio.sleep(0)
            assert log[-1] == f"{name} begins"
            event.set()
    assert log == [f"{name} {change}" for name in ends for change in ("begins", "ends")]


async def test_a_cancelled_exclusive_delivery_blocks_no_other() -> None:
    lock = DeliveryLock()
    await lock.acquire(exclusive=False)
    waiting = asyncio.create_task(lock.acquire(exclusive=True))
    later = asyncio.create_task(lock.acquire(exclusive=False))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait_for(later, WAIT_TIMEOUT)
