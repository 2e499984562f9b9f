"""Defers a cancellation until work in progress has ended."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

from shared.logging import excerpt_of

log = structlog.get_logger("worker")


async def finish_before_cancel[Result](work: Coroutine[Any, Any, Result], *, grace: float | None = None) -> Result:
    """Await `work`. If the caller is cancelled meanwhile, let `work` finish before raising CancelledError.

    The result is then lost: the caller must check what the work has changed. After the first cancellation the work has
    `grace` seconds, however often the caller is cancelled. Without `grace` it has unlimited time, and a second
    cancellation cancels it. An error of the work after a cancellation is logged, and is the CancelledError's cause.
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
        log.info("ended_while_cancelled", error=excerpt_of(repr(error), 500))
    raise asyncio.CancelledError from error
