"""The planner's part: the next turn of a request to a retail store, decided from scratch by what the prompt tells."""

import re
from collections.abc import Sequence
from typing import Any

from rehearsal.catalogue import BY_NAME, CONFIGURE
from rehearsal.prompt import Prompt
from rehearsal.retail.items import mentions
from rehearsal.retail.planning import WHAT, Overview, survey
from rehearsal.retail.state import FINDERS, HANDOVER, KINDS, Call, State, read_state
from rehearsal.retail.words import listing
from rehearsal.retail.writes import Write
from rehearsal.tooluse import answer_call
from rehearsal.turn_reply import asked_already, nothing

ABLE = "look up orders and products, cancel, return, exchange, and change items, payment or address"
STORE = frozenset((*FINDERS, *KINDS))
STORE_WORDS = ", ".join(sorted(name.replace("_", " ") for name in STORE))  # words of names count most
GOALS = {
    "lookup": "Tell what was asked",
    "human": "Hand over to a person",
    "outside": "See what cannot be done here",
    "cancel": "Cancel",
    "return": "Return",
    "undo": "Get the money back",
    "exchange": "Exchange items",
    "payment": "Change the payment",
    "address": "Change the address",
}
NO_STORE = (
    "I am the rehearsal model, a set of rules and no language model. With tools I can serve the customers of the sample"
    " retail store, and nothing of that kind is asked for here, or its tools are not there; besides, I can make a call"
    f" that is spelt out (a tool's exact name with its arguments as JSON). {CONFIGURE}"
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
    return answer_call(prompt) or _served(prompt, read_state(prompt))


def _served(prompt: Prompt, state: State) -> dict[str, Any]:
    """The next turn for a customer of the store."""
    overview = survey(state)
    if not state.tools & STORE:
        return _without_store(prompt, state, overview)
    if not overview.outcomes:
        return _without_wish(state)
    reads = _reads(overview)
    calls: Sequence[Call] = reads or ([] if overview.question else overview.due)
    if calls:
        return _able(prompt, state, calls) or _planned(overview, _shown(state, calls), reading=bool(reads))
    goals = {"sub_goals": _goals(overview)}
    if overview.question:
        return nothing("", **goals, question=overview.question, sub_goal="Find out what is missing")
    return nothing(_why(overview), **goals)


def _without_store(prompt: Prompt, state: State, overview: Overview) -> dict[str, Any]:
    """None of the store's tools is shown: they may be among the others."""
    if prompt["more_tools"] and overview.outcomes and not asked_already(STORE_WORDS, state.nudge):
        return nothing("The store's tools are not among those that I see.", more_tools=STORE_WORDS)
    return nothing(NO_STORE)


def _shown(state: State, calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call.tool in state.tools]


def _able(prompt: Prompt, state: State, calls: Sequence[Call]) -> dict[str, Any] | None:
    """What to reply where these calls cannot be proposed: tools are not shown, or the proposal was turned down."""
    needed, hidden = (
        ", ".join(sorted({call.tool.replace("_", " ") for call in calls if call.tool not in shown}))
        for shown in ((), state.tools)
    )
    if hidden and prompt["more_tools"] and not asked_already(needed, state.nudge):
        # the tools that fit are shown instead of these, so all that are needed are named
        return nothing(f"Of the tools that this needs, I do not see: {hidden}.", more_tools=needed)
    if not _shown(state, calls):
        return nothing(f"It cannot be done: this session has no tools to {hidden}.")
    if state.nudge and all(re.search(rf"\b{call.tool}\b", state.nudge) for call in calls):
        return nothing(f"It cannot be done: {state.nudge}")
    return None


def _planned(overview: Overview, calls: Sequence[Call], *, reading: bool) -> dict[str, Any]:
    if reading:
        return _turn(overview, calls, "Look up what is needed", _last(overview))
    goal = listing([call.text for call in calls if isinstance(call, Write)])
    return _turn(overview, calls, goal, final=not overview.question)


def _without_wish(state: State) -> dict[str, Any]:
    """Nothing was understood: asked once, then said."""
    question = (
        f"{WHAT}? I am the rehearsal model, a set of rules for a retail store: I can {ABLE}. {BY_NAME} {CONFIGURE}"
    )
    if state.answered(question) is None and not state.deeds:
        return nothing("", question=question)
    return nothing(f"I did not understand what is wanted. I can {ABLE}. {BY_NAME} {CONFIGURE}")


def _reads(overview: Overview) -> list[Call]:
    """What is needed now, and what will be: the products that are spoken of, as soon as their ids are known."""
    calls = {call.key: call for outcome in overview.outcomes for call in outcome.reads}
    if not calls:
        return []
    state = overview.state
    shopping = [one for one in overview.outcomes if one.wish.kind in ("exchange", "lookup") and one.reads]
    picking = shopping or [one for one in overview.outcomes if one.wish.kind in ("return", "undo") and one.reads]
    if picking and state.types is None and not state.user_id and TYPES.key not in state.by_key:
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
    return nothing(
        _why(overview, actions),
        sub_goal=goal[:400],
        sub_goals=_goals(overview),
        selected_tool=calls[-1].tool,
        required_skills=["customer service", "changing orders" if isinstance(calls[0], Write) else "looking things up"],
        actions=actions,
        final=final,
    )


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
    return list(dict.fromkeys(GOALS[outcome.wish.kind] for outcome in overview.outcomes))


def _why(overview: Overview, actions: Sequence[dict[str, Any]] = ()) -> str:
    """Why these calls, or why none: people read it beside the turn, and the answer tells it where there is none."""
    refused = [f"Not possible: {outcome.refused}" for outcome in overview.outcomes if outcome.refused]
    goals = listing([goal[:1].lower() + goal[1:] for goal in _goals(overview)])
    if overview.due and actions and not any(outcome.reads for outcome in overview.outcomes):
        return " ".join([*refused, f"All that is needed to {goals} is known."])
    if actions:
        needed = listing(list(dict.fromkeys(action["text"][:1].lower() + action["text"][1:] for action in actions)))
        return f"To {goals}, this is needed first: {needed}."
    return " ".join(refused) or "All that was asked for is known or done."
