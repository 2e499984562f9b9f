"""SQL statements that people give: explained in words, or with their typing errors corrected. Nothing is run."""

import re
from collections.abc import Collection
from difflib import get_close_matches

from rehearsal.matching import words_of

STATEMENT = re.compile(r"(?is)\bselect\b.{1,4000}?\bfrom\b.+")
_SENTENCES = {
    "from": "It reads {}.",
    "select": "It shows {}.",
    "where": "It keeps only rows where {}.",
    "group by": "It makes one row for each {}.",
    "order by": "It sorts by {}.",
    "limit": "It gives at most {} rows.",
}
_KEYWORDS = words_of("select from where group by order having limit join left on and or not in null as")
_FUNCTIONS = words_of("count sum avg min max between like is distinct desc asc")
NOT_RUN = "I have not run it."


def explain(request: str) -> str:
    """The request's statement in words; "" if it has none."""
    match = STATEMENT.search(request)
    if match is None:
        return ""
    parts = re.split(rf"(?i)\b({'|'.join(_SENTENCES)})\b", match[0].strip("`; \n"))
    clauses = {name.lower(): " ".join(text.split()) for name, text in zip(parts[1::2], parts[2::2], strict=True)}
    return " ".join([*(text.format(clauses[name]) for name, text in _SENTENCES.items() if name in clauses), NOT_RUN])


def correct(sql: str, tables: Collection[str], columns: Collection[str]) -> str:
    """The statement with each unknown word replaced by the keyword or name that is spelled most like it."""
    known = [*_KEYWORDS, *_FUNCTIONS, *tables, *columns]

    def nearest(match: re.Match[str]) -> str:
        word = match["word"]
        if not word or word.lower() in known or word in known:
            return match[0]
        close = get_close_matches(word.lower(), known, 1, cutoff=0.7)
        return match[0] if not close else close[0].upper() if close[0] in _KEYWORDS else close[0]

    return re.sub(r"'[^']*'|\b(?P<word>[A-Za-z_]\w*)\b", nearest, sql.strip().rstrip(";"))
