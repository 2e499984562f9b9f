"""Slots of the executor: no user takes them all, nobody waits for ever, and a stop leaves none occupied."""

import asyncio
from contextlib import AsyncExitStack

from services.executor.handlers import FairSlots


class Batches:
    """Batches that hold their slots until they are ended."""

    def __init__(self, total: int) -> None:
        self._slots = FairSlots(total)
        self.running: list[str] = []

    async def begin(self, name: str) -> asyncio.Event:
        """Begin a batch of the user whose name begins with this letter."""
        end, began = asyncio.Event(), asyncio.Event()

        async def run() -> None:
            began.set()
            async with self._slots.slot(name[0]):
                self.running.append(name)
                await end.wait()
                self.running.remove(name)

        self.tasks = [*getattr(self, "tasks", []), asyncio.create_task(run(), name=name)]
        await began.wait()
        await run_ready_tasks()
        return end

    def cancel(self, name: str) -> None:
        next(task for task in self.tasks if task.get_name() == name).cancel()


async def run_ready_tasks() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_slots_stay_free_for_the_next_user() -> None:
    batches = Batches(8)
    for number in range(20):
        await batches.begin(f"a{number}")
    assert batches.running == ["a0", "a1", "a2", "a3"]
    for name in ("b0", "b1", "b2", "c0", "c1", "d0"):
        await batches.begin(name)
    assert batches.running[4:] == ["b0", "b1", "c0", "d0"]


async def test_batches_of_a_user_start_in_the_order_of_their_arrival() -> None:
    batches = Batches(2)
    ends = [await batches.begin(f"a{number}") for number in range(4)]
    other = await batches.begin("b0")
    assert batches.running == ["a0", "b0"]
    for number, end in enumerate(ends[:3]):
        end.set()
        await run_ready_tasks()
        assert batches.running == ["b0", f"a{number + 1}"] or batches.running == [f"a{number + 1}", "b0"]
    other.set()


async def test_one_slot_serves_users_in_turn() -> None:
    batches = Batches(1)
    first = await batches.begin("a0")
    await batches.begin("a1")
    await batches.begin("b0")
    first.set()
    await run_ready_tasks()
    assert batches.running == ["a1"]


async def test_a_batch_that_is_stopped_while_it_waits_or_runs_leaves_no_slot_occupied() -> None:
    batches = Batches(2)
    await batches.begin("a0")
    await batches.begin("a1")
    batches.cancel("a1")
    await run_ready_tasks()
    await batches.begin("a2")
    batches.cancel("a0")
    await run_ready_tasks()
    assert batches.running == ["a0", "a2"]  # a0 was cancelled inside its slot
    slots = FairSlots(2)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(slots.slot("a"))
        await stack.enter_async_context(slots.slot("b"))
    async with slots.slot("c"):
        pass
