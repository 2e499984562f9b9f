"""Requests that go on from the question before, put as one question that stands alone."""

import re
from collections.abc import Callable, Sequence

from rehearsal.sql.places import CODES, STATES
from rehearsal.sql.words import split

_OPENER = re.compile(
    r"^(?:please |can you |could you )*(?:how many|how much|what|which|who|list|show|give|find|count|number of|get"
    r"|tell|display|top \d+ \w+ by|average|total|for each|where|when|name)\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:those|them|they|these|ones?|it|same|that one|(?:was|is) that|instead|their|its)\b", re.IGNORECASE
)
_LEAD = re.compile(
    r"^(?:and |but |now |ok(?:ay)?,? |then |also |please |what if |so |no,? |actually,? |show me "
    r"|show |make it |i meant |i mean )+",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"^(?:(?:what|how) about|(?:the )?same (?:thing )?(?:but )?(?:for|with|in)?|try|for|and)\s+", re.IGNORECASE
)
_GROUP = re.compile(
    r"^(?:grouped |group (?:it |them |that )?|broken down |split (?:it |them )?)?(?:by|per|for each|for every"
    r"|in each)\s+",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"^(?:only|just|limit(?: it)? to|restrict(?:ed)?(?: it)? to|but only|filter(?: it)? (?:by|to|for))\s+",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"^(?:in|from|of|with|without|to|for|since|before|after|between|except|excluding|over|under|not"
    r"|that|who|whose|where|which|at|during|by|on)\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"^(?:ones |that are |with )?((?:more|less|fewer) than|over|under|above|below|at least|at most)\b(?= \$?\d)"
)
_COLUMNS = re.compile(r"^((?:\w+ ){0,2}\w+(?:(?:,| and|, and) (?:\w+ ){0,2}\w+)*) (?:of|for) (.+)$", re.IGNORECASE)
_SPLIT = re.compile(r"^(.+?),? ((?:split|broken down|grouped|sorted|ordered) (?:up )?by .+)$", re.IGNORECASE)
_MUCH = re.compile(r"how much(?: money)? (?:was|were|has been|have been|did we|have we) (\w+)\b(.*)$", re.IGNORECASE)
_ORDER = re.compile(r"^(?:sort|order|rank)(?:ed)?(?: (?:it|them|that|this|these|those))?\s+by\s+(.+)$", re.IGNORECASE)
_TOP = re.compile(
    r"^(?:only |just )?(?:the )?(?:top|first|best)\s+(\w+)(?: (?:only|instead|ones|of them|rows))*$", re.IGNORECASE
)
_FUNCTION = re.compile(
    r"^(?:(?:as|use|give|with|what is|what's"
    r"|take)\s+)?(?:(?:an?"
    r"|the)\s+)?(average|mean|total|sum"
    r"|maximum|minimum|highest|lowest|"
    r"largest|smallest)(?: (?:instead|now|value|one|please|of (?:them|that|it|those)))*$",
    re.IGNORECASE,
)
_FUNCTIONS = re.compile(
    r"\b(?:total|sum of|sum|average|mean|maximum|minimum|highest|lowest|largest|smallest|max|min"
    r"|avg)\b",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"^(?:list|show|name|which|what|who)(?: me)?(?: (?:are|is))?(?: (?:them|those|they|these|ones|it"
    r"|the list|all))+$|^which(?: ones)?$|^who$",
    re.IGNORECASE,
)
_COUNT = re.compile(r"^how many(?: (?:are|is|of them|are there|is that|are they|in total|of those))*$", re.IGNORECASE)
_OF_THEM = re.compile(
    r"^(how many|which|what percentage|what share)(?: of (?:them|those|these)| ones)\s+(.+)$", re.IGNORECASE
)
_THEIR = re.compile(
    r"^(?:(?:with|list|give|show|what (?:are|is)|and|add|include|also)\s+)*(?:me\s+)?(?:their|its)\s+(.+)$",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"^(?:how many|count(?: the)?|(?:what is )?the number of|number of)\s+", re.IGNORECASE)
_LISTED = re.compile(
    r"^(?:list|show(?: me)?|which|what are|find|give me|display|get|who are|name)\s+(?:all\s+)?(?:the\s+)?",
    re.IGNORECASE,
)
_ADVERB = re.compile(r"[\s,]*\b(?:instead|now|please|then|too|as well|this time)\b[\s,.!?]*$", re.IGNORECASE)


def rewrite(request: str, previous_question: str, previous_sql: str = "", feedback: Sequence[str] = ()) -> str:
    """One question that needs no other to be understood; what was said since goes on from it in turn."""
    question = _step(request, previous_question, previous_sql)
    for said in feedback:
        if _continues(said):
            question = _step(said, question, previous_sql)
    return question


def _continues(said: str) -> bool:
    bare = _bare(said)
    return any(pattern.match(bare) for pattern in (_ONLY, _GROUP, _ORDER, _TOP, _FUNCTION, _ABOUT, _THEIR))


def _step(request: str, previous: str, sql: str) -> str:
    if not previous or _alone(request):
        return request.strip()
    before, bare = previous.strip().rstrip("?.! "), _bare(request)
    mark = "?" if re.match(r"how|what|which|who|where|when", before, re.IGNORECASE) else ""
    steps: tuple[Callable[[str, str, str], str | None], ...] = (
        _listing, _best, _narrowed, _grouped, _ordered, _limited, _function, _replaced)  # fmt: skip
    if parts := _SPLIT.match(bare):
        return _step(parts[2], _step(parts[1], previous, sql), sql)
    for step in steps:
        if (found := step(bare, before, sql)) is not None:
            same = found.startswith(before.split()[0])
            return f"{found}{mark if same else ''}"
    return f"{before}, only {bare}{mark}"


def _alone(request: str) -> bool:
    """Whether the request is a whole question already."""
    words = request.split()
    return (
        bool(_OPENER.match(request))
        and len(words) > 3
        and not _BACK.search(request)
        and not re.match(r"(?:what|how) about", request, re.IGNORECASE)
    )


def _bare(request: str) -> str:
    text = request.strip().rstrip("?.! ")
    text = _LEAD.sub("", text)
    while (shorter := _ADVERB.sub("", text)) != text and shorter:
        text = shorter
    return text.strip(" ,")


def _listing(bare: str, before: str, sql: str) -> str | None:
    """`list them`, `how many are there`, `how many of them are pending`, `and their emails`."""
    rows = _COUNTED.sub("", _LISTED.sub("", before))
    if told := re.match(r"^(how many [\w ]+?) (?:was|is|were|are) (?:that|those|it|this)$", bare, re.IGNORECASE):
        return _told_of(told[1], before)
    if _LIST.match(bare):
        return f"List {_noun(rows)}"
    if _COUNT.match(bare):
        return f"How many {rows}"
    if of_them := _OF_THEM.match(bare):
        joined = "and " if re.search(r"\b(?:is|are|were|was|live|have|has|cost)\b", rows) else ""
        of = "of " if of_them[1].startswith("what") else ""
        return f"{of_them[1].capitalize()} {of}{rows} {joined}{of_them[2]}"
    their = _THEIR.match(bare)
    if their and (told := _COLUMNS.match(rows)):
        return f"List the {told[1]} and {their[1]} of {told[2]}"
    return f"List the {their[1]} of {_noun(rows)}" if their else None


def _told_of(asked: str, before: str) -> str:
    """`how many refunds was that`: with all that the question before says of them; both, where that is not clear."""
    noun = asked.rsplit(maxsplit=1)[-1].lower()
    before = before.partition("? ")[0]
    deed = _MUCH.match(before)
    if deed and noun.startswith(deed[1].lower().removesuffix("ed")):
        return f"{asked}{re.sub(r'^ (?:in total|altogether)', '', deed[2])}"
    if noun in _PEOPLE and (who := re.match(r"who (.+)$", before, re.IGNORECASE)):
        return f"{asked} {who[1]}"
    rows = _COUNTED.sub("", _LISTED.sub("", before))
    head = re.match(rf"(?:.*? of )?(?:the |all )?({re.escape(noun)}\b.*)$", rows, re.IGNORECASE)
    return f"how many {head[1]}" if head else f"{before}, {asked} is that"


_PEOPLE = ("people", "customers", "persons", "members", "users")
_SUPERLATIVE = re.compile(
    r"\b(?:most expensive|least expensive|cheapest"
    r"|highest|lowest|largest|smallest|biggest|newest"
    r"|oldest|latest|earliest|longest|shortest"
    r"|most|fewest|least)\b",
    re.IGNORECASE,
)
_AMONG = re.compile(
    r"^(?:the )?(?:top|first|best) (\w+) (?:among|of|in|from|for) (?:only )?(?:the )?(.+)$", re.IGNORECASE
)


def _best(bare: str, before: str, sql: str) -> str | None:
    """`and the most expensive one`, `the top five among the available ones`."""
    if among := _AMONG.match(bare):
        rest = re.sub(r"\s+(?:ones?|only|ones only)$", "", re.sub(r"\s+only$", "", among[2]))
        first = _limited(f"top {among[1]}", before, sql)
        return f"{first}, only {rest}"
    superlative = _SUPERLATIVE.fullmatch(re.sub(r"^the\s+|\s+(?:ones?|instead)$", "", re.sub(r"\s+ones?$", "", bare)))
    if superlative and len(_SUPERLATIVE.findall(before)) == 1:
        return _SUPERLATIVE.sub(superlative[0], before)
    return None


def _noun(rows: str) -> str:
    """`orders are pending` as a noun: `orders that are pending`."""
    return re.sub(
        r"^((?:\w+ )*?\w+) (are|is|were|was|live|have|has|cost|contain|placed"
        r"|ordered)\b(?! there)",
        r"\1 that \2",
        rows,
    ).replace(" are there", "")


def _narrowed(bare: str, before: str, sql: str) -> str | None:
    """`only in Texas`, `only delivered ones`."""
    if not (found := _ONLY.match(bare)) or _TOP.match(bare):
        return None
    rest = re.sub(r"^(?:the |those )", "", bare[found.end() :])
    if _AGAINST.match(rest) and "GROUP BY" in sql:
        return f"{before} where that is {_AGAINST.sub(r'\1', rest)}"
    rest = re.sub(r"\s+ones$", "", rest)
    return f"{before}, only {rest}"


def _grouped(bare: str, before: str, sql: str) -> str | None:
    text = re.sub(r"^(?:what|how) about\s+", "", bare, flags=re.IGNORECASE)
    if not (found := _GROUP.match(text)) or re.match(r"by [A-Z]", text):
        return None
    without = re.sub(r",?\s+(?:by|per|for each|for every|in each)\s+(?:\w+\s*){1,3}$", "", before)
    kept = without if _COUNTED.match(without) or _FUNCTIONS.search(without) else before
    return f"{kept} by {text[found.end() :]}"


def _ordered(bare: str, before: str, sql: str) -> str | None:
    found = _ORDER.match(bare)
    without = re.sub(r",?\s+(?:sorted|ordered) by .*$", "", before)
    return f"{without}, sorted by {found[1]}" if found else None


def _limited(bare: str, before: str, sql: str) -> str | None:
    """`top 5 instead`, `make it 10`."""
    found = _TOP.match(bare)
    number = found[1] if found else bare if bare.isdigit() else ""
    if not number:
        return None
    counted = re.compile(
        r"\b(top|first|the|best|show|list)\s+(?:\d+|two|three|four|five|six|seven|eight|nine|ten)\b", re.IGNORECASE
    )
    if counted.search(before):
        return counted.sub(lambda match: f"{match[1]} {number}", before, count=1)
    if superlative := re.search(r"\b(?:most \w+|cheapest|newest|oldest|latest|least expensive)\b", before):
        return f"{before[: superlative.start()]}{number} {before[superlative.start() :]}"
    return f"{before}, top {number}"


def _function(bare: str, before: str, sql: str) -> str | None:
    """`now as an average`."""
    found = _FUNCTION.match(bare)
    if not found:
        return None
    if not _FUNCTIONS.search(before):
        return f"{before}, as {bare}"
    word = {"sum": "total", "mean": "average"}.get(found[1].lower(), found[1].lower())
    return _FUNCTIONS.sub(word, before, count=1)


def _replaced(bare: str, before: str, sql: str) -> str | None:
    """`what about delivered ones`, `and in California`: in the place of what was said before, where that is clear."""
    about = _ABOUT.match(bare)
    rest = re.sub(r"^the\s+|\s+ones?$|\s+only$", "", bare[about.end() :] if about else bare)
    subject = re.match(r"(?:how many|number of|list|show|which|what)\s+(?:the\s+)?(\w+)\b", before, re.IGNORECASE)
    if subject and rest.lower().startswith(f"{subject[1].lower()} "):
        rest = rest[len(subject[1]) + 1 :]
    years = re.findall(r"\b(?:19|20)\d\d\b", before)
    if (year := re.fullmatch(r"(?:in |since |before |after )?((?:19|20)\d\d)", rest)) and len(years) == 1:
        return before.replace(years[0], year[1])
    leading = re.match(r"(in|from|of|for|to|with|by)\s+(.+)$", rest)
    value = leading[2] if leading else rest
    places = [span for span in _values(before, sql) if _alike(before[slice(*span)], value)]
    if len(places) == 1:
        start, end = places[0]
        return f"{before[:start]}{value}{before[end:]}"
    if opposite := re.search(rf"\b(?:un|in)?{re.escape(re.sub('^(?:un|in)', '', value))}\b", before):
        return f"{before[: opposite.start()]}{value}{before[opposite.end() :]}"
    return f"{before}, only {rest}" if about or _PLACE.match(rest) else None


def _values(question: str, sql: str) -> list[tuple[int, int]]:
    """Where the values of the statement stand in the question."""
    found = []
    for value in dict.fromkeys(re.findall(r"'((?:[^']|'')+)'", sql)):
        forms = {" ".join(split(value)), value.lower()}
        forms |= {STATES[value.upper()].lower()} if value.upper() in STATES and len(value) == 2 else set()
        for form in sorted(forms, key=len, reverse=True):
            match = re.search(rf"\b{re.escape(form)}s?\b", question, re.IGNORECASE)
            if match and match.span() not in found:
                found.append(match.span())
                break
    return found


def _alike(old: str, new: str) -> bool:
    """Whether both are states, or both have a capital, or neither has."""
    states = [one.lower() in CODES or one in STATES for one in (old, new)]
    if any(states):
        return all(states) or (old[:1].isupper() and new[:1].isupper())
    return old[:1].isupper() == new[:1].isupper()
