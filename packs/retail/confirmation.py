"""Confirms that the result of a write shows the intended change."""

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

STATUS = {
    "cancel_pending_order": "cancelled",
    "return_delivered_order_items": "return requested",
    "exchange_delivered_order_items": "exchange requested",
    "modify_pending_order_items": "pending (item modified)",
}
ADDRESSES = ("modify_pending_order_address", "modify_user_address")


def shows_change(tool: str, arguments: Mapping[str, JsonValue], record: Any) -> bool:
    """Whether the returned record shows the change that the arguments ask for."""
    if not isinstance(record, dict):
        return False
    if tool in STATUS:
        return record.get("order_id") == arguments.get("order_id") and record.get("status") == STATUS[tool]
    if tool in ADDRESSES:
        address = record.get("address")
        return isinstance(address, dict) and all(address[line] == arguments.get(line) for line in address)
    if tool == "modify_pending_order_payment":
        paid = [entry for entry in record.get("payment_history", ()) if entry.get("transaction_type") == "payment"]
        return bool(paid) and paid[-1].get("payment_method_id") == arguments.get("payment_method_id")
    return False
