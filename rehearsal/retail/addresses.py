"""Postal addresses in running text."""

import re

Address = dict[str, str]
LINES = ("address1", "address2", "city", "state", "country", "zip")
_STATES = (
    "AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|FL Florida"
    "|GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa|KS Kansas|KY Kentucky|LA Louisiana|ME Maine"
    "|MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota|MS Mississippi|MO Missouri|MT Montana|NE Nebraska"
    "|NV Nevada|NH New Hampshire|NJ New Jersey|NM New Mexico|NY New York|NC North Carolina|ND North Dakota|OH Ohio"
    "|OK Oklahoma|OR Oregon|PA Pennsylvania|RI Rhode Island|SC South Carolina|SD South Dakota|TN Tennessee|TX Texas"
    "|UT Utah|VT Vermont|VA Virginia|WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming|DC District of Columbia"
)
_CODES = {name: code for code, _, name in (one.partition(" ") for one in _STATES.split("|"))}
_UNIT = r"(?i:suite|ste|apt|apartment|unit|floor|room)\.? ?#?\w+"
_ADDRESS = re.compile(
    rf"(?<![\w#])(?P<address1>\d{{1,6}} (?:[A-Z0-9][\w.'-]* ?){{1,5}}?)(?:,? +(?P<address2>{_UNIT}))?, *"
    rf"(?P<city>[A-Z][A-Za-z .'-]*?),? +(?P<state>[A-Z]{{2}}|{'|'.join(_CODES)}),? +"
    r"(?P<zip>\d{5})(?!\d)(?:,? *(?:USA|United States))?"
)


def find_addresses(text: str) -> list[tuple[Address, tuple[int, int]]]:
    """Complete addresses in the USA, and where each stands."""
    addresses = []
    for match in _ADDRESS.finditer(text):
        parts = {line: (value or "").strip(" ,") for line, value in match.groupdict().items()}
        state = _CODES.get(parts["state"], parts["state"])
        addresses.append((parts | {"state": state, "country": "USA"}, match.span()))
    return addresses


def one_line(address: Address) -> str:
    street = ", ".join(part for part in (address["address1"], address["address2"]) if part)
    return f"{street}, {address['city']}, {address['state']} {address['zip']}"
