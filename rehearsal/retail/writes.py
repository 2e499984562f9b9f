"""The calls for each kind of request; here those about whole orders and accounts.

All functions raise Need, Ask or NotPossible; what is not certain is asked.
"""

import re
from collections.abc import Callable

from rehearsal.retail.addresses import LINES, Address, find_addresses, one_line
from rehearsal.retail.identity import customer
from rehearsal.retail.item_writes import exchange, give_back
from rehearsal.retail.items import mentions
from rehearsal.retail.orders import find_orders, must_be, names_of
from rehearsal.retail.payments import choose, label, request_methods
from rehearsal.retail.requests import Request
from rehearsal.retail.state import HANDOVER, Call, Document, NotPossible, State
from rehearsal.retail.words import money

MISTAKE, NO_NEED = "ordered by mistake", "no longer needed"
_REASONS = {
    MISTAKE: r"\bmistake\b|\baccident\w*|\bwrong(?:ly)?\b|\bnot mean\b|\bnever meant\b|\bmis-?click\w*|\btwice\b",
    NO_NEED: r"\bno longer\b|\bnot (?:really )?(?:need|want)\w*\b|\bno need\b|\bcheaper\b|\bchanged? (?:my|your) mind\b"
    r"|\balready (?:have|bought)\b|\btoo (?:late|long|expensive)\b|\bcan not afford\b",
}
_HOME = re.compile(r"(?i)\b(?:home|default|own|profile|account)\b")


def cancel(state: State, request: Request) -> list[Call]:
    """One call for each order, which is cancelled as a whole."""
    calls = []
    for order in find_orders(state, request, "pending", "cancel"):
        order_id, methods = order["order_id"], customer(state)["payment_methods"]
        must_be(order, "pending", "cancelled")
        if _names_a_part(request.text, order):
            raise NotPossible(f"single items of order {order_id} cannot be cancelled, only the order as a whole.")
        reason = _reason(state, request)
        paid = order["payment_history"][0]
        back = f"{money(paid['amount'])} goes back to {label(methods, paid['payment_method_id'])}"
        done = f"Order {order_id} ({names_of(order)}) is cancelled ({reason}); {back}."
        arguments = {"order_id": order_id, "reason": reason}
        calls.append(Call("cancel_pending_order", arguments, f"Cancel order {order_id}", done))
    return calls


def _names_a_part(text: str, order: Document) -> bool:
    """Whether the text names only some of the order's items, and not in order to say which order is meant."""
    spots = mentions(text, [item["name"] for item in order["items"]])
    telling = re.search(r"(?i)\b(?:order|one) (?:with|containing|that has|including)\b|\border it\b", text) or any(
        re.match(r"(?i) order\b", text[spot.end :]) for spot in spots
    )
    return bool(spots) and not telling and len(spots) < len(order["items"])


def _reason(state: State, request: Request) -> str:
    for text in (request.text, request.rest):
        if found := [reason for reason, pattern in _REASONS.items() if re.search(pattern, text.lower())]:
            return found[0]
    answer = state.ask("Why would you like to cancel: no longer needed, or ordered by mistake?", [NO_NEED, MISTAKE])
    return MISTAKE if re.search(_REASONS[MISTAKE], answer.lower()) else NO_NEED


def pay(state: State, request: Request) -> list[Call]:
    calls = []
    for order in find_orders(state, request, "pending", "pay differently"):
        order_id, methods, paid = order["order_id"], customer(state)["payment_methods"], order["payment_history"][0]
        must_be(order, "pending", "paid differently")
        others = [one for one in methods if one != paid["payment_method_id"]]
        if not others:
            raise NotPossible(f"order {order_id} is paid with the only payment method on your account.")
        said = [one for one in request_methods(state, request, methods) or () if one in others]
        method = choose(state, methods, said or None, others, f"Which method shall order {order_id} be paid with?")
        if method not in others:
            raise NotPossible(f"order {order_id} is paid with {label(methods, method)} already.")
        if methods[method].get("balance", paid["amount"]) < paid["amount"]:
            raise NotPossible(
                f"{label(methods, method)} does not cover the {money(paid['amount'])} of order {order_id}."
            )
        text = f"Pay order {order_id} with {label(methods, method)}"
        done = f"Order {order_id} ({money(paid['amount'])}) is now paid with {label(methods, method)}."
        arguments = {"order_id": order_id, "payment_method_id": method}
        calls.append(Call("modify_pending_order_payment", arguments, text, done))
    return calls


def move(state: State, request: Request) -> list[Call]:
    """A new address for orders, or for the customer's account."""
    said = find_addresses(request.text) or find_addresses(request.rest) or find_addresses(state.message)
    if request.about_account and not request.order_ids and (said or not re.search(r"(?i)\border\b", request.text)):
        user_id = customer(state)["user_id"]
        address = said[0][0] if said else _asked(state, "your account")
        text, done = f"Change the address of the account to {one_line(address)}", "The address in your account is now"
        return [Call("modify_user_address", {"user_id": user_id, **address}, text, f"{done} {one_line(address)}.")]
    calls = []
    for order in find_orders(state, request, "pending", "send elsewhere"):
        order_id, user = order["order_id"], customer(state)
        must_be(order, "pending", "sent elsewhere")
        home = {line: str(user["address"].get(line, "")) for line in LINES} if _HOME.search(request.text) else None
        address = said[0][0] if said else home or _asked(state, f"order {order_id}")
        text, done = f"Send order {order_id} to {one_line(address)}", f"Order {order_id} will be sent to"
        arguments = {"order_id": order_id, **address}
        calls.append(Call("modify_pending_order_address", arguments, text, f"{done} {one_line(address)}."))
    return calls


def _asked(state: State, whose: str) -> Address:
    answer = state.ask(f"What is the new address for {whose}? Please give street, apartment, city, state and zip code.")
    if not (found := find_addresses(answer)):
        raise NotPossible(f"I do not have a complete new address for {whose}.")
    return found[0][0]


def hand_over(state: State, request: Request) -> list[Call]:
    """One call for a request, with the same summary whatever is said afterwards."""
    earlier = [past.arguments for past in state.past_calls if past.tool == HANDOVER]
    arguments = earlier[0] if earlier else {"summary": " ".join(request.words.split())[:500]}
    return [Call(HANDOVER, arguments, "Hand over to a person", "I have handed you over to a colleague.")]


WRITES: dict[str, Callable[[State, Request], list[Call]]] = {
    "cancel": cancel,
    "return": give_back,
    "exchange": exchange,
    "payment": pay,
    "address": move,
    "human": hand_over,
}
