"""What customers say about the things that they keep: it must not be read as what they want to be rid of."""

import re
from dataclasses import replace

from rehearsal.retail.wishes import Wish

_PARTS = re.compile(r"[^,.;()\n]+")
_FINE = re.compile(
    r"\b(?:keep|keeping|stays?|loves?|remains?|splendid|can come|may come|quite right|as it is|as they are)\b"
    r"|\b(?:is|are) (?:\w+ )?(?:good|fine|ok|okay|great|perfect|lovely|right|correct)\b"
    r"|\b(?:i|we|you) (?:do )?like\b(?! to\b)",
    re.IGNORECASE,
)
_RID = re.compile(
    r"\b(?:return\w*|back|cancel\w*|refund\w*|exchang\w+|swap\w*|replac\w+|off|stop|rid|neither|cannot|not|except|but)\b",
    re.IGNORECASE,
)
_SPARED = re.compile(r"\s*(?:and )?(?:pls |please )?not (?:the|my)\b", re.IGNORECASE)
_BUT = re.compile(r"\bbut\b", re.IGNORECASE)


def without_kept(wish: Wish) -> Wish:
    """The wish without its words about what is kept."""
    return replace(
        wish,
        text=strip_kept(wish.text),
        detail=strip_kept(wish.detail),
        before=strip_kept(wish.before),
        last=strip_kept(wish.last),
    )


def kept_words(text: str) -> str:
    """What is said about things that are kept."""
    parts = (part for match in _PARTS.finditer(text) for part in _BUT.split(match[0]))
    return "; ".join(part for part in parts if _FINE.search(part) and not _RID.search(part))


def strip_kept(text: str) -> str:
    """`return the mug, we love the tent`, `give it back, but the jeans are good`."""

    def kept(match: re.Match[str]) -> str:
        parts = [
            part
            for part in _BUT.split(match[0])
            if not _SPARED.match(part) and not (_FINE.search(part) and not _RID.search(part))
        ]
        return " but ".join(parts)

    return _PARTS.sub(kept, text)
