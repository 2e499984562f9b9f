"""Returns and exchanges of items. All functions raise ReadsNeeded, QuestionNeeded or NotPossible."""

import re
from collections.abc import Sequence
from functools import partial

from rehearsal.retail.customer_requests import Request
from rehearsal.retail.identity import customer
from rehearsal.retail.items import OrderItem, axes_of, has_options, item_label, named_options, options_label
from rehearsal.retail.orders import find_items, require_status
from rehearsal.retail.payments import choose_method, method_label, request_methods
from rehearsal.retail.request_state import Call, Document, NotPossible, RequestState, gather
from rehearsal.retail.text_normalization import listing, money


def return_items(state: RequestState, request: Request) -> list[Call]:
    """One return for each order."""
    return [
        _return_call(state, request, some) for some in _by_order(find_items(state, request, ["delivered"], "return"))
    ]


def _by_order[T](items: Sequence[tuple[OrderItem, T]]) -> list[list[tuple[OrderItem, T]]]:
    ids = dict.fromkeys(entry.order["order_id"] for entry, _ in items)
    return [[entry for entry in items if entry[0].order["order_id"] == order_id] for order_id in ids]


def _return_call(state: RequestState, request: Request, items: Sequence[tuple[OrderItem, str]]) -> Call:
    order, methods = items[0][0].order, customer(state)["payment_methods"]
    order_id, paid = order["order_id"], order["payment_history"][0]["payment_method_id"]
    require_status(order, "delivered", "returned")
    allowed = [method_id for method_id in methods if method_id == paid or methods[method_id]["source"] == "gift_card"]
    question = f"Where shall the refund for order {order_id} go?"
    method = choose_method(state, methods, request_methods(state, request, methods, paid), allowed or [paid], question)
    if method not in allowed and method != paid:
        original, chosen = method_label(methods, paid), method_label(methods, method)
        raise NotPossible(f"the refund can go to {original} or to a gift card, not to {chosen}.")
    returned = listing([f"{item_label(entry.item)} for {money(entry.item['price'])}" for entry, _ in items])
    total = money(sum(entry.item["price"] for entry, _ in items))
    back = f"{total} will be refunded to {method_label(methods, method)}"
    return Call(
        "return_delivered_order_items",
        {
            "order_id": order_id,
            "item_ids": [entry.item["item_id"] for entry, _ in items],
            "payment_method_id": method,
        },
        f"Return {listing([entry.name.lower() for entry, _ in items])} of order {order_id}",
        f"The return of {returned} from order {order_id} is requested; {back}.",
    )


def exchange_items(state: RequestState, request: Request) -> list[Call]:
    """Exchange items for other variants: one call for each order, pending or delivered."""
    items = find_items(state, request, ["pending", "delivered"], "exchange")
    reads = [partial(state.document, "get_product_details", entry.item["product_id"]) for entry, _ in items]
    calls = []
    products = {product["product_id"]: product for product in gather(reads) if product}
    if missing := [entry.name for entry, _ in items if entry.item["product_id"] not in products]:
        raise NotPossible(f"the store does not tell which variants there are of {', '.join(missing)}.")
    for some in _by_order(items):
        swaps = [
            (
                entry,
                _variant(state, entry, request.words if len(items) == 1 else words, products[entry.item["product_id"]]),
            )
            for entry, words in some
        ]
        calls.append(_exchange_call(state, request, some[0][0].order, swaps))
    return calls


def _variant(state: RequestState, old: OrderItem, words: str, product: Document) -> Document:
    """The available variant with the named options that equals the item in all others."""
    item, name = old.item, old.name.lower()
    available = [variant for variant in product.get("variants", {}).values() if variant["available"]]
    available = [variant for variant in available if variant["item_id"] != item["item_id"]]
    options = [f"{options_label(variant['options'])} at {money(variant['price'])}" for variant in available]
    question = f"Which {name} would you like instead of the one with {options_label(item['options'])}?"
    if match := _matching_variant(state.answer(question) or re.sub(r"\([^)]*\)", " ", words), item, product, available):
        return match
    state.ask(question, options)
    raise NotPossible(f"there is no {name} in stock that is as you say; available: {'; '.join(options)}.")


def _matching_variant(words: str, item: Document, product: Document, available: Sequence[Document]) -> Document | None:
    """The only variant that differs from the item in exactly what the words name; None if there is none."""
    if available and re.search(r"(?i)\bcheapest\b", words):
        return min(available, key=lambda variant: float(variant["price"]))
    named = named_options(words, axes_of(variant["options"] for variant in product["variants"].values()))
    changed = {axis: values - {item["options"].get(axis, "")} for axis, values in named.items()}
    changed = {axis: values for axis, values in changed.items() if values}
    if not changed or any(len(values) > 1 for values in changed.values()):
        return None
    stays = {axis: {value} for axis, value in item["options"].items() if axis not in changed}
    matches = [variant for variant in available if has_options(variant["options"], changed | stays)]
    return matches[0] if len(matches) == 1 else None


def _exchange_call(
    state: RequestState, request: Request, order: Document, swaps: Sequence[tuple[OrderItem, Document]]
) -> Call:
    order_id, methods = order["order_id"], customer(state)["payment_methods"]
    if order["status"] not in ("pending", "delivered"):
        raise NotPossible(
            f"order {order_id} is {order['status']}, and only pending and delivered orders can be changed."
        )
    difference = round(sum(new["price"] - old.item["price"] for old, new in swaps), 2)
    sufficient = [method_id for method_id in methods if methods[method_id].get("balance", difference) >= difference]
    mentioned = request_methods(state, request, methods, order["payment_history"][0]["payment_method_id"])
    question = f"Which payment method shall be used for the difference of {money(abs(difference))} in order {order_id}?"
    method = choose_method(state, methods, mentioned, sufficient, question)
    if method not in sufficient and method in methods:
        raise NotPossible(f"{method_label(methods, method)} does not cover the difference of {money(difference)}.")
    pending = order["status"] == "pending"
    what = listing([f"{item_label(old.item)} for {options_label(new['options'])}" for old, new in swaps])
    paid = (
        f"{money(abs(difference))} is {'charged' if difference > 0 else 'refunded'} to {method_label(methods, method)}"
    )
    return Call(
        "modify_pending_order_items" if pending else "exchange_delivered_order_items",
        {
            "order_id": order_id,
            "item_ids": [old.item["item_id"] for old, _ in swaps],
            "new_item_ids": [new["item_id"] for _, new in swaps],
            "payment_method_id": method,
        },
        f"{'Change' if pending else 'Exchange'} in order {order_id}: {what}",
        f"Order {order_id} {'is modified' if pending else 'has an exchange requested'}: {what}; {paid}.",
    )
