"""Example sessions of execution plans for the documents: steps that wait, poll and ask."""

from datetime import datetime, timedelta

from pydantic import JsonValue

from parley.events.values import ActionSpec, Check, SessionSettings, Step, Waiting
from shared.domain.kernel import commands as c
from shared.domain.rules.decide import AnyCommand
from shared.story import finish_action

POLL_ARGUMENTS: dict[str, JsonValue] = {
    "tool": "get_order_details",
    "arguments": {"order_id": "#W1"},
    "condition": 'status == "delivered"',
    "every": 60,
    "at_most": 3600,
}
POLLING_STEP = Step(
    text="Wait for it", tool="poll_until", arguments=POLL_ARGUMENTS, id="s1", effect="read", waits_for="condition"
)


def waits(began: datetime) -> list[AnyCommand]:
    """A plan whose second step waits for a time."""
    steps = (
        Step(text="Look the order up", tool="get_order_details", arguments={"order_id": "#W1"}, id="s1", effect="read"),
        Step(text="Wait", tool="wait_until", arguments={"seconds": 5}, id="s2", effect="read", waits_for="time"),
    )
    return [
        c.Say(text="Look up #W1, and wait five seconds", workflow="execution_plan"),
        c.DraftPlan(goal="Look up #W1 and wait", steps=steps, kind="execution"),
        c.Approve(version=2),
        c.Wait(actions=(Waiting(action_id="t2.s2", until=began + timedelta(seconds=5)),)),
        c.Start(),
        finish_action(action_id="t2.s1", ok=True, result={"status": "pending"}, seconds=0.2),
        c.Wake(),
    ]


def polls(began: datetime) -> list[AnyCommand]:
    """A plan whose first step polls until an order is delivered, and whose second asks a question that expires."""
    asks = Step(
        text="Ask",
        tool="ask_person",
        arguments={"question": "Did all arrive?"},
        id="s2",
        after=("s1",),
        effect="read",
        waits_for="person",
    )
    settings = SessionSettings(approval_timeout=60, call_budget=100)
    return [
        c.Say(text="Tell me when #W1 has come", workflow="execution_plan", settings=settings),
        c.DraftPlan(goal="Wait until #W1 is delivered", steps=(POLLING_STEP, asks), kind="execution"),
        c.Approve(version=2),
        c.Wait(actions=(Waiting(action_id="t2.s1", until=began + timedelta(hours=1), every=60),)),
        c.RecordPoll(action_id="t2.s1", polls=1, value={"status": "pending"}),
        c.RecordPoll(action_id="t2.s1", polls=31, value={"status": "delivered"}, met=True),
        c.Ask(text="Did all arrive?", about="action", action_id="t2.s2"),
        c.RaiseBudget(calls=50),
        c.Expire(requested_version=7),
    ]


def offers(began: datetime) -> list[AnyCommand]:
    """Another plan is offered while a step waits: it is turned down once, then taken."""
    look = Step(text="Look it up", tool="get_order_details", arguments={"order_id": "#W1"}, id="s2", effect="read")
    goal, steps = "Wait until #W1 is delivered, and look at it", (POLLING_STEP, look)
    offer = c.DraftPlan(say="I would add a second step.", goal=goal, steps=steps, kind="execution")
    return [
        c.Say(text="Tell me when #W1 has come", workflow="execution_plan"),
        c.DraftPlan(goal="Wait until #W1 is delivered", steps=(POLLING_STEP,), kind="execution"),
        c.Approve(version=2),
        c.Wait(actions=(Waiting(action_id="t2.s1", until=began + timedelta(hours=1), every=60),)),
        c.Say(text="Then show me what is in it"),
        offer,  # 6
        c.KeepOffer(version=6),
        c.Say(text="Offer that once more"),
        offer,  # 9
        c.TakeOffer(version=9),
    ]


def offers_of_calls(_: datetime) -> list[AnyCommand]:
    """Other calls are offered while one waits for approval: the person takes them, or agrees in words."""
    write = ActionSpec(id="1.1", tool="cancel_order", effect="write", approval_reason="it changes an order")
    offer = c.PlanTurn(sub_goal="Look at the order", actions=(ActionSpec(id="1.1", tool="find_order"),))
    ask: list[AnyCommand] = [c.Say(text="Rather look at it first"), offer]
    return [
        c.Say(text="Cancel order #W1", workflow="agentflow"),
        c.PlanTurn(sub_goal="Cancel the order", actions=(write,)),
        c.Say(text="Is it shipped?"),
        c.Fail(reason="The model does not answer."),
        *ask,
        c.TakeOffer(),
        c.Start(),
        finish_action(action_id="2.1", ok=True, result="pending"),
        c.VerifyTurn(status="success", next_action="continue", reasoning="The order was found."),
        c.PlanTurn(sub_goal="Cancel the order", actions=(write,)),
        *ask,
        c.Say(text="Yes, please"),
        c.AcceptOffer(),
    ]


def offers_of_programs(_: datetime) -> list[AnyCommand]:
    """Another program is offered while the checks of the person's own one run. The person agrees in words."""
    return [
        c.Say(text="Write a calculator"),
        c.DraftPlan(goal="A calculator", steps=(Step(text="Add two numbers"),)),
        c.Approve(version=2),
        c.DraftCode(code="print(1 + 1)\n"),
        c.VerifyCode(checks=(Check(name="tests", ok=True),)),
        c.Say(text="Can it add 2 and 2?"),
        c.EditCode(base=4, code="print(1 + 2)\n"),
        c.DraftCode(code="print(2 + 2)\n", say="It does now."),
        c.VerifyCode(checks=(Check(name="tests", ok=True),)),
        c.Say(text="Yes, that one"),
        c.AcceptOffer(),
    ]


def gives_up(began: datetime) -> list[AnyCommand]:
    """A step that polls until its deadline."""
    return [
        c.Say(text="Tell me when #W1 has come", workflow="execution_plan"),
        c.DraftPlan(goal="Wait until #W1 is delivered", steps=(POLLING_STEP,), kind="execution"),
        c.Approve(version=2),
        c.Wait(actions=(Waiting(action_id="t2.s1", until=began + timedelta(seconds=4), every=60),)),
        c.RecordPoll(action_id="t2.s1", polls=1, error="The order is not known."),
    ]
