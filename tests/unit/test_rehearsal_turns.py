"""The rehearsal model in the agentflow: explicit calls, tools that the prompt does not list, people who take over."""

import json
from functools import cache
from typing import Any

import pytest

from packs.retail.policy import RULES
from packs.retail.specs import SPECS
from packs.retail.tasks.replay import Shop
from parley.protocol.tools import ToolSpec
from rehearsal.explicit_calls import explicit_calls
from shared.domain.dialogue import TranscriptEntry
from tests.support.retail_play import TOOLS, PlayResult, entry, executed, model, play
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
def play_request(request: str, *replies: str) -> PlayResult:
    return play(request, shop(), replies)


def turn(request: str, *conversation: TranscriptEntry, **sections: Any) -> dict[str, Any]:
    defaults = {"rules": RULES, "tools": TOOLS}
    return model("planner", "turn", defaults | sections, entry("request", request), *conversation)


def answer(request: str, *conversation: TranscriptEntry) -> str:
    return str(model("generator", "answer", {}, entry("request", request), *conversation)["text"])


def judes_reads(*orders: str) -> list[TranscriptEntry]:
    """The calls that identify Jude and read his account and these orders."""
    data = STORE
    return [
        executed(1, "find_user_id_by_email", "jude_banerjee_8935", email=JUDE),
        executed(2, "get_user_details", data["users"]["jude_banerjee_8935"], user_id="jude_banerjee_8935"),
        *(executed(3, "get_order_details", data["orders"][order_id], order_id=order_id) for order_id in orders),
    ]


# --- explicit calls: the request names the tool and its arguments


@pytest.mark.parametrize(
    "words",
    [
        TOKYO,
        'Please run the tool `time.get_current_time` with {"timezone": "Asia/Tokyo"}.',
        'invoke time.get_current_time({"timezone": "Asia/Tokyo"})',
    ],
)
def test_an_explicit_call_is_planned(words: str) -> None:
    reply = turn(words, tools=[json.dumps(CLOCK)])
    assert [(action["tool"], action["arguments"]) for action in reply["actions"]] == [
        ("time.get_current_time", {"timezone": "Asia/Tokyo"})
    ]
    assert reply["final"]
    done = executed(1, "time.get_current_time", "It is 09:30.", timezone="Asia/Tokyo")
    assert turn(words, done, tools=[json.dumps(CLOCK)])["kind"] == "nothing_to_do"
    assert "It is 09:30." in answer(words, done)


def test_a_missing_tool_is_requested_once_and_then_reported() -> None:
    first = turn(TOKYO, more_tools=OTHERS)
    assert first == {"kind": "more_tools", "words": "time.get_current_time"}
    found = "These are the tools that fit “time.get_current_time”."
    assert turn(TOKYO, more_tools=OTHERS, problems=found, found_tools=[json.dumps(CLOCK)])["actions"]
    after = turn(TOKYO, more_tools=OTHERS, problems=found)
    assert after["kind"] == "nothing_to_do"
    assert "no tool time.get_current_time" in after["reason"]
    closed = entry("draft", json.dumps({"reply": after}), by="planner")
    assert "no tool time.get_current_time" in answer(TOKYO, closed)


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
def test_ordinary_words_are_not_explicit_calls(words: str) -> None:
    assert explicit_calls(words, [spec.name for spec in SPECS]) == []


def test_a_call_that_the_rules_forbid_is_not_repeated() -> None:
    run = play_request('Call get_order_details with {"order_id": "#W9389119"}')
    assert run.deeds == []
    assert "not known yet" in run.answer


# --- identifying the customer


@pytest.mark.parametrize(
    ("status", "result", "text"),
    [
        ("denied", "", "I did not look your account up, because that was not approved."),
        ("failed", "Error: user not found", "I could not find an account with these details."),
    ],
)
def test_an_account_whose_lookup_was_not_approved_is_not_reported_as_missing(
    status: str, result: str, text: str
) -> None:
    lookup = executed(1, "find_user_id_by_email", result, status, email=JUDE)
    assert turn(f"Cancel #W9389119, a mistake. {JUDE}", lookup)["text"].startswith(text)


# --- several requests in one message


def test_two_requests_are_two_sub_goals_of_one_turn() -> None:
    """Each write names its request as its sub-goal. The reads before them serve both."""
    request = f"I want to return the frying pan of {BOTH}. Cancel #W5318900, ordered by mistake. {JUDE}"
    reads = judes_reads(BOTH, "#W5318900")
    reply = turn(request, *reads)
    assert {action["sub_goal"]: action["tool"] for action in reply["actions"]} == {
        "Return": "return_delivered_order_items",
        "Cancel": "cancel_pending_order",
    }
    assert reply["sub_goals"] == ["Return", "Cancel"]
    assert {action["sub_goal"] for action in turn(request, *reads[:1])["actions"]} == {""}


# --- tools that the prompt does not list


def test_the_model_requests_the_tools_of_the_store_if_the_prompt_lists_others() -> None:
    first = turn(f"Cancel #W9389119, a mistake. {JUDE}", tools=[json.dumps(CLOCK)], more_tools=OTHERS)
    assert "find user id by email" in first["words"]
    find_tool = [tool for tool in TOOLS if "find_user_id_by_email" in tool]
    assert turn(f"Cancel #W9389119, a mistake. {JUDE}", tools=find_tool, more_tools=OTHERS)["actions"]


def unrelated_tool(number: int) -> ToolSpec:
    purpose = ("find an order of a customer", "get the details of a user", "cancel a pending delivery")[number % 3]
    return ToolSpec(name=f"server{number}.tool", description=f"Tool {number}: {purpose}", parameters={}, effect="read")


def test_the_model_finds_the_tools_of_the_store_among_80_others() -> None:
    tools = (*map(unrelated_tool, range(80)), *SPECS)
    run = play(f"Cancel #W9389119, it was a mistake. {JUDE}", shop(), tools=tools)
    assert run.deeds[-1]["tool"] == "cancel_pending_order"
    assert run.changed == play_request(f"Cancel #W9389119, it was a mistake. {JUDE}").changed
    without_store = play(f"Cancel #W9389119, it was a mistake. {JUDE}", shop(), tools=tools[:80])
    assert without_store.deeds == []
    assert "its tools are not there" in without_store.answer


# --- a person takes over


HELP = f"I want a coupon for 10 %, so get me a manager. {JUDE}"
TRANSFER = executed(3, "transfer_to_human_agents", "Transfer successful", summary="wants a coupon")
BY_A_PERSON = "cancel pending order #W5318900, ordered by mistake"
CANCELLED_BY_PERSON = executed(
    4, "cancel_pending_order", {"status": "cancelled"}, order_id="#W5318900", reason="ordered by mistake"
)


def test_a_request_is_handed_over_only_once() -> None:
    reply = turn(HELP, *judes_reads(), TRANSFER, CANCELLED_BY_PERSON, entry("message", "No coupon. I cancelled it."))
    assert reply["kind"] == "nothing_to_do"
    assert [call["tool"] for call in play_request(HELP).deeds].count("transfer_to_human_agents") == 1


def test_an_answer_reports_the_actions_and_words_of_the_person_who_took_over() -> None:
    text = answer(
        HELP, *judes_reads(), TRANSFER, CANCELLED_BY_PERSON, entry("message", "No coupon, but he may keep the lamp.")
    )
    assert "handed you over" in text
    assert f"done besides: {BY_A_PERSON}" in text
    assert "he may keep the lamp" in text


def test_an_order_cancelled_by_a_person_is_not_cancelled_again() -> None:
    request = f"Cancel #W5318900, I no longer need it. {JUDE}"
    reply = turn(request, *judes_reads("#W5318900"), CANCELLED_BY_PERSON)
    assert reply["kind"] == "nothing_to_do"
    assert f"done besides: {BY_A_PERSON}" in answer(request, *judes_reads("#W5318900"), CANCELLED_BY_PERSON)
