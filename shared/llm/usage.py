"""What a call cost: the server's own count where it gives one, else characters / 4."""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import NamedTuple

Prices = Mapping[str, tuple[float, float, float]]


class Tokens(NamedTuple):
    """Prompt tokens include the cached ones."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0


def estimate(texts: Iterable[str]) -> int:
    """Tokens in these texts by the one rule used where nobody counted: ceil(characters / 4)."""
    return ceil(sum(map(len, texts)) / 4)


def cost(prices: Prices, model: str, tokens: Tokens) -> float:
    """US dollars; `prices` are per million prompt, cached and completion tokens."""
    prompt, cached, completion = prices.get(model, (0.0, 0.0, 0.0))
    fresh = max(0, tokens.prompt - tokens.cached)
    return (fresh * prompt + tokens.cached * cached + tokens.completion * completion) / 1_000_000
