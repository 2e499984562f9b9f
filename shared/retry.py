"""Retries while another program is unavailable: exponential back-off with jitter, by stamina.

One line per minute is logged for each operation and error class, however many callers wait. stamina's own hooks are
off: they log every retry, and create a Prometheus series for each number of retries.
"""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Any

import stamina
import structlog
from cachetools import TTLCache
from stamina.instrumentation import RetryDetails, set_on_retry_hooks

log = structlog.get_logger("retry")
LOG_INTERVAL = 60.0  # seconds between two log lines about the same operation and error

logged: TTLCache[tuple[str, str], bool] = TTLCache(maxsize=100, ttl=LOG_INTERVAL)
type _Async[**P, T] = Callable[P, Coroutine[Any, Any, T]]


def retry_while_unavailable[**P, T](
    *on: type[Exception], first: float = 0.1, longest: float = 5.0, timeout: float | None = None
) -> Callable[[_Async[P, T]], _Async[P, T]]:
    """Decorate an idempotent coroutine function to retry while it raises one of these errors.

    The first retry is immediate. The next one waits about `first` seconds, and each later one twice as long, up to
    `longest`. After `timeout` seconds of failures the error is raised; with None, never.
    """

    def decorate(function: _Async[P, T]) -> _Async[P, T]:
        retrying = stamina.retry(
            on=on, attempts=None, timeout=timeout, wait_initial=first, wait_max=longest, wait_jitter=first
        )(function)

        @wraps(function)
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            with suppress(*on):  # stamina takes 40 µs for a call that succeeds: too much for every event
                return await function(*args, **kwargs)
            return await retrying(*args, **kwargs)

        return call

    return decorate


def _log(details: RetryDetails) -> None:
    reason = type(details.caused_by).__name__
    if (details.name, reason) not in logged:
        logged[details.name, reason] = True
        log.warning("waiting", operation=details.name, reason=reason, error=str(details.caused_by)[:500])


set_on_retry_hooks([_log])
