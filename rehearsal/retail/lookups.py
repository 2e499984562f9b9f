"""Answers to questions about the customer's orders and account, and about the store's products."""

import re
from functools import partial

from rehearsal.retail.addresses import one_line
from rehearsal.retail.identity import customer
from rehearsal.retail.items import axes_of, called, described, fits, mentions, named_options
from rehearsal.retail.orders import all_orders, find_orders, orders_of, with_status
from rehearsal.retail.payments import Methods, label, method_name
from rehearsal.retail.requests import Request
from rehearsal.retail.state import Document, State, together
from rehearsal.retail.words import listing, money

_ACCOUNT = re.compile(
    r"(?i)\b(?:gift cards?|payment methods?|cards|on file|(?:my|your|the) (?:profile|account|e-?mail))\b(?! for)"
)
_SHOP = re.compile(
    r"(?i)\b(?:availab\w+|in stock|sell|offer|carry|buy|bought now|variants?|cheapest|do you have|most expensive"
    r"|which colou?rs|how many (?:different )?(?!orders|items)|(?:how much|what) (?:is|does|do) an?|price of an?)\b"
)
_ANY_PRODUCT = re.compile(  # words about products of every type
    r"(?i)\b(?:products?|items?|types?|things?|anything|everything|what (?:\w+ ){0,2}(?:sell|offer|carry|have))\b"
)
_OWN = re.compile(r"(?i)\b(?:orders?|did (?:i|you)|(?:i|you) (?:paid|ordered|bought))\b")


def look_up(state: State, request: Request) -> list[str]:
    """Sentences that answer the request. Raises Need, Ask or NotPossible."""
    if not request.order_ids and _SHOP.search(request.text) and not _OWN.search(request.text):
        types = state.types
        names = dict.fromkeys(name for spot in mentions(request.text, types) for name in spot.names)
        reads = [partial(state.look, "get_product_details", types[name]) for name in names]
        if reads:
            return [_product(product, request.text) for product in together(reads) if product]
        listed = f"{len(types)} types of products: {', '.join(types)}."
        one = not _ANY_PRODUCT.search(request.text)
        return [f"The store has no such product. It has {listed}" if one else f"The store has {listed}"]
    if not request.order_ids and _ACCOUNT.search(request.text) and not _OWN.search(request.text):
        return [_account(customer(state))]
    return _orders(state, request)


def _orders(state: State, request: Request) -> list[str]:
    if request.order_ids:
        orders = orders_of(state, request.order_ids)
    elif re.search(r"(?i)\borders\b|\border history\b", request.text):
        orders = with_status(request.text, all_orders(state))
    else:
        orders = find_orders(state, request, "", "know about")
    methods = customer(state)["payment_methods"]
    sentences = [_order(order, methods) for order in orders] or ["None of your orders is like that."]
    names = {name for spot in mentions(request.text, _names(orders)) for name in spot.names}
    items = [item for order in orders for item in order["items"] if item["name"] in names]
    if len(items) > 1:
        sentences.append(f"Together these items come to {money(sum(item['price'] for item in items))}.")
    if len(orders) > 1:
        sentences.append(f"Together these {len(orders)} orders come to {money(sum(map(_total, orders)))}.")
    return sentences


def _names(orders: list[Document]) -> list[str]:
    return [item["name"] for order in orders for item in order["items"]]


def _total(order: Document) -> float:
    return round(sum(float(item["price"]) for item in order["items"]), 2)


def _order(order: Document, methods: Methods) -> str:
    """Everything that is worth knowing of one order."""
    items = listing([f"{called(item)} for {money(item['price'])}" for item in order["items"]])
    entries = [(one["transaction_type"], one) for one in order["payment_history"]]
    paid, back = (
        listing(
            [
                f"{money(one['amount'])}, {label(methods, one['payment_method_id'])}"
                for kind, one in entries
                if kind == what
            ]
        )
        for what in ("payment", "refund")
    )
    tracking = listing([number for one in order["fulfillments"] for number in one["tracking_id"]])
    sentences = [
        f"Order {order['order_id']} is {order['status']}: {items}; total {money(_total(order))}, paid: {paid}."
    ]
    sentences += [f"Refunded: {back}."] if back else []
    sentences.append(f"Tracking number: {tracking}." if tracking else "There is no tracking number yet.")
    return " ".join([*sentences, f"It goes to {one_line(order['address'])}."])


def _account(user: Document) -> str:
    methods = listing([method_name(one) for one in user["payment_methods"].values()])
    return f"Your account: {user['email']}, {one_line(user['address'])}. Payment methods on file: {methods}."


def _product(product: Document, text: str) -> str:
    variants = list(product["variants"].values())
    there = sorted((one for one in variants if one["available"]), key=lambda one: float(one["price"]))
    asked = named_options(text, axes_of(one["options"] for one in variants))
    fitting = [one for one in there if fits(one["options"], asked)]
    shown = "; ".join(f"{described(one['options'])} at {money(one['price'])}" for one in (fitting if asked else there))
    name = product["name"].lower()
    counts = f"There are {len(variants)} variants of the {name}, {len(there)} of them available."
    as_said = " as you describe it" if asked else ", the cheapest first"
    return f"{counts} Available{as_said}: {shown or 'none'}."
