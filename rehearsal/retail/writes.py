"""The write calls for each kind of request. This module has those about whole orders and accounts.

All functions raise ReadsNeeded, QuestionNeeded or NotPossible.
"""

import re
from collections.abc import Callable

from rehearsal.retail.addresses import LINES, Address, find_addresses, one_line
from rehearsal.retail.customer_requests import Request
from rehearsal.retail.identity import customer
from rehearsal.retail.item_writes import exchange_items, return_items
from rehearsal.retail.items import mentions
from rehearsal.retail.orders import find_orders, item_names, require_status
from rehearsal.retail.payments import choose_method, method_label, request_methods
from rehearsal.retail.request_state import HANDOVER, Call, Document, NotPossible, RequestState
from rehearsal.retail.text_normalization import money

MISTAKE, NO_NEED = "ordered by mistake", "no longer needed"
_REASONS = {
    MISTAKE: r"\bmistake\b|\baccident\w*|\bwrong(?:ly)?\b|\bnot mean\b|\bnever meant\b|\bmis-?click\w*|\btwice\b",
    NO_NEED: r"\bno longer\b|\bnot (?:really )?(?:need|want)\w*\b|\bno need\b|\bcheaper\b|\bchanged? (?:my|your) mind\b"
    r"|\balready (?:have|bought)\b|\btoo (?:late|long|expensive)\b|\bcan not afford\b",
}
_HOME = re.compile(r"(?i)\b(?:home|default|own|profile|account)\b")


def cancel_orders(state: RequestState, request: Request) -> list[Call]:
    """Cancel whole orders: one call each."""
    calls = []
    for order in find_orders(state, request, "pending", "cancel"):
        order_id, methods = order["order_id"], customer(state)["payment_methods"]
        require_status(order, "pending", "cancelled")
        if _names_some_items(request.text, order):
            raise NotPossible(f"single items of order {order_id} cannot be cancelled, only the order as a whole.")
        reason = _reason(state, request)
        paid = order["payment_history"][0]
        back = f"{money(paid['amount'])} goes back to {method_label(methods, paid['payment_method_id'])}"
        done = f"Order {order_id} ({item_names(order)}) is cancelled ({reason}); {back}."
        arguments = {"order_id": order_id, "reason": reason}
        calls.append(Call("cancel_pending_order", arguments, f"Cancel order {order_id}", done))
    return calls


def _names_some_items(text: str, order: Document) -> bool:
    """Whether the text names only some of the order's items, other than to identify the order."""
    spots = mentions(text, [item["name"] for item in order["items"]])
    telling = re.search(r"(?i)\b(?:order|one) (?:with|containing|that has|including)\b|\border it\b", text) or any(
        re.match(r"(?i) order\b", text[spot.end :]) for spot in spots
    )
    return bool(spots) and not telling and len(spots) < len(order["items"])


def _reason(state: RequestState, request: Request) -> str:
    for text in (request.text, request.rest):
        if reasons := [reason for reason, pattern in _REASONS.items() if re.search(pattern, text.lower())]:
            return reasons[0]
    answer = state.ask("Why would you like to cancel: no longer needed, or ordered by mistake?", [NO_NEED, MISTAKE])
    return MISTAKE if re.search(_REASONS[MISTAKE], answer.lower()) else NO_NEED


def change_payment(state: RequestState, request: Request) -> list[Call]:
    calls = []
    for order in find_orders(state, request, "pending", "pay differently"):
        order_id, methods, paid = order["order_id"], customer(state)["payment_methods"], order["payment_history"][0]
        require_status(order, "pending", "paid differently")
        others = [method_id for method_id in methods if method_id != paid["payment_method_id"]]
        if not others:
            raise NotPossible(f"order {order_id} is paid with the only payment method on your account.")
        mentioned = [method_id for method_id in request_methods(state, request, methods) or () if method_id in others]
        method = choose_method(
            state, methods, mentioned or None, others, f"Which method shall order {order_id} be paid with?"
        )
        if method not in others:
            raise NotPossible(f"order {order_id} is paid with {method_label(methods, method)} already.")
        if methods[method].get("balance", paid["amount"]) < paid["amount"]:
            raise NotPossible(
                f"{method_label(methods, method)} does not cover the {money(paid['amount'])} of order {order_id}."
            )
        text = f"Pay order {order_id} with {method_label(methods, method)}"
        done = f"Order {order_id} ({money(paid['amount'])}) is now paid with {method_label(methods, method)}."
        arguments = {"order_id": order_id, "payment_method_id": method}
        calls.append(Call("modify_pending_order_payment", arguments, text, done))
    return calls


def change_address(state: RequestState, request: Request) -> list[Call]:
    """A new address for orders, or for the customer's account."""
    addresses = find_addresses(request.text) or find_addresses(request.rest) or find_addresses(state.message)
    if request.about_account and not request.order_ids and (addresses or not re.search(r"(?i)\border\b", request.text)):
        user_id = customer(state)["user_id"]
        address = addresses[0][0] if addresses else _ask_address(state, "your account")
        text, done = f"Change the address of the account to {one_line(address)}", "The address in your account is now"
        return [Call("modify_user_address", {"user_id": user_id, **address}, text, f"{done} {one_line(address)}.")]
    calls = []
    for order in find_orders(state, request, "pending", "send elsewhere"):
        order_id, user = order["order_id"], customer(state)
        require_status(order, "pending", "sent elsewhere")
        home = {line: str(user["address"].get(line, "")) for line in LINES} if _HOME.search(request.text) else None
        address = addresses[0][0] if addresses else home or _ask_address(state, f"order {order_id}")
        text, done = f"Send order {order_id} to {one_line(address)}", f"Order {order_id} will be sent to"
        arguments = {"order_id": order_id, **address}
        calls.append(Call("modify_pending_order_address", arguments, text, f"{done} {one_line(address)}."))
    return calls


def _ask_address(state: RequestState, whose: str) -> Address:
    answer = state.ask(f"What is the new address for {whose}? Please give street, apartment, city, state and zip code.")
    if not (addresses := find_addresses(answer)):
        raise NotPossible(f"I do not have a complete new address for {whose}.")
    return addresses[0][0]


def hand_over(state: RequestState, request: Request) -> list[Call]:
    """Hand over to a person: one call for a request, whose summary stays the same after later messages."""
    earlier = [past.arguments for past in state.past_calls if past.tool == HANDOVER]
    arguments = earlier[0] if earlier else {"summary": " ".join(request.words.split())[:500]}
    return [Call(HANDOVER, arguments, "Hand over to a person", "I have handed you over to a colleague.")]


WRITES: dict[str, Callable[[RequestState, Request], list[Call]]] = {
    "cancel": cancel_orders,
    "return": return_items,
    "exchange": exchange_items,
    "payment": change_payment,
    "address": change_address,
    "human": hand_over,
}
