"""The workflow `agentflow` for customers of the store, with the rehearsal model."""

from typing import Any

import pytest

from parley.events.values import SessionSettings
from shared.bus import Bus
from shared.domain import commands as c
from shared.settings import Settings
from tests.support.rehearsal_server import rehearsal_server
from tests.support.stack import Person, working
from tests.support.store import STORE

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
USER: Any = STORE["users"][ORDER["user_id"]]
INTRODUCTION = f"My name is {USER['name']['first_name']} {USER['name']['last_name']}, zip {USER['address']['zip']}"
REQUEST = (
    f"{INTRODUCTION}. Tell me what is in order {ORDER['order_id']}. What does a yoga mat cost? "
    f"Cancel order {ORDER['order_id']}, I no longer need it."
)


@pytest.mark.parametrize("approved", [True, False])
async def test_a_missing_product_is_reported_and_no_sub_goal_stays_open(
    settings: Settings, bus: Bus, session_id: str, *, approved: bool
) -> None:
    async with rehearsal_server(settings) as model, working(model.settings, model.model):
        ann = Person(bus, session_id)
        await ann.does(c.Say(text=REQUEST, workflow="agentflow", settings=SessionSettings()))
        waiting = await ann.phase("awaiting_approval", "resting", "awaiting_input")
        assert waiting.turn, waiting.question
        (action,) = waiting.turn.actions
        assert (action.spec.tool, action.spec.arguments["order_id"]) == ("cancel_pending_order", ORDER["order_id"])
        if approved:
            await ann.does(c.Approve(version=waiting.version, action_id=action.spec.id, hash=action.hash))
        else:
            await ann.does(c.Reject(action_id=action.spec.id, reason="I keep it."))
        session = await ann.phase("resting", "failed")
    assert "The store has no such product." in session.answer.text
    assert f"{ORDER['order_id']} is pending" in session.answer.text
    assert ("is cancelled" in session.answer.text) is approved
    assert [sub_goal.goal for sub_goal in session.memory.sub_goals if sub_goal.status == "pending"] == []
