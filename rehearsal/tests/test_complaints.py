"""The rehearsal model's replies to the nodes of complaint_triage."""

import json
from typing import Any

import pytest

from rehearsal.tests.contract import reply_to


def triage(task: str, **sections: Any) -> Any:
    return reply_to(f"complaint_triage.{task}", **sections)["outputs"]


def order(status: str) -> str:
    return json.dumps({"order_id": "#W1234567", "status": status})


# --- reading a complaint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "My order #W9858457 arrived and the clock is smashed. jude.olsen8225@example.com",
            {"category": "damaged", "order_id": "#W9858457", "email": "jude.olsen8225@example.com", "first_name": ""},
        ),
        (
            "I am Kira Pereira, zip 64121. The headlamp in w9245874 doesn't work.",
            {"category": "damaged", "order_id": "#W9245874", "first_name": "Kira", "last_name": "Pereira"},
        ),
        (
            "You sent me the wrong pillow! My name is Hugo Mendes, zip code 96830",
            {"category": "wrong_item", "zip": "96830"},
        ),
        ("I'm Tom Berg, zip 12345, my parcel never arrived", {"category": "late", "first_name": "Tom", "zip": "12345"}),
        ("It is too small", {"category": "unwanted", "order_id": ""}),
        ("Hello, I love your store", {"category": "other", "order_id": "", "email": "", "zip": "", "urgent": False}),
        ("My lawyer will hear of this", {"category": "other", "urgent": True}),
        ("I need it immediately, it is late", {"category": "late", "urgent": True}),
    ],
)
def test_a_complaint_is_read_without_guessing(text: str, expected: dict[str, Any]) -> None:
    reply = triage("classify_complaint", request=text)
    assert set(reply) == {"category", "order_id", "email", "first_name", "last_name", "zip", "urgent"}
    assert {name: reply[name] for name in expected} == expected


# --- choosing a remedy


@pytest.mark.parametrize(
    ("category", "status", "remedy"),
    [
        ("late", "pending", "cancel"),
        ("unwanted", "pending", "cancel"),
        ("damaged", "pending", "person"),
        ("damaged", "delivered", "return"),
        ("wrong_item", "delivered", "return"),
        ("unwanted", "delivered", "return"),
        ("late", "delivered", "apologise"),
        ("other", "delivered", "apologise"),
        ("late", "processed", "person"),
        ("unwanted", "cancelled", "apologise"),
        ("damaged", "return requested", "apologise"),
    ],
)
def test_the_orders_status_decides_the_remedy(category: str, status: str, remedy: str) -> None:
    reply = triage("assess", request="See to it.", category=category, order=order(status))
    assert reply["remedy"] == remedy
    assert reply["reason"]


@pytest.mark.parametrize(
    ("text", "status", "remedy"),
    [
        ("Get me your manager, this lamp is broken", "delivered", "person"),
        ("My lawyer will hear of this", "pending", "person"),
        ("It is late, but I don't want to cancel", "pending", "apologise"),
        ("It is broken, but do not return it", "delivered", "apologise"),
        ("It is late. I just wanted you to know", "pending", "apologise"),
    ],
)
def test_the_customers_words_take_precedence_over_the_status(text: str, status: str, remedy: str) -> None:
    category = triage("classify_complaint", request=text)["category"]
    assert triage("assess", request=text, category=category, order=order(status))["remedy"] == remedy


# --- the reply


def write_reply(**sections: str) -> str:
    defaults = {"request": "My lamp is late.", "category": "late", "order_id": "#W1234567", "user_id": "ann_lee_1234"}
    return str(triage("write_reply", **defaults | sections)["answer"])


def test_a_reply_claims_only_what_was_done() -> None:
    assert "I have cancelled it" in write_reply(remedy="cancel", done=order("cancelled"))
    assert "cancelled" in write_reply(remedy="cancel", done=order("cancelled"))
    assert "has not been cancelled" in write_reply(remedy="cancel")
    refused = write_reply(remedy="return", done="Error: non-delivered order cannot be returned")
    assert "has not been returned" in refused
    assert "non-delivered" in refused
    assert "requested its return" in write_reply(remedy="return", done=order("return requested"))
    assert "noted in the store that a person has to look at your complaint" in write_reply(
        remedy="person", done="Transfer successful"
    )
    assert "has not been handed over" in write_reply(remedy="person")
    assert "changed nothing" in write_reply(remedy="apologise", reason="It was late.")
