"""Payment methods in words: which of the customer's own is meant."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rehearsal.retail.state import Document, Refused, State
from rehearsal.retail.words import listing, money

_NOT = re.compile(
    r"\b(?:not|instead of|rather than|than|except|other than|no longer|never)\b(?: (?:to|on|with|my|your|the|from"
    r"|use|using))*\s*[^,.;]*?(?=[,.;]|\bbut\b|$)",
    re.IGNORECASE,
)
_ID = re.compile(r"\b(?:paypal|credit_card|gift_card)_\d+\b")
_ORIGINAL = re.compile(
    r"\boriginal(?:ly)?\b|\bsame (?:card|payment|method|way|account|paypal|visa|mastercard)\b|\bhow i paid\b"
    r"|\bway (?:i|you) paid\b|\b(?:i|you) (?:originally )?(?:used|paid)\b|\bwhere it came from\b",
    re.IGNORECASE,
)
_MONEY = re.compile(r"\b(?:pay\w*|paid|refund\w*|method|card|money|charge\w*|purchase)\b", re.IGNORECASE)
_LAST_FOUR = re.compile(r"(?<![\d#W.$-])(\d{4})(?!\d|[.-]\d)")
_KINDS = {
    "paypal": re.compile(r"\bpay ?pal\b", re.IGNORECASE),
    "gift_card": re.compile(r"\bgift ?-?cards?\b|\bgc\b|\b(?:store|website|shop) credit\b|\bvoucher\b", re.IGNORECASE),
    "visa": re.compile(r"\bvisa\b", re.IGNORECASE),
    "mastercard": re.compile(r"\bmaster ?-?card\b", re.IGNORECASE),
    "credit_card": re.compile(
        r"\b(?:credit|debit|bank) ?-?cards?\b|(?<!gift )(?<!gift-)(?<!master )(?<!sd )(?<!cf )(?<!memory )\bcards?\b",
        re.IGNORECASE,
    ),
}
ELSEWHERE = re.compile(
    r"\b(?:checking|savings|bank) account\b|\bwire\b|\bin cash\b|\bvenmo\b|\bapple pay\b|\bgoogle pay\b|\bbitcoin\b"
    r"|\bbank transfer\b",
    re.IGNORECASE,
)
Methods = Mapping[str, Document]


def named(method: Document) -> str:
    """A method in the words of the answer."""
    match method["source"]:
        case "credit_card":
            return f"{method['brand'].capitalize()} ending in {method['last_four']}"
        case "gift_card":
            return f"gift card (balance {money(method['balance'])})"
        case "paypal":
            return "PayPal account"
        case other:
            return str(other)


def label(methods: Methods, method_id: str) -> str:
    return f"your {named(methods[method_id])}" if method_id in methods else method_id


def mentioned(text: str, methods: Methods) -> list[list[str]]:
    """For each kind of method that the text speaks of, in its order: the customer's methods that it may be."""
    said = _NOT.sub(" ", text)
    found: list[tuple[int, list[str]]] = []
    for match in _ID.finditer(said):
        found.append((match.start(), [match[0]] if match[0] in methods else []))
    for kind, pattern in _KINDS.items():
        for match in pattern.finditer(said):
            fitting = [one for one, method in methods.items() if kind in (method["source"], method.get("brand"))]
            if kind == "credit_card" and not fitting and found:
                continue
            found.append((match.start(), fitting))
    digits = set(_LAST_FOUR.findall(said))
    exact = [one for one, method in methods.items() if one in _ID.findall(said) or method.get("last_four") in digits]
    sums = {
        float(one)
        for one in re.findall(r"\$? ?(\d+(?:\.\d+)?)(?= ?(?:dollars|usd|\$| left| on it))|(?<=\$)(\d+)", said)
        for one in one
        if one
    }
    exact = exact or [
        one for one, method in methods.items() if "balance" in method and float(method["balance"]) in sums
    ]
    if exact and len(found) <= 1:
        return [exact]
    return [[one for one in fitting if one in exact] or fitting for _, fitting in sorted(found, key=lambda one: one[0])]


_COMMON = re.compile(
    r"\b(?:everything|all of (?:it|this|that|them)|in (?:all|both|any) cases?|both|always|any (?:refunds?"
    r"|differences?)|all (?:refunds?|payments?|differences?))\b",
    re.IGNORECASE,
)


def common(text: str, methods: Methods) -> str:
    """What is said about paying for all wishes: the whole text where it speaks of one method only."""
    spoken = {tuple(some) for some in mentioned(text, methods)}
    if len(spoken) <= 1:
        return text
    return " ".join(part for part in re.split(r"(?<=[.!?])\s+", text) if _COMMON.search(part))


@dataclass(frozen=True)
class Payer:
    """Finds the method that is meant for one order; `question` is put where several are left."""

    state: State
    methods: Methods
    original: str  # what the order was paid with
    question: str

    def meant(self, texts: Sequence[str]) -> str | None:
        """The method that the first telling text means; None where none tells. Raises Ask, Refused."""
        for text in texts:
            spoken = mentioned(text, self.methods)
            back = bool(_ORIGINAL.search(text))
            if back and (_MONEY.search(text) if not spoken else self.original in spoken[0]):
                return self.original
            if spoken:
                return self._settled(self._by_balance(text.lower(), spoken[0]))
        return None

    def other(self, texts: Sequence[str]) -> str | None:
        """The same for a method to take instead of the original one, which may be spoken of too."""
        for place, text in enumerate(texts):
            spoken = mentioned(text, self.methods)
            others = [fitting for some in spoken if (fitting := [one for one in some if one != self.original])]
            if others:
                return others[-1][0] if len(others[-1]) == 1 else self.ask(others[-1])
            if spoken and not place:
                return self._settled(spoken[-1])
        return None

    def ask(self, choices: Sequence[str], default: str = "") -> str:
        """One of these; an answer that names none of them means the default."""
        shown = "; ".join(f"{named(self.methods[one])} ({one})" for one in choices)
        spoken = mentioned(self.state.ask(f"{self.question} {shown}."), self.methods)
        if not spoken:
            return default or choices[0]
        if chosen := [one for one in spoken[0] if one in choices]:
            return default if default in chosen else chosen[0]
        return self._settled(spoken[0])

    def _by_balance(self, text: str, fitting: list[str]) -> list[str]:
        """`the gift card with the higher balance`."""
        much = re.search(
            r"\b(?:higher|highest|larger|largest|bigger|biggest|more|most)\b[^.;]{0,20}\b(?:balance|money|left|on it)",
            text,
        )
        little = re.search(
            r"\b(?:lower|lowest|smaller|smallest|less|least)\b[^.;]{0,20}\b(?:balance|money|left|on it)", text
        )
        ranked = sorted(
            (one for one in fitting if "balance" in self.methods[one]), key=lambda one: self.methods[one]["balance"]
        )
        if len(ranked) != len(fitting) or not (much or little) or not ranked:
            return fitting
        return [ranked[-1 if much else 0]]

    def _settled(self, fitting: list[str]) -> str:
        if not fitting:
            owned = listing([named(one) for one in self.methods.values()])
            raise Refused(f"that payment method is not on your account; there is your {owned}.")
        if len(fitting) == 1 or self.original in fitting:
            return fitting[0] if len(fitting) == 1 else self.original
        return self.ask(fitting)
