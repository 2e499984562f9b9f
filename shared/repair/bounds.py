"""Bounds on the size of a JSON value, checked without recursion and without reading beyond them."""

import math

from pydantic import JsonValue

MAX_NODES, MAX_DEPTH = 100_000, 64


def is_bounded(value: JsonValue, *, nodes: int = MAX_NODES, depth: int = MAX_DEPTH) -> bool:
    """Whether the value holds at most `nodes` values, itself included, nested at most `depth` deep."""
    level: list[JsonValue] = [value]
    counted = 0
    for _ in range(depth):
        counted += len(level)
        if counted > nodes:
            return False
        level = [child for each in level for child in _children(each)]
        if not level:
            return True
    return False


def _children(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def is_finite(value: JsonValue) -> bool:
    """Whether the value holds only numbers that JSON can express. Assumes that it is bounded."""
    level: list[JsonValue] = [value]
    while level:
        if any(isinstance(each, float) and not math.isfinite(each) for each in level):
            return False
        level = [child for each in level for child in _children(each)]
    return True
