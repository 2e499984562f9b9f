"""A statement that stands in the request itself, and whether it is to be mended. Pure, and shy: English is no SQL."""

import re
from difflib import get_close_matches
from itertools import chain, islice
from typing import NamedTuple

from parley.flow import FlowRequest

PLACES = 100  # where a statement may stand: whoever writes more of them writes no statement

FENCED = re.compile(r"```(?:\w+\s*\n)?(.+?)```", re.DOTALL)
TICKED = re.compile(r"`([^`]+)`")
BEGINS = re.compile(
    r"\b(?:select|with|insert|update|delete|drop|alter|create|truncate|pragma|attach|explain|grant|copy|vacuum)\b",
    re.IGNORECASE,
)
CHANGES = re.compile(
    r"(?:insert\s+into|delete\s+from)\s+(?!(?:my|the|our|your|this|that)\b)\S+|update\s+\S+\s+set\b|(?:drop|alter|truncate|create)\s+(?:temp\w*\s+)?"
    r"(?:table|view|index|database|schema|trigger|function|role|user)\b|truncate\s+\w+\s*;?$|pragma\s+\w+|"
    r"attach\s+(?:database\s+)?'|explain\s+(?:query\s+plan\s+)?select\b.+\bfrom\b|copy\s+\S+\s+(?:to|from)\b|grant\s+\w+\s+on\b|vacuum\b",
    re.IGNORECASE,
)
SELECT = re.compile(r"select\b.", re.IGNORECASE | re.DOTALL)
WITH = re.compile(r"with\b", re.IGNORECASE)
NAMED = re.compile(r"\bas\s*\(", re.IGNORECASE)
MARKS = re.compile(r"[*=;<>_]|\w\(|\w\.\w")
WORDS = re.compile(r"select\s+(?:the|all the|me|every|some|those|only|which|what)\b", re.IGNORECASE)
QUOTES = {'"': '"', "“": "”"}
FIX = re.compile(
    r"\b(?:fix|repair|correct|mend|debug|broken|wrong with|does ?n[o'’]t work|fails|failing|(?:an|the) error)\b",
    re.IGNORECASE,
)
EXPLAIN = re.compile(r"\b(?:explain|describe|meaning of|what does [^?]{0,40}\b(?:mean|do))\b", re.IGNORECASE)
ABOUT_SQL = re.compile(r"\b(?:sql|query|statement)\b|^\W*(?:please\s+)?\w+\s+(?:this|that|it)\W*$", re.IGNORECASE)
MESSAGE = re.compile(r"(?:^|\n\n)(?:system|user|assistant): ")  # where one begins in a conversation
AFTER_COLON = re.compile(r"\b(?:sql|query|statement|this|that)\b[^:\n]{0,40}:\s*(\S+(?:\s+\S+){2,})\s*$", re.I | re.S)


class Given(NamedTuple):
    """`sql` "": there is none."""

    sql: str = ""
    fix: bool = False


def given(request: str) -> Given:
    """What the request holds to be run or mended; a statement that is to be explained is neither."""
    for block in islice(chain(FENCED.findall(request), TICKED.findall(request)), PLACES):
        words = request.replace(block, " ")
        if _statement(block) or FIX.search(words):
            return _wanted(block, words)
    for start in islice(BEGINS.finditer(request), PLACES):
        words, text = request[: start.start()], request[start.start() :]
        if (closing := QUOTES.get(words[-1:])) and closing in text:
            text = text[: text.rindex(closing)]
        if _statement(text):
            return _wanted(text, words)
    if FIX.search(request) and (found := AFTER_COLON.search(request)):
        return Given(found[1].strip(), fix=True)
    return Given()


def _wanted(statement: str, words: str) -> Given:
    if FIX.search(words):
        return Given(statement.strip(), fix=True)
    return Given() if EXPLAIN.search(words) else Given(statement.strip())


def meant(asked: FlowRequest) -> Given:
    """What the request holds; where it asks to mend a statement that it does not hold, the newest one that was said."""
    said = given(asked.request)
    if said.sql or not (FIX.search(asked.request) and ABOUT_SQL.search(asked.request)):
        return said
    others = (*reversed(asked.feedback), *reversed(MESSAGE.split(asked.conversation)))
    return next((Given(sql, fix=True) for words in others if (sql := _broken(words))), said)


def _broken(words: str) -> str:
    """The statement in these words; all of them where they begin almost as one does."""
    first = words.split(maxsplit=1)[0].lower() if words.strip() else ""
    return given(words).sql or (words.strip() if get_close_matches(first, ["select"], cutoff=0.75) else "")


def _statement(text: str) -> bool:
    text = text.strip()
    if CHANGES.match(text):
        return True
    if not _queries(text) or WORDS.match(text):
        return False
    return bool(MARKS.search(text)) or "SELECT" in text


def _queries(text: str) -> bool:
    """It begins as a query does. In steps: one pattern for all of it takes hours over a long text of “with … as (”."""
    if SELECT.match(text):
        return True
    named = NAMED.search(text) if WITH.match(text) else None
    return bool(named and SELECT.search(text, named.end()))
