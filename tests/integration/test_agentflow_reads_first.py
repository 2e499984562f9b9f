"""Reads run before the person is asked about the changes of a turn, and calls use results of earlier calls of it."""

from parley.events import facts
from services.planner.agentflow_prompt import NothingToDo, Planned
from shared.bus import Bus
from shared.settings import Settings
from tests.integration.test_agentflow import CANCEL, ORDER, WHO, answer, open_session, stored, turn

DETAILS = Planned(tool="get_user_details", arguments={"user_id": "{{calls.1.output}}"}, text="Read the customer")
READ = Planned(tool="get_order_details", arguments={"order_id": ORDER["order_id"]}, depends_on=[2], text="Read it")
CANCEL_READ = Planned(
    tool="cancel_pending_order",
    arguments={"order_id": "{{calls.3.output.order_id}}", "reason": "no longer needed"},
    text="Cancel it",
)


async def test_to_identify_read_and_change_is_one_turn_whose_change_asks_with_its_values(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (turn(WHO, DETAILS, READ, CANCEL_READ, final=True), answer())
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        waiting = await ann.phase("awaiting_approval")
        assert waiting.turn
        assert [action.status for action in waiting.turn.actions] == ["finished"] * 3 + ["planned"]
        assert waiting.turn.actions[1].spec.arguments == {"user_id": ORDER["user_id"]}
        asked = waiting.turn.actions[3].spec.arguments
        assert asked == {"order_id": ORDER["order_id"], "reason": "no longer needed"}
        await ann.allows()
        assert (await ann.phase("resting", "failed")).answer.text == "It is cancelled."
        assert (await stored(settings, "shared"))["status"] == "cancelled"
        assert [prompt.role for prompt in model.prompts] == ["planner", "generator"]


async def test_a_call_whose_reference_has_no_value_is_denied_with_the_reason_and_nobody_is_asked(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    lost = CANCEL_READ.arguments | {"order_id": "{{calls.2.output.oldest}}"}  # type: ignore[operator]
    cancel = CANCEL_READ.model_copy(update={"arguments": lost})
    replies = (turn(WHO, DETAILS, cancel), NothingToDo(reason="x"), answer("Not found."))
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        assert (await ann.phase("resting", "failed")).answer.text == "Not found."
        changed = [event for event in await ann.events() if isinstance(event, facts.TurnChanged)][-1].actions[-1]
        assert (changed.decision, "there is no oldest" in changed.decision_reason) == ("deny", True)
        assert "there is no oldest" in model.prompts[1].text


async def test_two_calls_that_become_the_same_change_ask_once(settings: Settings, bus: Bus, session_id: str) -> None:
    again = CANCEL.model_copy(update={"depends_on": [3]})
    replies = (turn(WHO, DETAILS, READ, CANCEL_READ, again, final=True),)
    async with open_session(settings, bus, session_id, *replies) as (ann, _):
        waiting = await ann.phase("awaiting_approval")
        assert waiting.turn
        filled_in, literal = (action.spec for action in waiting.turn.actions[3:])
        assert (filled_in.decision, literal.decision) == ("deny", "require_approval")
        assert f"the same change as {literal.id}" in filled_in.decision_reason


async def test_a_change_that_its_pack_forbids_by_what_was_read_is_denied_before_anybody_is_asked(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    items = [item["item_id"] for item in ORDER["items"]]
    paid = ORDER["payment_history"][0]["payment_method_id"]
    arguments = {"order_id": "{{calls.3.output.order_id}}", "item_ids": items, "payment_method_id": paid}
    give_back = Planned(tool="return_delivered_order_items", arguments=arguments, text="Give it back")
    replies = (turn(WHO, DETAILS, READ, give_back), NothingToDo(reason="x"), answer("It cannot be."))
    async with open_session(settings, bus, session_id, *replies) as (ann, _):
        session = await ann.phase("resting", "failed")
        assert session.answer.text == "It cannot be."
        denied = [event for event in await ann.events() if isinstance(event, facts.TurnChanged)][-1].actions[-1]
        assert "is pending, and this takes one that is delivered" in denied.decision_reason
