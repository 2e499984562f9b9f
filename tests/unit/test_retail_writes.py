"""The retail tools that write: the order of their checks, amounts to the cent, and the known quirks."""

import json
from typing import Any

import pytest

from tests.support.retail import BLUE, CARD, GIFT, GONE, LARGE, NEW_HOME, PAYPAL, POOR, RED, SMALL, Shop, small


@pytest.fixture
def shop() -> Shop:
    return Shop()


def assert_refused(shop: Shop, tool: str, error: str, **arguments: Any) -> None:
    """Assert that the call returns this error and leaves the store unchanged."""
    before = json.dumps(shop.data)
    assert shop.call(tool, **arguments) == f"Error: {error}"
    assert json.dumps(shop.data) == before


def entry(kind: str, amount: float, method: str) -> dict[str, Any]:
    return {"transaction_type": kind, "amount": amount, "payment_method_id": method}


# --- cancel


def test_cancelling_refunds_every_payment(shop: Shop) -> None:
    result = shop.call("cancel_pending_order", order_id="#W2", reason="ordered by mistake")
    order = shop.data["orders"]["#W2"]
    assert result == json.dumps(order)
    assert list(order)[-2:] == ["payment_history", "cancel_reason"]
    assert (order["status"], order["cancel_reason"]) == ("cancelled", "ordered by mistake")
    assert order["payment_history"] == [entry("payment", 20.2, GIFT), entry("refund", 20.2, GIFT)]
    assert shop.balance() == 120.2


@pytest.mark.parametrize(
    ("order_id", "reason", "error"),
    [
        ("W2", "changed my mind", "order not found"),
        ("#W5", "changed my mind", "non-pending order cannot be cancelled"),
        ("#W2", "No longer needed", "invalid reason"),
        ("#W2", None, "invalid reason"),
        ([], "no longer needed", "unhashable type: 'list'"),
    ],
)
def test_an_invalid_cancellation_is_refused(shop: Shop, order_id: Any, reason: Any, error: str) -> None:
    assert_refused(shop, "cancel_pending_order", error, order_id=order_id, reason=reason)


def test_cancelling_after_a_change_of_payment_refunds_all_three_entries(shop: Shop) -> None:
    """A known quirk: the earlier refund is refunded too."""
    shop.call("modify_pending_order_payment", order_id="#W2", payment_method_id=CARD)
    assert shop.balance() == 120.2
    shop.call("cancel_pending_order", order_id="#W2", reason="no longer needed")
    history = shop.data["orders"]["#W2"]["payment_history"]
    assert history[3:] == [entry("refund", 20.2, method) for method in (GIFT, CARD, GIFT)]
    assert shop.balance() == 160.6


# --- addresses


@pytest.mark.parametrize(
    ("tool", "parameter", "kind", "known"),
    [
        ("modify_pending_order_address", "order_id", "orders", "#W1"),
        ("modify_user_address", "user_id", "users", "bob_ray_3"),
    ],
)
def test_a_new_address_has_its_keys_in_the_order_of_the_parameters(
    shop: Shop, tool: str, parameter: str, kind: str, known: str
) -> None:
    result = shop.call(tool, **NEW_HOME, **{parameter: known})
    documents: dict[str, Any] = shop.data[kind]  # type: ignore[literal-required]
    assert result == json.dumps(documents[known])
    assert list(documents[known]["address"]) == ["address1", "address2", "city", "state", "country", "zip"]
    assert documents[known]["address"] == NEW_HOME
    assert shop.data["users"]["ann_lee_1"] == small()["users"]["ann_lee_1"]


def test_an_invalid_address_change_is_refused(shop: Shop) -> None:
    assert_refused(shop, "modify_pending_order_address", "order not found", order_id="#W", **NEW_HOME)
    error = "non-pending order cannot be modified"
    assert_refused(shop, "modify_pending_order_address", error, order_id="#W3", **NEW_HOME)
    assert_refused(shop, "modify_user_address", "user not found", user_id="#W1", **NEW_HOME)


# --- payment


@pytest.mark.parametrize(
    ("order_id", "method", "error"),
    [
        ("#W0", "x", "order not found"),
        ("#W3", "x", "non-pending order cannot be modified"),
        ("#W1", "paypal_9", "payment method not found"),
        ("#W1", CARD, "the new payment method should be different from the current one"),
        ("#W1", POOR, "insufficient gift card balance to pay for the order"),
        ("#W1", {}, "unhashable type: 'dict'"),
    ],
)
def test_an_invalid_payment_change_is_refused(shop: Shop, order_id: str, method: Any, error: str) -> None:
    assert_refused(shop, "modify_pending_order_payment", error, order_id=order_id, payment_method_id=method)


def test_a_new_payment_is_added_before_the_refund_and_the_order_stays_pending(shop: Shop) -> None:
    result = shop.call("modify_pending_order_payment", order_id="#W1", payment_method_id=GIFT)
    order = shop.data["orders"]["#W1"]
    assert result == json.dumps(order)
    paid = [entry("payment", 60.1, CARD), entry("payment", 60.1, GIFT), entry("refund", 60.1, CARD)]
    assert (order["status"], order["payment_history"]) == ("pending", paid)
    assert shop.balance() == 39.9
    error = "there should be exactly one payment for a pending order"
    assert_refused(shop, "modify_pending_order_payment", error, order_id="#W1", payment_method_id=PAYPAL)
    assert_refused(shop, "modify_pending_order_payment", error, order_id="#W1", payment_method_id=CARD)


def test_a_payment_may_empty_a_gift_card_and_needs_an_earlier_payment() -> None:
    data = small()
    data["users"]["ann_lee_1"]["payment_methods"][POOR]["balance"] = 60.1
    data["orders"]["#W6"]["payment_history"][0]["transaction_type"] = "refund"
    shop = Shop(data)
    shop.call("modify_pending_order_payment", order_id="#W1", payment_method_id=POOR)
    assert shop.balance(POOR) == 0.0
    error = "there should be exactly one payment for a pending order"
    assert_refused(shop, "modify_pending_order_payment", error, order_id="#W6", payment_method_id=PAYPAL)


# --- items of a pending order, and exchanges: the same checks, with other error texts


BOTH = pytest.mark.parametrize(
    ("tool", "order_id", "twice", "status", "cover"),
    [
        ("modify_pending_order_items", "#W1", "#W2", "non-pending order cannot be modified", "the new item"),
        *[
            (
                "exchange_delivered_order_items",
                "#W3",
                "#W4",
                "non-delivered order cannot be exchanged",
                "the price difference",
            )
        ],
    ],
)


@BOTH
def test_invalid_new_items_are_refused(
    shop: Shop, tool: str, order_id: str, twice: str, status: str, cover: str
) -> None:
    def assert_error(error: str, order: str, old: Any, new: Any, method: str = "nobody's") -> None:
        assert_refused(shop, tool, error, order_id=order, item_ids=old, new_item_ids=new, payment_method_id=method)

    assert_error("order not found", "#W9", [RED], [])
    assert_error(status, "#W5", ["9"], [])
    assert_error("9 not found", order_id, [RED, "9"], [])
    assert_error(f"{RED} not found", order_id, [RED, RED], [])
    assert_error("None not found", order_id, [None], [])
    assert_error("[ not found", order_id, json.dumps([RED]), [BLUE])
    assert_error("'int' object is not iterable", order_id, 5, [BLUE])
    assert_error("the number of items to be exchanged should match", order_id, [RED], [])
    assert_error("the number of items to be exchanged should match", order_id, [], "x")
    assert_error(f"new item {GONE} not found or available", order_id, [RED], [GONE])
    assert_error(f"new item {LARGE} not found or available", order_id, [RED], [LARGE])
    assert_error("new item 1 not found or available", order_id, [RED], "1")
    assert_error(f"new item {GONE} not found or available", order_id, [SMALL, RED], [LARGE, GONE])
    assert_error("payment method not found", order_id, [RED], [BLUE])
    assert_error("payment method not found", order_id, [RED], [BLUE], "paypal_9")
    assert_error(f"insufficient gift card balance to pay for {cover}", order_id, [RED], [BLUE], POOR)
    assert_error(f"{RED} not found", twice, [RED] * 3, [BLUE] * 3)


def test_modified_items_keep_their_positions(shop: Shop) -> None:
    arguments = {"item_ids": [SMALL, RED], "new_item_ids": [LARGE, BLUE], "payment_method_id": GIFT}
    result = shop.call("modify_pending_order_items", order_id="#W1", **arguments)
    order = shop.data["orders"]["#W1"]
    assert result == json.dumps(order)
    cup, lamp = order["items"]
    assert cup == {"name": "Cup", "product_id": "10", "item_id": BLUE, "price": 12.4, "options": {"color": "blue"}}
    assert (lamp["item_id"], lamp["price"], lamp["options"]) == (LARGE, 80.55, {"size": "large"})
    difference = (80.55 - 50) + (12.4 - 10.1)
    assert difference != round(difference, 2)
    assert order["payment_history"][1:] == [entry("payment", difference, GIFT)]
    assert order["status"] == "pending (item modified)"
    assert shop.balance() == round(100 - difference, 2)
    error = "non-pending order cannot be "
    assert_refused(shop, "modify_pending_order_items", f"{error}modified", order_id="#W1", **arguments)
    assert_refused(shop, "cancel_pending_order", f"{error}cancelled", order_id="#W1", reason="no longer needed")


def test_of_two_equal_items_the_first_is_modified(shop: Shop) -> None:
    arguments = {"item_ids": [RED], "new_item_ids": [BLUE], "payment_method_id": POOR}
    data = shop.data
    data["users"]["ann_lee_1"]["payment_methods"][POOR]["balance"] = 2.3
    shop.call("modify_pending_order_items", order_id="#W2", **arguments)  # 12.4 - 10.1 is a little more than 2.3
    assert [item["item_id"] for item in data["orders"]["#W2"]["items"]] == [RED, RED]
    data["users"]["ann_lee_1"]["payment_methods"][POOR]["balance"] = 2.31
    shop.call("modify_pending_order_items", order_id="#W2", **arguments)
    assert [item["item_id"] for item in data["orders"]["#W2"]["items"]] == [BLUE, RED]
    assert shop.balance(POOR) == 0.01


def test_cheaper_items_are_refunded(shop: Shop) -> None:
    shop.call("modify_user_address", user_id="ann_lee_1", **NEW_HOME)
    shop.data["orders"]["#W6"]["items"][0] |= {"item_id": LARGE, "price": 80.55}
    arguments = {"item_ids": [LARGE], "new_item_ids": [SMALL], "payment_method_id": GIFT}
    result = json.loads(shop.call("modify_pending_order_items", order_id="#W6", **arguments))
    assert result["payment_history"][1] == entry("refund", abs(50 - 80.55), GIFT)
    assert shop.balance() == 130.55


def test_an_exchange_is_recorded_and_moves_no_money(shop: Shop) -> None:
    arguments = {"item_ids": [SMALL, RED], "new_item_ids": [LARGE, BLUE], "payment_method_id": GIFT}
    result = shop.call("exchange_delivered_order_items", order_id="#W3", **arguments)
    before, order = small()["orders"]["#W3"], shop.data["orders"]["#W3"]
    assert result == json.dumps(order)
    recorded = {
        "exchange_items": [RED, SMALL],
        "exchange_new_items": [BLUE, LARGE],
        "exchange_payment_method_id": GIFT,
        "exchange_price_difference": 32.85,
    }
    assert order == before | {"status": "exchange requested"} | recorded
    assert list(order)[-4:] == list(recorded)
    assert shop.balance() == 100
    error = "non-delivered order cannot be exchanged"
    assert_refused(shop, "exchange_delivered_order_items", error, order_id="#W3", **arguments)


# --- return


@pytest.mark.parametrize(
    ("order_id", "items", "method", "error"),
    [
        ("#W0", ["9"], "x", "order not found"),
        ("#W1", ["9"], "x", "non-delivered order cannot be returned"),
        ("#W3", ["9"], "paypal_9", "payment method not found"),
        ("#W3", ["9"], PAYPAL, "payment method should be either the original payment method or a gift card"),
        ("#W3", ["9"], POOR, "some item not found"),
        ("#W3", [RED, RED], CARD, "some item not found"),
        ("#W3", f'["{RED}"]', CARD, "some item not found"),
        ("#W3", None, CARD, "'NoneType' object is not iterable"),
    ],
)
def test_an_invalid_return_is_refused(shop: Shop, order_id: str, items: Any, method: str, error: str) -> None:
    tool = "return_delivered_order_items"
    assert_refused(shop, tool, error, order_id=order_id, item_ids=items, payment_method_id=method)


@pytest.mark.parametrize(
    ("order_id", "items", "method"),
    [("#W3", [SMALL, RED], CARD), ("#W3", [], POOR), ("#W4", [RED, RED], GIFT), ("#W4", [RED], POOR)],
)
def test_a_return_is_recorded_and_moves_no_money(shop: Shop, order_id: str, items: list[str], method: str) -> None:
    tool = "return_delivered_order_items"
    result = shop.call(tool, order_id=order_id, item_ids=items, payment_method_id=method)
    order = shop.data["orders"][order_id]
    assert result == json.dumps(order)
    recorded = {"status": "return requested", "return_items": sorted(items), "return_payment_method_id": method}
    assert order == small()["orders"][order_id] | recorded
    assert list(order)[-2:] == ["return_items", "return_payment_method_id"]
    assert shop.data["users"] == small()["users"]
