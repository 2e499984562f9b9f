"""The rehearsal model's replies to a customer of the store."""

import json

import pytest

from rehearsal.retail.customer_requests import read_requests
from rehearsal.tests.contract import reply_to

TYPES = {"Tent": "11", "Trail Shoes": "12"}
LISTED = {"id": "1.1", "tool": "list_all_product_types", "arguments": {}, "status": "finished"}
NO_SUCH_PRODUCT = "The store has no such product."


def answered(request: str) -> str:
    return str(reply_to("answer", request=request, executed=[LISTED | {"result": json.dumps(TYPES)}])["text"])


@pytest.mark.parametrize(
    "request_text",
    ["What does the cheapest yoga mat cost?", "Do you sell yoga mats?", "How much is a surfboard?"],
)
def test_a_missing_product_is_reported(request_text: str) -> None:
    assert answered(request_text) == f"{NO_SUCH_PRODUCT} It has 2 types of products: Tent, Trail Shoes."


@pytest.mark.parametrize("request_text", ["How many types of products do you have?", "What do you sell?"])
def test_a_question_about_all_products_reports_none_missing(request_text: str) -> None:
    assert answered(request_text) == "The store has 2 types of products: Tent, Trail Shoes."


def test_cancel_it_refers_to_the_order_named_last() -> None:
    """Even after a question about a product in between. Otherwise the wrong order would be cancelled."""
    message = "Tell me what is in order #W1234567, what does the cheapest tent cost, and cancel it, I do not need it."
    requests, unclear = read_requests(message)
    assert not unclear
    assert [(request.kind, request.order_ids) for request in requests] == [
        ("lookup", ["#W1234567"]),
        ("lookup", []),
        ("cancel", ["#W1234567"]),
    ]


def test_a_turn_that_only_reads_adds_no_sub_goals() -> None:
    tools = [{"name": name} for name in ("list_all_product_types", "find_user_id_by_email", "cancel_pending_order")]
    request = "ann.lee@example.com: what does the cheapest yoga mat cost, and cancel #W1234567, I do not need it."
    reply = reply_to("turn", request=request, tools=tools)
    assert {action["tool"] for action in reply["actions"]} == {"list_all_product_types", "find_user_id_by_email"}
    assert reply["sub_goals"] == []
