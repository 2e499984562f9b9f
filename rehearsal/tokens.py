"""Imitates the usage figures of a real model server: a text has ceil(UTF-8 bytes / 4) tokens.

The tokens of a prompt are the sum over its messages. Its cached tokens are estimated from the longest beginning that it
shares with a recent prompt, and rounded down to whole blocks of 16, as real servers do.
"""

from collections import deque
from collections.abc import Sequence
from math import ceil

MAX_PROMPTS = 64  # remembered for comparison
BLOCK_TOKENS = 16


def count(text: str) -> int:
    """Tokens of one text."""
    return ceil(len(text.encode(errors="replace")) / 4)


class PrefixCache:
    """Keeps the most recent prompts, to count how many tokens of a new one are cached."""

    def __init__(self) -> None:
        self._prompts: deque[bytes] = deque(maxlen=MAX_PROMPTS)

    def count_cached(self, messages: Sequence[str]) -> int:
        """The cached tokens of this prompt, which is then remembered."""
        prompt = "\n".join(messages).encode(errors="replace")
        shared = max((_common_prefix_length(prompt, earlier) for earlier in self._prompts), default=0)
        self._prompts.append(prompt)
        total = sum(map(count, messages))  # the line feeds between messages are no tokens
        return min(ceil(shared / 4), total) // BLOCK_TOKENS * BLOCK_TOKENS


def _common_prefix_length(left: bytes, right: bytes) -> int:
    """In bytes, by bisection: comparing slices is faster than looping over bytes."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
