"""Finds SQL in the user's own words, and whether it should be fixed. Pure and conservative: English is not SQL."""

import re
from difflib import get_close_matches
from itertools import chain, islice
from typing import NamedTuple

from parley.flow import FlowRequest

MAX_CANDIDATES = 100  # places that may begin a statement; further ones are ignored

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
MESSAGE = re.compile(r"(?:^|\n\n)(?:system|user|assistant): ")  # where a message begins
AFTER_COLON = re.compile(r"\b(?:sql|query|statement|this|that)\b[^:\n]{0,40}:\s*(\S+(?:\s+\S+){2,})\s*$", re.I | re.S)


class UserSql(NamedTuple):
    """The user's SQL, "" if there is none. `fix`: it should be fixed, not run as it is."""

    sql: str = ""
    fix: bool = False


def find_sql(request: str) -> UserSql:
    """The SQL in the request, to run or to fix. Ignores SQL that the user wants explained."""
    for block in islice(chain(FENCED.findall(request), TICKED.findall(request)), MAX_CANDIDATES):
        words = request.replace(block, " ")
        if _is_statement(block) or FIX.search(words):
            return _classify(block, words)
    for start in islice(BEGINS.finditer(request), MAX_CANDIDATES):
        words, text = request[: start.start()], request[start.start() :]
        if (closing := QUOTES.get(words[-1:])) and closing in text:
            text = text[: text.rindex(closing)]
        if _is_statement(text):
            return _classify(text, words)
    if FIX.search(request) and (match := AFTER_COLON.search(request)):
        return UserSql(match[1].strip(), fix=True)
    return UserSql()


def _classify(statement: str, words: str) -> UserSql:
    if FIX.search(words):
        return UserSql(statement.strip(), fix=True)
    return UserSql() if EXPLAIN.search(words) else UserSql(statement.strip())


def find_sql_in_conversation(request: FlowRequest) -> UserSql:
    """The SQL in the request; if it asks to fix SQL that it does not contain, the latest SQL of the conversation."""
    user_sql = find_sql(request.request)
    if user_sql.sql or not (FIX.search(request.request) and ABOUT_SQL.search(request.request)):
        return user_sql
    others = (*reversed(request.feedback), *reversed(MESSAGE.split(request.conversation)))
    return next((UserSql(sql, fix=True) for words in others if (sql := _broken_sql(words))), user_sql)


def _broken_sql(words: str) -> str:
    """The statement in these words; all words if the first is a misspelt SELECT."""
    first = words.split(maxsplit=1)[0].lower() if words.strip() else ""
    return find_sql(words).sql or (words.strip() if get_close_matches(first, ["select"], cutoff=0.75) else "")


def _is_statement(text: str) -> bool:
    text = text.strip()
    if CHANGES.match(text):
        return True
    if not _is_query(text) or WORDS.match(text):
        return False
    return bool(MARKS.search(text)) or "SELECT" in text


def _is_query(text: str) -> bool:
    """Whether it begins as a query does. Several steps: one pattern would backtrack for hours on long texts."""
    if SELECT.match(text):
        return True
    named = NAMED.search(text) if WITH.match(text) else None
    return bool(named and SELECT.search(text, named.end()))
