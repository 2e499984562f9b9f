"""The workflow `agentflow` on a real bus and the real retail store: turns, approvals, writes, verdicts, answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from packs.retail.policy import RULES
from packs.retail.store import Worlds
from parley.events import facts
from parley.events.values import ActionSpec, SessionSettings
from services.executor.sources.packs import own_world_name
from services.generator.agentflow import AnswerDraft, TaskCall, TaskDraft
from services.planner.agentflow_prompt import NothingToDo, Planned, TurnDraft
from services.planner.tools import ToolClient
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.session import Session
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.support.prompt_sections import sections_of
from tests.support.stack import Person, working
from tests.support.store import STORE

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
USER: Any = STORE["users"][ORDER["user_id"]]
CANCEL = Planned(
    tool="cancel_pending_order",
    arguments={"order_id": ORDER["order_id"], "reason": "no longer needed"},
    text="Cancel it",
)
LOOK = Planned(tool="get_order_details", arguments={"order_id": ORDER["order_id"]})
WHO = Planned(tool="find_user_id_by_email", arguments={"email": USER["email"]})


def turn(*actions: Planned, final: bool = False, **more: Any) -> TurnDraft:
    return TurnDraft(sub_goal="go on", actions=list(actions), final=final, **more)


def answer(text: str = "It is cancelled.", *evidence: str) -> AnswerDraft:
    return AnswerDraft(text=text, confidence=0.9, evidence=list(evidence))


@asynccontextmanager
async def open_session(
    settings: Settings,
    bus: Bus,
    session_id: str,
    *replies: BaseModel,
    text: str = "Cancel my order",
    **session_settings: Any,
) -> AsyncIterator[tuple[Person, ScriptedModel]]:
    """A user who has sent a request, and a model with scripted replies."""
    model = ScriptedModel(*replies)
    async with working(settings, model):
        ann = Person(bus, session_id)
        await ann.does(c.Say(text=text, workflow="agentflow", settings=SessionSettings(**session_settings)))
        yield ann, model


async def allow(ann: Person, session: Session) -> None:
    assert session.turn
    for action in session.turn.actions:
        if action.status == "planned" and action.spec.approval_reason:
            await ann.does(c.Approve(version=session.version, action_id=action.spec.id, hash=action.hash))


async def stored(settings: Settings, world: str) -> Any:
    """The order as this world has it now."""
    worlds = Worlds(settings.retail_url, lambda: STORE)
    await worlds.open()
    try:
        return (await worlds.world(world).dump())["orders"][ORDER["order_id"]]
    finally:
        await worlds.close()


async def test_a_request_is_planned_approved_carried_out_and_answered(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (turn(WHO), turn(LOOK), turn(CANCEL, final=True), answer("It is cancelled.", "3.1", "9.9"))
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        waiting = await ann.phase("awaiting_approval")
        assert waiting.turn
        assert waiting.turn.actions[0].spec.approval_reason == "it changes something"
        assert (await stored(settings, "shared"))["status"] == "pending"
        await allow(ann, waiting)
        session = await ann.phase("resting", "failed")
        assert (session.rest_reason, session.answer.text) == ("answered", "It is cancelled.")
        assert (await stored(settings, "shared"))["status"] == "cancelled"
        events = await ann.events()
        rules = [event.rule for event in events if isinstance(event, facts.TurnVerified)]
        assert rules == ["reads-answered", "reads-answered", "change-shown"]
        assert [event.evidence for event in events if isinstance(event, facts.AnswerGiven)] == [("3.1",)]
        assert [prompt.role for prompt in model.prompts] == ["planner"] * 3 + ["generator"]
        assert USER["email"] in model.prompts[1].text
        assert ORDER["user_id"] in model.prompts[1].text
        assert sections_of(model.prompts[3].text)["rules"].startswith(RULES[0])


async def test_a_query_needs_approval_and_its_result_reaches_the_generator(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    query = Planned(tool="query_database", arguments={"sql": "SELECT count(*) AS n FROM orders"})
    replies = (turn(query, final=True), answer("There are 1000."))
    text = "Query the tables of the database: how many rows has orders?"
    async with open_session(settings, bus, session_id, *replies, text=text, approval="never") as (ann, model):
        waiting = await ann.phase("awaiting_approval")
        assert waiting.turn
        assert waiting.turn.actions[0].spec.approval_reason == "this is the SQL that will run"
        await allow(ann, waiting)
        session = await ann.phase("resting", "failed")
        assert session.answer.text == "There are 1000."
        assert [event.rule for event in await ann.events() if isinstance(event, facts.TurnVerified)] == [
            "reads-answered"
        ]
        assert f"[[{len(STORE['orders'])}]]" in model.prompts[1].text
        assert "query_database answers one read-only SQL query" in model.prompts[0].text


async def test_a_call_that_breaks_the_packs_rules_is_recorded_and_escalated(
    settings: Settings, bus: Bus, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planner's check is switched off; the executor still records which rule the call breaks."""

    async def nothing(*_: object) -> tuple[str, ...]:
        return ()

    monkeypatch.setattr(ToolClient, "check", nothing)
    async with open_session(settings, bus, session_id, turn(CANCEL, final=True), approval="never") as (ann, _):
        await ann.phase("escalated", "failed")
        events = await ann.events()
    (outcome,) = [item for event in events if isinstance(event, facts.ActionsFinished) for item in event.outcomes]
    assert (outcome.ok, outcome.confirmed) == (True, True)
    assert "the customer is not known yet" in outcome.violation
    assert [event.rule for event in events if isinstance(event, facts.TurnVerified)] == ["against-the-rules"]


async def test_a_denied_action_is_not_run_and_the_planner_gets_the_reason(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    nothing = NothingToDo(reason="The person does not want it.")
    replies = (turn(WHO), turn(LOOK), turn(CANCEL), nothing, answer("Nothing was changed."))
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        waiting = await ann.phase("awaiting_approval")
        await ann.does(c.Reject(action_id="3.1", reason="the other one"))
        session = await ann.phase("resting", "failed")
        assert session.answer.text == "Nothing was changed."
        assert "the other one" in model.prompts[3].text
        assert "The person does not want it." in model.prompts[4].text
        assert (await stored(settings, "shared"))["status"] == "pending"
        assert waiting.counts.turns == 3


async def test_a_session_with_its_own_world_does_not_change_the_shared_one(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (turn(WHO), turn(LOOK), turn(CANCEL, final=True), answer())
    async with open_session(settings, bus, session_id, *replies, world="own", approval="never") as (ann, _):
        await ann.phase("resting", "failed")
        assert (await stored(settings, own_world_name(session_id)))["status"] == "cancelled"
        assert (await stored(settings, "shared"))["status"] == "pending"


@pytest.mark.parametrize(
    ("bad", "correction"),
    [
        (turn(CANCEL), "the customer is not known yet"),
        (turn(Planned(tool="delete_everything")), "There is no tool “delete_everything” here."),
        (turn(Planned(tool="get_order_details", arguments={})), "order_id"),
        (turn(WHO), "have been made with the same arguments already"),
    ],
    ids=["customer unknown", "no such tool", "missing argument", "repeated"],
)
async def test_an_invalid_proposal_goes_back_with_the_reason(
    settings: Settings, bus: Bus, session_id: str, bad: TurnDraft, correction: str
) -> None:
    first = [turn(WHO)] if bad == turn(WHO) else []
    replies = [*first, bad, turn(WHO) if not first else turn(LOOK), NothingToDo(reason="That is all."), answer("x")]
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        session = await ann.phase("resting", "failed")
        assert session.failure is None
        sent_back = model.prompts[len(first) + 1].text
        assert "<problems-" in sent_back
        assert correction in sent_back
        assert not [event for event in await ann.events() if isinstance(event, facts.ApprovalGiven)]


async def test_a_planner_that_repeats_itself_asks_the_user(settings: Settings, bus: Bus, session_id: str) -> None:
    repeated = [turn(WHO)] * 6
    replies = (*repeated, NothingToDo(reason="Done."), answer("Here you are."))
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        paused = await ann.phase("awaiting_input")
        assert paused.question
        assert "round in circles" in paused.question.text
        assert len(model.prompts) == 6
        await ann.does(c.Answer(text="Leave it."))
        session = await ann.phase("resting", "failed")
        assert session.answer.text == "Here you are."
        assert "Leave it." in model.prompts[6].text


async def test_the_user_is_asked_only_once_about_the_same_problem(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (turn(WHO), *[turn(WHO)] * 10, answer("I did not get on."))
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        await ann.sees(lambda session: session.question is not None)
        await ann.does(c.Answer(text="Try again."))
        session = await ann.phase("resting", "failed")
        assert session.answer.text == "I did not get on."
        assert "I could not go on." in model.prompts[-1].text


async def test_misnamed_arguments_are_repaired_and_every_repair_is_recorded(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    misnamed = Planned(tool="get_order_details", arguments={"orderId": ORDER["order_id"], "mood": "good"})
    replies = (turn(WHO), turn(misnamed), NothingToDo(reason="Seen."), answer("x"))
    async with open_session(settings, bus, session_id, *replies) as (ann, _):
        await ann.phase("resting", "failed")
        planned = [event for event in await ann.events() if isinstance(event, facts.TurnPlanned)][1].actions[0]
        assert planned.arguments == {"order_id": ORDER["order_id"]}
        assert (planned.decision, len(planned.repairs)) == ("mutate", 2)


async def test_after_so_many_turns_the_person_is_asked_and_the_work_goes_on_or_is_answered(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (turn(WHO), turn(LOOK), answer("I did not get to it."))
    async with open_session(settings, bus, session_id, *replies, max_turns=1) as (ann, model):
        session = await ann.phase("awaiting_input")
        assert session.question is not None
        assert (session.question.about, session.resume_phase) == ("turns", "planning")
        await ann.does(c.Answer(text="only look, please"))
        await ann.sees(lambda now: now.phase == "awaiting_input" and now.counts.turns == 2)
        assert "only look, please" in model.prompts[-1].text
        await ann.does(c.Answer(text="Answer with what there is"))
        assert (await ann.phase("resting", "failed")).answer.text == "I did not get to it."


async def test_an_escalated_session_waits_until_a_person_takes_over_and_hands_back(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    transfer = Planned(tool="transfer_to_human_agents", arguments={"summary": "wants a loan"})
    replies = (turn(transfer), NothingToDo(reason="A person has done it."), answer("Done by a person."))
    async with open_session(settings, bus, session_id, *replies) as (ann, _):
        await ann.phase("escalated")
        cancel = {"order_id": ORDER["order_id"], "reason": "no longer needed"}
        spec = ActionSpec(id="2.1", tool="cancel_pending_order", arguments=cancel, effect="write")
        await ann.does(c.TakeOver(sub_goal="by hand", actions=(spec,)))
        taken = await ann.sees(lambda session: session.phase == "escalated" and session.counts.turns == 2)
        assert taken.turn
        assert taken.turn.verdict
        assert taken.turn.verdict.rule == "taken-over"
        await ann.does(c.Say(text="I have cancelled it, tell them."))
        assert (await ann.phase("resting", "failed")).answer.text == "Done by a person."


async def test_a_task_is_drafted_without_any_turn(settings: Settings, bus: Bus, session_id: str) -> None:
    task = TaskDraft(q="You are Ann.", agt=[TaskCall(name="think", arguments={"thought": "x"})], ogt=["1"])
    async with open_session(settings, bus, session_id, task, task=True, world="own") as (ann, model):
        session = await ann.phase("resting", "failed")
        assert '"q":"You are Ann."' in session.answer.text
        assert len(model.prompts) == 1


async def test_independent_sub_goals_share_a_turn_and_only_the_failed_one_is_retried(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    """The next prompt has the state of each sub-goal, so the planner does not repeat completed ones."""
    cancel = CANCEL.model_copy(update={"sub_goal": "Cancel the order"})
    price = Planned(tool="calculate", arguments={"expression": "1 / 0"}, sub_goal="Tell the price")
    again = Planned(tool="calculate", arguments={"expression": "2 * 3"})
    goals: dict[str, Any] = {"sub_goals": ["Cancel the order", "Tell the price"]}
    retried = TurnDraft(sub_goal="Tell the price", actions=[again], final=True, **goals)
    replies = (
        turn(WHO),
        turn(LOOK),
        turn(cancel, price, **goals),
        retried,
        answer("Cancelled; it is 6.", "3.1", "4.1"),
    )
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        await allow(ann, await ann.phase("awaiting_approval"))
        session = await ann.phase("resting", "failed")
        assert session.rest_reason == "answered"
        verdict = next(
            event for event in await ann.events() if isinstance(event, facts.TurnVerified) and event.turn == 3
        )
        assert (verdict.rule, verdict.next_action) == ("tool-error", "retry")
        assert [(sub_goal.sub_goal, sub_goal.status) for sub_goal in verdict.sub_goals] == [
            ("Cancel the order", "success"),
            ("Tell the price", "failure"),
        ]
        assert "[completed] Cancel the order" in model.prompts[3].text
        assert "[pending] Tell the price" in model.prompts[3].text
        assert {(goal.goal, goal.status) for goal in session.memory.sub_goals} >= {
            ("Cancel the order", "completed"),
            ("Tell the price", "completed"),
        }
