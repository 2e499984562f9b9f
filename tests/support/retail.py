"""A tiny retail store for tests: three customers, two products, and seven orders, each for another test case."""

import json
from typing import Any

from jsonschema import Draft202012Validator

from packs.retail.pack import result_of
from packs.retail.records import BufferedRecords, Data, Document, Index, Kind, StoredDocument
from packs.retail.specs import SPECS
from packs.retail.tools import perform

HOME = {"address1": "1 Elm St", "address2": "", "city": "Austin", "country": "USA", "state": "TX", "zip": "78701"}
NEW_HOME = {"address1": "9 Oak Rd", "address2": "B", "city": "Reno", "state": "NV", "country": "USA", "zip": "89501"}
CARD, PAYPAL, GIFT, POOR = "credit_card_1", "paypal_1", "gift_card_1", "gift_card_2"
RED, BLUE, GONE = "1000000001", "1000000002", "1000000003"  # cups: 10.1, 12.4, and an unavailable one
PARAMETERS = {spec.name: Draft202012Validator(spec.parameters) for spec in SPECS}
RETURNS = {spec.name: Draft202012Validator(spec.returns or {}) for spec in SPECS}
SMALL, LARGE = "2000000001", "2000000002"  # lamps: 50, 80.55


def small() -> Data:
    """A new copy every time."""
    data = Data(users=_users(), products=_products(), orders=_orders())
    return json.loads(json.dumps(data))  # type: ignore[no-any-return]


class Shop:
    """The tools over data in a dictionary, without a database.

    Their results are validated against their schemas, until a call with invalid arguments may have changed the data.
    """

    def __init__(self, data: Data | None = None) -> None:
        self.data = data or small()
        self._index = Index(self.data)
        self._data_is_valid = True

    def call(self, tool: str, /, **arguments: Any) -> str:
        draft = BufferedRecords(self._index, self._read)
        result = perform(draft, tool, arguments)
        self._data_is_valid = self._data_is_valid and (tool not in PARAMETERS or PARAMETERS[tool].is_valid(arguments))
        if self._data_is_valid and tool in RETURNS and not result.startswith("Error: "):
            RETURNS[tool].validate(result_of(result))
        for (kind, document_id), document in draft.after.items():
            self.data[kind][document_id] = document
        return result

    def _read(self, kind: Kind, document_id: str) -> StoredDocument:
        return StoredDocument(0, json.dumps(self.data[kind][document_id]))

    def balance(self, method: str = GIFT) -> Any:
        return self.data["users"]["ann_lee_1"]["payment_methods"][method]["balance"]


def _users() -> dict[str, Document]:
    def user(first: str, last: str, email: str, methods: dict[str, Document], orders: list[str]) -> Document:
        name = {"first_name": first, "last_name": last}
        return {"name": name, "address": HOME, "email": email, "payment_methods": methods, "orders": orders}

    methods: dict[str, Document] = {
        CARD: {"source": "credit_card", "brand": "visa", "last_four": "1234", "id": CARD},
        PAYPAL: {"source": "paypal", "id": PAYPAL},
        GIFT: {"source": "gift_card", "balance": 100, "id": GIFT},
        POOR: {"source": "gift_card", "balance": 2.25, "id": POOR},
    }
    bob: dict[str, Document] = {"paypal_9": {"source": "paypal", "id": "paypal_9"}}
    return {
        "ann_lee_1": user("Ann", "Lee", "Ann@Example.com", methods, ["#W1", "#W2", "#W3", "#W4", "#W5", "#W6"]),
        "ann_lee_2": user("Ann", "Lee", "ann2@example.com", bob, []),
        "bob_ray_3": user("Bob", "Ray", "bob@example.com", bob, ["#W7"]),
    }


def _products() -> dict[str, Document]:
    def variant(item_id: str, price: float, *, available: bool = True, **options: str) -> Document:
        return {"item_id": item_id, "options": options, "available": available, "price": price}

    def product(name: str, product_id: str, *variants: Document) -> Document:
        return {"name": name, "product_id": product_id, "variants": {item["item_id"]: item for item in variants}}

    gone = variant(GONE, 9, available=False, color="green")
    cup = product("Cup", "10", variant(RED, 10.1, color="red"), variant(BLUE, 12.4, color="blue"), gone)
    lamp = product("A Lamp", "20", variant(SMALL, 50, size="small"), variant(LARGE, 80.55, size="large"))
    return {"10": cup, "20": lamp}


def _orders() -> dict[str, Document]:
    cup = {"name": "Cup", "product_id": "10", "item_id": RED, "price": 10.1, "options": {"color": "red"}}
    lamp = {"name": "A Lamp", "product_id": "20", "item_id": SMALL, "price": 50, "options": {"size": "small"}}

    def order(order_id: str, status: str, amount: float, method: str, *items: Document) -> Document:
        user_id = "bob_ray_3" if order_id == "#W7" else "ann_lee_1"
        paid = {"transaction_type": "payment", "amount": amount, "payment_method_id": method}
        front = {"order_id": order_id, "user_id": user_id, "address": HOME, "items": list(items), "fulfillments": []}
        return {**front, "status": status, "payment_history": [paid]}

    orders = (
        order("#W1", "pending", 60.1, CARD, cup, lamp),
        order("#W2", "pending", 20.2, GIFT, cup, cup),
        order("#W3", "delivered", 60.1, CARD, lamp, cup),
        order("#W4", "delivered", 20.2, GIFT, cup, cup),
        order("#W5", "processed", 10.1, PAYPAL, cup),
        order("#W6", "pending", 50, PAYPAL, lamp),
        order("#W7", "pending", 10.1, "paypal_9", cup),
    )
    return {placed["order_id"]: placed for placed in orders}
