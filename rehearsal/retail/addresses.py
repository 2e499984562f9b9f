"""Postal addresses in running text."""

import re

from rehearsal.states import CODES, NAMES

Address = dict[str, str]
LINES = ("address1", "address2", "city", "state", "country", "zip")
_UNIT = r"(?i:suite|ste|apt|apartment|unit|floor|room)\.? ?#?\w+"
_ADDRESS = re.compile(
    rf"(?<![\w#])(?P<address1>\d{{1,6}} (?:[A-Z0-9][\w.'-]* ?){{1,5}}?)(?:,? +(?P<address2>{_UNIT}))?, *"
    rf"(?P<city>[A-Z][A-Za-z .'-]*?),? +(?P<state>[A-Z]{{2}}|{'|'.join(NAMES.values())}),? +"
    r"(?P<zip>\d{5})(?!\d)(?:,? *(?:USA|United States))?"
)


def find_addresses(text: str) -> list[tuple[Address, tuple[int, int]]]:
    """Complete addresses in the USA, and where each stands."""
    addresses = []
    for match in _ADDRESS.finditer(text):
        parts = {line: (value or "").strip(" ,") for line, value in match.groupdict().items()}
        state = CODES.get(parts["state"].lower(), parts["state"])
        addresses.append((parts | {"state": state, "country": "USA"}, match.span()))
    return addresses


def one_line(address: Address) -> str:
    street = ", ".join(part for part in (address["address1"], address["address2"]) if part)
    return f"{street}, {address['city']}, {address['state']} {address['zip']}"
