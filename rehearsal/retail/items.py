"""Things in words: which products a text names, and which items of which orders are meant."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from rehearsal.retail.options import axes_of, named_options
from rehearsal.retail.words import singular, tokens, words

GENERIC = frozenset(("set", "kit", "machine", "maker", "cleaner", "bag"))  # heads that say little
SYNONYMS = {
    "bike": "bicycle",
    "carpet": "rug",
    "cellphone": "smartphone",
    "earphone": "earbud",
    "ereader": "reader",
    "headset": "headphone",
    "hoover": "vacuum",
    "phone": "smartphone",
    "powerbank": "bank",
    "rucksack": "backpack",
    "suitcase": "luggage",
    "tee": "shirt",
    "trainer": "sneaker",
    "weight": "dumbbell",
}


class Held(NamedTuple):
    """One item of one order."""

    order_id: str
    item: Mapping[str, Any]


class Mention(NamedTuple):
    """A product named in a text, from one character to another."""

    name: str
    start: int
    end: int


def mentions(text: str, names: Iterable[str]) -> list[Mention]:
    """Products in the order of the text. Of several that fit at one place the one with most words."""
    seen = tokens(text)
    heads = {name: _parts(name) for name in dict.fromkeys(names)}
    found: list[Mention] = []
    at = 0
    while at < len(seen):
        sizes = {name: _match(seen[at:], parts) for name, parts in heads.items()}
        best = max(sizes.values(), default=0)
        for name in (name for name, size in sizes.items() if size == best > 0):
            found.append(Mention(name, seen[at].start, seen[at + best - 1].end))
        at += max(best, 1)
    return found


_JOINT = re.compile(r",? and |, (?=the |a |an |my |your |one )|; | plus |, as well as ")


def segments(text: str, spots: Sequence[Mention]) -> list[str]:
    """The text in as many parts as there are mentions: each with the words about that one, cut at `and` or a comma."""
    cuts = [0]
    for earlier, later in pairwise(spots):
        joints = [match.start() for match in _JOINT.finditer(text, earlier.end, later.start)]
        cuts.append(joints[-1] if joints else later.start)
    return [text[start:end] for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def _parts(name: str) -> tuple[str, ...]:
    return tuple(singular(word) for word in words(name))


def _match(seen: Sequence[Any], parts: tuple[str, ...]) -> int:
    """How many words from here on name the product; 0: none."""
    here = [_same(singular(token.word), parts) for token in seen[: len(parts)]]
    if tuple(here) == parts:
        return len(parts)
    first = here[0]
    if first == "".join(parts):
        return 1
    if len(parts) > 2 and tuple(here[: len(parts) - 1]) == parts[1:]:
        return len(parts) - 1
    tail = parts[-1]
    if tail in GENERIC:
        return int(first in parts[:-1] or first == tail == "bag")
    return int(first == tail or (len(first) > 4 and len(tail) > len(first) and tail.endswith(first)))


def _same(word: str, parts: tuple[str, ...]) -> str:
    other = SYNONYMS.get(word, word)
    return other if word not in parts and other in parts else word


def narrow(text: str, held: Sequence[Held], whole: str = "") -> list[Held]:
    """The items whose options fit the text best, of several of one product."""
    axes = axes_of(one.item["options"] for one in held)
    for said in (text, whole):
        named = named_options(said, axes)
        scores = [named.score(one.item["options"]) for one in held]
        best = max(scores, default=0)
        fitting = [one for one, score in zip(held, scores, strict=True) if score == best]
        if best and len(_distinct(fitting)) < len(_distinct(list(held))):
            return fitting
    return list(held)


def _distinct(held: Sequence[Held]) -> set[tuple[str, str]]:
    return {(one.order_id, one.item["item_id"]) for one in held}


def distinct(held: Sequence[Held]) -> list[Held]:
    """Each item of each order once."""
    return list({(one.order_id, one.item["item_id"]): one for one in held}.values())


def called(item: Mapping[str, Any]) -> str:
    """An item in the words of the answer: `desk lamp (black, high)`."""
    return f"{item['name'].lower() if not item['name'].isupper() else item['name']} ({described(item['options'])})"


def described(options: Mapping[str, str]) -> str:
    return ", ".join(
        f"{axis} {value}" if len(value) < 4 or value.isdigit() or value in ("yes", "no", "none") else value
        for axis, value in options.items()
    )
