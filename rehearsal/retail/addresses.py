"""Postal addresses in running text."""

import re

Address = dict[str, str]
LINES = ("address1", "address2", "city", "state", "country", "zip")
_ADDRESS = re.compile(
    r"(?<!#)\b(?P<address1>\d+ [A-Z][\w ]{1,40}?), (?:(?P<address2>(?:Suite|Apt|Unit|Floor) \w+), )?"
    r"(?P<city>[A-Z][A-Za-z ]{1,40}), (?P<state>[A-Z]{2}) (?P<zip>\d{5})\b"
)


def find_address(text: str) -> Address | None:
    """The first complete address in the USA."""
    match = _ADDRESS.search(text)
    parts = {line: value or "" for line, value in match.groupdict().items()} if match else {}
    return parts | {"country": "USA"} if parts else None
