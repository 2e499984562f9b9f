"""The rehearsal model's replies to a customer of the store."""

import json

import pytest

from rehearsal.retail.customer_requests import read_requests
from rehearsal.tests.contract import reply_to

TYPES = {"Tent": "11", "Trail Shoes": "12"}
LISTED = f"1.1 list_all_product_types {{}}\n{json.dumps(TYPES)}"
NO_SUCH_PRODUCT = "The store has no such product."


def answered(request: str) -> str:
    return str(reply_to("answer", ("run", LISTED), request=request)["text"])


@pytest.mark.parametrize(
    "request_text",
    ["What does a yoga mat cost?", "How much is a surfboard?"],
)
def test_a_missing_product_is_reported(request_text: str) -> None:
    assert answered(request_text) == f"{NO_SUCH_PRODUCT} It has 2 types of products: Tent, Trail Shoes."


def test_cancel_it_refers_to_the_order_named_before() -> None:
    requests, doubt = read_requests("What is in order #W1234567? Cancel it. I do not need it.")
    assert not doubt
    assert [(request.kind, request.order_ids) for request in requests] == [
        ("lookup", ["#W1234567"]),
        ("cancel", ["#W1234567"]),
    ]


@pytest.mark.parametrize(
    "message", ["Cancel #W1234567 and return #W7654321.", "Do not cancel it.", "If it is late, cancel #W1234567."]
)
def test_several_things_or_conditions_in_a_sentence_are_doubtful(message: str) -> None:
    assert read_requests(message)[1] == message


def test_a_turn_that_only_reads_adds_no_sub_goals() -> None:
    tools = [{"name": name} for name in ("list_all_product_types", "find_user_id_by_email", "cancel_pending_order")]
    request = "I am ann.lee@example.com. What does a yoga mat cost? Cancel #W1234567, I do not need it."
    reply = reply_to("turn", request=request, tools=tools)
    assert {action["tool"] for action in reply["actions"]} == {"list_all_product_types", "find_user_id_by_email"}
    assert reply["sub_goals"] == []
