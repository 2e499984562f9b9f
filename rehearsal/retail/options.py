"""Options in words: which of a product's values a text names, for which of its axes."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rehearsal.retail.words import LETTERS, find, singular, words

Axes = Mapping[str, tuple[str, ...]]
UNITS = frozenset(words("inch ft l ml hour lbs w oz g lm gb tb mm mp degree piece person cup bar mah"))
_LEADS = frozenset(words("in a an the to size for of is be"))
_DENIALS = frozenset(words("no not without non un nor neither lacks lacking minus"))


@dataclass
class Named:
    """`sure` by axis; `either`: a value that fits several axes, of which any may be meant."""

    sure: dict[str, str] = field(default_factory=dict)
    either: list[tuple[tuple[str, ...], str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.sure or self.either)

    def fits(self, options: Mapping[str, str]) -> bool:
        """Whether a variant has all that was named."""
        if any(options.get(axis) != value for axis, value in self.sure.items()):
            return False
        return all(any(options.get(axis) == value for axis in axes) for axes, value in self.either)

    def score(self, options: Mapping[str, str]) -> int:
        """How much of what was named a variant has."""
        sure = sum(options.get(axis) == value for axis, value in self.sure.items())
        return sure + sum(any(options.get(axis) == value for axis in axes) for axes, value in self.either)

    def under(self, other: "Named") -> "Named":
        """The other's words too, for axes that are not named here."""
        mine = set(self.sure) | {axis for axes, _ in self.either for axis in axes}
        sure = {axis: value for axis, value in other.sure.items() if axis not in mine} | self.sure
        either = [one for one in other.either if not set(one[0]) & mine]
        return Named(sure, [*self.either, *either])


def axes_of(variants: Iterable[Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    """All values of each option, in order."""
    found: dict[str, dict[str, None]] = {}
    for options in variants:
        for axis, value in options.items():
            found.setdefault(axis, {})[value] = None
    return {axis: tuple(values) for axis, values in found.items()}


def named_options(text: str, axes: Axes) -> Named:
    """What the text names; longer values first, each word counts once."""
    hay = list(words(text))
    taken: set[int] = set()
    found: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for axis, value, spelling, weak in _spellings(axes):
        for at in find(spelling, hay):
            span = range(at, at + len(spelling))
            if (not weak or _sure(hay, at, len(spelling), axis)) and not _denied(hay, at):
                found.setdefault((at, len(span)), []).append((axis, value))
    named = Named()
    for (at, size), readings in sorted(found.items(), key=lambda one: (-one[0][1], one[0][0])):
        if taken & set(range(at, at + size)):
            continue
        taken |= set(range(at, at + size))
        _take(named, hay, at, size, readings)
    _by_part(named, hay, taken, axes)
    _by_axis(named, hay, axes)
    return named


def _spellings(axes: Axes) -> Iterable[tuple[str, str, tuple[str, ...], bool]]:
    """Ways to say each value: (axis, value, words, needs support)."""
    for axis, values in axes.items():
        for value in values:
            if value.lower() in ("yes", "no", "none"):
                continue
            full = words(value)
            short = len(full) == 1 and (full[0].isdigit() or len(full[0]) == 1)
            yield axis, value, full, short
            if value.lower() in LETTERS and LETTERS[value.lower()] not in values:
                yield axis, value, tuple(LETTERS[value.lower()].split()), False
                yield axis, value, tuple(LETTERS[value.lower()].replace("extra", "x").split()), len(full[0]) == 1
            if len(full) > 1 and full[-1] in UNITS and full[0][0].isdigit():
                yield axis, value, full[:-1], not ("." in full[0] or len(full) > 2)
            if len(full) == 1 and full[0].isdigit() and singular(axis) != axis:
                yield axis, value, (*full, *words(axis)), False


def _sure(hay: list[str], at: int, size: int, axis: str) -> bool:
    """Whether a bare number or letter is meant for this axis: the words around it say so."""
    near = [singular(word) for word in (*hay[max(at - 3, 0) : at], *hay[at + size : at + size + 2])]
    if any(singular(word) in near for word in words(axis)):
        return True
    after = hay[at + size] if at + size < len(hay) else ""
    letter = hay[at].isalpha()
    if after in UNITS or (letter and at and hay[at - 1][0].isdigit()):
        return False
    return at > 0 and hay[at - 1] in _LEADS and (letter or after in ("one", "version", "instead", "please", ""))


def _denied(hay: list[str], at: int) -> bool:
    before = hay[max(at - 3, 0) : at]
    return bool(before) and (
        before[-1] in _DENIALS or before[-2:] in (["not", "the"], ["other", "than"], ["not", "in"], ["not", "a"])
    )


def _take(named: Named, hay: list[str], at: int, size: int, readings: list[tuple[str, str]]) -> None:
    fresh = [one for one in readings if one[0] not in named.sure]
    if not fresh:
        return
    if len({axis for axis, _ in fresh}) > 1:
        near = [singular(word) for word in (*hay[max(at - 2, 0) : at], *hay[at + size : at + size + 2])]
        by_word = [one for one in fresh if any(singular(word) in near for word in _telling(one[0], fresh))]
        fresh = by_word or fresh
    if len(fresh) == 1:
        named.sure[fresh[0][0]] = fresh[0][1]
    else:
        named.either.append((tuple(axis for axis, _ in fresh), fresh[0][1]))


def _telling(axis: str, readings: list[tuple[str, str]]) -> list[str]:
    """The words of an axis that the other axes in question do not have: `frame` of `frame color`."""
    others = {word for other, _ in readings if other != axis for word in words(other)}
    return [word for word in words(axis) if word not in others]


def _by_part(named: Named, hay: list[str], taken: set[int], axes: Axes) -> None:
    """`steel` for `stainless steel`, where only one value of the axis has the word."""
    for axis, values in axes.items():
        if axis in named.sure or any(axis in one for one, _ in named.either):
            continue
        for value in values:
            for word in words(value):
                other = {one for v in values if v != value for one in words(v)} | {
                    one for a in axes for one in words(a)
                }
                places = [at for at, one in enumerate(hay) if singular(one) == singular(word) and at not in taken]
                if len(word) > 3 and word not in other and places and not _denied(hay, places[0]) and word not in UNITS:
                    named.sure.setdefault(axis, value)


def _by_axis(named: Named, hay: list[str], axes: Axes) -> None:
    """`waterproof`, `with a hood`, `no backlight`: the axis itself is named, or denied."""
    for axis, values in axes.items():
        known = {value.lower(): value for value in values}
        off = known.get("no") or known.get("none")
        if axis in named.sure or (off is None and "yes" not in known):
            continue
        stems = [word[: max(5, len(word) - 3)] for word in map(singular, words(axis))]
        for at in range(len(hay) - len(stems) + 1):
            if not all(hay[at + step].removeprefix("un").startswith(stem) for step, stem in enumerate(stems)):
                continue
            tail = hay[at + len(stems)] if at + len(stems) < len(hay) else ""
            denied = set(hay[max(at - 2, 0) : at]) & _DENIALS or (
                hay[at].startswith("un") and not stems[0].startswith("un")
            )
            if denied or (tail == "no" and off):
                named.sure.update({axis: off} if off else {})
            elif "yes" in known:
                named.sure[axis] = known["yes"]


SCALE = ("xs", "s", "m", "l", "xl", "xxl", "small", "medium", "large", "low", "medium", "high")


def rank(value: str) -> float | None:
    """Where a value stands among its like; None where it is no size."""
    number = re.search(r"\d+(?:\.\d+)?", value)
    if value.lower() in SCALE:
        return float(SCALE.index(value.lower()))
    if not number:
        return None
    factor = 1000 if re.search(r"(?i)tb|\dk|\dliter", value.replace(" ", "")) and "tb" in value.lower() else 1
    return float(number[0]) * factor
