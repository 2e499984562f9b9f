"""What a session has learned about the store so far, from the results of its calls; for judging the next ones."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import JsonValue

Document = dict[str, Any]

_AFTER = {
    "cancel_pending_order": "cancelled",
    "exchange_delivered_order_items": "exchange requested",
    "modify_pending_order_items": "pending (item modified)",
    "return_delivered_order_items": "return requested",
}


class Call(NamedTuple):
    """A call that was made; `ok`: it was carried out and not refused."""

    tool: str
    arguments: Mapping[str, JsonValue]
    ok: bool
    result: str


class Seen:
    """`user_id`: the first customer that was found, None before. The others by id, as they were last shown."""

    def __init__(self, done: Sequence[Call]) -> None:
        self.user_id: str | None = None
        self.users: dict[Any, Document] = {}
        self.orders: dict[Any, Document] = {}
        self.products: dict[Any, Document] = {}
        for call in done:
            if call.ok and not call.result.startswith("Error"):
                self._learn(call)

    def methods(self) -> dict[Any, Document]:
        """The customer's payment methods, as far as they were read."""
        methods: dict[Any, Document] = self.users.get(self.user_id, {}).get("payment_methods", {})
        return methods

    def expect(self, tool: str, arguments: Mapping[str, JsonValue]) -> None:
        """Take this write as done: what it leaves the order's status at is certain, the rest is not told."""
        order = self.orders.get(str(arguments.get("order_id")))
        if order is not None and tool in _AFTER:
            self.orders[order["order_id"]] = {**order, "status": _AFTER[tool]}

    def _learn(self, call: Call) -> None:
        if call.tool.startswith("find_user_id_by_"):
            self.user_id = self.user_id or call.result
            return
        try:
            document = json.loads(call.result)
        except ValueError:
            return  # no document, or only the beginning of one
        if not isinstance(document, dict):
            return
        if "order_id" in document and "payment_history" in document:
            self.orders[document["order_id"]] = document
        elif "variants" in document:
            self.products[document.get("product_id")] = document
        elif "payment_methods" in document:
            self.users[call.arguments.get("user_id")] = document
