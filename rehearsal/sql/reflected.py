"""The last look at a statement: what the words of the question ask for must be seen in it.

It knows nothing of the grammar, only words on one side and SQL on the other, so that a reading that lost a word on
its way is found here, whatever rule lost it.
"""

import re

from rehearsal.sql.canonical import canonical
from rehearsal.sql.lexicon import Lexicon
from rehearsal.sql.words import NUMBERS, split, tidy, tokens

_SUPERLATIVE = (
    r"most|fewest|least|highest|lowest|largest|smallest|biggest|cheapest|priciest|dearest|costliest|newest|latest"
    r"|oldest|earliest|longest|shortest|best|worst|rarest|commonest|maximum|minimum|top|greatest"
)
_RULES = (  # what is asked for, the words that ask for it, what then is in the statement
    ("a share", r"per ?cent(?:age)?s?\b|%|\b(?:share|proportion|fraction|portion|ratio)\b", r"100\.0 \*"),
    ("an average", r"(?<!i )\b(?:average|avg|mean)\b|\btypical(?:ly)?\b", r"\bAVG\(|/ NULLIF"),
    (
        "a total",
        r"\b(?:totals?|totall?ed|totall?ing|summed|sum|altogether|combined|together(?! with)|add(?:s|ed|ing)? up)\b",
        r"\b(?:SUM|COUNT|AVG)\(",
    ),
    ("an amount", r"^(?:so |and |well,? )*how much\b", r"\b(?:SUM|AVG|MIN|MAX)\(|\bLIMIT 1\b|_id = '"),
    ("a number of rows", r"\bhow many (?!§)|\bnumber of (?!§)|\bhow often\b|\bheadcount\b", r"\b(?:COUNT|SUM)\("),
    (
        "the greatest or the least",
        rf"(?<!at )(?<!at the )(?<!a )\b(?:{_SUPERLATIVE})\b(?! of \$?\d)",
        r"\bORDER BY\b|\b(?:MAX|MIN)\(",
    ),
    (
        "what is not so",
        r"\b(?:not|never|without|none|neither|nor|nobody|no one|except|excluding|excluded|other than|lacking)\b"
        r"(?! (?:more|less|fewer|later|earlier|over|under|older|younger|counting) than)(?! (?:duplicate|repeat"
        r"|repetition))"
        r"|\bno (?!more|less|fewer|duplicate|repeat|repetition)",
        r"\bNOT\b|<>|(?<![<>])= 0\b|IS NULL",
    ),
    (
        "one or the other",
        r"\bor\b(?! (?:more|less|fewer|higher|lower|above|below|over|under|greater|up|later|earlier|any)\b)",
        r"\bOR\b|\bIN \(|\bBETWEEN\b|\bNOT\b|\bGROUP BY\b",
    ),
    ("both", r"\bboth\b", r"\bAND\b|\bIN \(|SELECT [^(]*,"),
    (
        "no row twice",
        r"\b(?:distinct|unique|duplicates?|repeats?|repetition)\b",
        r"\bDISTINCT\b|\bGROUP BY\b|\bCOUNT\(",
    ),
)
_EACH = re.compile(r"\b(?:per|(?:of|in|for|by|on|to|from|with|at|does|has|did|have|do) (?:each|every))\b(?! ?cent)")
_GROUPED = re.compile(r"\b(?:GROUP|ORDER) BY\b|/ NULLIF|\(SELECT")
_AGGREGATE = re.compile(r"\b(?:COUNT|SUM|AVG|MIN|MAX)\(")
_GROUPING = re.compile(r"\b(?:per|by|each|every|which|all|across)\b")
_VERB = (
    r"(?:\w+ed|bought|buy|buys|order|orders|pay|pays|paid|use|uses|own|owns|have|has|had|contains?|holds?"
    r"|go|went)"
)
_ONLY = re.compile(
    rf"(?:\b(?:who|that|which|they|did|ever|containing|{_VERB}) (?:only|just|solely|exclusively)\b"
    rf"|\b(?:\w+s|people|who|that|which) (?:only|just|solely|exclusively) {_VERB}\b)"
    r"(?! \$?\d| (?:one|two|three|four|five|six|once|twice|a single)\b|[\s,]*$|,)"
)
_ANYWAY = re.compile(r"^ +WHERE .*?([\w.]+) = '[^']*' AND \(?(?:\1 IS NULL OR )?NOT \(\1 = ", re.MULTILINE)
_YEARS = (1500, 2100)
_MONTHS = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}


def unreflected(question: str, sql: str, lexicon: Lexicon) -> str:  # noqa: PLR0911  one line a word
    """What the question asks for and the statement does not do; "" if nothing is missing."""
    told = _marked(question, lexicon)
    for wanted, asked, done in _RULES:
        if re.search(asked, told) and not re.search(done, sql):
            return f"the words ask for {wanted}, and no statement that I find does that"
    if _EACH.search(canonical(question).lower()) and _AGGREGATE.search(sql) and not _GROUPED.search(sql):
        return "the words ask for each one, and I find but one number for all"
    if "100.0 *" in sql and "GROUP BY" in sql and not _GROUPING.search(told):
        return "the words ask for one share, and I find several"
    if found := re.match(r"SELECT .*\b(?:SUM|AVG)\((\w+)\.(\w+)\)", sql):
        sold = {table.name for table in lexicon.tables.by_name.values() if found[2] in table.names} - {found[1]}
        if sold & set(re.findall(r"\b(?:FROM|JOIN) (\w+)", sql.partition("EXISTS")[2])):
            return f"it is not clear whose {found[2]} counts: what {found[1]} cost, or each time again"
    if _ANYWAY.search(sql):
        return "what is left out there is none of those rows anyway; other rows may be meant"
    if _ONLY.search(told):
        return "“only” may leave out rows that have others too, or only say less"
    lost = _numbers(question) - _written(sql)
    return f"the number {min(lost):g} has no part in any statement that I find" if lost else ""


def _marked(question: str, lexicon: Lexicon) -> str:
    """The question in lower case, without quoted texts, and with § where several words or an odd one name a column."""
    text = re.sub(r"\"[^\"]*\"", " ", tidy(question)).lower()
    for table in lexicon.tables.by_name.values():
        for column in table.columns:
            words = split(column.name)
            if len(words) > 1 or (column.number and not column.identity) or words[0] in ("total", "share", "average"):
                text = re.sub(rf"\b{' '.join(words)}s?\b", "§", text)
    return text


def _numbers(question: str) -> set[float]:
    """The numbers of the question; those that are spelt together with others are left to the grammar."""
    found: set[float] = set()
    read = tokens(question)
    for at, token in enumerate(read):
        digits = re.fullmatch(r"\$?(\d+(?:,\d{3})*(?:\.\d+)?)", token.text) if token.kind == "number" else None
        beside = {one.word for one in read[max(0, at - 1) : at + 2]} - {token.word}
        if digits and not beside & {"hundred", "thousand", "dozen"}:
            amount = float(digits[1].replace(",", ""))
            dated = _YEARS[0] <= amount <= _YEARS[1] or {word[:3] for word in beside} & _MONTHS
            found |= set() if dated else {amount}  # after 2018 is from 2019 on, until the 31st is before the 1st
        elif token.kind == "word" and NUMBERS.get(token.word, 0) > 1 and not beside & NUMBERS.keys():
            found.add(float(NUMBERS[token.word]))
    return found


def _written(sql: str) -> set[float]:
    """The numbers of the statement, those in its texts among them."""
    return {float(one) for one in re.findall(r"\d+(?:\.\d+)?", sql)}
