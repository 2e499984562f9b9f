"""Whether what must be answered can be learnt: it stands in a result, or is worked out from what stands there."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from packs.retail.policy import Call

_NUMBER = re.compile(r"\$?-?\d[\d,]*(?:\.\d+)?")
_TOKEN = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")  # a number that stands alone, not a part of an id
_MOST_SUMMED = 8  # amounts of which every sum is tried


def plain(text: str) -> str:
    """Texts as tau-bench compares them: in lower case, without commas."""
    return text.lower().replace(",", "")


def missing(outputs: Iterable[str], calls: Sequence[Call]) -> tuple[str, ...]:
    """Those that are neither in the results of the calls nor computed from them."""
    results = plain("\n".join(call.result for call in calls))
    told = {float(one) for one in _TOKEN.findall(results)}
    figures: list[float] = []
    found = []
    for output in outputs:
        number = number_of(output)
        if number is None:
            there = bool(output.strip()) and plain(output) in results
        elif not (there := number in told):
            figures = figures or list(_figures(calls))
            there = any(abs(number - figure) < 0.006 for figure in figures)
        if not there:
            found.append(output)
    return tuple(found)


def number_of(output: str) -> float | None:
    """The output as a number, if it is nothing else: "$1,234.5" is 1234.5."""
    text = output.strip()
    return float(text.lstrip("$").replace(",", "").replace("$", "")) if _NUMBER.fullmatch(text) else None


def answered(output: str, answer: str) -> bool:
    """Is it in what was said? A number counts in every way of writing it: 12.5, 12.50, $1,012.5."""
    if plain(output) in plain(answer):
        return True
    number = number_of(output)
    if number is None:
        return False
    return any(number_of(one) == number for one in _NUMBER.findall(answer))


def _figures(calls: Sequence[Call]) -> Iterator[float]:
    """What a clerk would work out: counts and prices of variants, totals and differences of orders, sums of these."""
    documents = [document for call in calls if isinstance(document := _document(call.result), dict)]
    amounts: list[float] = []
    for document in documents:
        if "variants" in document:
            yield from _shelf(document)
        elif "items" in document:
            prices = [float(item["price"]) for item in document["items"]]
            amounts.append(sum(prices))
            yield from (float(len(prices)), *_sums(prices))
            paid = [float(entry["amount"]) for entry in document["payment_history"]]
            amounts += paid[1:]
            yield from _sums(paid)
            amounts.append(abs(float(document.get("exchange_price_difference", 0.0))))
            kept = set(document.get("return_items", ())) | set(document.get("exchange_items", ()))
            moved = sum(float(item["price"]) for item in document["items"] if item["item_id"] in kept)
            amounts.append(moved)
            yield sum(prices) - moved
    yield from _sums(sorted(set(amounts))[:_MOST_SUMMED])
    yield from (abs(one - other) for one, other in combinations(sorted(set(amounts))[: 2 * _MOST_SUMMED], 2))


def _shelf(product: dict[str, Any]) -> Iterator[float]:
    variants = list(product["variants"].values())
    available = [variant for variant in variants if variant["available"]]
    yield from (float(len(variants)), float(len(available)))
    prices = sorted({float(variant["price"]) for variant in variants})
    yield from prices
    yield from (abs(one - other) for one, other in combinations(prices, 2))


def _sums(amounts: Sequence[float]) -> Iterator[float]:
    few = amounts[:_MOST_SUMMED]
    for count in range(1, len(few) + 1):
        for chosen in combinations(few, count):
            yield sum(chosen)


def _document(result: str) -> object:
    try:
        return json.loads(result)
    except ValueError:
        return None
