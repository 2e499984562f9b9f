"""Which items of an order, and which variant of a product, a text names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from rehearsal.retail.request_state import Document
from rehearsal.retail.text_normalization import UNITS, WordToken, tokens, words

_NO_HEADS = ("set", "bag")  # last words that people leave out: a duffel bag is called a duffel
_DENIALS = ("no", "not", "without")
_LETTERS = {"small": "s", "medium": "m", "large": "l"}
_JOINT = re.compile(r",? and |, |; ")
NamedOptions = dict[str, set[str]]  # values by option


class OrderItem(NamedTuple):
    """One item of one order."""

    order: Document
    item: Document

    @property
    def name(self) -> str:
        return str(self.item["name"])


class Mention(NamedTuple):
    """Where a text names a product, with several `names` if it is ambiguous, as `lamp` is."""

    names: tuple[str, ...]
    start: int
    end: int


def mentions(text: str, names: Iterable[str]) -> list[Mention]:
    """Products in the order of the text, found by all words of the name, else by its head noun."""
    words_of_text, parts = tokens(text), {name: words(name) for name in dict.fromkeys(names)}
    mentions_found: list[Mention] = []
    at = 0
    while at < len(words_of_text):
        sizes = {name: _size([token.word for token in words_of_text[at:]], part) for name, part in parts.items()}
        best = max(sizes.values(), default=0)
        if best:
            fitting = tuple(name for name, size in sizes.items() if size == best)
            mentions_found.append(Mention(fitting, words_of_text[at].start, words_of_text[at + best - 1].end))
        at += best or 1
    return mentions_found


def _size(following: Sequence[str], name: Sequence[str]) -> int:
    """How many words from here on name the product; 0: none."""
    if tuple(following[: len(name)]) == tuple(name):
        return len(name)
    return int(following[0] == (name[-2] if name[-1] in _NO_HEADS else name[-1]))


def segments(text: str, spots: Sequence[Mention]) -> list[str]:
    """One part of the text for each mention, split at the `and` or comma before the next."""
    cuts = [0]
    for earlier, later in pairwise(spots):
        joints = [match.start() for match in _JOINT.finditer(text, earlier.end, later.start)]
        cuts.append(joints[-1] if joints else later.start)
    return [text[start:end] for start, end in pairwise([*cuts, len(text)])]


def axes_of(variants: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    """All values of each option."""
    pairs = dict.fromkeys(pair for options in variants for pair in options.items())
    return {axis: [value for other, value in pairs if other == axis] for axis, _ in pairs}


def named_options(text: str, axes: Mapping[str, Sequence[str]]) -> NamedOptions:
    """The values that a text names for each option. Longer values match first, and a word counts for one value only."""
    text_tokens = tokens(text)
    ways = [(spelling, axis, value) for axis, values in axes.items() for value in values for spelling in _spell(value)]
    taken: dict[int, tuple[str, ...]] = {}
    named: NamedOptions = {}
    for spelling, axis, value in sorted(ways, key=lambda way: -len(way[0])):
        for at in range(len(text_tokens) - len(spelling) + 1):
            here = tuple(token.word for token in text_tokens[at : at + len(spelling)])
            used = [taken.get(place) for place in range(at, at + len(spelling))]
            if (
                all(map(_same, here, spelling))
                and not any(spelling_taken not in (None, spelling) for spelling_taken in used)
                and _is_certain(text_tokens, at, here, axis)
            ):
                taken |= dict.fromkeys(range(at, at + len(spelling)), spelling)
                named.setdefault(axis, set()).add(value)
    for axis, values in axes.items():
        if axis not in named and (value := _boolean_value(text_tokens, axis, values)):
            named[axis] = {value}
    return named


def _same(word: str, part: str) -> bool:
    """Whether a word matches a value's word, also with an ending: `automatically`."""
    return word == part or (len(part) > 4 and word.startswith(part))


def _spell(value: str) -> Iterable[tuple[str, ...]]:
    """Ways to write a value: `1.5 L` also without its unit, `M` also as medium."""
    full = words(value)
    yield full
    if len(full) > 1 and full[-1] in UNITS:
        yield full[:-1]
    yield from (("x" * value.count("X") + long,) for long, short in _LETTERS.items() if short == full[0])


def _is_certain(text_tokens: Sequence[WordToken], at: int, spelling: Sequence[str], axis: str) -> bool:
    """Whether the words mean this value: they are not negated, and a bare number or letter is next to the option's
    name."""
    before, after = (
        [token.word for token in some]
        for some in (text_tokens[max(at - 1, 0) : at], text_tokens[at + len(spelling) :][:1])
    )
    word = spelling[0]
    if set(before) & set(_DENIALS) or word in ("no", "none", "yes", "included"):
        return False
    if len(spelling) > 1 or not (word[0].isdigit() or len(word) < 3) or "." in word:
        return True
    return bool({*before, *after} & set(words(axis))) or (
        word.isalpha() and bool(set(before) & {"in", "a", "an", "to"})
    )


def _boolean_value(text_tokens: Sequence[WordToken], axis: str, values: Sequence[str]) -> str:
    """The value of a yes/no option whose own name is mentioned or negated: `with a hood`, `waterproof`, `no timer`."""
    off = next((value for value in values if value in ("no", "none")), "")
    on = [value for value in values if value != off]
    name = words(axis)
    for at, token in enumerate(text_tokens):
        if off and token.word.startswith(name[0][:7]):
            around = {token.word for token in text_tokens[max(at - 2, 0) : at + len(name) + 1]}
            return off if around & {*_DENIALS, "none"} else on[0] if len(on) == 1 else ""
    return ""


def has_options(options: Mapping[str, str], named: NamedOptions) -> bool:
    return all(options.get(axis) in values for axis, values in named.items())


def narrow_by_options(text: str, items: Sequence[OrderItem]) -> list[OrderItem]:
    """The items that have all the options that the text names; all items if none has."""
    named = named_options(text, axes_of(entry.item["options"] for entry in items))
    fitting = [entry for entry in items if has_options(entry.item["options"], named)]
    return fitting or list(items)


def item_label(item: Mapping[str, Any]) -> str:
    """An item as an answer names it: `desk lamp (black, paper)`."""
    return f"{item['name'].lower()} ({options_label(item['options'])})"


def options_label(options: Mapping[str, str]) -> str:
    return ", ".join(f"{axis} {value}" if len(value) < 4 else value for axis, value in options.items())
