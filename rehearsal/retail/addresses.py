"""Postal addresses in running text, also in parts, and the address that a wish asks for."""

import re
from typing import Any

Address = dict[str, str]
LINES = ("address1", "address2", "city", "state", "country", "zip")
# fmt: off
STATES = {
    "alabama": "AL", "alaska": "AK", "arizona": "AZ", "arkansas": "AR", "california": "CA", "colorado": "CO",
    "connecticut": "CT", "delaware": "DE", "florida": "FL", "georgia": "GA", "hawaii": "HI", "idaho": "ID",
    "illinois": "IL", "indiana": "IN", "iowa": "IA", "kansas": "KS", "kentucky": "KY", "louisiana": "LA",
    "maine": "ME", "maryland": "MD", "massachusetts": "MA", "michigan": "MI", "minnesota": "MN",
    "mississippi": "MS", "missouri": "MO", "montana": "MT", "nebraska": "NE", "nevada": "NV",
    "new hampshire": "NH", "new jersey": "NJ", "new mexico": "NM", "new york": "NY", "north carolina": "NC",
    "north dakota": "ND", "ohio": "OH", "oklahoma": "OK", "oregon": "OR", "pennsylvania": "PA",
    "rhode island": "RI", "south carolina": "SC", "south dakota": "SD", "tennessee": "TN", "texas": "TX",
    "utah": "UT", "vermont": "VT", "virginia": "VA", "washington": "WA", "west virginia": "WV", "wisconsin": "WI",
    "wyoming": "WY", "district of columbia": "DC",
}
# fmt: on
_STATE = "|".join(["[A-Z]{2}", *(f"(?i:{name})" for name in sorted(STATES, key=len, reverse=True))])
_UNIT = r"(?:\b(?i:suite|ste|apt|apartment|unit|floor|room|no)\.? ?#?(?:\d\w*|[A-Z]\b)|#\d{1,5}[A-Za-z]?\b)"
_FULL = re.compile(
    rf"(?<![\w#])(?P<address1>\d{{1,6}} (?:(?!to\b)(?:\d{{1,3}}(?:st|nd|rd|th)|[A-Za-z][\w.'-]*) ?){{1,5}}?)"
    rf"(?:,? +(?P<address2>{_UNIT})|, *(?P<other>{_UNIT}))?"
    rf"(?:, *| +in +|; *)(?P<city>[A-Za-z][A-Za-z .'-]*?)"
    rf"(?:, *| +)(?P<state>{_STATE})\b"
    rf"(?:,? *(?P<land>(?i:usa|us|united states)))?"
    rf"[, ]*(?:(?i:with )?(?i:the )?(?i:zip|postal)(?i: code)?:? *)?(?P<zip>\d{{5}})(?!\d)"
    rf"(?:,? *(?P<country>(?i:usa|us\b|united states)))?"
)
_PAIRED = re.compile(r"['\"]?(address1|address2|city|state|country|zip)['\"]?\s*[:=]\s*['\"]([^'\"]*)['\"]")
_PART = {
    "address2": re.compile(rf"(?P<value>{_UNIT})"),
    "zip": re.compile(r"(?i:zip|postal)(?i: code)?\D{0,40}?(?P<value>\d{5})\b"),
    "address1": re.compile(r"(?P<value>\d{1,6} (?:[A-Z][\w'-]* ?){1,4})"),
}
_WRONG = re.compile(
    r"(?:,? *(?:not|instead of|rather than)|\b(?:was|currently|from)) +(?:the )?([^,.;]+)", re.IGNORECASE
)


def find_addresses(text: str) -> list[tuple[Address, tuple[int, int]]]:
    """Complete addresses and where they stand. The country is "" where it is not said."""
    paired = list(_PAIRED.finditer(text))
    if {match[1] for match in paired} >= {"address1", "city", "state", "zip"}:
        address = dict.fromkeys(LINES, "") | {match[1]: match[2] for match in paired}
        return [(address, (paired[0].start(), paired[-1].end()))]
    return [(_address(match), match.span()) for match in _FULL.finditer(text)]


def _address(match: re.Match[str]) -> Address:
    state = match["state"]
    second = match["address2"] or match["other"] or ""
    return {
        "address1": match["address1"].strip(" ,"),
        "address2": second.strip(),
        "city": match["city"].strip(),
        "state": state if state.isupper() and len(state) == 2 else STATES[state.lower()],
        "country": "USA" if match["land"] or match["country"] else "",
        "zip": match["zip"],
    }


def corrected(text: str, current: dict[str, Any]) -> Address | None:
    """The current address with the parts that the text names: `it's Apt 26, not Apt 62`. None where it names none."""
    said = _WRONG.sub(" ", text)
    parts = {}
    for line, pattern in _PART.items():
        found = [match["value"].strip() for match in pattern.finditer(said)]
        fresh = [value for value in found if value.lower() != str(current.get(line, "")).lower()]
        if fresh and not (line == "address1" and len(fresh[-1].split()) < 2):
            parts[line] = fresh[-1]
    return {line: str(parts.get(line, current.get(line, ""))) for line in LINES} if parts else None
