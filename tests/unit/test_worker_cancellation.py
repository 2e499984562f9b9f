"""Shielded work ends before the cancellation of its caller is raised."""

import asyncio

import pytest

from shared.worker.cancellation import finish_before_cancel


class Work:
    """Waits for `go`, and then returns or raises `outcome`."""

    def __init__(self, outcome: str | Exception = "done") -> None:
        self.go, self.cancelled, self.ended = asyncio.Event(), False, False
        self._outcome = outcome

    async def run(self) -> str:
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        self.ended = True
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


async def cancel(task: asyncio.Task[str], times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)


@pytest.mark.parametrize(("grace", "times"), [(None, 1), (60.0, 1), (60.0, 3)])
async def test_the_work_ends_before_the_cancellation_is_raised(grace: float | None, times: int) -> None:
    work = Work()
    task = asyncio.create_task(finish_before_cancel(work.run(), grace=grace))
    await cancel(task, times)
    assert not task.done()
    work.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (work.ended, work.cancelled) == (True, False)


async def test_a_cancellation_is_raised_with_the_works_error_as_its_cause() -> None:
    work = Work(ValueError("wrong"))

    async def caller() -> str:
        try:
            return await finish_before_cancel(work.run())
        except asyncio.CancelledError as cancelled:
            return repr(cancelled.__cause__)

    task = asyncio.create_task(caller())
    await cancel(task, 1)
    work.go.set()
    assert await task == "ValueError('wrong')"


@pytest.mark.parametrize(
    ("grace", "times"),
    [pytest.param(None, 2, id="a second cancellation"), pytest.param(0.0, 1, id="the end of the grace period")],
)
async def test_the_work_is_cancelled(grace: float | None, times: int) -> None:
    work = Work()
    task = asyncio.create_task(finish_before_cancel(work.run(), grace=grace))
    await cancel(task, times)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (work.ended, work.cancelled) == (False, True)
