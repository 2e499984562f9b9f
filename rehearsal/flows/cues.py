"""What a piece of a request is about, told by its wording: data, or something that a customer has lived through."""

import re
from typing import NamedTuple

from rehearsal.flows.kinds import ANGRY, COMPLAINT, ORDER_ID, PERSON, categories
from rehearsal.flows.words import holds_sql, plain

_LIVED = re.compile(
    r"\b(?:my|our) (?:\w+ ){0,2}(?:order|package|parcel|delivery|purchase|item|shipment)\b|\bi(?:'ve| have)? "
    r"(?:just )?(?:ordered|received|bought|got|paid|was sent|was charged)\b|\b(?:arrived|came|was delivered)\b"
)
_MINE = re.compile(r"\b(?:i|i'm|i've|my|mine)\b")
_ASIDE = re.compile(  # first persons who have a question and no complaint
    r"\bi(?:'d| would)? (?:like|want|need|have) (?:to (?:know|see|get|find|ask)|an? (?:question|list|overview)"
    r"|the|every"
    r"|all)\b|\b(?:can|could|may) i (?:see|get|have)\b|\bi(?:'m| am) (?:curious|interested|wondering|looking)\b"
    r"|\bi wonder\b|\bif i \w+|\bwould i\b|\bmy (?:sql|query|statement|database|question)\b"
    r"|\bi (?:do not|don't) (?:want|need) the (?:answer|result)s?\b"
)
_MEASURE = re.compile(
    r"\bhow (?:many|much|often)\b|\baverages?\b|\bmean\b|\bmedian\b|\bsum\b|\btotals?\b|\bcounts?\b|\bnumber of\b"
    r"|\b(?:nr|no)\. ?of\b|\bnr of\b|\badd up\b|\bcombined\b|\baltogether\b|\btop (?:\d+|three|five|ten)\b"
    r"|\b(?:highest|lowest|most|least|fewest|largest|smallest|cheapest|dearest)\b|\bgroup(?:ed)? by\b"
    r"|\b(?:per|by|each) (?:month|year|week|day|state|city|status|customer|user|product|country|category|type)\b"
    r"|\brevenue\b|\bp(?:er|re)cent\w*|\bshare of\b|\bdistribution\b|\bbreakdown\b"
)
_LOOK = re.compile(
    r"\b(?:list|export|download|e-?mail me|overview of|report (?:of|on)|show|display|find|fetch|retrieve|select|look up"
    r"|get|give me|gimme|looking for|i want (?:every|all))\b(?! back| rid| out\b| it\b)"
    r"|\bfind out (?:which|what|who|whose|how|when|if|whether)\b|\b(?:are|is) there (?:any|a)\b"
    r"|^(?:which|what|who|whose|when|where|is|are|was|were|do|does|did|has|have) [^?]*\?|\bwhich \w+"
)
_DATABASE = re.compile(
    r"\bsql\b|\bquer(?:y|ies)\b|\bdatabases?\b|\btables?\b|\bcolumns?\b|\brows?\b|\bschema\b|\bjoin(?:s|ed)?\b"
    r"|\brecords?\b"
)
_CHANGE = re.compile(
    r"^(?:please |now |can you |could you |go ahead and )*(?:delete|drop|truncate|update|insert|alter|remove|wipe|erase"
    r"|overwrite|rename|purge|clear|set|add(?! up)|create|modify|change|increase|raise|lower|mark)\b"
)
_SETS = re.compile(
    r"\b(?:all|the|any) (?:\w+ ){0,3}\w{2,}s\b|\b(?:every|each) \w+|\btables?\b|\bcolumns?\b|\brows?\b|\busers? \w+\b"
)
_PHRASE = re.compile(  # things with a condition, or what to tell of them, without a verb
    r"^(?:all |the |any )?(?:[\w'-]+ ){0,2}[\w'-]{2,}[^s]s (?:in|from|by|per|over|under|with|without|since"
    r"|between|of|to"
    r"|that|who|whose|which|priced|called|named|bought|living)\b|^every(?:one|body|thing) \w+"
    r"|[:,] (?:with |just |only |\w+ )*(?:ids?|names?|e-?mails?|prices?|amounts?|dates?|addresses|status(?:es)?)\b"
    r"|\b(?:ids|names|prices|amounts)\b"
)
_TASK = re.compile(  # a case to be worked on for somebody, told by who works there
    r"\b(?:handle|resolve|process|take care of|deal with|sort out|settle|answer|reply to|respond to|triage|treat)\b"
    r"[^.;!?]{0,40}\bcomplain\w*|\b(?:cancel|return|refund) (?:it|that|this|them) for (?:him|her|them)\b"
)


class About(NamedTuple):
    """How strongly a piece of text is about each: from 0 (not at all) to about 8."""

    data: float
    complaint: float


def about(piece: str) -> About:
    """What this piece of a request is about."""
    lower = plain(piece)
    mine = first_person(lower)
    data = _data(piece, lower) + 4 * (wants_change(piece) and not mine)
    told = 3 * bool(categories(lower)) + 3 * bool(COMPLAINT.search(lower)) + bool(ORDER_ID.search(lower))
    told += 2 * bool(PERSON.search(lower)) + 2 * bool(ANGRY.search(lower))
    task = 4 * is_task(piece)
    if mine or (task and not holds_sql(piece)):
        lived = 2 * bool(_LIVED.search(lower)) if mine else 0
        return About(max(data - 3, 0), told + lived + task)
    known = ORDER_ID.search(lower) or "@" in lower  # of one customer's case, and not of many
    return About(
        data, told / 4 if data >= 2 and not known else told
    )  # words of complaints are conditions in a question about many


def first_person(lower: str) -> bool:
    """Whether somebody tells of something of their own, and does not just want to know."""
    return bool(_MINE.search(_ASIDE.sub(" ", lower)))


def is_task(text: str) -> bool:
    """Whether a case is to be worked on for a customer."""
    return bool(_TASK.search(plain(text)))


def _data(piece: str, lower: str) -> float:
    look = _LOOK.search(lower) and not PERSON.search(lower)
    phrase = not look and "@" not in lower and _PHRASE.search(lower)
    return (
        3 * bool(_MEASURE.search(lower))
        + 3 * bool(look)
        + 3 * bool(_DATABASE.search(lower))
        + 6 * holds_sql(piece)
        + 3 * bool(phrase)
    )


def wants_change(request: str) -> bool:
    """Whether it is an order to change what is stored."""
    lower = plain(request)
    return bool(_CHANGE.search(lower) and _SETS.search(lower)) and not ORDER_ID.search(lower)
