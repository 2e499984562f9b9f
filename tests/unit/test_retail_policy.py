"""The policy of the store as a check of planned calls: which calls it allows, and which violations it reports."""

from collections.abc import Mapping
from typing import Any

import pytest

from packs.retail.policy import CompletedCall, violations
from tests.support.retail import BLUE, CARD, GIFT, GONE, LARGE, NEW_HOME, PAYPAL, POOR, RED, SMALL, Shop

FIND_USER = ("find_user_id_by_email", {"email": "ann@example.com"})
USER = ("get_user_details", {"user_id": "ann_lee_1"})
Planned = tuple[str, Mapping[str, Any]]


def order(order_id: str) -> Planned:
    return ("get_order_details", {"order_id": order_id})


def items(tool: str, order_id: str, old: Any, new: Any, method: str = CARD) -> Planned:
    arguments = {"order_id": order_id, "item_ids": old, "new_item_ids": new, "payment_method_id": method}
    return (tool, arguments)


def modify(order_id: str, old: Any, new: Any, method: str = CARD) -> Planned:
    return items("modify_pending_order_items", order_id, old, new, method)


def exchange(order_id: str, old: Any, new: Any, method: str = CARD) -> Planned:
    return items("exchange_delivered_order_items", order_id, old, new, method)


def give_back(order_id: str, old: Any, method: str) -> Planned:
    return ("return_delivered_order_items", {"order_id": order_id, "item_ids": old, "payment_method_id": method})


def cancel(order_id: str, reason: str = "no longer needed") -> Planned:
    return ("cancel_pending_order", {"order_id": order_id, "reason": reason})


def pay(order_id: str, method: Any) -> Planned:
    return ("modify_pending_order_payment", {"order_id": order_id, "payment_method_id": method})


def move(order_id: str) -> Planned:
    return ("modify_pending_order_address", {"order_id": order_id, **NEW_HOME})


def violations_after(past: list[Planned], *planned: Planned) -> tuple[str, ...]:
    """The violations of the planned calls after a store in memory has executed the past ones."""
    shop, calls = Shop(), []
    for tool, arguments in past:
        result = shop.call(tool, **arguments)
        calls.append(CompletedCall(tool, arguments, not result.startswith("Error"), result))
    return violations(calls, planned)


READS = [
    FIND_USER,
    USER,
    *(order(f"#W{number}") for number in range(1, 7)),
    ("get_product_details", {"product_id": "10"}),
]


@pytest.mark.parametrize(
    "planned",
    [
        *(cancel("#W1"), cancel("#W2", "ordered by mistake"), move("#W1"), pay("#W1", GIFT), pay("#W2", PAYPAL)),
        *(modify("#W1", [RED, SMALL], [BLUE, LARGE]), exchange("#W3", [RED], [BLUE], GIFT), order("#W4")),
        *(give_back("#W3", [RED], CARD), give_back("#W3", [RED, SMALL], POOR), give_back("#W4", [RED, RED], GIFT)),
        ("modify_user_address", {"user_id": "ann_lee_1", **NEW_HOME}),
        ("transfer_to_human_agents", {"summary": "x"}),
    ],
)
def test_a_valid_call_is_allowed_after_all_records_were_read(planned: Planned) -> None:
    assert violations_after(READS, planned) == ()


def test_compatible_writes_on_one_order_are_allowed_in_sequence() -> None:
    assert (
        violations_after(
            READS, move("#W1"), pay("#W1", GIFT), modify("#W1", [RED], [BLUE]), cancel("#W2"), order("#W5")
        )
        == ()
    )
    assert violations_after([*READS, pay("#W1", GIFT)], cancel("#W1")) == ()


def test_only_free_reads_are_allowed_before_the_customer_is_identified() -> None:
    free_reads = [
        ("list_all_product_types", {}),
        ("get_product_details", {"product_id": "10"}),
        ("think", {"thought": ""}),
    ]
    assert violations_after([], FIND_USER, *free_reads, ("calculate", {"expression": "1"})) == ()
    for planned in (USER, order("#W1"), cancel("#W1"), ("modify_user_address", {"user_id": "ann_lee_1", **NEW_HOME})):
        assert "not known yet" in violations_after([], planned)[0]
        assert "not known yet" in violations_after([("find_user_id_by_email", {"email": "no"})], planned)[0]
        assert "not known yet" in violations_after([order("#W1"), USER], planned)[0]
        assert "not known yet" in violations_after([], FIND_USER, planned)[0]


@pytest.mark.parametrize(
    ("planned", "reason"),
    [
        (("get_user_details", {"user_id": "bob_ray_3"}), "nobody else"),
        (("modify_user_address", {"user_id": "bob_ray_3", **NEW_HOME}), "nobody else"),
        (order("#W7"), "not one of ann_lee_1's"),
        (cancel("#W7"), "not one of ann_lee_1's"),
        (cancel("#W5"), "is processed"),
        (cancel("#W3"), "is delivered"),
        (cancel("#W1", "too dear"), "reason"),
        (move("#W3"), "is delivered"),
        (pay("#W5", CARD), "is processed"),
        (pay("#W1", CARD), "already"),
        (pay("#W1", POOR), "does not cover"),
        (pay("#W1", "paypal_9"), "not one of the customer's"),
        (pay("#W1", ["x"]), "not one of the customer's"),
        (modify("#W3", [RED], [BLUE]), "is delivered"),
        (modify("#W1", [RED], [GONE]), "not an available variant of Cup"),
        (modify("#W1", [RED], [LARGE]), "not an available variant of Cup"),
        (modify("#W1", [RED], []), "in the same place"),
        (modify("#W1", [RED, RED], [BLUE, BLUE]), "does not hold"),
        (modify("#W1", [[RED]], [[BLUE]]), "does not hold"),
        (modify("#W1", [RED], [BLUE], "ORIGINAL_PAYMENT_METHOD"), "not one of the customer's"),
        (exchange("#W1", [RED], [BLUE]), "is pending"),
        (give_back("#W1", [RED], CARD), "is pending"),
        (give_back("#W3", [RED], PAYPAL), "or to a gift card"),
        (give_back("#W3", [BLUE], CARD), "does not hold"),
    ],
)
def test_a_call_that_breaks_a_rule_is_reported(planned: Planned, reason: str) -> None:
    (violation,) = violations_after(READS, planned)
    assert violation.startswith(f"{planned[0]}: ")
    assert reason in violation


def test_the_second_of_two_incompatible_writes_is_reported() -> None:
    assert (
        "exchange requested"
        in violations_after(READS, exchange("#W3", [RED], [BLUE]), give_back("#W3", [SMALL], CARD))[0]
    )
    assert (
        "return requested"
        in violations_after([*READS, give_back("#W3", [RED], CARD)], exchange("#W3", [SMALL], [LARGE]))[0]
    )
    assert "item modified" in violations_after(READS, modify("#W1", [RED], [BLUE]), modify("#W1", [SMALL], [LARGE]))[0]
    assert "item modified" in violations_after([*READS, modify("#W1", [RED], [BLUE])], cancel("#W1"))[0]
    assert "is cancelled" in violations_after(READS, cancel("#W1"), move("#W1"))[0]


def test_a_write_requires_that_its_order_or_customer_was_read() -> None:
    assert "not read" in violations_after([FIND_USER, USER], cancel("#W1"))[0]
    assert "not read" in violations_after([FIND_USER], ("modify_user_address", {"user_id": "ann_lee_1", **NEW_HOME}))[0]
    assert "not read" in violations_after([FIND_USER, USER], order("#W1"), cancel("#W1"))[0]
    assert "was not read" in violations_after([FIND_USER, order("#W3")], give_back("#W3", [RED], GIFT))[0]
    assert violations_after([FIND_USER, order("#W3")], give_back("#W3", [RED], CARD)) == ()
    assert violations_after([FIND_USER, order("#W1")], cancel("#W1")) == ()


def test_failed_or_truncated_reads_do_not_count_as_read() -> None:
    past = [CompletedCall(*FIND_USER, ok=True, result="ann_lee_1")]
    for ok, result in (
        (False, '{"order_id": "#W1", "payment_history": []}'),
        (True, '{"order_id": "#W1", "pay'),
        (True, "[]"),
    ):
        assert "not read" in violations([*past, CompletedCall(*order("#W1"), ok=ok, result=result)], [cancel("#W1")])[0]
