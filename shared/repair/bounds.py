"""How large a JSON value is, measured without recursion and without reading more of it than the bounds allow."""

from pydantic import JsonValue

NODES, DEPTH = 100_000, 64


def is_bounded(value: JsonValue, *, nodes: int = NODES, depth: int = DEPTH) -> bool:
    """Whether the value holds at most `nodes` values, itself included, nested at most `depth` deep."""
    level: list[JsonValue] = [value]
    seen = 0
    for _ in range(depth):
        seen += len(level)
        if seen > nodes:
            return False
        level = [child for each in level for child in _children(each)]
        if not level:
            return True
    return False


def _children(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
