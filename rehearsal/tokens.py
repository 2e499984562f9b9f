"""Counts tokens by a simple rule: a text has ceil(UTF-8 bytes / 4) tokens.

A prompt's tokens are the sum over its messages. Cached tokens are those of the longest prefix that it shares with an
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
    """Remembers the last prompts to count the cached tokens of a new one."""

    def __init__(self) -> None:
        self._seen: deque[bytes] = deque(maxlen=REMEMBERED)

    def cached(self, texts: Sequence[str]) -> int:
        """The cached tokens of this prompt. The prompt is remembered."""
        prompt = "\n".join(texts).encode(errors="replace")
        shared = max((_common(prompt, earlier) for earlier in self._seen), default=0)
        self._seen.append(prompt)
        return min(ceil(shared / 4), sum(map(count, texts))) // BLOCK * BLOCK


def _common(left: bytes, right: bytes) -> int:
    """The length of the common prefix, by bisection, because comparing slices is faster than looping over bytes."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
