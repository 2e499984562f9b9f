"""What an item shall be exchanged for: the words about the old one and the new one, and the variant that they mean."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rehearsal.retail.items import described
from rehearsal.retail.options import Named, axes_of, named_options, rank
from rehearsal.retail.state import Document, Refused, State
from rehearsal.retail.words import listing, money, words

_VERB = re.compile(
    r"\b(?P<swap>exchang\w+|swap\w*|replac\w+|trad(?:e|ing)|chang(?:e|ing|ed)|switch(?:ing|ed)?(?! type)|modif\w+"
    r"|updat\w+|upgrad\w+|downgrad\w+|correct\w*)\b"
    r"|\b(?:make (?:it|them|that|this|the|my|your)|want|need|love|prefer|rather have|have|should be|to be|like)\b",
    re.IGNORECASE,
)
_INSTEAD_OF = re.compile(
    r"\b(?:instead of|rather than|in place of|and not|not (?:the|a|an|in|my))\b(?P<old>[^,.;()]*?)(?=[,.;()]| - "
    r"|\bbut\b|$)",
    re.IGNORECASE,
)
_FROM_TO = re.compile(r"\bfrom (?P<old>(?:(?!\bto\b|#).)*?)(?=\b(?:to|into)\b)", re.IGNORECASE)
_MARKS = (
    re.compile(
        r"\b(?:to to|to|for|into)\b(?! (?:the |my |your |order )*(?:#|order)| pay\b| use\b| refund\b)", re.IGNORECASE
    ),
    re.compile(r"\b(?:with|by)\b", re.IGNORECASE),
)
_CHEAP = re.compile(
    r"\b(?:cheap(?:est|er)|least expensive|lowest.priced?|lowest price|most affordable|less expensive)\b", re.IGNORECASE
)
_DEAR = re.compile(r"\b(?:most expensive|priciest|highest.priced?|dearest|best and most)\b", re.IGNORECASE)
_FREE = re.compile(
    r"[^.;,]*\b(?:not (?:care|mind|matter)|no preference|either|whichever|any (?:other )?\w+ (?:is|will)"
    r"|does not matter)\b[^.;,]*",
    re.IGNORECASE,
)
_REST_STAYS = re.compile(
    r"\b(?:everything|all|anything|rest|others?(?: options?)?|otherwise)\b[^.;]{0,30}\b(?:same|stays?|identical"
    r"|unchanged|equal)\b"
    r"|\bsame\b[^.;,]{0,20}\b(?:otherwise|everything|in all else)\b|\b(?:exactly|exact) (?:the )?same\b"
    r"|\b(?:the )?same exact\b|\bidentical\b|\bkeep\w* (?:everything|all|the rest|the other)\b|\ball else\b",
    re.IGNORECASE,
)
_SAME_ITEM = re.compile(
    r"\b(?:same (?:one|item|model|product|thing|exact)|identical|exact same|replacement|working one|new one)\b",
    re.IGNORECASE,
)
_UP = re.compile(
    r"\b(?:bigger|larger|taller|higher|longer|wider|heavier|more powerful|stronger|brighter|size up|step up"
    r"|more \w+|greater|thicker)\b",
    re.IGNORECASE,
)
_DOWN = re.compile(r"\b(?:smaller|shorter|lower|lighter|narrower|size down|less \w+|fewer|thinner)\b", re.IGNORECASE)
_MOST = re.compile(
    r"\b(?:biggest|largest|tallest|highest|longest|widest|maximum|max|most powerful|brightest|heaviest)\b",
    re.IGNORECASE,
)
_LEAST = re.compile(r"\b(?:smallest|shortest|lowest|lightest|minimum|narrowest)\b", re.IGNORECASE)


class Sides(NamedTuple):
    """What is said of the item as it is, and of what it shall be."""

    old: str
    new: str
    rest: str = ""  # all but what is certainly said of the old one


def sides(text: str) -> Sides:
    """Split the words of a wish to exchange one item."""
    old, rest = "", text
    for pattern in (_INSTEAD_OF, _FROM_TO):
        for match in pattern.finditer(rest):
            old += f" {match['old']}"
        rest = pattern.sub(" ", rest)
    swap = next((match for match in _VERB.finditer(rest) if match["swap"]), None)
    verb = swap or _VERB.search(rest)
    head, tail = (rest[: verb.start()], rest[verb.end() :]) if verb else ("", rest)
    if swap or verb is None:
        for mark in _MARKS:
            found = mark.search(tail)
            if found and (swap or tail[: found.start()].strip()):
                return Sides(f"{head} {tail[: found.start()]} {old}", tail[found.end() :], rest)
    return Sides(f"{head} {old}", tail, rest)


class Target(NamedTuple):
    """What the new variant must have, and which of those that have it is meant."""

    named: Named
    prefer: str = ""  # cheapest | dearest
    rest_stays: bool = False
    same_item: bool = False
    free: bool = False

    def __bool__(self) -> bool:
        return bool(self.named or self.prefer or self.same_item)


def target(text: str, more: str, item: Mapping[str, Any], product: Document) -> Target:
    """Read the wish about the new item; `more` are words around it, for what the text does not say."""
    axes = axes_of(one["options"] for one in product["variants"].values())
    own, extra = _FREE.sub(" ", text), _FREE.sub(" ", more)
    named = named_options(own, axes).under(named_options(extra, axes))
    everything = f"{text} {more}"
    _relative(named, everything, item["options"], axes, product)
    current = {axis: value for axis, value in item["options"].items() if _kept(axis, everything)}
    named = named.under(Named(current)) if named or current else named
    changed = any(item["options"].get(axis) != value for axis, value in named.sure.items()) or bool(named.either)
    prefer = "cheapest" if _CHEAP.search(everything) else "dearest" if _DEAR.search(everything) else ""
    stays = bool(_REST_STAYS.search(everything))
    same = not changed and not prefer and bool(_SAME_ITEM.search(text))
    return Target(named if changed or prefer else Named(), prefer, stays, same, bool(_FREE.search(everything)))


def _kept(axis: str, text: str) -> bool:
    """`same size`, `keep the color`, `same fit and size`."""
    said = text.lower().replace("colour", "color")
    name = re.escape(axis.lower().split()[-1])
    return bool(re.search(rf"\b(?:same|keep\w*|equal)\b[\w\s,]{{0,40}}?\b{name}", said))


def _relative(
    named: Named, text: str, options: Mapping[str, str], axes: Mapping[str, Sequence[str]], product: Document
) -> None:
    """`one size up`, `the largest`: the next or last value of the axis that is a size."""
    for pattern, sign, last in ((_UP, 1, False), (_DOWN, -1, False), (_MOST, 1, True), (_LEAST, -1, True)):
        if not pattern.search(text):
            continue
        sized = [
            axis
            for axis, values in axes.items()
            if axis not in named.sure and all(rank(one) is not None for one in values)
        ]
        said = set(words(text))
        by_name = [axis for axis in sized if said & set(words(axis))]
        for axis in (by_name or sized)[:1]:
            here = rank(options.get(axis, "")) or 0.0
            there = {
                rank(v["options"][axis]) or 0.0: v["options"][axis]
                for v in product["variants"].values()
                if v["available"]
            }
            beyond = sorted((value for value in there if (value - here) * sign > 0), key=lambda value: value * sign)
            if beyond:
                named.sure[axis] = there[beyond[-1 if last else 0]]


def choose(state: State, wanted: Target, item: Mapping[str, Any], product: Document) -> Document:
    """The variant. Raises Ask where several are left, Refused where none is."""
    variants: list[Document] = list(product["variants"].values())
    if wanted.same_item:
        variants = [one for one in variants if one["item_id"] == item["item_id"]]
        fitting = variants
    else:
        fitting = [one for one in variants if wanted.named.fits(one["options"]) and one["item_id"] != item["item_id"]]
    there = [one for one in fitting if one["available"]]
    if wanted.rest_stays and not wanted.prefer:
        there = _closest(there, wanted, item)
    if not there:
        raise Refused(_unavailable(wanted, item, product, fitting))
    if wanted.prefer or wanted.free:
        return sorted(there, key=lambda one: one["price"] * (-1 if wanted.prefer == "dearest" else 1))[0]
    close = _closest(there, wanted, item)
    if len(there) == 1 or len(close) == 1:
        return (close or there)[0]
    return _asked(state, there, item)


def _closest(there: list[Document], wanted: Target, item: Mapping[str, Any]) -> list[Document]:
    """Those that are as the item is in all that was not named."""
    axes = set(wanted.named.sure) | {axis for one, _ in wanted.named.either for axis in one}
    return [
        one for one in there if all(one["options"].get(a) == v for a, v in item["options"].items() if a not in axes)
    ]


def _asked(state: State, there: list[Document], item: Mapping[str, Any]) -> Document:
    shown = "; ".join(f"{described(one['options'])} at {money(one['price'])}" for one in there[:12])
    answer = state.ask(f"Which {item['name'].lower()} would you like instead? Available: {shown}.")
    named = named_options(answer, axes_of(one["options"] for one in there))
    by_price = sorted(there, key=lambda one: one["price"] * (-1 if _DEAR.search(answer) else 1))
    if _CHEAP.search(answer) or _DEAR.search(answer):
        return by_price[0]
    likeness = [
        (
            named.score(one["options"]),
            sum(one["options"].get(a) == v for a, v in item["options"].items()),
            -one["price"],
        )
        for one in there
    ]
    return there[likeness.index(max(likeness))]


def _unavailable(wanted: Target, item: Mapping[str, Any], product: Document, fitting: list[Document]) -> str:
    asked = {**wanted.named.sure} or ({**item["options"]} if wanted.same_item else {})
    named = described(asked) if asked else listing([value for _, value in wanted.named.either], "or")
    there = [one for one in product["variants"].values() if one["available"] and one["item_id"] != item["item_id"]]
    shown = "; ".join(described(one["options"]) for one in there[:6])
    why = "is out of stock" if fitting else "is not among our variants"
    stays = " with all else as it is" if wanted.rest_stays and fitting else ""
    return (
        f"the {product['name'].lower()} with {named or 'these options'}{stays} {why}; available are: {shown or 'none'}."
    )
