"""The tools that look something up, and the three that use no document."""

import json

from pydantic import JsonValue

from packs.retail.calculator import ALLOWED, evaluate
from packs.retail.data import Kind
from packs.retail.records import Records


def find_user_id_by_email(records: Records, email: str) -> str:
    return records.index.by_email.get(email.lower(), "Error: user not found")


def find_user_id_by_name_zip(records: Records, first_name: str, last_name: str, zip: str) -> str:  # noqa: A002
    for user_id, last in records.index.ids_by_first_name.get(first_name.lower(), []):
        if last == last_name.lower() and (user := records.get("users", user_id)) and user["address"]["zip"] == zip:
            return user_id
    return "Error: user not found"


def _details(records: Records, kind: Kind, document_id: JsonValue) -> str:
    document = records.get(kind, document_id)
    return f"Error: {kind[:-1]} not found" if document is None else json.dumps(document)


def get_user_details(records: Records, user_id: str) -> str:
    return _details(records, "users", user_id)


def get_order_details(records: Records, order_id: str) -> str:
    return _details(records, "orders", order_id)


def get_product_details(records: Records, product_id: str) -> str:
    return _details(records, "products", product_id)


def list_all_product_types(records: Records) -> str:
    return records.index.product_types


def calculate(_: Records, expression: str) -> str:
    if not all(char in ALLOWED for char in expression):
        return "Error: invalid characters in expression"
    if not isinstance(expression, str):  # a list of such characters passes the check above
        raise TypeError("eval() arg 1 must be a string, bytes or code object")
    return str(round(float(evaluate(expression)), 2))


def think(_: Records, thought: str) -> str:
    return ""


def transfer_to_human_agents(_: Records, summary: str) -> str:
    return "Transfer successful"
