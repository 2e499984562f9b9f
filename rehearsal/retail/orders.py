"""Finds the customer's orders and items that a request is about.

All functions raise ReadsNeeded, QuestionNeeded or NotPossible.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from rehearsal.retail.customer_requests import Request
from rehearsal.retail.identity import customer, identify
from rehearsal.retail.request_state import Document, NotPossible, RequestState, gather
from rehearsal.retail.wording import item_label, item_names


class OrderItem(NamedTuple):
    """One item of one order, and where the request's text names it (-1: nowhere)."""

    order: Document
    item: Document
    at: int = -1


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


def find_orders(state: RequestState, request: Request, status: str, verb: str) -> list[Document]:
    """The orders that a request about whole orders refers to."""
    if request.order_ids:
        return orders_of(state, request.order_ids)
    orders = [order for order in all_orders(state) if not status or order["status"] == status]
    if not orders:
        raise NotPossible(f"none of your orders is {status}.")
    options = [f"{order['order_id']}: {item_names(order)}" for order in orders]
    return [orders[state.pick(f"Which order would you like to {verb}?", options)]]


def find_items(state: RequestState, request: Request, statuses: Sequence[str], verb: str) -> list[OrderItem]:
    """The items that a request names, in the order of its text: with their options, or by their name alone."""
    orders = orders_of(state, request.order_ids) if request.order_ids else all_orders(state)
    lower = request.text.lower()
    items = [
        OrderItem(order, item, lower.find(item_label(item).lower()))
        for order in orders
        for item in order["items"]
        if order["status"] in statuses or request.order_ids
    ]
    if not items:
        raise NotPossible(f"none of your orders is {' or '.join(statuses)}.")
    if exact := [entry for entry in items if entry.at >= 0]:
        return sorted(exact, key=lambda entry: entry.at)
    named = [entry._replace(at=at) for entry in items if (at := lower.find(str(entry.item["name"]).lower())) >= 0]
    candidates = named or items
    options = [f"{item_label(entry.item)} of order {entry.order['order_id']}" for entry in candidates]
    if named and len({entry.item["name"] for entry in named}) == len(named):
        return sorted(named, key=lambda entry: entry.at)
    return [candidates[state.pick(f"Which item would you like to {verb}?", options, sure=bool(named))]]
