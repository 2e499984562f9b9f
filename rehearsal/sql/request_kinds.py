"""Classifies requests: for data, general, unanswerable by the tables, or unsafe because they would change data."""

import re
from collections.abc import Iterable
from typing import Literal

from rehearsal.sql.synonyms import others
from rehearsal.sql.tokenizer import split, tokens

RequestKind = Literal["data", "general", "unanswerable", "unsafe"]
_CHANGE = re.compile(
    r"^\W*(?:(?:please|can you|could you|would you|i want (?:you )?to|i need (?:you )?to|i would like (?:you )?to"
    r"|go ahead and|now|just|let us|let's|you (?:should|must|can))[\s,]+)*"
    r"(?P<verb>delete|drop|remove|erase|wipe|truncate|purge|clear|empty|update|change|modify|edit|set|insert"
    r"|add(?! (?:up|together|all))|create|alter|rename|cancel|refund|grant|revoke|overwrite|reset|destroy|write|save"
    r"|store|import|replace|mark|waive|get rid|take \d+)\b",
    re.IGNORECASE,
)
_STATEMENT = re.compile(
    r"\b(?:drop|truncate|alter)\s+(?:table|database|index|view|schema|user)\b|\bdelete\s+from\b|\binsert\s+into\b"
    r"|\bupdate\s+\w+\s+set\b|\bgrant\s+\w+\s+(?:on|to)\b|\bcreate\s+(?:table|index|view|user)\b"
    r"|\b(?:and|then|also|,)\s+(?:delete|drop|erase|wipe|truncate|purge)\b",
    re.IGNORECASE,
)
_SHAPING = {"add", "remove", "drop", "change", "clear", "set", "replace", "reset", "write", "create"}
_QUERY = re.compile(r"(?:(?:me|a|an|the|sql|select) )*(?:query|statement|sql|list|report|chart)\b", re.IGNORECASE)
_GENERAL = re.compile(
    r"^\W*(?:hi|hello|hey|good (?:morning|evening)|thanks?(?: you)?|bye|goodbye|ok(?:ay)?|great|nice)\b[^?]{0,30}$"
    r"|\bwhat can you do\b|\bwho are you\b|\bhow do(?:es)? (?:you|this|it) work\b|^\W*help\b.{0,4}$|\bhow are you\b"
    r"|\bwhat (?:is|are|does) (?:an? |the )?(?:sql|database|joins?|(?:primary|foreign) key|group by|(?:inner|left) join"
    r"|index|query|cte|view|select|subquery)\b(?! of)|\b(?:which|what) (?:tables?|flows?)\b(?!.*\b(?:with|most)\b)"
    r"|\bwhat (?:kind of )?(?:questions|things|data) (?:can|do) i\b|\btell me a joke\b",
    re.IGNORECASE,
)
_WORLD = re.compile(
    r"\b(?:weather|news|(?:stock|share) price|president|capital of|population|recipe|poem|joke|football|exchange rate"
    r"|bitcoin|translate|time is it|horoscope|competitors?|forecast|predict|next (?:year|month)|tomorrow"
    r"|will (?:we|they|it)|why (?:did|do|are|is))\b",
    re.IGNORECASE,
)


def classify(request: str, table_names: Iterable[str], previous: str = "") -> tuple[RequestKind, str]:
    """The kind and the reason for it. `previous`: the previous question, which a short request may follow up."""
    names = list(table_names)
    if _unsafe(request, previous):
        return "unsafe", "The request asks to change or delete data; here data are only read."
    if _GENERAL.search(request):
        return "general", "The request is not a question about the rows of a table."
    named = mentioned(request, names)
    if (about := _WORLD.search(request)) and not named:
        return "unanswerable", f"No table knows about “{about[0]}”; there are {', '.join(names) or 'no tables'}."
    return "data", f"It is about {', '.join(named)}." if named else "It may be about values in the tables."


def _unsafe(request: str, previous: str) -> bool:
    if _STATEMENT.search(request):
        return True
    match = _CHANGE.match(request)
    if not match:
        return False
    rest = request[match.end() :].strip()
    data = re.search(r"\b(?:database|table|row|record)s?\b", rest, re.IGNORECASE)
    shaping = bool(previous) and match["verb"].lower() in _SHAPING and not data  # of the query before
    return not (shaping or _QUERY.match(rest))


def mentioned(text: str, names: Iterable[str]) -> list[str]:
    """The tables that the text names, by their names or by words of the same meaning."""
    words = {token.word for token in tokens(text)}
    heads = {name: (split(name)[-1:], *others(split(name)[-1:])) for name in names}
    return [name for name in names if set(split(name)) <= words or any(set(head) <= words for head in heads[name])]
