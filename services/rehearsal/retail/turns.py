"""The planner's part: the next turn of a request to a retail store, decided from scratch by what the prompt tells."""

import re
from collections.abc import Sequence
from typing import Any

from services.rehearsal.catalogue import CONFIGURE
from services.rehearsal.prompt import Prompt
from services.rehearsal.retail.items import mentions
from services.rehearsal.retail.planning import HANDOVER, WHAT, Overview, survey
from services.rehearsal.retail.state import Call, State, read_state
from services.rehearsal.retail.wishes import read_wishes
from services.rehearsal.retail.words import listing
from services.rehearsal.retail.writes import Write

ABLE = "look up orders and products, cancel, return, exchange, and change items, payment or address"
STORE = frozenset(("get_order_details", "get_user_details", "find_user_id_by_email"))
NO_STORE = (
    "The rehearsal model is made of rules: with tools it can serve the customers of the sample retail store, and"
    f" nothing of that kind is asked for here, or its tools are not there. {CONFIGURE}"
)
TYPES = Call("list_all_product_types", {})
SAYS = {
    "find_user_id_by_email": "Find the customer by e-mail",
    "find_user_id_by_name_zip": "Find the customer by name and zip code",
    "get_user_details": "Read the customer's account",
    "get_order_details": "Read order {order_id}",
    "get_product_details": "Read the variants of product {product_id}",
    "list_all_product_types": "List the products of the store",
}


def answer_turn(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `turn`."""
    state = read_state(prompt)
    if not state.tools >= STORE:
        hidden = prompt["more_tools"] and not state.nudge and read_wishes(state.request)
        return {**_nothing(NO_STORE), "more_tools": "customer account, order and product details" if hidden else ""}
    overview = survey(state)
    if not overview.outcomes:
        return _without_wish(state)
    reads = _reads(overview)
    calls: Sequence[Call] = reads or ([] if overview.question else overview.due)
    if calls:
        return _able(prompt, state, calls) or _planned(overview, calls, reading=bool(reads))
    goals = {"sub_goals": _goals(overview)}
    if overview.question:
        return {**_nothing(""), **goals, "question": overview.question, "sub_goal": "Find out what is missing"}
    return {**_nothing(_why(overview)), **goals}


def _able(prompt: Prompt, state: State, calls: Sequence[Call]) -> dict[str, Any] | None:
    """What to reply where these calls cannot be proposed: tools are not shown, or the proposal was turned down."""
    hidden = sorted({call.tool.replace("_", " ") for call in calls if call.tool not in state.tools})
    if hidden and prompt["more_tools"] and not state.nudge:
        return {**_nothing(""), "more_tools": ", ".join(hidden)}
    if hidden or all(re.search(rf"\b{call.tool}\b", state.nudge) for call in calls):
        return _nothing(f"It cannot be done: {state.nudge or 'there are no tools for it'}")
    return None


def _planned(overview: Overview, calls: Sequence[Call], *, reading: bool) -> dict[str, Any]:
    if reading:
        return _turn(overview, calls, "Look up what is needed", _last(overview))
    goal = listing([call.text for call in calls if isinstance(call, Write)])
    return _turn(overview, calls, goal, final=not overview.question)


def _without_wish(state: State) -> dict[str, Any]:
    """Nothing was understood: asked once, then said."""
    question = f"{WHAT}? I can {ABLE}."
    if state.answered(question) is None:
        return {**_nothing(""), "question": question}
    return _nothing(f"I did not understand what is wanted. I can {ABLE}.")


def _nothing(why: str) -> dict[str, Any]:
    return {
        "question": None,
        "sub_goal": "",
        "sub_goals": [],
        "selected_tool": "",
        "required_skills": [],
        "actions": [],
        "reasoning": why,
        "final": False,
        "more_tools": "",
    }


def _reads(overview: Overview) -> list[Call]:
    """What is needed now, and what will be: the products that are spoken of, as soon as their ids are known."""
    calls = {call.key: call for outcome in overview.outcomes for call in outcome.reads}
    if not calls:
        return []
    state = overview.state
    shopping = [one for one in overview.outcomes if one.wish.kind == "exchange" and one.reads]
    if shopping and state.types is None and not state.user_id and TYPES.key not in state.by_key:
        calls[TYPES.key] = TYPES
    if shopping and state.types:
        texts = " ".join(f"{one.wish.before} {one.wish.own}" for one in shopping)
        names = list(dict.fromkeys(spot.name for spot in mentions(texts, state.types)))
        for name in names[:4]:
            call = Call("get_product_details", {"product_id": state.types[name]})
            if f"get_product_details {state.types[name]}" not in state.known:
                calls.setdefault(call.key, call)
    return list(calls.values())


def _last(overview: Overview) -> bool:
    """Whether these reads are all that is left to do."""
    leaves = all(outcome.leaf for outcome in overview.outcomes if outcome.reads)
    return leaves and not overview.due and not overview.question


def _turn(overview: Overview, calls: Sequence[Call], goal: str, final: bool) -> dict[str, Any]:
    actions = [_action(call, calls[:at]) for at, call in enumerate(calls)]
    return {
        **_nothing(_why(overview)),
        "sub_goal": goal[:400],
        "sub_goals": _goals(overview),
        "selected_tool": calls[-1].tool,
        "required_skills": [
            "customer service",
            "changing orders" if isinstance(calls[0], Write) else "looking things up",
        ],
        "actions": actions,
        "final": final,
    }


def _action(call: Call, before: Sequence[Call]) -> dict[str, Any]:
    """Writes on one order wait for each other; everything else may run side by side."""
    text = call.text if isinstance(call, Write) else SAYS.get(call.tool, call.tool).format(**call.arguments)
    subject = call.arguments.get("order_id") or call.arguments.get("user_id")
    waits = [
        at
        for at, other in enumerate(before, 1)
        if isinstance(call, Write)
        and call.tool != HANDOVER
        and subject
        and subject in (other.arguments.get("order_id"), other.arguments.get("user_id"))
    ]
    return {"tool": call.tool, "arguments": call.arguments, "text": text[:500], "depends_on": waits[-1:]}


def _goals(overview: Overview) -> list[str]:
    names = {
        "lookup": "Tell what was asked",
        "human": "Hand over to a person",
        "outside": "See what cannot be done here",
    }
    kinds = {
        "cancel": "Cancel",
        "return": "Return",
        "undo": "Get the money back",
        "exchange": "Exchange items",
        "payment": "Change the payment",
        "address": "Change the address",
    }
    return list(dict.fromkeys((names | kinds)[outcome.wish.kind] for outcome in overview.outcomes))


def _why(overview: Overview) -> str:
    refused = [f"Not possible: {outcome.refused}" for outcome in overview.outcomes if outcome.refused]
    if refused:
        return " ".join(refused)
    return (
        "All that was asked for is known or done."
        if not overview.due
        else "Each step follows from what was asked and read."
    )
