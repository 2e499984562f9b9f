"""Tokens and cost of a call: the server's count, or else characters / 4."""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import NamedTuple

Prices = Mapping[str, tuple[float, float, float]]


class Tokens(NamedTuple):
    """Token counts; `prompt` includes `cached`."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0


def estimate(texts: Iterable[str]) -> int:
    """Tokens in these texts if the server did not count them: ceil(characters / 4)."""
    return ceil(sum(map(len, texts)) / 4)


def cost(prices: Prices, model: str, tokens: Tokens) -> float:
    """The cost in US dollars; `prices` are per million prompt, cached and completion tokens."""
    prompt, cached, completion = prices.get(model, (0.0, 0.0, 0.0))
    fresh = max(0, tokens.prompt - tokens.cached)
    return (fresh * prompt + tokens.cached * cached + tokens.completion * completion) / 1_000_000
