"""Words of requests and descriptions as the planning of paths compares them: without endings, without small words."""

import re

LONGEST = 4_000  # characters of what a person wrote that are looked at
_SMALL = frozenset(
    re.findall(
        r"\w+",
        "a about all also an and any are as at be been but by can could did do does for from give had has have how i if"
        " in into is it its just let like may me my need no not of on one only or our out please say so some than that"
        " the their them then there these they this those to up us want was we were what when where which who why will"
        " with would you your before after each every more most such very wish try going actually yet even really",
    )
)
_WORD = re.compile(r"[a-z][a-z0-9]*")
_NAMED = re.compile(r"#\w+|\S+@\S+|'[^']*'|\"[^\"]*\"|\d+(?:[.,]\d+)*")
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))


def stem(word: str) -> str:
    """The word without the ending of its plural or tense; a rough cut that is the same on both sides."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)] + instead
            break
    return word.rstrip("e") if len(word) > 3 else word


def content(text: str) -> frozenset[str]:
    """The words that say something, without their endings; the parts of a_name_like_this are words of their own."""
    found = _WORD.findall(text.lower().replace("_", " "))
    return frozenset(stem(word) for word in found if word not in _SMALL and len(word) > 1)


def likeness(one: str, other: str) -> float:
    """How much two requests have in common, from 0 to 1; their numbers, ids and quoted values do not count."""
    mine, theirs = (content(_NAMED.sub(" ", text)) for text in (one, other))
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0


def plain(request: str) -> str:
    """The request without the SQL in it, in small letters, with straight quotes."""
    text = re.sub(r"```.*?(```|\Z)", " ", request, flags=re.DOTALL).replace("’", "'").replace("“", '"')
    text = re.sub(r"(?im)\b(?:select\s[^;]{0,4000}?\bfrom\b|with\s+\w+\s+as\s*\()[^;]*(;|\Z)", " ", text)
    return " ".join(text.lower().split())


def holds_sql(request: str) -> bool:
    return bool(re.search(r"(?is)\bselect\b\s.{0,4000}?\bfrom\b\s+[\w\"`\[]|```\s*sql|\bwith\s+\w+\s+as\s*\(", request))
