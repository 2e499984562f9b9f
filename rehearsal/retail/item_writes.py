"""Returns and exchanges of items. All functions raise Need, Ask or NotPossible; what is not certain is asked."""

import re
from collections.abc import Sequence
from functools import partial

from rehearsal.retail.identity import customer
from rehearsal.retail.items import OrderItem, axes_of, called, described, fits, named_options
from rehearsal.retail.orders import find_items, must_be
from rehearsal.retail.payments import choose, label, request_methods
from rehearsal.retail.requests import Request
from rehearsal.retail.state import Call, Document, NotPossible, State, together
from rehearsal.retail.words import listing, money


def give_back(state: State, request: Request) -> list[Call]:
    """One return for each order."""
    return [_returned(state, request, some) for some in _by_order(find_items(state, request, ["delivered"], "return"))]


def _by_order[T](items: Sequence[tuple[OrderItem, T]]) -> list[list[tuple[OrderItem, T]]]:
    ids = dict.fromkeys(one.order["order_id"] for one, _ in items)
    return [[one for one in items if one[0].order["order_id"] == order_id] for order_id in ids]


def _returned(state: State, request: Request, items: Sequence[tuple[OrderItem, str]]) -> Call:
    order, methods = items[0][0].order, customer(state)["payment_methods"]
    order_id, paid = order["order_id"], order["payment_history"][0]["payment_method_id"]
    must_be(order, "delivered", "returned")
    able = [one for one in methods if one == paid or methods[one]["source"] == "gift_card"]
    question = f"Where shall the refund for order {order_id} go?"
    method = choose(state, methods, request_methods(state, request, methods, paid), able or [paid], question)
    if method not in able and method != paid:
        raise NotPossible(
            f"the refund can go to {label(methods, paid)} or to a gift card, not to {label(methods, method)}."
        )
    things = listing([f"{called(one.item)} for {money(one.item['price'])}" for one, _ in items])
    back = f"{money(sum(one.item['price'] for one, _ in items))} will be refunded to {label(methods, method)}"
    return Call(
        "return_delivered_order_items",
        {"order_id": order_id, "item_ids": [one.item["item_id"] for one, _ in items], "payment_method_id": method},
        f"Return {listing([one.name.lower() for one, _ in items])} of order {order_id}",
        f"The return of {things} from order {order_id} is requested; {back}.",
    )


def exchange(state: State, request: Request) -> list[Call]:
    """Other variants of items: one call for each order, which is pending or delivered."""
    items = find_items(state, request, ["pending", "delivered"], "exchange")
    reads = [partial(state.look, "get_product_details", one.item["product_id"]) for one, _ in items]
    calls = []
    products = {product["product_id"]: product for product in together(reads) if product}
    if missing := [one.name for one, _ in items if one.item["product_id"] not in products]:
        raise NotPossible(f"the store does not tell which variants there are of {', '.join(missing)}.")
    for some in _by_order(items):
        swaps = [
            (one, _variant(state, one, request.words if len(items) == 1 else words, products[one.item["product_id"]]))
            for one, words in some
        ]
        calls.append(_exchanged(state, request, some[0][0].order, swaps))
    return calls


def _variant(state: State, old: OrderItem, words: str, product: Document) -> Document:
    """The available variant that has the options that were named, and is like the item in all others."""
    item, name = old.item, old.name.lower()
    there = [one for one in product.get("variants", {}).values() if one["available"]]
    there = [one for one in there if one["item_id"] != item["item_id"]]
    options = [f"{described(one['options'])} at {money(one['price'])}" for one in there]
    question = f"Which {name} would you like instead of the one with {described(item['options'])}?"
    if found := _like(state.answer(question) or re.sub(r"\([^)]*\)", " ", words), item, product, there):
        return found
    state.ask(question, options)
    raise NotPossible(f"there is no {name} in stock that is as you say; available: {'; '.join(options)}.")


def _like(words: str, item: Document, product: Document, there: Sequence[Document]) -> Document | None:
    """The one variant that differs from the item in what the words name, and in nothing else."""
    if there and re.search(r"(?i)\bcheapest\b", words):
        return min(there, key=lambda one: float(one["price"]))
    named = named_options(words, axes_of(one["options"] for one in product["variants"].values()))
    wanted = {axis: values - {item["options"].get(axis, "")} for axis, values in named.items()}
    wanted = {axis: values for axis, values in wanted.items() if values}
    if not wanted or any(len(values) > 1 for values in wanted.values()):
        return None
    stays = {axis: {value} for axis, value in item["options"].items() if axis not in wanted}
    found = [one for one in there if fits(one["options"], wanted | stays)]
    return found[0] if len(found) == 1 else None


def _exchanged(state: State, request: Request, order: Document, swaps: Sequence[tuple[OrderItem, Document]]) -> Call:
    order_id, methods = order["order_id"], customer(state)["payment_methods"]
    if order["status"] not in ("pending", "delivered"):
        raise NotPossible(
            f"order {order_id} is {order['status']}, and only pending and delivered orders can be changed."
        )
    difference = round(sum(new["price"] - old.item["price"] for old, new in swaps), 2)
    able = [one for one in methods if methods[one].get("balance", difference) >= difference]
    said = request_methods(state, request, methods, order["payment_history"][0]["payment_method_id"])
    question = f"Which payment method shall be used for the difference of {money(abs(difference))} in order {order_id}?"
    method = choose(state, methods, said, able, question)
    if method not in able and method in methods:
        raise NotPossible(f"{label(methods, method)} does not cover the difference of {money(difference)}.")
    pending = order["status"] == "pending"
    what = listing([f"{called(old.item)} for {described(new['options'])}" for old, new in swaps])
    paid = f"{money(abs(difference))} is {'charged' if difference > 0 else 'refunded'} to {label(methods, method)}"
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
