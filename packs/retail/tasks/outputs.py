"""Checks that expected outputs can be found in results, or computed from them."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from packs.retail.policy import CompletedCall

_NUMBER = re.compile(r"\$?-?\d[\d,]*(?:\.\d+)?")
_TOKEN = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")  # a separate number, not a part of an id
_MAX_SUMMED = 8  # amounts of which all sums are tried


def normalize(text: str) -> str:
    """The text as tau-bench compares it: in lower case, without commas."""
    return text.lower().replace(",", "")


def unsupported(outputs: Iterable[str], calls: Sequence[CompletedCall]) -> tuple[str, ...]:
    """The outputs that are neither in the results of the calls nor computable from them."""
    results = normalize("\n".join(call.result for call in calls))
    literal_numbers = {float(number_text) for number_text in _TOKEN.findall(results)}

    def is_supported(output: str) -> bool:
        number = number_of(output)
        if number is None:
            return bool(output.strip()) and normalize(output) in results
        return number in literal_numbers or any(abs(number - figure) < 0.006 for figure in _derived_numbers(calls))

    return tuple(output for output in outputs if not is_supported(output))


def number_of(output: str) -> float | None:
    """The output as a number, None if it is not one: "$1,234.5" is 1234.5."""
    text = output.strip()
    return float(text.lstrip("$").replace(",", "").replace("$", "")) if _NUMBER.fullmatch(text) else None


def is_answered(output: str, answer: str) -> bool:
    """Whether the answer contains the output. Numbers match in any notation: 12.5, 12.50, $1,012.5."""
    if normalize(output) in normalize(answer):
        return True
    number = number_of(output)
    return number is not None and any(number_of(text) == number for text in _NUMBER.findall(answer))


def _derived_numbers(calls: Sequence[CompletedCall]) -> Iterator[float]:
    """Numbers computable from results: counts and prices of variants, totals and differences of orders, their sums."""
    documents = [document for call in calls if isinstance(document := _document(call.result), dict)]
    amounts: list[float] = []
    for document in documents:
        if "variants" in document:
            yield from _variant_numbers(document)
        elif "items" in document:
            prices = [float(item["price"]) for item in document["items"]]
            amounts.append(sum(prices))
            yield from (float(len(prices)), *_sums(prices))
            paid = [float(entry["amount"]) for entry in document["payment_history"]]
            amounts += paid[1:]
            yield from _sums(paid)
            amounts.append(abs(float(document.get("exchange_price_difference", 0.0))))
            moved_items = set(document.get("return_items", ())) | set(document.get("exchange_items", ()))
            moved = sum(float(item["price"]) for item in document["items"] if item["item_id"] in moved_items)
            amounts.append(moved)
            yield sum(prices) - moved
    yield from _sums(sorted(set(amounts))[:_MAX_SUMMED])
    yield from (abs(left - right) for left, right in combinations(sorted(set(amounts))[: 2 * _MAX_SUMMED], 2))


def _variant_numbers(product: dict[str, Any]) -> Iterator[float]:
    variants = list(product["variants"].values())
    available = [variant for variant in variants if variant["available"]]
    yield from (float(len(variants)), float(len(available)))
    prices = sorted({float(variant["price"]) for variant in variants})
    yield from prices
    yield from (abs(left - right) for left, right in combinations(prices, 2))


def _sums(amounts: Sequence[float]) -> Iterator[float]:
    few = amounts[:_MAX_SUMMED]
    for count in range(1, len(few) + 1):
        for chosen in combinations(few, count):
            yield sum(chosen)


def _document(result: str) -> object:
    try:
        return json.loads(result)
    except ValueError:
        return None
