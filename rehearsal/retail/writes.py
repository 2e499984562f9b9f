"""The write calls for each kind of request. All functions raise ReadsNeeded, QuestionNeeded or NotPossible."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

from rehearsal.matching import has_phrase
from rehearsal.retail.customer_requests import Request
from rehearsal.retail.identity import customer
from rehearsal.retail.orders import OrderItem, find_items, find_orders, require_status
from rehearsal.retail.payments import choose_method, method_label
from rehearsal.retail.request_state import HANDOVER, Call, Document, NotPossible, RequestState, gather
from rehearsal.retail.wording import (
    Address,
    find_address,
    item_label,
    item_names,
    listing,
    money,
    one_line,
    options_label,
)

MISTAKE, NO_NEED = "ordered by mistake", "no longer needed"
_REASONS = {MISTAKE: ("mistake", "accident"), NO_NEED: ("no longer", "need", "changed my mind")}
Swap = tuple[OrderItem, Document]  # an item, and the variant that takes its place


def cancel_orders(state: RequestState, request: Request) -> list[Call]:
    """Cancel whole orders: one call each."""
    calls = []
    for order in find_orders(state, request, "pending", "cancel"):
        order_id, methods = order["order_id"], customer(state)["payment_methods"]
        require_status(order, "pending", "cancelled")
        reason = _reason(state, request)
        paid = order["payment_history"][0]
        back = f"{money(paid['amount'])} goes back to {method_label(methods, paid['payment_method_id'])}"
        done = f"Order {order_id} ({item_names(order)}) is cancelled ({reason}); {back}."
        arguments = {"order_id": order_id, "reason": reason}
        calls.append(Call("cancel_pending_order", arguments, f"Cancel order {order_id}", done))
    return calls


def _reason(state: RequestState, request: Request) -> str:
    for reason, phrases in _REASONS.items():
        if has_phrase(request.text, phrases):
            return reason
    answer = state.ask("Why would you like to cancel: no longer needed, or ordered by mistake?", [NO_NEED, MISTAKE])
    return MISTAKE if has_phrase(answer, _REASONS[MISTAKE]) else NO_NEED


def change_payment(state: RequestState, request: Request) -> list[Call]:
    calls = []
    for order in find_orders(state, request, "pending", "pay differently"):
        order_id, methods, paid = order["order_id"], customer(state)["payment_methods"], order["payment_history"][0]
        require_status(order, "pending", "paid differently")
        amount = paid["amount"]
        allowed = [
            method_id
            for method_id, method in methods.items()
            if method_id != paid["payment_method_id"] and method.get("balance", amount) >= amount
        ]
        if not allowed:
            raise NotPossible(f"no other payment method on your account covers the {money(amount)} of {order_id}.")
        question = f"Which method shall order {order_id} be paid with?"
        method = choose_method(state, methods, request.text, allowed, question)
        label = method_label(methods, method)
        arguments = {"order_id": order_id, "payment_method_id": method}
        done = f"Order {order_id} ({money(amount)}) is now paid with {label}."
        calls.append(Call("modify_pending_order_payment", arguments, f"Pay order {order_id} with {label}", done))
    return calls


def change_address(state: RequestState, request: Request) -> list[Call]:
    """A new address for orders, or for the customer's account."""
    is_for_account = has_phrase(request.text, ("account", "profile")) and not has_phrase(request.text, ("order*",))
    if is_for_account:
        address = _address(state, request, "your account")
        text, done = f"Change the address of the account to {one_line(address)}", "The address in your account is now"
        arguments = {"user_id": customer(state)["user_id"], **address}
        return [Call("modify_user_address", arguments, text, f"{done} {one_line(address)}.")]
    calls = []
    for order in find_orders(state, request, "pending", "send elsewhere"):
        order_id = order["order_id"]
        require_status(order, "pending", "sent elsewhere")
        address = _address(state, request, f"order {order_id}")
        text, done = f"Send order {order_id} to {one_line(address)}", f"Order {order_id} will be sent to"
        arguments = {"order_id": order_id, **address}
        calls.append(Call("modify_pending_order_address", arguments, text, f"{done} {one_line(address)}."))
    return calls


def _address(state: RequestState, request: Request, whose: str) -> Address:
    question = f"What is the new address for {whose}? Please give street, city, state and zip code."
    address = find_address(request.text) or find_address(state.ask(question))
    if address is None:
        raise NotPossible(f"I do not have a complete new address for {whose}.")
    return address


def return_items(state: RequestState, request: Request) -> list[Call]:
    """One return for each order."""
    items = find_items(state, request, ["delivered"], "return")
    return [_return(state, request, some) for some in _by_order(items)]


def _by_order(items: Sequence[OrderItem]) -> list[list[OrderItem]]:
    ranked = sorted(items, key=lambda entry: str(entry.order["order_id"]))
    return [list(some) for _, some in groupby(ranked, key=lambda entry: entry.order["order_id"])]


def _return(state: RequestState, request: Request, items: Sequence[OrderItem]) -> Call:
    order, methods = items[0].order, customer(state)["payment_methods"]
    order_id, paid = order["order_id"], order["payment_history"][0]["payment_method_id"]
    require_status(order, "delivered", "returned")
    allowed = [method_id for method_id in methods if method_id == paid or methods[method_id]["source"] == "gift_card"]
    question = f"Where shall the refund for order {order_id} go?"
    method = choose_method(state, methods, request.text, allowed or [paid], question)
    returned = listing([f"{item_label(entry.item)} for {money(entry.item['price'])}" for entry in items])
    back = f"{money(sum(entry.item['price'] for entry in items))} will be refunded to {method_label(methods, method)}"
    ids = [entry.item["item_id"] for entry in items]
    return Call(
        "return_delivered_order_items",
        {"order_id": order_id, "item_ids": ids, "payment_method_id": method},
        f"Return {listing([str(entry.item['name']).lower() for entry in items])} of order {order_id}",
        f"The return of {returned} from order {order_id} is requested; {back}.",
    )


def exchange_items(state: RequestState, request: Request) -> list[Call]:
    """Exchange items for other variants: one call for each order, pending or delivered."""
    items = find_items(state, request, ["pending", "delivered"], "exchange")
    products = gather([partial(state.document, "get_product_details", entry.item["product_id"]) for entry in items])
    ends = [*(entry.at for entry in items[1:]), len(request.text)]
    swaps = [
        (entry, _variant(state, entry, request.text[max(entry.at, 0) : end], product or {}))
        for entry, end, product in zip(items, ends, products, strict=True)
    ]
    chosen = {entry.item["item_id"]: new for entry, new in swaps}
    orders = [[(entry, chosen[entry.item["item_id"]]) for entry in some] for some in _by_order(items)]
    return [_exchange(state, request, some) for some in orders]


def _variant(state: RequestState, old: OrderItem, words: str, product: Document) -> Document:
    """The available variant whose options the words name."""
    variants: list[Document] = [
        variant
        for variant in product.get("variants", {}).values()
        if variant["available"] and variant["item_id"] != old.item["item_id"]
    ]
    labels = [options_label(variant["options"]) for variant in variants]
    after = words[len(item_label(old.item)) :] if item_label(old.item) in words else words
    if named := [variant for variant, label in zip(variants, labels, strict=True) if label in after]:
        return named[0]
    if not variants:
        raise NotPossible(f"no other {old.item['name'].lower()} is in stock.")
    label = options_label(old.item["options"])
    question = f"Which {old.item['name'].lower()} would you like instead of the one with {label}?"
    options = [f"{label} at {money(new['price'])}" for label, new in zip(labels, variants, strict=True)]
    return variants[state.pick(question, options, sure=False)]


def _exchange(state: RequestState, request: Request, swaps: Sequence[Swap]) -> Call:
    order, methods = swaps[0][0].order, customer(state)["payment_methods"]
    order_id, pending = order["order_id"], order["status"] == "pending"
    if not pending:
        require_status(order, "delivered", "exchanged")
    difference = round(sum(new["price"] - old.item["price"] for old, new in swaps), 2)
    allowed = [method_id for method_id in methods if methods[method_id].get("balance", difference) >= difference]
    question = f"Which payment method shall be used for the difference of {money(abs(difference))} in order {order_id}?"
    method = choose_method(state, methods, request.text, allowed, question)
    what = listing([f"{item_label(old.item)} for {options_label(new['options'])}" for old, new in swaps])
    charged = "charged" if difference > 0 else "refunded"
    return Call(
        "modify_pending_order_items" if pending else "exchange_delivered_order_items",
        {
            "order_id": order_id,
            "item_ids": [old.item["item_id"] for old, _ in swaps],
            "new_item_ids": [new["item_id"] for _, new in swaps],
            "payment_method_id": method,
        },
        f"{'Change' if pending else 'Exchange'} in order {order_id}: {what}",
        f"Order {order_id} {'is modified' if pending else 'has an exchange requested'}: {what}; "
        f"{money(abs(difference))} is {charged} to {method_label(methods, method)}.",
    )


def hand_over(state: RequestState, request: Request) -> list[Call]:
    """Hand over to a person: one call for a request, whose summary stays the same after later messages."""
    earlier = [past.arguments for past in state.past_calls if past.tool == HANDOVER]
    arguments = earlier[0] if earlier else {"summary": " ".join(request.text.split())[:500]}
    return [Call(HANDOVER, arguments, "Hand over to a person", "I have handed you over to a colleague.")]


WRITES: dict[str, Callable[[RequestState, Request], list[Call]]] = {
    "cancel": cancel_orders,
    "return": return_items,
    "exchange": exchange_items,
    "payment": change_payment,
    "address": change_address,
    "human": hand_over,
}
