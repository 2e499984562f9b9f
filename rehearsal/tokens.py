"""Token counts by one stated rule: a text has ceil(its UTF-8 bytes / 4) tokens.

A prompt's tokens are the sum over its messages. Cached are those of the longest beginning that it shares with an
earlier prompt of this process, rounded down to a multiple of 16.
"""

from collections import deque
from collections.abc import Sequence
from math import ceil

REMEMBERED = 64
BLOCK = 16


def count(text: str) -> int:
    """Tokens of one text."""
    return ceil(len(text.encode(errors="replace")) / 4)


class PrefixCache:
    """The last prompts, to tell how much of a new one was seen before."""

    def __init__(self) -> None:
        self._seen: deque[bytes] = deque(maxlen=REMEMBERED)

    def cached(self, texts: Sequence[str]) -> int:
        """Cached tokens of this prompt, which is remembered from now on."""
        prompt = "\n".join(texts).encode(errors="replace")
        shared = max((_common(prompt, earlier) for earlier in self._seen), default=0)
        self._seen.append(prompt)
        return min(ceil(shared / 4), sum(map(count, texts))) // BLOCK * BLOCK


def _common(one: bytes, other: bytes) -> int:
    """Length of the common beginning, by bisection: comparing slices is fast, comparing bytes in a loop is not."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
