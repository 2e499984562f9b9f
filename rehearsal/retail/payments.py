"""Finds the customer's payment methods that a text refers to."""

from collections.abc import Mapping, Sequence

from rehearsal.matching import has_phrase, words_of
from rehearsal.retail.request_state import Document, NotPossible, RequestState
from rehearsal.retail.wording import money

Methods = Mapping[str, Document]
PHRASES = {"paypal": ("paypal",), "gift_card": ("gift card",), "credit_card": ("credit card",)}


def method_name(method: Document) -> str:
    match method["source"]:
        case "credit_card":
            return f"{method['brand'].capitalize()} ending in {method['last_four']}"
        case "gift_card":
            return f"gift card (balance {money(method['balance'])})"
        case _:
            return "PayPal account"


def method_label(methods: Methods, method_id: str) -> str:
    return f"your {method_name(methods[method_id])}" if method_id in methods else method_id


def mentioned_methods(text: str, methods: Methods) -> list[str]:
    """The methods that the text names: by id or last four digits, else by their kind."""
    relevant = text.partition(" instead of ")[0]
    words = words_of(relevant)
    exact = [
        method_id
        for method_id, method in methods.items()
        if method_id in relevant or method.get("last_four", "-") in words
    ]
    return exact or [
        method_id
        for method_id, method in methods.items()
        if has_phrase(relevant, (*PHRASES[method["source"]], method.get("brand", "-")))
    ]


def choose_method(state: RequestState, methods: Methods, text: str, allowed: Sequence[str], question: str) -> str:
    """The method that the text or later feedback names; if none or several, the customer's choice of those allowed.

    Raises QuestionNeeded or NotPossible.
    """
    texts = (*reversed(state.feedback), text)
    mentioned = next((found for said in texts if (found := mentioned_methods(said, methods))), [])
    choices = [method_id for method_id in mentioned if method_id in allowed]
    if mentioned and not choices:
        raise NotPossible(f"{method_label(methods, mentioned[0])} cannot be used for this.")
    choices = choices or list(allowed)
    return choices[state.pick(question, [f"{method_name(methods[method_id])} ({method_id})" for method_id in choices])]
