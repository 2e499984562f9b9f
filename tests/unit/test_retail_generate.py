"""The sample store: its size, references and invariants, and identical bytes for the same seed."""

import json
import re
from collections import Counter
from itertools import chain
from typing import Any

import pytest

from packs.retail.generate import DEFAULT_SEED, generate
from packs.retail.products import PRODUCTS
from packs.retail.records import fingerprint

SEED_7_FINGERPRINT = "e14577d4d8015b16e0d99c636454cd5209dc0f412972c3b9bb9c37d733c830cb"
USER = ["name", "address", "email", "payment_methods", "orders"]
ADDRESS = ["address1", "address2", "city", "country", "state", "zip"]
ORDER = ["order_id", "user_id", "address", "items", "fulfillments", "status", "payment_history"]
ITEM = ["name", "product_id", "item_id", "price", "options"]
METHODS = {
    "credit_card": ["source", "brand", "last_four", "id"],
    "gift_card": ["source", "balance", "id"],
    "paypal": ["source", "id"],
}


@pytest.fixture(scope="module", params=[DEFAULT_SEED, 8, 2024])
def data(request: pytest.FixtureRequest) -> Any:
    return generate(request.param)


@pytest.fixture
def orders(data: Any) -> list[Any]:
    return list(data["orders"].values())


@pytest.fixture
def users(data: Any) -> list[Any]:
    return list(data["users"].values())


@pytest.fixture
def variants(data: Any) -> dict[str, Any]:
    """Each variant by its item id, with the name and id of its product."""
    return {
        item_id: {**variant, "name": product["name"], "product_id": product["product_id"]}
        for product in data["products"].values()
        for item_id, variant in product["variants"].items()
    }


def test_the_same_seed_gives_the_same_bytes() -> None:
    """The order of keys, too: the results of the tools show it."""
    assert json.dumps(generate()) == json.dumps(generate(7))
    assert fingerprint(generate()) == SEED_7_FINGERPRINT, (
        "the sample store changed: results that documents quote from it are out of date"
    )


def test_another_seed_gives_another_store() -> None:
    assert fingerprint(generate(8)) != SEED_7_FINGERPRINT


def test_documents_share_no_objects() -> None:
    """Changing an order must not change the catalogue, a user or another order."""
    data = generate()
    before = json.dumps([data["products"], data["users"]])
    for order in data["orders"].values():
        order["address"]["city"] = "Nowhere"
        for item in order["items"]:
            item["options"]["color"] = item["name"] = "changed"
    assert json.dumps([data["products"], data["users"]]) == before


def test_the_numbers_of_documents(data: Any, users: list[Any], variants: dict[str, Any]) -> None:
    assert (len(data["users"]), len(data["orders"]), len(data["products"])) == (500, 1000, 50)
    assert sum(not user["orders"] for user in users) == 62
    assert 500 < len(variants) < 700
    assert 0.60 < sum(item["available"] for item in variants.values()) / len(variants) < 0.68


def test_the_shares_of_order_statuses_and_sizes(orders: list[Any]) -> None:
    statuses = Counter(order["status"] for order in orders)
    expected = {"pending": 420, "delivered": 370, "processed": 100, "cancelled": 100}
    assert statuses.keys() == expected.keys()
    assert all(abs(statuses[status] - number) < 60 for status, number in expected.items())
    assert {len(order["items"]) for order in orders} == {1, 2, 3, 4, 5}
    assert 1 <= sum(len({item["item_id"] for item in order["items"]}) < len(order["items"]) for order in orders) < 25


def test_the_keys_and_their_order(data: Any, users: list[Any], orders: list[Any], variants: dict[str, Any]) -> None:
    assert list(data) == ["users", "products", "orders"]
    assert all(list(user) == USER and list(user["name"]) == ["first_name", "last_name"] for user in users)
    assert all(list(entry["address"]) == ADDRESS for entry in chain(users, orders))
    assert all(list(entry) == METHODS[entry["source"]] for user in users for entry in user["payment_methods"].values())
    assert all(list(product) == ["name", "product_id", "variants"] for product in data["products"].values())
    assert all(list(entry)[:4] == ["item_id", "options", "available", "price"] for entry in variants.values())
    assert all(list(order) == ORDER for order in orders)
    assert all(list(item) == ITEM for order in orders for item in order["items"])
    assert all(list(entry) == ["tracking_id", "item_ids"] for order in orders for entry in order["fulfillments"])


def test_the_formats_of_ids(data: Any, users: list[Any]) -> None:
    forms = {
        r"[a-z]+_[a-z]+_\d{4}": data["users"],
        r"#W[1-9]\d{6}": data["orders"],
        r"[1-9]\d{9}": [*data["products"], *chain(*(item["variants"] for item in data["products"].values()))],
        r"(credit_card|gift_card|paypal)_\d{7}": chain(*(user["payment_methods"] for user in users)),
        r"[a-z]+\.[a-z]+\d{4}@example\.com": (user["email"] for user in users),
        r"\d{5}": (user["address"]["zip"] for user in users),
    }
    wrong = [item for form, ids in forms.items() for item in ids if not re.fullmatch(form, item)]
    assert wrong == []


def test_the_key_of_a_document_is_its_id(data: Any, users: list[Any]) -> None:
    assert all(key == item["order_id"] for key, item in data["orders"].items())
    assert all(key == item["product_id"] for key, item in data["products"].items())
    assert all(key == item["item_id"] for p in data["products"].values() for key, item in p["variants"].items())
    assert all(key == item["id"] for user in users for key, item in user["payment_methods"].items())


def test_ids_and_the_details_that_identify_a_customer_are_unique(data: Any, users: list[Any]) -> None:
    assert len({user["email"] for user in users}) == 500
    assert len({(*user["name"].values(), user["address"]["zip"]) for user in users}) == 500
    methods = list(chain(*(user["payment_methods"] for user in users)))
    assert len(set(methods)) == len(methods)
    items = list(chain(*(product["variants"] for product in data["products"].values()), data["products"]))
    assert len(set(items)) == len(items)


def test_orders_and_users_refer_to_each_other(data: Any, orders: list[Any]) -> None:
    stored = Counter((order_id, user_id) for user_id, user in data["users"].items() for order_id in user["orders"])
    assert stored == Counter((order["order_id"], order["user_id"]) for order in orders)


def test_items_match_their_variants(orders: list[Any], variants: dict[str, Any]) -> None:
    for item in chain(*(order["items"] for order in orders)):
        variant = variants[item["item_id"]]
        assert all(item[key] == variant[key] for key in ITEM)


def test_users_pay_their_orders_in_full(data: Any, orders: list[Any]) -> None:
    for order in orders:
        first, *rest = order["payment_history"]
        assert first["amount"] == round(sum(item["price"] for item in order["items"]), 2)
        assert first["transaction_type"] == "payment"
        assert first["payment_method_id"] in data["users"][order["user_id"]]["payment_methods"]
        assert rest == ([{**first, "transaction_type": "refund"}] if order["status"] == "cancelled" else [])


def test_a_parcel_contains_all_items_of_its_order(orders: list[Any]) -> None:
    for order in orders:
        parcels = order["fulfillments"]
        assert len(parcels) == (order["status"] != "pending")
        for parcel in parcels:
            assert parcel["item_ids"] == [item["item_id"] for item in order["items"]]
            assert re.fullmatch(r"\d{12}", *parcel["tracking_id"])


def test_prices_and_balances(data: Any, users: list[Any], variants: dict[str, Any]) -> None:
    assert json.dumps(data).isascii()
    assert all(item["price"] > 0 and item["price"] == round(item["price"], 2) for item in variants.values())
    cards = [item for user in users for item in user["payment_methods"].values() if item["source"] == "gift_card"]
    assert all(type(card["balance"]) is int and 0 <= card["balance"] <= 100 for card in cards)
    assert (
        Counter(item["source"] for user in users for item in user["payment_methods"].values()).keys() == METHODS.keys()
    )


def test_every_product_has_at_least_two_available_variants(data: Any) -> None:
    names = {product["name"] for product in data["products"].values()}
    assert names == {product.name for product in PRODUCTS}
    for product in data["products"].values():
        definition = next(item for item in PRODUCTS if item.name == product["name"])
        options = [tuple(item["options"].items()) for item in product["variants"].values()]
        assert len(set(options)) == len(options) >= 5
        assert all(item.keys() == definition.options.keys() for item in map(dict, options))
        assert all(value in definition.options[axis] for axis, value in chain(*options))
        assert sum(item["available"] for item in product["variants"].values()) >= 2
