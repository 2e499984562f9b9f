"""What a session knows about the store from the results of its calls, for checking the next ones."""

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
