"""How one document differs from another, value by value, with a path a person can read."""

from collections.abc import Iterator

from pydantic import JsonValue

from parley import Change


def changes(path: str, before: JsonValue, after: JsonValue) -> Iterator[Change]:
    """In the order of the newer one; what is new or gone as a whole, at its own path."""
    pairs = _pairs(before, after)
    if pairs is None:
        if before != after:
            yield Change(path=path, label=_label(after if before is None else before), before=before, after=after)
        return
    for name, old, new in pairs:
        yield from changes(f"{path}/{name}", old, new)


def _label(part: JsonValue) -> str:
    """What people call a part that is new or gone as a whole: of the payment history a payment, or a refund."""
    kind = part.get("transaction_type") if isinstance(part, dict) else None
    return str(kind).capitalize() if kind else ""


def _pairs(before: JsonValue, after: JsonValue) -> list[tuple[str, JsonValue, JsonValue]] | None:
    """The parts of both under the same name, if both have parts."""
    if isinstance(before, list) and isinstance(after, list):
        before, after = dict(_numbered(before)), dict(_numbered(after))
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    names = [*after, *(name for name in before if name not in after)]
    return [(name, before.get(name), after.get(name)) for name in names]


def _numbered(values: list[JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    return ((str(number), value) for number, value in enumerate(values))
