"""The shared world as relational tables for SQL questions, derived from its documents in the same transaction.

The documents are authoritative. Characters that a database does not accept become replacement characters.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)

from packs.retail.records import KINDS, Data, Document, Kind

METADATA = MetaData()
BASE = ""

documents = Table(
    "retail_documents",
    METADATA,
    Column("world", String(200), primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("id", String(200), primary_key=True),
    Column("place", Integer, nullable=False),
    Column("body", Text, nullable=False),
)
effects = Table(
    "retail_effects",
    METADATA,
    Column("world", String(200), primary_key=True),
    Column("key", String(500), primary_key=True),
    Column("tool", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("result", Text, nullable=False),
)
bases = Table("retail_base", METADATA, Column("fingerprint", String(64), primary_key=True))
Row = tuple[Table, dict[str, Any]]

_LINES = ("address1", "address2", "city", "state", "country", "zip")


def _lines() -> list[Column[Any]]:
    return [Column(line, Text, nullable=False) for line in _LINES]


users = Table(
    "users",
    METADATA,
    Column("user_id", Text, primary_key=True),
    Column("first_name", Text, nullable=False),
    Column("last_name", Text, nullable=False),
    Column("email", Text, nullable=False),
    *_lines(),
)
payment_methods = Table(
    "payment_methods",
    METADATA,
    Column("user_id", ForeignKey("users.user_id"), primary_key=True),
    Column("payment_method_id", Text, primary_key=True),
    Column("source", Text, nullable=False),
    Column("brand", Text),
    Column("last_four", Text),
    Column("balance", Float),
)
products = Table(
    "products", METADATA, Column("product_id", Text, primary_key=True), Column("name", Text, nullable=False)
)
variants = Table(
    "variants",
    METADATA,
    Column("item_id", Text, primary_key=True),
    Column("product_id", ForeignKey("products.product_id"), nullable=False),
    Column("available", Boolean, nullable=False),
    Column("price", Float, nullable=False),
    Column("options", Text, nullable=False),
)
orders = Table(
    "orders",
    METADATA,
    Column("order_id", Text, primary_key=True),
    Column("user_id", ForeignKey("users.user_id"), nullable=False),
    Column("status", Text, nullable=False),
    *_lines(),
    Column("cancel_reason", Text),
    Column("return_payment_method_id", Text),
    Column("exchange_payment_method_id", Text),
    Column("exchange_price_difference", Float),
)
order_items = Table(
    "order_items",
    METADATA,
    Column("order_id", ForeignKey("orders.order_id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("item_id", ForeignKey("variants.item_id"), nullable=False),
    Column("product_id", ForeignKey("products.product_id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("price", Float, nullable=False),
    Column("options", Text, nullable=False),
)
payments = Table(
    "payments",
    METADATA,
    Column("order_id", ForeignKey("orders.order_id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("transaction_type", Text, nullable=False),
    Column("amount", Float, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("payment_method_id", Text, nullable=False),
    ForeignKeyConstraint(
        ["user_id", "payment_method_id"], ["payment_methods.user_id", "payment_methods.payment_method_id"]
    ),
)
TABLES = (users, payment_methods, products, variants, orders, order_items, payments)  # referenced tables come first


def rows(kind: Kind, document_id: str, document: Document) -> Iterator[Row]:
    """All rows of one document, referenced rows first."""
    derive = {"users": _user, "products": _product, "orders": _order}[kind]
    for table, values in derive(document_id, document):
        yield table, {name: _storable(table.c[name], value) for name, value in values.items()}


def _user(user_id: str, user: Document) -> Iterator[Row]:
    yield users, {"user_id": user_id, **user["name"], "email": user["email"], **user["address"]}
    for method_id, method in user["payment_methods"].items():
        columns = {name: method.get(name) for name in ("source", "brand", "last_four", "balance")}
        yield payment_methods, {"user_id": user_id, "payment_method_id": method_id, **columns}


def _product(product_id: str, product: Document) -> Iterator[Row]:
    yield products, {"product_id": product_id, "name": product["name"]}
    for item_id, variant in product["variants"].items():
        columns = {name: variant[name] for name in ("available", "price", "options")}
        yield variants, {"item_id": item_id, "product_id": product_id, **columns}


def _order(order_id: str, order: Document) -> Iterator[Row]:
    names = ("cancel_reason", "return_payment_method_id", "exchange_payment_method_id", "exchange_price_difference")
    columns = {name: order.get(name) for name in names}
    key_columns = {"order_id": order_id, "user_id": order["user_id"], "status": order["status"]}
    yield orders, {**key_columns, **order["address"], **columns}
    for position, item in enumerate(order["items"]):
        columns = {name: item[name] for name in ("item_id", "product_id", "name", "price", "options")}
        yield order_items, {"order_id": order_id, "position": position, **columns}
    for position, paid in enumerate(order["payment_history"]):
        yield payments, {"order_id": order_id, "position": position, "user_id": order["user_id"], **paid}


def _storable(column: Column[Any], value: Any) -> Any:
    if value is None or not isinstance(column.type, Text):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def is_empty(connection: Connection) -> bool:
    return connection.scalar(select(func.count()).select_from(users)) == 0


def fill(connection: Connection, data: Data) -> None:
    """Rebuild all tables."""
    for table in reversed(TABLES):
        connection.execute(delete(table))
    rows_by_table: dict[str, list[dict[str, Any]]] = {table.name: [] for table in TABLES}
    for kind in KINDS:
        for document_id, document in data[kind].items():
            for table, values in rows(kind, document_id, document):
                rows_by_table[table.name].append(values)
    for table in TABLES:
        if rows_by_table[table.name]:
            connection.execute(insert(table), rows_by_table[table.name])


def update_rows(connection: Connection, changed: Mapping[tuple[Kind, str], Document]) -> None:
    """Update the rows of changed documents. No tool removes rows, so each row is updated or inserted."""
    for (kind, document_id), document in changed.items():
        for table, values in rows(kind, document_id, document):
            key = [column == values[column.name] for column in table.primary_key]
            if connection.execute(update(table).where(*key).values(**values)).rowcount == 0:
                connection.execute(insert(table).values(**values))
