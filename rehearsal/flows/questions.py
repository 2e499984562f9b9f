"""Questions about data that the rehearsal model knows, with the queries that answer them."""

import re

from rehearsal.examples import EXAMPLE_DATA, EXAMPLES
from rehearsal.matching import fill_pattern, words_of

ONLY = " only in {state}"
_GOES_ON = {"only", "and", "just", "now", "in"}
UNKNOWN = f"The demo model knows only a few questions. Try: {', '.join(f'“{text}”' for text in EXAMPLES['flow'])}."


def known_query(question: str) -> str:
    """The query for this question; "" if it is not known."""
    for known in EXAMPLE_DATA.questions:
        for pattern in known.asks:
            for ending in ("", ONLY) if "{only}" in known.sql else ("",):
                values = fill_pattern(pattern + ending, question, EXAMPLE_DATA.places)
                if values is not None:
                    only = f" AND state = '{values['state']}'" if ending else ""
                    city = values.get("city", "").title()
                    return known.sql.strip().format_map(values | {"only": only, "city": city})
    return ""


def goes_on(request: str) -> bool:
    """Whether the request continues the previous question."""
    return words_of(request)[:1] in [[word] for word in _GOES_ON]


def rewrite(request: str, previous: str) -> str:
    """One question for a request that may continue the previous one."""
    if not previous or known_query(request) or not goes_on(request):
        return request.strip()
    return f"{previous.strip().rstrip(' .?!')}? {request.strip()}"


def tables_of(sql: str) -> list[str]:
    """The tables that a query reads."""
    return list(dict.fromkeys(re.findall(r'(?i)\b(?:from|join)\s+"?(\w+)', sql)))
