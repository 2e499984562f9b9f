"""Bounds on CPU time that hold on a busy machine, too."""

import gc
import time
from collections.abc import Callable

ATTEMPTS = 3


def takes_at_most(seconds: float, call: Callable[[], object]) -> bool:
    """Whether one of three calls takes at most this much CPU time of this thread.

    One call can take ten times as long as usual where other programs share the core. What a bound guards against
    takes too long every time. The garbage collector is off: it walks the objects of thousands of earlier tests.
    """
    return any(_cpu_time(call) <= seconds for _ in range(ATTEMPTS))


def _cpu_time(call: Callable[[], object]) -> float:
    """The seconds that the call takes without the garbage collector."""
    gc.disable()
    began = time.thread_time()
    try:
        call()
        return time.thread_time() - began
    finally:
        gc.enable()
