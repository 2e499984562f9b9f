"""The lookup tools: what they find, their exact results, and their errors."""

import json
from typing import Any

import pytest

from packs.retail.results import OrderRecord, ProductRecord, UserRecord
from tests.support.retail import NEW_HOME, Shop, small
from tests.support.store import STORE


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.mark.parametrize("email", ["Ann@Example.com", "ann@example.com", "ANN@EXAMPLE.COM"])
def test_an_email_matches_in_any_case(shop: Shop, email: str) -> None:
    assert shop.call("find_user_id_by_email", email=email) == "ann_lee_1"


@pytest.mark.parametrize("email", ["", " ann@example.com", "ann", "a\ud800"])
def test_part_of_an_email_does_not_match(shop: Shop, email: str) -> None:
    assert shop.call("find_user_id_by_email", email=email) == "Error: user not found"


def test_of_customers_with_the_same_name_and_zip_the_first_is_returned(shop: Shop) -> None:
    assert shop.call("find_user_id_by_name_zip", first_name="ANN", last_name="lee", zip="78701") == "ann_lee_1"


@pytest.mark.parametrize(
    ("first", "last", "code"),
    [("Ann", "Ray", "78701"), ("Ann", "Lee", "78701 "), ("Ann", "Lee", 78701), ("Lee", "Ann", "78701"), ("A", 5, "1")],
)
def test_first_name_last_name_and_zip_must_all_match(shop: Shop, first: str, last: str, code: Any) -> None:
    result = shop.call("find_user_id_by_name_zip", first_name=first, last_name=last, zip=code)
    assert result == "Error: user not found"


def test_a_customer_with_a_new_address_is_found_by_the_new_zip(shop: Shop) -> None:
    shop.call("modify_user_address", user_id="ann_lee_1", **NEW_HOME)
    assert shop.call("find_user_id_by_name_zip", first_name="ann", last_name="lee", zip="89501") == "ann_lee_1"
    assert shop.call("find_user_id_by_name_zip", first_name="ann", last_name="lee", zip="78701") == "ann_lee_2"


@pytest.mark.parametrize(
    ("tool", "parameter", "kind", "known"),
    [
        ("get_user_details", "user_id", "users", "ann_lee_1"),
        ("get_order_details", "order_id", "orders", "#W1"),
        ("get_product_details", "product_id", "products", "10"),
    ],
)
def test_details_are_the_stored_document(shop: Shop, tool: str, parameter: str, kind: str, known: str) -> None:
    documents: dict[str, Any] = small()[kind]  # type: ignore[literal-required]
    assert shop.call(tool, **{parameter: known}) == json.dumps(documents[known])
    for unknown in ("", known[1:], f"{known} ", 10, None, True, "\x00", "\ud800"):
        assert shop.call(tool, **{parameter: unknown}) == f"Error: {kind[:-1]} not found"
    assert shop.call(tool, **{parameter: [known]}) == "Error: unhashable type: 'list'"
    assert shop.call(tool, **{parameter: {}}) == "Error: unhashable type: 'dict'"


def test_product_types_are_sorted_by_name(shop: Shop) -> None:
    assert shop.call("list_all_product_types") == '{"A Lamp": "20", "Cup": "10"}'


def test_the_tools_think_and_transfer_change_nothing(shop: Shop) -> None:
    assert shop.call("think", thought="hm") == ""
    assert shop.call("transfer_to_human_agents", summary="help") == "Transfer successful"
    assert shop.data == small()


def test_unknown_tools_and_wrong_arguments_are_errors(shop: Shop) -> None:
    assert shop.call("get_order") == "Unknown action get_order"
    assert shop.call("think") == "Error: think takes thought: thought is missing"
    result = shop.call("list_all_product_types", order_id="#W1", data={})
    assert result == (
        "Error: list_all_product_types takes no arguments: order_id is not a parameter of it, "
        "data is not a parameter of it"
    )


def test_every_document_matches_the_declared_result_types() -> None:
    for kind, model in (("users", UserRecord), ("orders", OrderRecord), ("products", ProductRecord)):
        for document in STORE[kind].values():  # type: ignore[literal-required]
            model.model_validate(document, strict=True)
