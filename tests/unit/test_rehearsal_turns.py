"""The rehearsal model in the loop: calls that are spelt out, tools that it does not see, people who take over."""

import json
from functools import cache
from typing import Any

import pytest

from packs.retail.policy import RULES
from packs.retail.specs import SPECS
from packs.retail.tasks.replay import Shop
from parley.protocol.tools import ToolSpec
from rehearsal.tooluse import asked_calls
from tests.support.retail_play import TOOLS, Played, model, play
from tests.support.store import STORE

JUDE = "jude.banerjee8262@example.com"
BOTH = "#W9263647"  # delivered, with a pillow, a frying pan and a phone case; another pillow is in a pending order
CLOCK = {
    "name": "time.get_current_time",
    "description": "The time in a zone",
    "effect": "read",
    "parameters": {"type": "object", "properties": {"timezone": {"type": "string"}}, "required": ["timezone"]},
}
OTHERS = "There are 30 other tools; ask for them by words."
TOKYO = 'Call time.get_current_time with {"timezone": "Asia/Tokyo"}'


@cache
def shop() -> Shop:
    return Shop(STORE)


@cache
def played(request: str, *replies: str) -> Played:
    return play(request, shop(), replies)


def turn(request: str, *deeds: dict[str, Any], **sections: Any) -> dict[str, Any]:
    given = {"request": request, "rules": RULES, "tools": TOOLS, "executed": [json.dumps(one) for one in deeds]}
    return model("planner", "turn", given | sections)


def answer(request: str, *deeds: dict[str, Any], **sections: Any) -> str:
    given = {"request": request, "executed": [json.dumps(one) for one in deeds], **sections}
    return str(model("generator", "answer", given)["text"])


def deed(number: int, tool: str, result: object, **arguments: Any) -> dict[str, Any]:
    text = result if isinstance(result, str) else json.dumps(result)
    named = {"id": f"{number}.1", "turn": number, "tool": tool, "arguments": arguments}
    return {**named, "status": "finished", "result": text}


def jude(*orders: str) -> list[dict[str, Any]]:
    """He was found, and read with these of his orders."""
    data = STORE
    return [
        deed(1, "find_user_id_by_email", "jude_banerjee_8935", email=JUDE),
        deed(2, "get_user_details", data["users"]["jude_banerjee_8935"], user_id="jude_banerjee_8935"),
        *(deed(3, "get_order_details", data["orders"][one], order_id=one) for one in orders),
    ]


# --- a call that is spelt out


@pytest.mark.parametrize(
    "words",
    [
        TOKYO,
        'Please run the tool `time.get_current_time` with {"timezone": "Asia/Tokyo"}.',
        'invoke time.get_current_time({"timezone": "Asia/Tokyo"})',
    ],
)
def test_makes_a_call_that_is_spelt_out(words: str) -> None:
    reply = turn(words, tools=[json.dumps(CLOCK)])
    assert [(one["tool"], one["arguments"]) for one in reply["actions"]] == [
        ("time.get_current_time", {"timezone": "Asia/Tokyo"})
    ]
    assert reply["final"]
    done = deed(1, "time.get_current_time", "It is 09:30.", timezone="Asia/Tokyo")
    assert turn(words, done, tools=[json.dumps(CLOCK)])["kind"] == "nothing_to_do"
    assert "It is 09:30." in answer(words, done)


def test_asks_for_a_tool_that_it_does_not_see_and_then_says_so() -> None:
    first = turn(TOKYO, more_tools=OTHERS)
    assert first == {"kind": "more_tools", "words": "time.get_current_time"}
    nudge = "These are the tools that fit “time.get_current_time”."
    assert turn(TOKYO, more_tools=OTHERS, nudge=nudge, tools=[*TOOLS, json.dumps(CLOCK)])["actions"]
    after = turn(TOKYO, more_tools=OTHERS, nudge=nudge)
    assert after["kind"] == "nothing_to_do"
    assert "no tool time.get_current_time" in after["reason"]
    assert "no tool time.get_current_time" in answer(TOKYO, reasoning=after["reason"])


@pytest.mark.parametrize(
    "words",
    [
        "Use my gift card for the refund and call it a day.",
        "Please use paypal_5137806 for the difference",
        "I think you should calculate the total of my order.",
        "Write to jude.banerjee8262@example.com or see www.example.com",
        "Call off order #W9389119",
    ],
)
def test_ordinary_words_are_no_calls(words: str) -> None:
    assert asked_calls(words, [spec.name for spec in SPECS]) == []


def test_a_call_that_the_rules_forbid_is_not_insisted_on() -> None:
    one = played('Call get_order_details with {"order_id": "#W9389119"}')
    assert one.deeds == []
    assert "not known yet" in one.answer


# --- who asks


@pytest.mark.parametrize(
    ("status", "result", "why"),
    [
        ("denied", "", "I did not look your account up, because that was not approved."),
        ("skipped", "", "I did not look your account up, because that was not approved."),
        ("failed", "Error: user not found", "I could not find an account with these details."),
    ],
)
def test_an_account_that_was_not_looked_up_is_not_said_to_be_missing(status: str, result: str, why: str) -> None:
    looked = {**deed(1, "find_user_id_by_email", result, email=JUDE), "status": status}
    assert turn(f"Cancel #W9389119, a mistake. {JUDE}", looked)["text"].startswith(why)


# --- several requests in one message


def test_two_requests_are_two_sub_goals_of_one_turn() -> None:
    """Each change names the request that it is for; the look-ups before them are for both."""
    request = f"I want to return the frying pan of {BOTH}, and cancel #W5318900, ordered by mistake. {JUDE}"
    known = jude(BOTH, "#W5318900")
    reply = turn(request, *known)
    assert {one["sub_goal"]: one["tool"] for one in reply["actions"]} == {
        "Return": "return_delivered_order_items",
        "Cancel": "cancel_pending_order",
    }
    assert reply["sub_goals"] == ["Return", "Cancel"]
    assert {one["sub_goal"] for one in turn(request, *known[:1])["actions"]} == {""}


# --- tools that are not shown


def test_asks_for_the_stores_tools_among_many() -> None:
    first = turn(f"Cancel #W9389119, a mistake. {JUDE}", tools=[json.dumps(CLOCK)], more_tools=OTHERS)
    assert "find user id by email" in first["words"]
    few = [tool for tool in TOOLS if "find_user_id_by_email" in tool]
    assert turn(f"Cancel #W9389119, a mistake. {JUDE}", tools=few, more_tools=OTHERS)["actions"]


def others(number: int) -> ToolSpec:
    about = ("find an order of a customer", "get the details of a user", "cancel a pending delivery")[number % 3]
    return ToolSpec(name=f"server{number}.tool", description=f"Tool {number}: {about}", parameters={}, effect="read")


def test_finds_the_stores_tools_among_many() -> None:
    many = (*map(others, range(80)), *SPECS)
    one = play(f"Cancel #W9389119, it was a mistake. {JUDE}", shop(), tools=many)
    assert one.deeds[-1]["tool"] == "cancel_pending_order"
    assert one.changed == played(f"Cancel #W9389119, it was a mistake. {JUDE}").changed
    without = play(f"Cancel #W9389119, it was a mistake. {JUDE}", shop(), tools=many[:80])
    assert without.deeds == []
    assert "its tools are not there" in without.answer


# --- a person who took over


HELP = f"I want a coupon for 10 %, so get me a manager. {JUDE}"
OVER = deed(3, "transfer_to_human_agents", "Transfer successful", summary="wants a coupon")
BY_A_PERSON = "cancel pending order #W5318900, ordered by mistake"
BY_HAND = deed(4, "cancel_pending_order", {"status": "cancelled"}, order_id="#W5318900", reason="ordered by mistake")


def test_hands_over_once_whatever_is_said_after() -> None:
    assert turn(HELP, *jude(), OVER, BY_HAND, feedback=["No coupon, but I cancelled it."])["kind"] == "nothing_to_do"
    assert [one["tool"] for one in played(HELP).deeds].count("transfer_to_human_agents") == 1


def test_an_answer_tells_what_a_person_did_and_said() -> None:
    told = answer(HELP, *jude(), OVER, BY_HAND, feedback=["No coupon, but he may keep the lamp."])
    assert "handed you over" in told
    assert f"done besides: {BY_A_PERSON}" in told
    assert "he may keep the lamp" in told


def test_what_a_person_has_cancelled_is_not_cancelled_again() -> None:
    request = f"Cancel #W5318900, I no longer need it. {JUDE}"
    reply = turn(request, *jude("#W5318900"), BY_HAND)
    assert reply["kind"] == "nothing_to_do"
    assert f"done besides: {BY_A_PERSON}" in answer(request, *jude("#W5318900"), BY_HAND)
