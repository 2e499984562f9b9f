"""Answers to questions about the customer's orders and account, and about the store's products."""

import re
from functools import partial

from rehearsal.retail.addresses import one_line
from rehearsal.retail.customer_requests import Request
from rehearsal.retail.identity import customer
from rehearsal.retail.items import axes_of, has_options, item_label, mentions, named_options, options_label
from rehearsal.retail.orders import all_orders, find_orders, orders_of, with_status
from rehearsal.retail.payments import Methods, method_label, method_name
from rehearsal.retail.request_state import Document, RequestState, gather
from rehearsal.retail.text_normalization import listing, money

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


def look_up(state: RequestState, request: Request) -> list[str]:
    """Sentences that answer the request. Raises ReadsNeeded, QuestionNeeded or NotPossible."""
    if not request.order_ids and _SHOP.search(request.text) and not _OWN.search(request.text):
        types = state.types
        names = dict.fromkeys(name for spot in mentions(request.text, types) for name in spot.names)
        reads = [partial(state.document, "get_product_details", types[name]) for name in names]
        if reads:
            return [_product(product, request.text) for product in gather(reads) if product]
        listed = f"{len(types)} types of products: {', '.join(types)}."
        asks_for_one = not _ANY_PRODUCT.search(request.text)
        return [f"The store has no such product. It has {listed}" if asks_for_one else f"The store has {listed}"]
    if not request.order_ids and _ACCOUNT.search(request.text) and not _OWN.search(request.text):
        return [_account(customer(state))]
    return _orders(state, request)


def _orders(state: RequestState, request: Request) -> list[str]:
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
    """Status, items, payments, tracking number and address of one order."""
    items = listing([f"{item_label(item)} for {money(item['price'])}" for item in order["items"]])
    entries = [(entry["transaction_type"], entry) for entry in order["payment_history"]]
    paid, back = (
        listing(
            [
                f"{money(entry['amount'])}, {method_label(methods, entry['payment_method_id'])}"
                for kind, entry in entries
                if kind == what
            ]
        )
        for what in ("payment", "refund")
    )
    tracking = listing([number for entry in order["fulfillments"] for number in entry["tracking_id"]])
    sentences = [
        f"Order {order['order_id']} is {order['status']}: {items}; total {money(_total(order))}, paid: {paid}."
    ]
    sentences += [f"Refunded: {back}."] if back else []
    sentences.append(f"Tracking number: {tracking}." if tracking else "There is no tracking number yet.")
    return " ".join([*sentences, f"It goes to {one_line(order['address'])}."])


def _account(user: Document) -> str:
    methods = listing([method_name(method) for method in user["payment_methods"].values()])
    return f"Your account: {user['email']}, {one_line(user['address'])}. Payment methods on file: {methods}."


def _product(product: Document, text: str) -> str:
    variants = list(product["variants"].values())
    available = sorted(
        (variant for variant in variants if variant["available"]), key=lambda variant: float(variant["price"])
    )
    named = named_options(text, axes_of(variant["options"] for variant in variants))
    fitting = [variant for variant in available if has_options(variant["options"], named)]
    listed = "; ".join(
        f"{options_label(variant['options'])} at {money(variant['price'])}"
        for variant in (fitting if named else available)
    )
    name = product["name"].lower()
    counts = f"There are {len(variants)} variants of the {name}, {len(available)} of them available."
    as_said = " as you describe it" if named else ", the cheapest first"
    return f"{counts} Available{as_said}: {listed or 'none'}."
