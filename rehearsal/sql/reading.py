"""Whether a statement looks for every value that the question names, whatever rule of the grammar has read it."""

import re

from rehearsal.sql.ask import Option
from rehearsal.sql.lexicon import Lexicon
from rehearsal.sql.text import Text
from rehearsal.sql.words import singular, tidy

_TRACES = (
    (r"\b(?:different|distinct|unique)\b", r"DISTINCT|EXISTS|^(?!.*\bJOIN\b)"),
    (
        r"\b(?:with|have|has|had|having|contain\w*) (?:all|only|every|each)\b(?! (?:of )?(?:the|these|those|\d))",
        r"(?!)",
    ),
    (r"\b(?:on|for|in|within|at) (?:a single|one|any one|any single)\b", r"(?!)"),  # each by itself: no rule does that
)
_COMPILED = [(re.compile(asked, re.IGNORECASE), re.compile(done, re.DOTALL)) for asked, done in _TRACES]


def doubt(question: str, sql: str, lexicon: Lexicon) -> str:
    """What the question says and the statement does not do; "" where nothing is missing."""
    said = tidy(question)
    for asked, done in _COMPILED:
        found = asked.search(said)
        if found and not done.search(sql):
            return f"I do not know what to do about “{found[0]}” here."
    text, at = Text(said, lexicon), 0
    while at < len(text):
        entry, words, end = next(text.meanings(at), (None, (), at + 1))
        written = all(one.kind != "word" or one.word == singular(one.text.lower()) for one in text.tokens[at:end])
        value = entry is not None and not entry.things and not entry.spots and words in lexicon.entries
        if entry is not None and value and written and not any(_sought(option, sql) for option in entry.options):
            return f"I do not know what to do about “{' '.join(one.text for one in text.tokens[at:end])}” here."
        at = max(end, at + 1)
    return ""


def _sought(option: Option, sql: str) -> bool:
    """Whether the value stands in the statement, or the column that is so or not."""
    spot, values = option
    wanted = [
        spot.columns[0] if isinstance(value, bool) else "'" + str(value).replace("'", "''") + "'" for value in values
    ]
    return any(one.lower() in sql.lower() for one in wanted)
