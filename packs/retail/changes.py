"""The differences between two documents, value by value, with readable paths."""

from collections.abc import Iterator

from pydantic import JsonValue

from parley import Change


def changes(path: str, before: JsonValue, after: JsonValue) -> Iterator[Change]:
    """The changes in the order of the newer document. A part that was added or removed is one change."""
    pairs = _pairs(before, after)
    if pairs is None:
        if before != after:
            yield Change(path=path, label=_label(after if before is None else before), before=before, after=after)
        return
    for name, old, new in pairs:
        yield from changes(f"{path}/{name}", old, new)


def _label(part: JsonValue) -> str:
    """A label for a part that was added or removed: in the payment history, "Payment" or "Refund"."""
    kind = part.get("transaction_type") if isinstance(part, dict) else None
    return str(kind).capitalize() if kind else ""


def _pairs(before: JsonValue, after: JsonValue) -> list[tuple[str, JsonValue, JsonValue]] | None:
    """The parts of both by name; None unless both are objects or both are lists."""
    if isinstance(before, list) and isinstance(after, list):
        before, after = dict(_by_position(before)), dict(_by_position(after))
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    names = [*after, *(name for name in before if name not in after)]
    return [(name, before.get(name), after.get(name)) for name in names]


def _by_position(values: list[JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    return ((str(number), value) for number, value in enumerate(values))
