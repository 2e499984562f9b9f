"""Whether a request leans on a question before it: then it means nothing where there is none."""

import re

from rehearsal.sql.text import Text

_GOING_ON = re.compile(
    r"^\W*(?:and|but|or|also|too|instead|(?:the )?same|what about|how about|then|what if)\b"
    r"|\b(?:is|are|was|were|about|than|of|for|like) (?:that|those|these|this|them)\W*$"
    r"|\b(?:instead|as well|too)\W*$",
    re.IGNORECASE,
)
_BACK = frozenset(("it", "they", "them", "those", "these", "their", "its"))
_WHOSE = frozenset(("who", "that", "which", "whose", "with", "without", "in", "from", "living", "of"))


def leans(question: str, text: Text) -> bool:
    """A beginning that goes on, a pronoun before anything is named, or a value alone."""
    if _GOING_ON.search(question):
        return True
    named = next((at for at in range(len(text)) if next(text.meanings(at), None) is not None), len(text))
    for at in range(min(named, len(text))):
        own = text.word(at) in ("those", "these") and (text.word(at + 1) in _WHOSE or at + 1 == named)
        if text.word(at) in _BACK and not own:
            return True
    return _bare_value(text)


def _bare_value(text: Text) -> bool:
    """`mastercard?`: one value in the singular, of which nothing is asked."""
    found = next(text.meanings(0), None) if len(text) else None
    if found is None:
        return False
    entry, _, end = found
    plural = text.tokens[-1].text.lower() != text.tokens[-1].word
    return end == len(text) and bool(entry.options) and not (entry.things or entry.spots or plural)
