"""The store's policy: as rules for the planner, and as a check of planned calls against the session's earlier calls.

Only certain violations are reported: the check does not guess about records that the session has not read, except that
a write requires its order or customer to have been read. Approvals establish the customer's consent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from packs.retail.known_records import CompletedCall, Document, KnownRecords
from packs.retail.writes import CANCEL_REASONS
from parley import PastCall

__all__ = ["RULES", "CompletedCall", "call_violations", "violations"]

RULES: tuple[str, ...] = (
    "Find out first who the customer is, by e-mail or by name and postal code, also if a user id was given.",
    "Serve one customer in a session: nobody else's details or orders are read or changed.",
    "Before a write, read the order or the customer it concerns, tell exactly what will change, and get a clear yes.",
    "Tell only what the tools or the customer said; invent no prices or policies, and give no opinions.",
    "Do what the tools can do and no more; hand over to a person only what lies outside of them, or on request.",
    "Only what is pending can be cancelled or changed; only what was delivered, returned or exchanged, and only once.",
    "What a tool changes, the order or the customer, is its answer.",
    "Times are Eastern Standard Time; an item id is not a product id.",
)

Arguments = Mapping[str, JsonValue]


def violations(past_calls: Sequence[CompletedCall], planned: Sequence[tuple[str, Arguments]]) -> tuple[str, ...]:
    """The violations of the planned calls, made in this order after the past calls; each as "tool: why and what to do".

    Earlier planned writes count as done for later calls; the results of planned reads are unknown.
    """
    records = KnownRecords(past_calls)
    reasons: list[str] = []
    for tool, planned_arguments in planned:
        arguments = _plain(planned_arguments)
        wrong = [f"{tool}: {why}" for why in _judge(records, tool, arguments)]
        reasons += wrong
        if not wrong:
            records.expect(tool, arguments)
    return tuple(reasons)


def call_violations(tool: str, arguments: Arguments, past: Sequence[PastCall]) -> list[str]:
    """The violations of one call after the past calls. Each reason says what to do."""
    records = KnownRecords(
        [CompletedCall(call.tool, call.arguments, call.status == "finished", call.result) for call in past]
    )
    for call in past:
        if call.status == "planned":
            records.expect(call.tool, _plain(call.arguments))
    return list(_judge(records, tool, _plain(arguments)))


def _plain(arguments: Arguments) -> Arguments:
    return {name: value if isinstance(value, list) else str(value) for name, value in arguments.items()}


def _judge(records: KnownRecords, tool: str, arguments: Arguments) -> Iterator[str]:
    subject = "orders" if "order_id" in arguments else "users" if "user_id" in arguments else None
    if subject is None:
        return  # it concerns no customer, or identifies one
    if records.user_id is None:
        yield "the customer is not known yet; find out by e-mail, or by name and postal code"
        return
    others = _about_others(records, arguments)
    if others:
        yield others
    elif check := _WRITES.get(tool):
        document = (
            records.orders.get(str(arguments["order_id"]))
            if subject == "orders"
            else records.users.get(records.user_id)
        )
        if document is None:
            yield f"{arguments.get('order_id', records.user_id)} was not read in this session; read its details first"
        else:
            yield from check(records, document, arguments)


def _about_others(records: KnownRecords, arguments: Arguments) -> str | None:
    if arguments.get("user_id", records.user_id) != records.user_id:
        return f"this session is about {records.user_id} and nobody else"
    order_id = str(arguments["order_id"]) if "order_id" in arguments else None
    order, user = records.orders.get(order_id), records.users.get(records.user_id)
    if order is not None:
        is_own = order.get("user_id") == records.user_id
    else:
        is_own = order_id is None or user is None or order_id in user.get("orders", [])
    return None if is_own else f"order {order_id} is not one of {records.user_id}'s"


# --- one check for each write; the order or customer was read, and is the session's own


def _cancel(_: KnownRecords, order: Document, arguments: Arguments) -> Iterator[str]:
    yield from _status(order, "pending")
    if arguments.get("reason") not in CANCEL_REASONS:
        yield f"the reason must be one of: {', '.join(CANCEL_REASONS)}"


def _address(_: KnownRecords, order: Document, __: Arguments) -> Iterator[str]:
    yield from _status(order, "pending")


def _nothing(_: KnownRecords, __: Document, ___: Arguments) -> Iterator[str]:
    yield from ()


def _payment(records: KnownRecords, order: Document, arguments: Arguments) -> Iterator[str]:
    yield from _status(order, "pending")
    yield from _own_method(records, order, arguments)
    first = order["payment_history"][0]
    method = records.methods().get(str(arguments.get("payment_method_id")), {})
    if arguments.get("payment_method_id") == first["payment_method_id"]:
        yield "the order is paid with this method already; it takes another one"
    elif method.get("source") == "gift_card" and method["balance"] < first["amount"]:
        yield f"the gift card holds {method['balance']} and does not cover {first['amount']}"


def _modify_items(records: KnownRecords, order: Document, arguments: Arguments) -> Iterator[str]:
    yield from _status(order, "pending")
    yield from _replacements(records, order, arguments)


def _exchange(records: KnownRecords, order: Document, arguments: Arguments) -> Iterator[str]:
    yield from _status(order, "delivered")
    yield from _replacements(records, order, arguments)


def _return(records: KnownRecords, order: Document, arguments: Arguments) -> Iterator[str]:
    yield from _status(order, "delivered")
    yield from _contains_items(order, arguments)
    yield from _own_method(records, order, arguments)
    method, paid = arguments.get("payment_method_id"), order["payment_history"][0]["payment_method_id"]
    if "gift_card" not in str(method) and method != paid:
        yield f"the refund goes to {paid}, which it was paid with, or to a gift card"


_WRITES: dict[str, Callable[[KnownRecords, Document, Arguments], Iterator[str]]] = {
    "cancel_pending_order": _cancel,
    "exchange_delivered_order_items": _exchange,
    "modify_pending_order_address": _address,
    "modify_pending_order_items": _modify_items,
    "modify_pending_order_payment": _payment,
    "modify_user_address": _nothing,
    "return_delivered_order_items": _return,
}


# --- what several of them ask


def _status(order: Document, needed: str) -> Iterator[str]:
    if order["status"] != needed:
        yield f"order {order['order_id']} is {order['status']}, and this takes one that is {needed}"


def _own_method(records: KnownRecords, order: Document, arguments: Arguments) -> Iterator[str]:
    method, used = (
        str(arguments.get("payment_method_id")),
        [payment["payment_method_id"] for payment in order["payment_history"]],
    )
    if method in used:
        return
    if records.user_id not in records.users:
        yield f"whose payment method {method} is was not read; get_user_details lists the customer's"
    elif method not in records.methods():
        yield f"{method} is not one of the customer's payment methods: {', '.join(map(str, records.methods()))}"


def _contains_items(order: Document, arguments: Arguments) -> Iterator[str]:
    requested, ordered = _list(arguments, "item_ids"), [item["item_id"] for item in order["items"]]
    lacking = sorted({item_id for item_id in requested if requested.count(item_id) > ordered.count(item_id)})
    if lacking:
        yield f"order {order['order_id']} does not hold (so many of) {', '.join(lacking)}"


def _replacements(records: KnownRecords, order: Document, arguments: Arguments) -> Iterator[str]:
    yield from _contains_items(order, arguments)
    yield from _own_method(records, order, arguments)
    old, new = _list(arguments, "item_ids"), _list(arguments, "new_item_ids")
    if len(old) != len(new):
        yield "each item takes one new item in the same place"
    products = {item["item_id"]: item["product_id"] for item in order["items"]}
    for item_id, new_item_id in zip(old, new, strict=False):
        product = records.products.get(products.get(item_id))
        if product is not None and not _available(product, new_item_id):
            yield f"{new_item_id} is not an available variant of {product['name']}, which {item_id} is"


def _available(product: Document, item_id: str) -> bool:
    variant = product["variants"].get(item_id)
    return variant is not None and bool(variant["available"])


def _list(arguments: Arguments, name: str) -> list[str]:
    value = arguments.get(name)
    return [str(item) for item in value] if isinstance(value, list) else []
