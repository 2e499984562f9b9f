"""The seven tools that change a world, with the checks, their order and the effects of tau-bench.

Money is rounded exactly where tau-bench rounds it: balances always, the difference of an exchange, but not that of
modified items. Nothing is written before all checks have passed. Arguments are used as the model sent them: a text in
place of a list is iterated by character.
"""

import json
from collections.abc import Sequence
from typing import Literal, get_args

from pydantic import JsonValue

from packs.retail.records import Document, Records

Reason = Literal["no longer needed", "ordered by mistake"]
CANCEL_REASONS: tuple[str, ...] = get_args(Reason)
ADDRESS = (
    "address1",
    "address2",
    "city",
    "state",
    "country",
    "zip",
)  # the order of the arguments, not of the stored address


class CallRefused(Exception):
    """The tool refuses the call; the result is "Error: " and this text."""


def cancel_pending_order(records: Records, order_id: str, reason: str) -> str:
    order = _order(records, order_id, "pending", "non-pending order cannot be cancelled")
    if reason not in CANCEL_REASONS:
        raise CallRefused("invalid reason")
    user = _owner(records, order)
    refunds = [_entry("refund", paid["amount"], paid["payment_method_id"]) for paid in order["payment_history"]]
    for refund in refunds:  # of every entry, even of a refund, as in tau-bench
        _pay_back(user, refund["payment_method_id"], refund["amount"])
    order["status"] = "cancelled"
    order["cancel_reason"] = reason
    order["payment_history"].extend(refunds)
    return _saved(records, order_id, order, user)


def modify_pending_order_address(records: Records, order_id: str, *address: str) -> str:
    order = _order(records, order_id, "pending", "non-pending order cannot be modified")
    order["address"] = dict(zip(ADDRESS, address, strict=True))
    return _saved(records, order_id, order)


def modify_user_address(records: Records, user_id: str, *address: str) -> str:
    user = records.get("users", user_id)
    if user is None:
        raise CallRefused("user not found")
    user["address"] = dict(zip(ADDRESS, address, strict=True))
    result = json.dumps(user)
    records.put("users", user_id, user)
    return result


def modify_pending_order_payment(records: Records, order_id: str, payment_method_id: str) -> str:
    order = _order(records, order_id, "pending", "non-pending order cannot be modified")
    user = _owner(records, order)
    method = _method(user, payment_method_id)
    history = order["payment_history"]
    if len(history) > 1 or history[0]["transaction_type"] != "payment":
        raise CallRefused("there should be exactly one payment for a pending order")
    current, amount = history[0]["payment_method_id"], history[0]["amount"]
    if current == payment_method_id:
        raise CallRefused("the new payment method should be different from the current one")
    _must_cover(method, amount, "the order")
    history.extend([_entry("payment", amount, payment_method_id), _entry("refund", amount, current)])
    if method["source"] == "gift_card":
        method["balance"] = round(method["balance"] - amount, 2)
    _pay_back(user, current, amount)
    return _saved(records, order_id, order, user)


def modify_pending_order_items(
    records: Records, order_id: str, item_ids: Sequence[str], new_item_ids: Sequence[str], payment_method_id: str
) -> str:
    order = _order(records, order_id, "pending", "non-pending order cannot be modified")
    difference = _difference(records, order, item_ids, new_item_ids)
    user = _owner(records, order)
    method = _method(user, payment_method_id)
    _must_cover(method, difference, "the new item")
    kind = "payment" if difference > 0 else "refund"
    order["payment_history"].append(_entry(kind, abs(difference), payment_method_id))
    if method["source"] == "gift_card":
        method["balance"] = round(method["balance"] - difference, 2)
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        item = _item(order, item_id)  # looked up again: an earlier replacement may have this id
        variant = records.index.products[item["product_id"]]["variants"][new_item_id]
        item.update(item_id=new_item_id, price=variant["price"], options=variant["options"])
    order["status"] = "pending (item modified)"
    return _saved(records, order_id, order, user)


def return_delivered_order_items(
    records: Records, order_id: str, item_ids: Sequence[str], payment_method_id: str
) -> str:
    order = _order(records, order_id, "delivered", "non-delivered order cannot be returned")
    _method(_owner(records, order), payment_method_id)
    if "gift_card" not in payment_method_id and payment_method_id != order["payment_history"][0]["payment_method_id"]:
        raise CallRefused("payment method should be either the original payment method or a gift card")
    if _missing(order, item_ids):
        raise CallRefused("some item not found")
    order["status"] = "return requested"
    order["return_items"] = sorted(item_ids)
    order["return_payment_method_id"] = payment_method_id
    return _saved(records, order_id, order)


def exchange_delivered_order_items(
    records: Records, order_id: str, item_ids: Sequence[str], new_item_ids: Sequence[str], payment_method_id: str
) -> str:
    order = _order(records, order_id, "delivered", "non-delivered order cannot be exchanged")
    difference = round(_difference(records, order, item_ids, new_item_ids), 2)
    method = _method(_owner(records, order), payment_method_id)
    _must_cover(method, difference, "the price difference")
    order["status"] = "exchange requested"
    order["exchange_items"] = sorted(item_ids)
    order["exchange_new_items"] = sorted(new_item_ids)
    order["exchange_payment_method_id"] = payment_method_id
    order["exchange_price_difference"] = difference
    return _saved(records, order_id, order)


# --- the checks they share


def _order(records: Records, order_id: str, status: str, otherwise: str) -> Document:
    order = records.get("orders", order_id)
    if order is None:
        raise CallRefused("order not found")
    if order["status"] != status:
        raise CallRefused(otherwise)
    return order


def _owner(records: Records, order: Document) -> Document:
    user = records.get("users", order["user_id"])
    if user is None:
        raise CallRefused(f"the order's user {order['user_id']} is not in this store")
    return user


def _method(user: Document, payment_method_id: str) -> Document:
    if payment_method_id not in user["payment_methods"]:
        raise CallRefused("payment method not found")
    method: Document = user["payment_methods"][payment_method_id]
    return method


def _must_cover(method: Document, amount: float, what: str) -> None:
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise CallRefused(f"insufficient gift card balance to pay for {what}")


def _missing(order: Document, item_ids: Sequence[str]) -> list[str]:
    """The ids that occur more often than in the order."""
    ordered = [item["item_id"] for item in order["items"]]
    return [item_id for item_id in item_ids if item_ids.count(item_id) > ordered.count(item_id)]


def _difference(records: Records, order: Document, item_ids: Sequence[str], new_item_ids: Sequence[str]) -> float:
    """New prices minus old ones, unrounded; 0 for no items. Each pair is checked in turn."""
    if missing := _missing(order, item_ids):
        raise CallRefused(f"{missing[0]} not found")
    if len(item_ids) != len(new_item_ids):
        raise CallRefused("the number of items to be exchanged should match")
    difference: float = 0
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        item = _item(order, item_id)
        variant = records.index.products[item["product_id"]]["variants"].get(new_item_id)
        if variant is None or not variant["available"]:
            raise CallRefused(f"new item {new_item_id} not found or available")
        difference += variant["price"] - item["price"]
    return difference


# --- and the effects


def _item(order: Document, item_id: str) -> Document:
    """The first item with this id: an order may contain it twice."""
    item: Document = next(item for item in order["items"] if item["item_id"] == item_id)
    return item


def _entry(kind: str, amount: JsonValue, payment_method_id: str) -> Document:
    return {"transaction_type": kind, "amount": amount, "payment_method_id": payment_method_id}


def _pay_back(user: Document, payment_method_id: str, amount: float) -> None:
    """Refund a gift card's balance; other methods are refunded outside of the store."""
    if "gift_card" in payment_method_id:
        method = user["payment_methods"][payment_method_id]
        method["balance"] = round(method["balance"] + amount, 2)


def _saved(records: Records, order_id: str, order: Document, user: Document | None = None) -> str:
    result = json.dumps(order)
    records.put("orders", order_id, order)
    if user is not None:
        records.put("users", order["user_id"], user)
    return result
