"""Offers over a real gateway: a client of protocol 1, the Python client, REST, and the inbox.

The tests append the events of the other services, or write the model's replies.
"""

from pathlib import Path
from typing import Any

import pytest

from parley.client import Parley, RequestRefused
from parley.events.values import ActionSpec
from parley.protocol.server import SERVER_MESSAGES
from shared.domain.kernel import commands as c
from tests.e2e.store_user import PENDING, USER
from tests.support.gateway import World, client, serving
from tests.support.parley import in_process
from tests.support.stories import Conversation

CANCEL = ActionSpec(id="1", tool="cancel", effect="write", approval_reason="it changes something")
RETURN = CANCEL.model_copy(update={"tool": "return"})
OFFER = c.PlanTurn(sub_goal="Return it", say="I can return it instead.", actions=(RETURN,))
FIND = {"id": "s1", "text": "Find them", "tool": "find_user_id_by_email", "arguments": {"email": USER["email"]}}
ORDER = {"order_id": PENDING[0]}
CANCEL_IT = {
    "id": "s2",
    "text": "Cancel it",
    "tool": "cancel_pending_order",
    "arguments": ORDER | {"reason": "no longer needed"},
    "after": ["s1"],
}
LOOK = {"id": "s3", "text": "Look it up", "tool": "get_order_details", "arguments": ORDER, "after": ["s1"]}
OTHER_PLAN: dict[str, Any] = {"goal": "Look it up", "steps": [FIND, LOOK], "notes": ""}


async def to_approval(story: Conversation) -> None:
    await story.commit(
        c.Say(text="Cancel my order", workflow="agentflow"), c.PlanTurn(sub_goal="Cancel", actions=(CANCEL,))
    )


async def test_a_client_of_protocol_1_decides_with_the_options_of_continue(world: World) -> None:
    async with serving(world.app) as address, client(address) as user:
        story = world.story("shop")
        await to_approval(story)
        await user.send("resume", session_id="shop", after=2)
        await user.until("snapshot")
        for choice, tools in (("Keep what is there", ["cancel"]), ("Take it", ["return"])):
            await user.send("user_message", content="No, return it")
            await user.event("message.received")
            await story.commit(OFFER)
            assert (await user.until("log"))["content"].startswith("I can return it instead.")
            asked = await user.until("continue")
            assert choice in asked["content"]["options"]
            await user.send("continue", content=choice)
            request = await user.until("approval_request")
            assert [action["tool"] for action in request["actions"]] == tools
        for message in user.received:
            SERVER_MESSAGES.validate_python(message)


async def test_an_open_offer_of_a_running_plan_ends_the_wait_for_it(tmp_path: Path) -> None:
    async with in_process(tmp_path) as running, Parley(running.url) as parley:
        plans = parley.execution_plans
        running.gate.hold()
        plan = await plans.store("Cancel it", [FIND, CANCEL_IT], settings={"world": "own"})
        plan = await plans.approve(plan)
        assert plan.working
        running.model.replies = {"execution_plan": {"kind": "plan", "say": "I look it up.", **OTHER_PLAN}}
        plan = await plans.modify(plan, "Only look it up", wait=0)
        running.gate.release()
        plan = await plans.wait(plan)
        assert (plan.working, plan.status, plan.reply) == (False, "executing", "I look it up.")
        assert plan.offer
        assert [row.id for row in (await parley.inbox()).sessions] == [plan.session_id]
        taken = await plans.take_offer(plan)
        assert (taken.status, taken.description, taken.offer) == ("pending_approval", "Look it up", None)
        assert [step.status for step in taken.steps] == ["finished", "planned"]
        with pytest.raises(RequestRefused):
            await plans.keep_offer(taken)
