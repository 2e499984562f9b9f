"""A user with requests about the sample store, and the model's replies."""

import json
from collections.abc import Sequence
from typing import Any

from playwright.async_api import Browser

from tests.e2e.browser import Person, Tab
from tests.support.parley import InProcess
from tests.support.store import STORE

Replies = dict[str, Any]
GOALS = ["Find out who the customer is", "Look at the orders", "Cancel what is no longer needed"]


def _orders(user: dict[str, Any], status: str) -> list[str]:
    return [order for order in user["orders"] if STORE["orders"][order]["status"] == status]


USER_ID, USER = next(
    (name, user)
    for name, user in STORE["users"].items()
    if len(_orders(user, "pending")) > 1 and _orders(user, "delivered")
)
PENDING, DELIVERED = _orders(USER, "pending"), _orders(USER, "delivered")


def call(tool: str, text: str, *after: int, **arguments: Any) -> Replies:
    return {"tool": tool, "text": text, "arguments": arguments, "depends_on": list(after)}


def turn(goal: str, *calls: Replies, final: bool = False) -> Replies:
    """A planner's reply with these calls."""
    return {
        "sub_goal": goal,
        "sub_goals": GOALS if goal in GOALS else [goal],
        "actions": list(calls),
        "required_skills": ["order handling", "careful reading"],
        "reasoning": f"{goal}: that comes first.",
        "final": final,
    }


FIND_CUSTOMER = turn(GOALS[0], call("find_user_id_by_email", "Find the customer", email=USER["email"]))
READ_ORDERS = turn(
    GOALS[1],
    call("get_user_details", "Read the customer's details", user_id=USER_ID),
    *(call("get_order_details", f"Read order {order}", order_id=order) for order in PENDING[:2]),
)
NO_MORE_TURNS = {"reason": "All that was asked for has been done."}
HAND_OVER = turn("Hand over", call("transfer_to_human_agents", "Hand over", summary="They want a person."))


def cancel_turn(*orders: str) -> Replies:
    """A turn that cancels these orders; the first call misspells a field, which Parley corrects."""
    names = ("cancel_reason", *("reason" for _ in orders[1:]))
    calls = (
        call("cancel_pending_order", f"Cancel order {order}", **{"order_id": order, name: "no longer needed"})
        for order, name in zip(orders, names, strict=True)
    )
    return turn(GOALS[2], *calls, final=True)


def cancel_replies(*orders: str, cancelled: Sequence[str] | None = None) -> Replies:
    """The replies to a request to cancel these orders. `cancelled`: the orders that the user lets Parley cancel."""
    cancelled = orders if cancelled is None else cancelled
    answer = f"I cancelled **{', '.join(cancelled)}**." if cancelled else "I looked, and **nothing was changed**."
    evidence = [f"3.{number}" for number, order in enumerate(orders, 1) if order in cancelled]
    return {
        "turn": [FIND_CUSTOMER, READ_ORDERS, cancel_turn(*orders), NO_MORE_TURNS],
        "turn_verdict": {"status": "success", "next_action": "continue", "reasoning": "It was answered."},
        "answer": {"text": answer, "confidence": 0.93, "evidence": evidence},
    }


ONE_ORDER, TWO_ORDERS = PENDING[:1], PENDING[:2]
ESCALATED: Replies = {
    "turn": [HAND_OVER, NO_MORE_TURNS],
    "answer": {"text": "A person saw to it.", "confidence": 0.9, "evidence": []},
}


class Customer(Person):
    """A user for whom Parley acts in their own copy of the store."""

    def __init__(self, browser: Browser, parley: InProcess) -> None:
        super().__init__(browser, parley.url)
        self.parley = parley

    async def open_start_page(self, replies: Replies, **choice: Any) -> Tab:
        """Opens the start page; the model will give these replies. `choice`: stored by an earlier visit."""
        stored = json.dumps({"workflow": "agentflow", "world": "own"} | choice)
        await self.context.add_init_script(f"localStorage.setItem('parley.choice', {json.dumps(stored)})")
        self.parley.model.replies = {**replies, "turn": list(replies["turn"])}
        tab = await self.tab()
        await tab.wait_for("example")
        return tab

    async def request(self, request: str, replies: Replies, **choice: Any) -> Tab:
        """Opens a tab and sends the request."""
        tab = await self.open_start_page(replies, **choice)
        await tab.send(request)
        return tab
