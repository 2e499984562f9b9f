"""How fast one socket may speak."""

import time
from collections.abc import Callable


class TokenBucket:
    """`burst` messages at once, `rate` a second after that."""

    def __init__(self, *, burst: float = 50, rate: float = 20, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._tokens, self._at = burst, clock()

    def take(self) -> bool:
        """Whether one more message is allowed now."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
