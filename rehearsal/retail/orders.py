"""Finds the customer's orders and items that a request is about.

All functions raise ReadsNeeded, QuestionNeeded or NotPossible.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from rehearsal.retail.customer_requests import Request
from rehearsal.retail.identity import customer, identify
from rehearsal.retail.items import OrderItem, item_label, mentions, narrow_by_options, segments
from rehearsal.retail.request_state import Document, NotPossible, RequestState, gather
from rehearsal.retail.text_normalization import listing

STATUSES = {
    "pending": r"\bpending\b|\bnot (?:yet )?(?:been )?shipped\b|\bopen orders?\b",
    "delivered": r"\bdelivered\b|\breceived\b|\barrived\b|\bi got\b",
    "processed": r"\bprocessed\b|\bon its way\b",
    "cancelled": r"\bcancell?ed\b",
}
_MANY = re.compile(
    r"(?i)\b(?:all|both|every|each)\b(?: \w+){0,4} orders?\b|(?<!one of )\b(?:my|your) (?:\w+ ){0,2}orders\b"
)
_NAMED_BY_CONTENT = re.compile(  # an order that is named by what is in it
    r"(?i)\border (?:with|of|containing|for)\b"
    r"|\b(?!(?:my|your|the|an?|this|that|only|whole|entire|last|latest|pending|open|one|cancel|it) )\w+ order\b"
)
_CLAUSE = re.compile(r"(?i)\b(?:i|we|it|is|are|was|has|have)\b")  # between two items: they are not one list
_WHOLE = re.compile(
    r"(?i)\beverything\b|\ball (?:\w+ ){0,2}(?:items|things|of it)\b|\b(?:whole|entire) order\b|\bboth\b"
)


def item_names(order: Document) -> str:
    return listing([item["name"].lower() for item in order["items"]])


def orders_of(state: RequestState, ids: Sequence[str]) -> list[Document]:
    """The customer's own orders with these ids, read in parallel with the account."""
    identify(state)
    reads: list[Callable[[], Document | None]] = [partial(customer, state)]
    reads += [partial(state.document, "get_order_details", order_id) for order_id in ids]
    user, *orders = gather(reads)
    for order_id, order in zip(ids, orders, strict=True):
        if order is None:
            raise NotPossible(f"there is no order {order_id}.")
        if user is None or order.get("user_id") != user["user_id"]:
            raise NotPossible(f"order {order_id} is not one of your own, so I may not touch it or tell about it.")
    return [order for order in orders if order is not None]


def require_status(order: Document, status: str, done: str) -> None:
    if order["status"] != status:
        raise NotPossible(f"order {order['order_id']} is {order['status']}, and only {status} orders can be {done}.")


def all_orders(state: RequestState) -> list[Document]:
    return orders_of(state, [str(order_id) for order_id in customer(state).get("orders", [])])


def with_status(text: str, orders: Sequence[Document]) -> list[Document]:
    """The orders in a status that the text mentions; all if it mentions none."""
    statuses = [status for status, pattern in STATUSES.items() if re.search(pattern, text.lower())]
    return [order for order in orders if order["status"] in statuses or not statuses]


def find_orders(state: RequestState, request: Request, status: str, verb: str) -> list[Document]:
    """The orders that a request about whole orders refers to."""
    if request.order_ids:
        return orders_of(state, request.order_ids)
    orders = [order for order in all_orders(state) if not status or order["status"] == status]
    if _MANY.search(request.text) and orders:
        return orders
    for text in (request.text, request.rest):
        if spots := mentions(text, [item["name"] for order in orders for item in order["items"]]):
            holding = [order for order in orders if all(_has_item(order, spot.names) for spot in spots)]
            return choose_order(state, holding or orders, verb)
    if not orders:
        raise NotPossible(f"none of your orders is {status}.")
    return choose_order(state, orders, verb, sure=not _NAMED_BY_CONTENT.search(request.text))


def _has_item(order: Document, names: Sequence[str]) -> bool:
    return any(item["name"] in names for item in order["items"])


def choose_order(state: RequestState, orders: Sequence[Document], verb: str, *, sure: bool = True) -> list[Document]:
    """The only order if it is certain to be meant, else the one that the customer chooses."""
    options = [f"{order['order_id']}: {item_names(order)}" for order in orders]
    return [orders[state.pick(f"Which order would you like to {verb}?", options, sure=sure)]]


def find_items(
    state: RequestState, request: Request, statuses: Sequence[str], verb: str
) -> list[tuple[OrderItem, str]]:
    """The items that a request refers to, each with the words next to it."""
    orders = orders_of(state, request.order_ids) if request.order_ids else all_orders(state)
    items = [OrderItem(order, item) for order in orders for item in order["items"]]
    fitting = [entry for entry in items if entry.order["status"] in statuses] or (items if request.order_ids else [])
    if not request.order_ids and len(near := with_status(request.text, orders)) < len(orders):
        fitting = [entry for entry in fitting if entry.order in near]
    whole = _WHOLE.search(request.text)
    for text in (request.text, request.rest):
        spots = mentions(text, [entry.name for entry in fitting])
        between = " ".join(text[spot.end : following.start] for spot, following in pairwise(spots))
        if spots and not (whole and len(spots) == 1) and not _CLAUSE.search(between):
            parts = zip(spots, segments(text, spots), strict=True)
            chosen = [(_choose_item(state, spot.names, words, fitting, verb), words) for spot, words in parts]
            return list({entry.item["item_id"]: (entry, words) for entry, words in chosen}.values())
    ids = {entry.order["order_id"] for entry in fitting}
    if whole and len(ids) == 1 and verb == "return" and not mentions(request.text, [entry.name for entry in fitting]):
        return [(entry, request.text) for entry in fitting]
    if not fitting:
        raise NotPossible(f"none of your orders has anything that you can {verb}.")
    return [(_choose_item(state, tuple(entry.name for entry in fitting), "", fitting, verb), "")]


def _choose_item(
    state: RequestState, names: Sequence[str], words: str, items: Sequence[OrderItem], verb: str
) -> OrderItem:
    """The item with one of these names. Of several items it is the one whose options the words name (the words in
    brackets, if there are any), else the customer's choice. Without words the customer is always asked."""
    named = {(entry.order["order_id"], entry.item["item_id"]): entry for entry in items if entry.name in names}
    described = re.search(r"\(([^)]*)\)", words)
    close = narrow_by_options(described[1] if described else words, list(named.values()))
    what = listing(sorted({name.lower() for name in names}), "or") if words else "item"
    options = [f"{item_label(entry.item)} in {entry.order['order_id']}" for entry in close]
    return close[state.pick(f"Which {what} would you like to {verb}?", options, sure=bool(words))]
