"""What the rehearsal model says to a customer of the store: sections in, a reply out."""

import json

import pytest

from rehearsal.retail.requests import read_requests
from rehearsal.tests.contract import reply_to

TYPES = {"Tent": "11", "Trail Shoes": "12"}
LISTED = {"id": "1.1", "tool": "list_all_product_types", "arguments": {}, "status": "finished"}
LACKING = "The store has no such product."


def answered(request: str) -> str:
    return str(reply_to("answer", request=request, executed=[LISTED | {"result": json.dumps(TYPES)}])["text"])


@pytest.mark.parametrize(
    "request_text",
    ["What does the cheapest yoga mat cost?", "Do you sell yoga mats?", "How much is a surfboard?"],
)
def test_a_product_that_there_is_none_of_is_said_to_be_lacking(request_text: str) -> None:
    assert answered(request_text) == f"{LACKING} It has 2 types of products: Tent, Trail Shoes."


@pytest.mark.parametrize("request_text", ["How many types of products do you have?", "What do you sell?"])
def test_a_question_about_all_products_lacks_none(request_text: str) -> None:
    assert answered(request_text) == "The store has 2 types of products: Tent, Trail Shoes."


def test_it_is_the_order_that_was_named_last() -> None:
    """Also with another request between them: of several orders, the wrong one must not be cancelled."""
    message = "Tell me what is in order #W1234567, what does the cheapest tent cost, and cancel it, I do not need it."
    requests, doubt = read_requests(message)
    assert not doubt
    assert [(one.kind, one.order_ids) for one in requests] == [
        ("lookup", ["#W1234567"]),
        ("lookup", []),
        ("cancel", ["#W1234567"]),
    ]


def test_a_turn_that_only_reads_promises_no_sub_goal_beyond_it() -> None:
    tools = [{"name": name} for name in ("list_all_product_types", "find_user_id_by_email", "cancel_pending_order")]
    request = "ann.lee@example.com: what does the cheapest yoga mat cost, and cancel #W1234567, I do not need it."
    reply = reply_to("turn", request=request, tools=tools)
    assert {one["tool"] for one in reply["actions"]} == {"list_all_product_types", "find_user_id_by_email"}
    assert reply["sub_goals"] == []
