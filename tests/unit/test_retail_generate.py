"""The sample store: its size, references and invariants, and identical bytes for the same seed."""

import json
from itertools import chain
from typing import Any

import pytest

from packs.retail.generate import DEFAULT_SEED, generate
from packs.retail.products import PRODUCTS
from packs.retail.records import fingerprint

SEED_7_FINGERPRINT = "e14577d4d8015b16e0d99c636454cd5209dc0f412972c3b9bb9c37d733c830cb"


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


def test_users_pay_their_orders_in_full(data: Any, orders: list[Any]) -> None:
    for order in orders:
        first, *rest = order["payment_history"]
        assert first["amount"] == round(sum(item["price"] for item in order["items"]), 2)
        assert first["transaction_type"] == "payment"
        assert first["payment_method_id"] in data["users"][order["user_id"]]["payment_methods"]
        assert rest == ([{**first, "transaction_type": "refund"}] if order["status"] == "cancelled" else [])


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
