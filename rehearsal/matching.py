"""Finds known words in a text: phrases anywhere in it, or a pattern with places for values."""

import re
from collections.abc import Iterable, Mapping

Values = Mapping[str, str]  # what a place may hold, in lower case, with its value


def words_of(text: str) -> list[str]:
    """The words in lower case, without punctuation."""
    return re.findall(r"[^\W_]+", text.lower().replace("’", "'").replace("'", ""))


def has_phrase(text: str, phrases: Iterable[str]) -> bool:
    """Whether one of the phrases is in the text. `roman num*` is followed by any ending."""
    words = f" {' '.join(words_of(text))} "
    return any((f" {phrase[:-1]}" if phrase.endswith("*") else f" {phrase} ") in words for phrase in phrases)


def fill_pattern(pattern: str, text: str, places: Mapping[str, Values]) -> dict[str, str] | None:
    """The values of the places if all words of the text match: `{number} orders` and `5 orders`; else None.

    A place without known values holds one word.
    """
    values: dict[str, str] = {}
    words, at = words_of(text), 0
    for part in pattern.split():
        name = part.strip("{}")
        if name == part:
            size = int(words[at : at + 1] == [part])
        elif name not in places:
            size, values[name] = min(1, len(words) - at), "".join(words[at : at + 1])
        else:
            known = {key: key.split() for key in places[name]}
            fitting = [key for key, parts in known.items() if words[at : at + len(parts)] == parts]
            key = max(fitting, key=len, default="")
            size, values[name] = len(known.get(key, ())), places[name].get(key, "")
        if not size:
            return None
        at += size
    return values if at == len(words) else None
