"""A customer's message as a list of requests: one thing a sentence, told by its words.

If a sentence is ambiguous (several things, conditions, second thoughts), its words are returned and the customer is
asked, because nothing may be done on a guess.
"""

import re
from dataclasses import dataclass, replace

from rehearsal.matching import has_phrase, words_of
from rehearsal.retail.identity import emails
from rehearsal.retail.request_state import order_ids
from rehearsal.retail.wording import find_address

_PHRASES = {
    "human": ("human", "manager"),
    "cancel": ("cancel",),
    "return": ("return",),
    "exchange": ("exchange",),
    "payment": ("pay the order", "pay order"),
    "address": ("the address", "my address", "new address", "shipping address", "send order"),
    "lookup": ("what", "where", "how much", "how many", "look up", "tell me", "know", "told", "find out", "status"),
}
_DOUBT = frozenset(words_of("not dont never maybe perhaps unless if otherwise actually rather except keep"))
_HARMLESS = re.compile(r"(?i)\b(?:don['’]t|do not|not) (?:really )?(?:need|want) (?:it|them)\b")


@dataclass(frozen=True)
class Request:
    """One thing that the customer wants: its sentence, and further sentences about it."""

    kind: str  # cancel | return | exchange | payment | address | lookup | human
    text: str

    @property
    def order_ids(self) -> list[str]:
        return order_ids(self.text)


def read_requests(message: str) -> tuple[list[Request], str]:
    """All requests in the order of the message, and the words that make them doubtful ("" if none do)."""
    requests: list[Request] = []
    context, doubt = "", ""
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", message):
        kinds = _kinds(sentence)
        is_doubtful = len(kinds) > 1 or bool(_DOUBT & set(words_of(_HARMLESS.sub("", sentence))))
        if is_doubtful and (kinds or requests):
            doubt = doubt or sentence
        elif kinds:
            requests.append(Request(kinds[0], f"{context} {_with_antecedent(sentence, requests)}".strip()))
            context = ""
        elif requests:
            requests[-1] = replace(requests[-1], text=f"{requests[-1].text} {sentence}")
        elif not emails(sentence):
            context = f"{context} {sentence}".strip()
    return requests, doubt


def _kinds(sentence: str) -> list[str]:
    """The kinds of requests that a sentence makes."""
    kinds = [kind for kind, phrases in _PHRASES.items() if has_phrase(sentence, phrases)]
    return kinds if "address" in kinds or find_address(sentence) is None else [*kinds, "address"]


def _with_antecedent(sentence: str, before: list[Request]) -> str:
    """The sentence, with the order that `it` refers to: the only one of the request before."""
    named = before[-1].order_ids if before else []
    refers = len(named) == 1 and not order_ids(sentence) and {"it", "its"} & set(words_of(sentence))
    return f"{sentence} {named[0]}" if refers else sentence
