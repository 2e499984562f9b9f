"""From clauses to wishes: what each clause is after, and what belongs to which."""

import re
from dataclasses import dataclass, replace

from rehearsal.retail.clauses import Clause, clauses
from rehearsal.retail.intents import RID, kind_of, retracts

_ORDER_ID = re.compile(r"#?\bw?\d{7}\b", re.IGNORECASE)
_LIKEWISE = re.compile(
    r"\btoo\b|\bas well\b|\bthe same\b|\balso\b|\blikewise\b|\bsame (?:for|with|goes)\b", re.IGNORECASE
)
_ADDED = re.compile(r"\balso\b|\bas well\b|\btoo\b", re.IGNORECASE)
_THAT = re.compile(r"\b(?:its?|them|ones?|that|this|those|these)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Wish:
    """One thing that the customer wants. `text` are its own words, `detail` what was added, `before` what led to it."""

    kind: str
    text: str
    detail: str = ""
    before: str = ""
    otherwise: bool = False  # only if the one before it cannot be had
    soft: bool = False  # perhaps no wish at all: nothing is asked about it
    revised: bool = False
    last: str = ""  # the words of the wish before, for `it` and `them`

    @property
    def own(self) -> str:
        return f"{self.text} {self.detail}".strip()


def read_wishes(message: str) -> tuple[Wish, ...]:
    """All wishes of a message, in its order, with what was taken back taken out."""
    wishes: list[Wish] = []
    before = ""
    for clause in clauses(message):
        kind = kind_of(clause.text, clause.found, wishes[-1].kind if wishes else "", before)
        if _takes_back(clause, kind):
            wishes = _retract(wishes, clause)
            before = f"{before} {clause.text}"
        elif kind in ("", "detail", "keep"):
            wishes = _more(wishes, clause)
            before = f"{before} {clause.text}"
        else:
            sure = kind.rstrip("?")
            last = f"{wishes[-1].before} {wishes[-1].text}" if wishes and _THAT.search(clause.text) else ""
            fresh = Wish(sure, clause.text, "", before, clause.otherwise, kind != sure, clause.revised, last)
            wishes = _add(wishes, fresh)
            before = f"{before} {clause.text}" if sure == "lookup" else ""
    return tuple(wishes)


def _takes_back(clause: Clause, kind: str) -> bool:
    denied = bool(clause.found) and kind == "" and all(one.negated for one in clause.found)
    return (kind == "keep" or denied) and (retracts(clause.text) or (denied and clause.revised))


def _more(wishes: list[Wish], clause: Clause) -> list[Wish]:
    """A clause without a wish of its own tells more about the last one; `for #W1 too` is that one again."""
    if not wishes:
        return wishes
    last = wishes[-1]
    if not clause.found and _ORDER_ID.search(clause.text) and _LIKEWISE.search(clause.text):
        ids = " ".join(match[0] for match in _ORDER_ID.finditer(clause.text))
        return [*wishes, replace(last, text=f"{_ORDER_ID.sub(' ', last.text)} {ids}", before="")]
    return [*wishes[:-1], replace(last, detail=f"{last.detail} {clause.text}")]


def _add(wishes: list[Wish], fresh: Wish) -> list[Wish]:
    """A change of mind replaces what was wanted before, and a clear wish a vague one; anything else comes after."""
    if not wishes:
        return [fresh]
    last = wishes[-1]
    if last.kind == fresh.kind == "lookup":
        return [*wishes[:-1], replace(last, text=f"{last.text} {fresh.text}")]
    vague = last.kind == "undo" and fresh.kind in ("cancel", "return") and _THAT.search(last.text)
    if vague and not _ORDER_ID.search(last.text):
        return [*wishes[:-1], replace(fresh, before=f"{last.before} {last.own} {fresh.before}")]
    if last.kind == fresh.kind and last.soft:
        return [*wishes[:-1], replace(fresh, before=f"{last.before} {last.own} {fresh.before}")]
    if fresh.revised and not fresh.otherwise and not _ADDED.search(fresh.text):
        instead = last.kind in RID and fresh.kind in RID and _THAT.search(fresh.text)
        same = [at for at, wish in enumerate(wishes) if wish.kind == fresh.kind] or (
            [len(wishes) - 1] if instead else []
        )
        if same:
            old = wishes[same[-1]]
            fresh = replace(fresh, before=f"{old.before} {old.text} {fresh.before}")
            wishes = [*wishes[: same[-1]], *wishes[same[-1] + 1 :]]
    return [*wishes, fresh]


def _retract(wishes: list[Wish], clause: Clause) -> list[Wish]:
    """Take back the last wish of this kind; everything where the customer keeps all."""
    kinds = {one.kind for one in clause.found} - {"keep", "lookup"}
    if not kinds:
        return [wish for wish in wishes if wish.kind not in RID]
    at = max((at for at, wish in enumerate(wishes) if wish.kind in kinds), default=None)
    return [wish for place, wish in enumerate(wishes) if place != at]
