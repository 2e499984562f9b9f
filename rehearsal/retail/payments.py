"""Finds the customer's payment methods that a text refers to."""

import re
from collections.abc import Mapping

from rehearsal.retail.customer_requests import Request
from rehearsal.retail.request_state import Document, NotPossible, RequestState
from rehearsal.retail.text_normalization import money

Methods = Mapping[str, Document]
_INSTEAD = re.compile(r"(?i)\b(?:instead of|rather than|in place of|and not|not)\b[^,.;()]*")
_ORIGINAL = re.compile(
    r"(?i)\boriginal\b|\b(?:i|you) (?:originally )?(?:used|paid)\b|\bsame (?:card|payment|method|way)\b"
)
_KINDS = {
    "paypal": re.compile(r"(?i)\bpay ?pal\b"),
    "gift_card": re.compile(r"(?i)\bgift ?-?cards?\b"),
    "visa": re.compile(r"(?i)\bvisa\b"),
    "mastercard": re.compile(r"(?i)\bmaster ?card\b"),
    "credit_card": re.compile(r"(?i)\bcredit ?cards?\b|(?<!gift )(?<!gift-)(?<!master )\bcards?\b(?! on file)"),
    "elsewhere": re.compile(r"(?i)\b(?:bank|checking|savings) account\b|\bvenmo\b|\bin cash\b|\bamerican express\b"),
}


def method_name(method: Document) -> str:
    match method["source"]:
        case "credit_card":
            return f"{method['brand'].capitalize()} ending in {method['last_four']}"
        case "gift_card":
            return f"gift card (balance {money(method['balance'])})"
        case "paypal":
            return "PayPal account"
        case source:
            return str(source)


def method_label(methods: Methods, method_id: str) -> str:
    return f"your {method_name(methods[method_id])}" if method_id in methods else method_id


def mentioned_methods(text: str, methods: Methods, original: str = "") -> list[str] | None:
    """The methods that the text may refer to, None if it mentions none. Raises NotPossible for a foreign method."""
    relevant = _INSTEAD.sub(" ", text)
    exact = [
        method_id for method_id, method in methods.items() if method_id in relevant or _is_identified(method, relevant)
    ]
    if exact:
        return exact
    if original and _ORIGINAL.search(relevant):
        return [original]
    kinds = [kind for kind, pattern in _KINDS.items() if pattern.search(relevant)]
    if {"visa", "mastercard"} & set(kinds):
        kinds = [kind for kind in kinds if kind != "credit_card"]
    matches = [
        method_id for method_id, method in methods.items() if {method["source"], method.get("brand")} & set(kinds)
    ]
    if "elsewhere" in kinds or (kinds and not matches):
        raise NotPossible("that payment method is not on your account.")
    return matches or None


def _is_identified(method: Document, text: str) -> bool:
    """Whether the text contains the card's last four digits, or the gift card's balance in dollars."""
    if "last_four" in method:
        return bool(re.search(rf"(?<![\d#W.$]){method['last_four']}(?!\d)", text))
    return "balance" in method and bool(re.search(rf"\${method['balance']:g}\b|\b{method['balance']:g} dollars", text))


def request_methods(state: RequestState, request: Request, methods: Methods, paid: str = "") -> list[str] | None:
    """The payment methods that the request mentions, else those in the whole message; None if there are none."""
    texts = (request.text, request.rest, "\n".join((state.message, *state.feedback)))
    return next(
        (mentioned for text in texts if (mentioned := mentioned_methods(text, methods, paid)) is not None), None
    )


def choose_method(
    state: RequestState, methods: Methods, mentioned: list[str] | None, allowed: list[str], question: str
) -> str:
    """The method that was meant; if none or several were, the customer's choice. Raises Ask, NotPossible."""
    choices = [method_id for method_id in mentioned if method_id in allowed] or mentioned if mentioned else allowed
    return choices[state.pick(question, [f"{method_name(methods[method_id])} ({method_id})" for method_id in choices])]
