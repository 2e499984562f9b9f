"""A message in sentences and clauses: a clause has one verb of a known family, or several that tell of one thing."""

import re
from itertools import pairwise
from typing import NamedTuple

from rehearsal.retail.intents import Trigger, blocked, triggers

_SENTENCE = re.compile(
    r"(?<=[.!?;])(?<!\bSt\.)(?<!\bAve\.)(?<!\bApt\.)(?<!\bNo\.)(?<!\be\.g\.)(?<!\bDr\.)(?<!\bRd\.)\s+|\n+"
)
_JOINT = re.compile(
    r"[;:,(]| - | / |\band\b|\bbut\b|\bthen\b|\bor\b|\bso\b|\bbecause\b|\bsince\b|\botherwise\b|\bif\b|\bplus\b"
    r"|\balso\b"
    r"|\bwhile\b|\bunless\b|\bas well as\b|\bafter(?:wards)?\b|\bplease\b|\bfirst\b|\bsecond\b"
)
_FOR_ORDER = re.compile(
    r"^[\s;,:(-]*(?:and |then |also |but )*(?:(?:for|on|in|as for|regarding|with|about|from) |(?:my |the "
    r"|your )?(?:\w+ )?order |#?w\d)"
)
_ORDER_ID = re.compile(r"#?\bw?\d{7}\b", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"\botherwise\b|\bif (?:\w+ ){0,6}?(?:(?:is|are|do|does|can|could|will|would) )?not\b|\bfailing that\b"
    r"|\bor else\b"
    r"|\bif (?:\w+ ){0,5}(?:impossible|unavailable|out of stock|no longer|refuses?|fails?|unable|denie[sd]"
    r"|declines?|insists?)\b"
    r"|\bif there (?:is|are) no(?:ne)?\b"
)
_REVISED = re.compile(
    r"\bchang\w+ (?:my|your) mind\b|\bon second thoughts?\b|\bactually\b|\beventually\b|\bin the end\b|\bafter all\b"
    r"|\bfinally decide|\bno wait\b|\bor rather\b|\bultimately\b"
)
_BRACES = re.compile(r"\{[^}]*\}")  # options as data: no verbs in there


class Clause(NamedTuple):
    text: str
    found: tuple[Trigger, ...]
    otherwise: bool
    revised: bool


def clauses(message: str) -> list[Clause]:
    found: list[Clause] = []
    for sentence in _SENTENCE.split(message):
        if sentence and sentence.strip():
            found += _clauses(sentence.strip())
    return found


def _clauses(sentence: str) -> list[Clause]:
    """A sentence is cut where a new verb of a known family begins, at the joint before it."""
    lower = _BRACES.sub(lambda match: " " * len(match[0]), sentence.lower())
    spotted = triggers(lower)
    joints = list(_JOINT.finditer(lower))
    starts = [0]
    for earlier, trigger in pairwise(spotted):
        between = [joint.start() for joint in joints if earlier.end <= joint.start() < trigger.start]
        if between and not blocked(lower, earlier, trigger) and not _supposed(lower[starts[-1] : trigger.start]):
            starts.append(_cut(lower, between, trigger, earlier.end))
    condition, change = _OTHERWISE.search(lower), _REVISED.search(lower)
    result = []
    for start, end in zip(starts, [*starts[1:], len(sentence)], strict=True):
        inside = tuple(one for one in spotted if start <= one.start < end)
        first, last = (inside[0].start, inside[-1].start) if inside else (end, 0)
        otherwise = condition is not None and condition.start() < last
        revised = change is not None and change.start() < first
        result.append(Clause(sentence[start:end].strip(" ,;"), inside, otherwise, revised))
    return [clause for clause in result if clause.text]


_SUPPOSED = re.compile(
    r"\b(?:how (?:long|much|many|soon)|what|when)\b.*\b(?:if|when|once|after|should) (?:i|you|we) (?:were to "
    r"|would |want to |decide to )?$"
)


def _supposed(before: str) -> bool:
    """Whether a verb is only asked about: `how long does it take if I …`."""
    return bool(_SUPPOSED.search(before))


_AFTER = re.compile(
    r"\b(?:go|goes|going|items?|one) back\b|cancell?ed$|returned$|^(?:should|must|shall|has to|have to|needs? to)"
)
_BUT = re.compile(r"but\b|;|while\b|then\b")


def _cut(lower: str, joints: list[int], trigger: Trigger, least: int) -> int:
    """The joint where a verb's clause begins: what stands before a verb like `go back` belongs to it."""
    strong = [joint for joint in joints if _BUT.match(lower, joint)]
    if strong and _AFTER.search(lower[trigger.start : trigger.end]):
        return strong[-1]
    return _with_order(lower, joints, least)


def _with_order(lower: str, joints: list[int], least: int) -> int:
    """The last joint; or the one before it where an order is named between the two: `for #W1, change …`."""
    if len(joints) > 1:
        prefix = lower[joints[-2] : joints[-1]]
        if _ORDER_ID.search(prefix) and _FOR_ORDER.match(prefix):
            return max(joints[-2], least)
    return joints[-1]
