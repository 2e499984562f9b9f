"""Cue patterns in the user's words: complaints, questions about data, small talk."""

import re

from rehearsal.retail.customer_requests import order_ids

LONGEST = 4_000  # characters of the user's text that are examined
KINDS = {  # of complaints, the most serious first
    "damaged": re.compile(r"\b(?:damaged|broken|smashed|cracked|crack|dented|defective|leaks?)\b|n't (?:work|light)"),
    "wrong_item": re.compile(r"\b(?:wrong|not what i ordered)\b"),
    "late": re.compile(r"\b(?:late|waiting|not arrived|never arrived|too long|where is my)\b"),
    "unwanted": re.compile(
        r"\b(?:cancel|no longer (?:need|want)|changed my mind|by (?:mistake|accident)|too (?:big|small)"
        r"|(?:not|n't) (?:want|fit))\b"
    ),
}
CANCEL = re.compile(r"\bcancel\b")
RETURN = re.compile(r"\breturn(?:ing)?\b|\b(?:send|give|take) (?:it|them|this) back\b")
PERSON = re.compile(
    r"\b(?:human|manager|lawyer|suing|sue)\b|\b(?:speak|talk) (?:to|with) (?:a person|somebody|someone)\b"
)
CONTENT = re.compile(r"\b(?:just|only) (?:want(?:ed)? you to know|letting you know|wanted to complain)\b")
CHECK = re.compile(r"\b(?:valid|only check|just check)\b")
REASON = re.compile(r"\b(?:because|should|but|says)\b")
_EXPLAIN = re.compile(  # in words; a statement that begins with EXPLAIN is none of these
    r"\b(?:explain|describe)(?! (?:query plan|analyze))(?::|\W+\w)|\bwhat (?:does|would|will)\b.*\b(?:do|mean|say)\b"
)
_DENIED = re.compile(r"(?:\bnot|n't|\bnever|\bno|\bnothing(?: is)?)(?: \w+)?(?: to)? *$")
_TALK = re.compile(
    r"(?:hi|hello|hey|thanks?|thank you|good (?:morning|day|evening))\b.{0,20}|.*\b(?:can you do|are you)\b.*"
)
_OWN = re.compile(r"\b(?:i|i'm|i've|i'd|my|me|you)\b")
_COMPLAINS = re.compile(r"\b(?:complain\w*|complaint)\b")
_MEASURE = re.compile(r"\b(?:how (?:many|much|often)|average|total|number of|count|per|most|least|top|percentage)\b")
_DATA = re.compile(
    r"(?:show|list|find|get|give me|name|which|what|who|when|where)\b|.*\b(?:sql|query|tables?|database)\b"
)
_SQL = re.compile(r"(?is)\bselect\b\s.{0,4000}?\bfrom\b\s")


def plain(text: str) -> str:
    """The text in lower case, on one line, with straight quotes."""
    return " ".join(text[:LONGEST].lower().replace("’", "'").split())


def affirms(cue: re.Pattern[str], lower: str) -> bool:
    """Whether the text has this cue somewhere without a negation before it."""
    return any(not _DENIED.search(lower[: match.start()]) for match in cue.finditer(lower))


def kind_of(lower: str) -> str:
    """The kind of complaint that the text makes; "" for none."""
    return next((kind for kind, cue in KINDS.items() if affirms(cue, lower)), "")


def is_complaint(lower: str) -> bool:
    """Whether it complains about something that the user bought."""
    if _COMPLAINS.search(lower):
        return True
    complains = kind_of(lower) or PERSON.search(lower) or RETURN.search(lower)
    return bool(complains and (order_ids(lower) or _OWN.search(lower)) and not _MEASURE.search(lower))


def is_question(lower: str) -> bool:
    """Whether it asks for data, or contains a query."""
    return bool(_DATA.match(lower) or _MEASURE.search(lower) or _SQL.search(lower))


def is_talk(lower: str) -> bool:
    """Whether it is a greeting, or a question about the model."""
    return bool(_TALK.fullmatch(lower))


def wants_words(text: str) -> bool:
    """Whether it asks what a statement means, rather than for its result."""
    return bool(_SQL.search(text) and _EXPLAIN.search(without_sql(text)))


def without_sql(text: str) -> str:
    """The text before a statement."""
    return plain(re.split(r"(?i)\bselec", text, maxsplit=1)[0])
