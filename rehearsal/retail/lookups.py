"""Answers to questions about the customer's orders and account, and about the store's products."""

from functools import partial

from rehearsal.matching import has_phrase
from rehearsal.retail.customer_requests import Request
from rehearsal.retail.identity import customer
from rehearsal.retail.orders import all_orders, find_orders
from rehearsal.retail.payments import Methods, method_label, method_name
from rehearsal.retail.request_state import Document, RequestState, gather
from rehearsal.retail.wording import item_label, listing, money, one_line, options_label

_ACCOUNT = ("gift card*", "payment method*", "account", "profile")


def look_up(state: RequestState, request: Request) -> list[str]:
    """Sentences that answer the request. Raises ReadsNeeded, QuestionNeeded or NotPossible."""
    if request.order_ids:
        return _orders(state, find_orders(state, request, "", "know about"))
    if has_phrase(request.text, _ACCOUNT):
        return [_account(customer(state))]
    if has_phrase(request.text, ("orders",)):
        return _orders(state, all_orders(state))
    if has_phrase(request.text, ("order", "parcel")):
        return _orders(state, find_orders(state, request, "", "know about"))
    types = state.types
    named = [product_id for name, product_id in types.items() if has_phrase(request.text, (f"{name.lower()}*",))]
    reads = [partial(state.document, "get_product_details", product_id) for product_id in named]
    missing = f"The store has no such product. It has {len(types)} types of products: {', '.join(types)}."
    return [_product(product) for product in gather(reads) if product] or [missing]


def _orders(state: RequestState, orders: list[Document]) -> list[str]:
    methods = customer(state)["payment_methods"]
    return [_order(order, methods) for order in orders]


def _order(order: Document, methods: Methods) -> str:
    """Status, items, payments, tracking number and address of one order."""
    items = listing([f"{item_label(item)} for {money(item['price'])}" for item in order["items"]])
    total = money(sum(float(item["price"]) for item in order["items"]))
    paid = listing(
        [
            f"{entry['transaction_type']} {money(entry['amount'])}, {method_label(methods, entry['payment_method_id'])}"
            for entry in order["payment_history"]
        ]
    )
    tracking = listing([number for entry in order["fulfillments"] for number in entry["tracking_id"]])
    return (
        f"Order {order['order_id']} is {order['status']}: {items}; total {total} ({paid}). "
        f"Tracking number: {tracking or 'none yet'}. It goes to {one_line(order['address'])}."
    )


def _account(user: Document) -> str:
    methods = listing([method_name(method) for method in user["payment_methods"].values()])
    return f"Your account: {user['email']}, {one_line(user['address'])}. Payment methods on file: {methods}."


def _product(product: Document) -> str:
    variants = list(product["variants"].values())
    available = sorted((variant for variant in variants if variant["available"]), key=lambda new: float(new["price"]))
    listed = "; ".join(f"{options_label(new['options'])} at {money(new['price'])}" for new in available)
    counts = f"There are {len(variants)} variants of the {product['name'].lower()}, {len(available)} of them available"
    return f"{counts}, the cheapest first: {listed or 'none'}."
