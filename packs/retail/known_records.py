"""What calls tell about the store: what a session knows for checking the next ones, and whether a write took effect."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import JsonValue

Document = dict[str, Any]

_STATUS_AFTER = {
    "cancel_pending_order": "cancelled",
    "exchange_delivered_order_items": "exchange requested",
    "modify_pending_order_items": "pending (item modified)",
    "return_delivered_order_items": "return requested",
}
ADDRESSES = ("modify_pending_order_address", "modify_user_address")


class CompletedCall(NamedTuple):
    """A call that was made. `ok`: it was carried out, not refused."""

    tool: str
    arguments: Mapping[str, JsonValue]
    ok: bool
    result: str


class KnownRecords:
    """The latest known records by id. `user_id` is the first customer that was found, None before."""

    def __init__(self, calls: Sequence[CompletedCall]) -> None:
        self.user_id: str | None = None
        self.users: dict[Any, Document] = {}
        self.orders: dict[Any, Document] = {}
        self.products: dict[Any, Document] = {}
        for call in calls:
            if call.ok and not call.result.startswith("Error"):
                self._add(call)

    def methods(self) -> dict[Any, Document]:
        """The customer's payment methods; empty if they were not read."""
        methods: dict[Any, Document] = self.users.get(self.user_id, {}).get("payment_methods", {})
        return methods

    def expect(self, tool: str, arguments: Mapping[str, JsonValue]) -> None:
        """Assume that this write is done: only the order's resulting status is certain."""
        order = self.orders.get(str(arguments.get("order_id")))
        if order is not None and tool in _STATUS_AFTER:
            self.orders[order["order_id"]] = {**order, "status": _STATUS_AFTER[tool]}

    def _add(self, call: CompletedCall) -> None:
        if call.tool.startswith("find_user_id_by_"):
            self.user_id = self.user_id or call.result
            return
        try:
            document = json.loads(call.result)
        except ValueError:
            return  # not a document, or only an excerpt
        if not isinstance(document, dict):
            return
        if "order_id" in document and "payment_history" in document:
            self.orders[document["order_id"]] = document
        elif "variants" in document:
            self.products[document.get("product_id")] = document
        elif "payment_methods" in document:
            self.users[call.arguments.get("user_id")] = document


def shows_change(tool: str, arguments: Mapping[str, JsonValue], record: Any) -> bool:
    """Whether the returned record shows the change that the arguments ask for."""
    if not isinstance(record, dict):
        return False
    if tool in _STATUS_AFTER:
        return record.get("order_id") == arguments.get("order_id") and record.get("status") == _STATUS_AFTER[tool]
    if tool in ADDRESSES:
        address = record.get("address")
        return isinstance(address, dict) and all(address[line] == arguments.get(line) for line in address)
    if tool == "modify_pending_order_payment":
        paid = [entry for entry in record.get("payment_history", ()) if entry.get("transaction_type") == "payment"]
        return bool(paid) and paid[-1].get("payment_method_id") == arguments.get("payment_method_id")
    return False
