"""Words of requests and answers: addresses, amounts, lists, items."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

Address = dict[str, str]
LINES = ("address1", "address2", "city", "state", "country", "zip")
_ADDRESS = re.compile(
    r"(?<!#)\b(?P<address1>\d+ [A-Z][\w ]{1,40}?), (?:(?P<address2>(?:Suite|Apt|Unit|Floor) \w+), )?"
    r"(?P<city>[A-Z][A-Za-z ]{1,40}), (?P<state>[A-Z]{2}) (?P<zip>\d{5})\b"
)


def money(amount: float) -> str:
    return f"${amount:,.2f}"


def listing(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def one_line(address: Mapping[str, str]) -> str:
    street = ", ".join(part for part in (address["address1"], address["address2"]) if part)
    return f"{street}, {address['city']}, {address['state']} {address['zip']}"


def options_label(options: Mapping[str, str]) -> str:
    """`color black, size M`."""
    return ", ".join(f"{name} {value}" for name, value in options.items())


def item_label(item: Mapping[str, Any]) -> str:
    """An item as people and test tasks name it: `Desk Lamp (color black, size M)`."""
    return f"{item['name']} ({options_label(item['options'])})"


def item_names(order: Mapping[str, Any]) -> str:
    return listing([item["name"].lower() for item in order["items"]])


def find_address(text: str) -> Address | None:
    """The first complete address in the USA."""
    match = _ADDRESS.search(text)
    parts = {line: value or "" for line, value in match.groupdict().items()} if match else {}
    return parts | {"country": "USA"} if parts else None
