"""Work that a cancellation does not cut off in the middle."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

log = structlog.get_logger("worker")


async def shielded[Result](work: Coroutine[Any, Any, Result], *, grace: float | None = None) -> Result:
    """Await `work`. If the caller is cancelled meanwhile, let `work` end, and only then raise CancelledError.

    Its result is lost then: the caller looks at what the work has changed. From the first cancellation on the work
    has `grace` seconds, however often the caller is cancelled. Without `grace` it has as long as it takes, and a second
    cancellation ends it. What it raises once the caller is cancelled is logged, and is the cause of the CancelledError.
    """
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            if grace is None and cancelled:
                task.cancel()
            elif grace is not None and not cancelled:
                asyncio.get_running_loop().call_later(grace, task.cancel)
            cancelled = True
    if not cancelled:
        return task.result()
    error = None if task.cancelled() else task.exception()
    if error:
        log.info("ended_while_cancelled", error=repr(error)[:500])
    raise asyncio.CancelledError from error
