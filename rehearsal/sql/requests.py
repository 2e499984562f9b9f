"""What kind of request it is: for data, a general one, one that no table answers, or one that would change data."""

import re
from collections.abc import Iterable
from typing import Literal

from rehearsal.sql.thesaurus import synonyms
from rehearsal.sql.words import split, tokens

RequestKind = Literal["data", "general", "unanswerable", "unsafe"]
_CHANGE = re.compile(
    r"^\W*(?:(?:please|can you|could you|would you|i want (?:you )?to|i need (?:you )?to|go ahead and|now|just|kindly|"
    r"i would like (?:you )?to|let us|let's|you (?:should|must|can))[\s,]+)*"
    r"(?P<verb>delete|drop|remove|erase|wipe"
    r"|truncate|purge|clear"
    r"|update|change|modify|edit|set"
    r"|insert|add(?! (?:up"
    r"|together|all))|create|alter|"
    r"rename|cancel|refund|grant|revoke|attach"
    r"|detach|overwrite|reset"
    r"|destroy|write|save|store"
    r"|import|replace|fix up)\b",
    re.IGNORECASE,
)
_STATEMENT = re.compile(
    r"\b(?:drop|truncate|alter)\s+(?:table|database|index|view|schema|user)\b|\bdelete\s+from\b|\binsert\s+into\b"
    r"|\bupdate\s+\w+\s+set\b|\bgrant\s+\w+\s+(?:on|to)\b|\bcreate\s+(?:table|index|view|user)\b"
    r"|\b(?:and|then|also|,)\s+(?:delete|drop|erase|wipe|truncate|purge)\b",
    re.IGNORECASE,
)
_READING = re.compile(r"^(?:filter|condition|limit|order|grouping|column|chart|sort)\b", re.IGNORECASE)
_GENERAL = re.compile(
    r"^\W*(?:hi|hello|hey|good (?:morning|evening"
    r"|afternoon)|thanks?(?:"
    r" you)?|thank you|bye|goodbye"
    r"|ok(?:ay)?|great|nice)\b"
    r"[^?]{0,30}$"
    r"|\bwhat can you do\b|\bwho are you\b|\bhow do(?:es)? (?:you|this|it) work\b|\bhelp me\b\W*$|^\W*help\W*$"
    r"|\bwhat (?:is|are|does) (?:a |an |the"
    r" )?(?:sql|database|join"
    r"|joins|primary key|foreign key"
    r"|group by|inner join|left "
    r"join|index|query|cte|view|select|subquery)\b(?! of)"
    r"|\b(?:which|what) (?:tables?|flows?)\b(?!.*\b(?:with|most)\b)|\b(?:explain|describe) (?:to me )?(?:what |how )?"
    r"(?:sql|joins?|the (?:tables|schema|database)|yourself|a )"
    r"|\bwhat (?:data|questions?|information) (?:do|can|is|are|does)\b|\bhow are you\b|\btell me a joke\b"
    r"|\bwhat (?:kind of )?(?:questions|things) can i\b|\bdifference between\b.*\bjoins?\b|\bwhat do you know\b",
    re.IGNORECASE,
)
_WORLD = re.compile(
    r"\b(?:weather|news|stock price|share price|president|capital of|population|recipe|poem|joke|song|football|soccer|"
    r"president|prime minister|exchange rate|bitcoin|translate|meaning of life|time is it|horoscope|temperature|"
    r"competitors?|forecast|predict|next (?:year|month|quarter)|tomorrow|will (?:we|they|it)|why (?:did|do|are|is))\b",
    re.IGNORECASE,
)


def classify(request: str, table_names: Iterable[str], previous: str = "") -> tuple[RequestKind, str]:
    """The kind and the reason for it. `previous`: the question before, if any, which a short request may go on from."""
    names = list(table_names)
    if _unsafe(request, previous):
        return "unsafe", "The request asks to change or delete data; here data are only read."
    if _GENERAL.search(request):
        return "general", "The request is not a question about the rows of a table."
    named = _names(request, names)
    if (about := _WORLD.search(request)) and not named:
        return "unanswerable", f"No table knows about “{about[0]}”; there are {', '.join(names) or 'no tables'}."
    if named:
        return "data", f"It is about {', '.join(named)}."
    if previous:
        return "data", "It goes on from the question before."
    return "data", "It may be about values in the tables."


def _unsafe(request: str, previous: str) -> bool:
    if _STATEMENT.search(request):
        return True
    found = _CHANGE.match(request)
    if not found:
        return False
    rest = request[found.end() :].strip()
    shaping = found["verb"].lower() in ("add", "remove", "drop", "change", "clear", "set", "replace", "reset")
    reading = shaping and previous and _READING.match(re.sub(r"^(?:the|a|an|by|only|also)\s+", "", rest))
    asks = found["verb"].lower() in ("change", "set", "add", "replace", "remove", "clear", "write", "create")
    sql = re.match(
        r"(?:a |an |the |me )*(?:sql |select )?(?:query|statement|sql|list|report|chart|table of)\b",
        rest,
        re.IGNORECASE,
    )
    return not (reading or sql or (asks and previous and not re.search(r"\b(?:database|table|row|record)s?\b", rest)))


def _names(request: str, names: Iterable[str]) -> list[str]:
    """The tables that the request names, by their names or by words of the same meaning."""
    words = {token.word for token in tokens(request)}
    found = []
    for name in names:
        parts = split(name)
        heads = {parts[-1]} | synonyms(parts[-1])
        if set(parts) <= words or heads & words:
            found.append(name)
    return found
