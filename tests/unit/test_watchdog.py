"""What counts as a blocked event loop, what service and guard share, and whom a guard blames."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.bus.consuming import Together
from shared.watchdog.memory import LONGEST, NO_DELIVERY, SLOTS, UNKNOWN, InHand, Memory, create
from shared.watchdog.silence import LOOK, Look, Silence, main_thread
from shared.watchdog.verdict import blamed, place

ROOT = Path(__file__).parents[2]


@pytest.fixture
def descriptor() -> Iterator[int]:
    descriptor = create()
    yield descriptor
    os.close(descriptor)


def after(*looks: Look) -> Silence:
    silence = Silence()
    for look in looks:
        silence.seen(look)
    return silence


# --- what is a blocked loop


def test_a_loop_that_beats_is_not_silent() -> None:
    silence = after(*(Look(beat, "S", 0) for beat in range(1, 20)))
    assert (silence.silent, silence.blocked) == (0, 0)


def test_a_loop_that_uses_the_processor_or_sleeps_without_a_beat_is_blocked() -> None:
    burning = after(*(Look(1, "R", number * LOOK) for number in range(11)))
    asleep = after(*(Look(1, "S", 0) for _ in range(11)))
    assert burning.blocked == asleep.blocked == 10 * LOOK


def test_a_process_that_waits_for_a_processor_is_silent_and_hardly_blocked() -> None:
    crowded = after(*(Look(1, "R", number * LOOK / 10) for number in range(11)))
    assert crowded.silent == 10 * LOOK
    assert crowded.blocked == pytest.approx(LOOK)


@pytest.mark.parametrize("state", ["T", "t"])
def test_a_stopped_process_begins_anew_when_it_goes_on(state: str) -> None:
    looks = [Look(1, "S", 0)] * 4 + [Look(1, state, 0)] * 50
    assert after(*looks).blocked == 0
    assert after(*looks, Look(1, "S", 0)).blocked == LOOK


def test_nobody_watches_a_loop_that_has_not_begun_or_has_ended() -> None:
    assert after(*[Look(0, "S", 0)] * 50).blocked == 0
    assert after(*[Look(3, "S", 0)] * 9, *[Look(0, "S", 0)] * 2).silent == 0


def test_the_kernel_tells_of_a_thread() -> None:
    state, before = main_thread(os.getpid())
    assert state == "R"
    while main_thread(os.getpid())[1] <= before:
        pass


# --- what both see


def test_the_guard_sees_what_the_service_has_in_hand(descriptor: int) -> None:
    service, guard = Memory(descriptor), Memory(descriptor)
    service.beat, service.blamed = 7, UNKNOWN
    first, second = service.take("$JS.ACK.a"), service.take("$JS.ACK.bb")
    service.begin(second)
    assert (guard.beat, guard.blamed) == (7, UNKNOWN)
    assert guard.in_hand() == {first: InHand("$JS.ACK.a", False), second: InHand("$JS.ACK.bb", True)}
    service.give_back(second)
    third = service.take("c")
    assert guard.in_hand() == {first: InHand("$JS.ACK.a", False), third: InHand("c", False)}
    assert third != second, "what ran in the name of the one does not in that of the other"


def test_what_finds_no_room_is_not_recorded_and_does_no_harm(descriptor: int) -> None:
    service = Memory(descriptor)
    long = service.take("x" * (LONGEST + 1))
    numbers = [service.take("x" * 200) for _ in range(SLOTS + 5)]
    assert len(service.in_hand()) == SLOTS
    for number in (long, *numbers):
        service.begin(number)
        service.give_back(number)
    assert service.in_hand() == {}
    for _ in range(SLOTS):
        service.take("y")
    assert len(service.in_hand()) == SLOTS, "every place is free again"


# --- who it was


def test_the_delivery_that_ran_is_blamed_and_where_nobody_can_tell_all_that_had_begun() -> None:
    in_hand = {4: InHand("a", True), 5: InHand("b", True), 6: InHand("c", False)}
    assert blamed(5, in_hand) == ["b"]
    assert blamed(UNKNOWN, in_hand) == ["a", "b"]
    assert blamed(NO_DELIVERY, in_hand) == []
    assert blamed(3, in_hand) == ["a", "b"], "what a delivery leaves behind may run when it is done"


def test_the_place_is_ours_and_not_the_librarys() -> None:
    other = f'Thread 0x1 (most recent call first):\n  File "{ROOT}/shared/log.py", line 1 in wrong\n\n'
    stack = (
        "Current thread 0x2 (most recent call first):\n"
        f'  File "{Path(os.__file__).parent}/re/__init__.py", line 167 in match\n'
        f'  File "{ROOT}/shared/repair/values.py", line 75 in fits\n'
        f'  File "{ROOT}/shared/bus/bus.py", line 9 in start\n'
    )
    assert place(other + stack) == "shared/repair/values.py:75 in fits"
    assert place("") == "an unknown place"


# --- alone


async def test_what_runs_alone_waits_for_the_others_and_lets_none_begin() -> None:
    together, log = Together(), list[str]()
    ends = {name: asyncio.Event() for name in ("first", "struck", "second")}

    async def run(name: str, *, alone: bool = False) -> None:
        await together.begin(alone=alone)
        log.append(f"{name} begins")
        await ends[name].wait()
        log.append(f"{name} ends")
        together.end(alone=alone)

    async with asyncio.TaskGroup() as tasks:
        for name in ends:
            tasks.create_task(run(name, alone=name == "struck"))
        for name, event in ends.items():
            for _ in range(10):
                await asyncio.sleep(0)
            assert log[-1] == f"{name} begins"
            event.set()
    assert log == [f"{name} {what}" for name in ends for what in ("begins", "ends")]


async def test_one_that_no_longer_waits_to_be_alone_keeps_nobody_back() -> None:
    together = Together()
    await together.begin(alone=False)
    waiting = asyncio.create_task(together.begin(alone=True))
    beside = asyncio.create_task(together.begin(alone=False))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait_for(beside, 10)
