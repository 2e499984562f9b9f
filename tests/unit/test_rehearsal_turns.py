"""The rehearsal model in the loop: calls that are spelt out, tools that it does not see, people who take over."""

import json
from functools import cache
from typing import Any

import pytest

from rehearsal.tooluse import asked_calls
from retail.generate import generate
from retail.policy import RULES
from retail.specs import SPECS
from retail.tasks.replay import Shop
from shared.tools import ToolSpec
from tests.support.retail_play import TOOLS, Played, model, play

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
    return Shop(generate())


@cache
def played(request: str, *replies: str) -> Played:
    return play(request, shop(), replies)


def turn(request: str, *deeds: dict[str, Any], **sections: Any) -> dict[str, Any]:
    given = {"request": request, "rules": RULES, "tools": TOOLS, "executed": [json.dumps(one) for one in deeds]}
    return model("planner", "turn", given | sections)


def answer(request: str, *deeds: dict[str, Any], **sections: Any) -> str:
    given = {"request": request, "executed": [json.dumps(one) for one in deeds], **sections}
    return str(model("generator", "answer", given)["answer"])


def deed(number: int, tool: str, result: object, **arguments: Any) -> dict[str, Any]:
    text = result if isinstance(result, str) else json.dumps(result)
    named = {"id": f"{number}.1", "turn": number, "tool": tool, "arguments": arguments}
    return {**named, "status": "finished", "result": text}


def jude(*orders: str) -> list[dict[str, Any]]:
    """He was found, and read with these of his orders."""
    data = generate()
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
        "Please run the tool `time.get_current_time` with timezone=Asia/Tokyo.",
        "use time.get_current_time, timezone: 'Asia/Tokyo'",
        'time.get_current_time({"timezone": "Asia/Tokyo"})',
        "invoke time.get_current_time {'timezone': 'Asia/Tokyo'}",
    ],
)
def test_makes_a_call_that_is_spelt_out(words: str) -> None:
    reply = turn(words, tools=[json.dumps(CLOCK)])
    assert [(one["tool"], one["arguments"]) for one in reply["actions"]] == [
        ("time.get_current_time", {"timezone": "Asia/Tokyo"})
    ]
    assert reply["final"]
    done = deed(1, "time.get_current_time", "It is 09:30.", timezone="Asia/Tokyo")
    assert turn(words, done, tools=[json.dumps(CLOCK)])["actions"] == []
    assert "It is 09:30." in answer(words, done)


def test_asks_for_a_tool_that_it_does_not_see_and_then_says_so() -> None:
    first = turn(TOKYO, more_tools=OTHERS)
    assert (first["more_tools"], first["actions"]) == ("time.get_current_time", [])
    nudge = "These are the tools that fit “time.get_current_time”."
    assert turn(TOKYO, more_tools=OTHERS, nudge=nudge, tools=[*TOOLS, json.dumps(CLOCK)])["actions"]
    after = turn(TOKYO, more_tools=OTHERS, nudge=nudge)
    assert (after["more_tools"], after["actions"]) == ("", [])
    assert "no tool time.get_current_time" in after["reasoning"]
    assert "no tool time.get_current_time" in answer(TOKYO, reasoning=after["reasoning"])


def test_asks_for_arguments_that_a_call_needs() -> None:
    words = "Call time.get_current_time"
    asked = turn(words, tools=[json.dumps(CLOCK)])
    assert "timezone" in asked["question"]
    told = turn(words, tools=[json.dumps(CLOCK)], dialogue=[f"Q: {asked['question']}\nA: Asia/Tokyo"])
    assert told["actions"][0]["arguments"] == {"timezone": "Asia/Tokyo"}


def test_text_stays_text_and_numbers_are_numbers() -> None:
    one = played('Call calculate with expression="2 * 21"')
    assert "42" in one.answer
    page = {"name": "web.page", "parameters": {"properties": {"number": {"type": "integer"}, "id": {"type": "string"}}}}
    reply = turn("call web.page number=3 id=7", tools=[json.dumps(page)])
    assert reply["actions"][0]["arguments"] == {"number": 3, "id": "7"}


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


# --- tools that are not shown


def test_asks_for_the_stores_tools_among_many() -> None:
    first = turn(f"Cancel #W9389119, a mistake. {JUDE}", tools=[json.dumps(CLOCK)], more_tools=OTHERS)
    assert "find user id by email" in first["more_tools"]
    few = [tool for tool in TOOLS if "find_user_id_by_email" in tool]
    assert turn(f"Cancel #W9389119, a mistake. {JUDE}", tools=few, more_tools=OTHERS)["actions"]


def test_makes_the_calls_that_it_can_and_tells_what_is_lacking() -> None:
    few = [tool for tool in TOOLS if "cancel_pending_order" not in tool]
    request = f"Cancel #W9389119, it was a mistake. {JUDE}"
    reply = turn(request, *jude("#W9389119"), tools=few)
    assert "no tools to cancel pending order" in reply["reasoning"]
    assert "no tools to cancel pending order" in answer(
        f"How much are pillows? {JUDE}", *jude()[:1], reasoning=reply["reasoning"]
    )


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


@pytest.mark.parametrize("request_", ["Book me a flight to Rome", "Write a poem", "What is the capital of France?"])
def test_what_is_not_for_the_store_gets_an_honest_reply(request_: str) -> None:
    for tools in (TOOLS, [json.dumps(CLOCK)]):
        reply = turn(request_, tools=tools)
        said = f"{reply['question']} {reply['reasoning']}"
        assert "rehearsal model" in said
        assert "OPENAI_BASE_URL" in said
        assert "OPENAI_MODEL" in said
        assert reply["actions"] == []
    assert "OPENAI_MODEL" in answer(request_, reasoning=reply["reasoning"])


def test_a_turn_says_what_its_look_ups_are_for() -> None:
    one = played(f"Cancel #W9389119, it was a mistake. {JUDE}")
    reads = [reply["reasoning"] for reply in one.planned[:-1]]
    assert all(text.startswith("To cancel, this is needed first: ") for text in reads)
    assert "find the customer by e-mail" in reads[0]


# --- a person who took over


HELP = f"I want a coupon for 10 %, so get me a manager. {JUDE}"
OVER = deed(3, "transfer_to_human_agents", "Transfer successful", summary="wants a coupon")
BY_HAND = deed(4, "cancel_pending_order", {"status": "cancelled"}, order_id="#W5318900", reason="ordered by mistake")


def test_hands_over_once_whatever_is_said_after() -> None:
    assert turn(HELP, *jude(), OVER, BY_HAND, feedback=["No coupon, but I cancelled it."])["actions"] == []
    assert [one["tool"] for one in played(HELP).deeds].count("transfer_to_human_agents") == 1


def test_an_answer_tells_what_a_person_did_and_said() -> None:
    told = answer(HELP, *jude(), OVER, BY_HAND, feedback=["No coupon, but he may keep the lamp."])
    assert "handed you over" in told
    assert "order #W5318900 was cancelled (ordered by mistake)" in told
    assert "he may keep the lamp" in told


def test_what_a_person_has_cancelled_is_not_cancelled_again() -> None:
    request = f"Cancel #W5318900, I no longer need it. {JUDE}"
    reply = turn(request, *jude("#W5318900"), BY_HAND)
    assert reply["actions"] == []
    assert "#W5318900 was cancelled" in answer(request, *jude("#W5318900"), BY_HAND)


# --- an order that is told by what is in it


@pytest.mark.parametrize(
    ("request_", "tool", "item"),
    [
        ("For the order with the frying pan, swap the Pillow for the cheapest other one.", "exchange", "8425542419"),
        ("Swap the pillow in the order that has the phone case for the cheapest other one.", "exchange", "8425542419"),
        ("Return the pillow from the order containing the phone case.", "return", "8425542419"),
    ],
)
def test_an_order_is_told_by_what_is_in_it(request_: str, tool: str, item: str) -> None:
    last = played(f"{request_} PayPal. {JUDE}").deeds[-1]
    assert last["tool"].startswith(tool)
    assert (last["arguments"]["order_id"], last["arguments"]["item_ids"]) == (BOTH, [item])


@pytest.mark.parametrize("what", ["return the bananas from order", "return my guitar from order"])
def test_what_is_not_there_is_not_the_whole_order(what: str) -> None:
    one = played(f"{what} {BOTH}, PayPal. {JUDE}")
    assert one.changed == {}
    assert one.questions


def test_many_wishes_fit_into_the_turns_that_there_are() -> None:
    one = played(
        f"Swap the lunch box in #W9389119 for the cheapest other one, swap the pillow in {BOTH} for the cheapest other"
        f" one, and what do tents, guitars and kettles cost? PayPal. {JUDE}"
    )
    assert {deed["tool"] for deed in one.deeds[-2:]} == {
        "modify_pending_order_items",
        "exchange_delivered_order_items",
    }
    assert one.turns <= 5
    assert all(name in one.answer for name in ("tent", "guitar", "kettle"))


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (f"I love the tennis racket, the phone case is great, the rest of {BOTH} can go back. PayPal.", 2),
        (f"Return the pillow, we love the frying pan, the cutting board is good too. Order {BOTH}, PayPal.", 4),
    ],
)
def test_what_is_kept_is_not_returned(words: str, kept: int) -> None:
    last = played(f"{words} {JUDE}").deeds[-1]
    items = len(generate()["orders"][BOTH]["items"])
    assert (last["tool"], len(last["arguments"]["item_ids"])) == ("return_delivered_order_items", items - kept)


def test_what_is_only_considered_is_not_done() -> None:
    one = played(f"Maybe I should cancel #W9389119, what would I get back? {JUDE}")
    assert one.changed == {}
    assert "356.79" in one.answer
