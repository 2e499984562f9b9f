"""Several sub-goals in one turn: planned, verified and shown."""

import json
from typing import Any

import pytest

from parley.events import facts
from parley.events.values import SessionSettings, SubGoalVerdict
from services.gateway.views.entries import entries
from services.gateway.views.export import export
from services.planner.agentflow_prompt import Planned
from services.planner.proposals import validate
from services.verifier.agentflow_prompt import SubGoalReply, TurnVerdict, build_turn_prompt
from services.verifier.sub_goal_verdicts import NOT_JUDGED
from shared.domain import commands as c
from shared.domain.session import Session
from shared.story import Story
from tests.unit.domain.spec import given, turn
from tests.unit.test_cli_chat_turns import last
from tests.unit.test_cli_chat_view import ChatScenario
from tests.unit.test_planner_turns import FETCH, FLOW, KNOWN, LOOK, SEND, USER, draft, planned
from tests.unit.test_verifier_rules import FREE, call, ends, verdict_of

WHO = Planned(tool="find_user_id_by_email", arguments={"email": USER["email"]})
MAIL, LOOK_UP = "Send a mail", "Look the order up"
TWO = (
    *FREE,
    turn(call("1.1", "send_mail", "write", sub_goal=MAIL), call("1.2", sub_goal=LOOK_UP), final=True),
    c.Start(),
)
BROKEN = (*TWO, ends("1.1", "sent"), ends("1.2", "Error: no", ok=False))
OPEN = (*TWO, ends("1.1", "sent"), ends("1.2"))


def of(verdict: c.VerifyTurn) -> dict[str, tuple[str, str]]:
    return {sub_goal.sub_goal: (sub_goal.status, sub_goal.reasoning) for sub_goal in verdict.sub_goals}


# --- planned


async def test_each_call_keeps_the_sub_goal_that_the_model_gave_it() -> None:
    calls = [LOOK.model_copy(update={"sub_goal": " Read it "}), WHO.model_copy(update={"sub_goal": "Know them"})]
    turned, model = await planned(given(*KNOWN[:5]).session, draft(*calls))
    assert isinstance(turned, c.PlanTurn)
    assert [action.sub_goal for action in turned.actions] == ["Read it", "Know them"]
    given(*KNOWN[:5]).when(turned).then("turn.planned", needs=2)
    assert "up to 4 of them" in model.prompts[0].text


@pytest.mark.parametrize("own", ["", "go on", "Read it"])
async def test_one_sub_goal_is_the_turns_own(own: str) -> None:
    turned, _ = await planned(given(*KNOWN[:5]).session, draft(LOOK.model_copy(update={"sub_goal": own})))
    assert isinstance(turned, c.PlanTurn)
    assert (turned.sub_goal, turned.actions[0].sub_goal) == ("go on", "")


async def test_a_turn_without_a_sub_goal_is_named_after_those_of_its_calls() -> None:
    calls = [LOOK.model_copy(update={"sub_goal": "Read it"}), WHO.model_copy(update={"sub_goal": "Know them"})]
    turned, _ = await planned(given(*KNOWN[:5]).session, draft(*calls).model_copy(update={"sub_goal": " "}))
    assert isinstance(turned, c.PlanTurn)
    assert turned.sub_goal == "Read it; Know them"


def test_too_many_sub_goals_are_sent_back_to_the_model_with_the_reason() -> None:
    calls = [Planned(tool="fetch", arguments={"n": n}, sub_goal=f"Goal {n}") for n in range(5)]
    (why,) = validate(given(*FLOW).session, draft(*calls), (FETCH, SEND)).problems
    assert why == "A turn works on at most 4 sub-goals: leave the others to the next turn."


# --- judged


async def test_a_rule_judges_each_sub_goal_by_its_own_calls() -> None:
    """A failed look-up does not affect the mail. No model was asked whether the mail served its purpose."""
    fields, asked = await verdict_of("balanced", *BROKEN)
    assert (fields.rule, fields.next_action, asked) == ("tool-error", "retry", 0)
    assert of(fields) == {MAIL: ("partial", NOT_JUDGED), LOOK_UP: ("failure", "fetch: Error: no")}
    given(*BROKEN).when(fields).then("turn.verified", needs=2)


async def test_a_model_judges_each_sub_goal_and_what_it_leaves_out_is_filled_in() -> None:
    after = SubGoalReply(sub_goal=f" {MAIL.upper()} ", status="success", reasoning="It was sent.")
    other = SubGoalReply(sub_goal="Something else", status="failure")
    reply = TurnVerdict(status="partial", next_action="continue", reasoning="half of it", sub_goals=[after, other])
    fields, asked = await verdict_of("balanced", *OPEN, reply=reply)
    assert asked == 1
    assert of(fields) == {MAIL: ("success", "It was sent."), LOOK_UP: ("success", "The lookup returned.")}
    stripped = reply.model_copy(update={"sub_goals": []})
    fields, _ = await verdict_of("balanced", *OPEN, reply=stripped)
    assert of(fields)[MAIL] == ("partial", "half of it"), "as the turn was judged"


async def test_a_turn_of_one_sub_goal_has_one_verdict() -> None:
    one = (*FREE, turn(call("1.1", "send_mail", "write")), c.Start(), ends("1.1", "sent"))
    after = SubGoalReply(sub_goal="look at the order", status="success")
    reply = TurnVerdict(status="success", next_action="complete", reasoning="sent", sub_goals=[after])
    fields, _ = await verdict_of("balanced", *one, reply=reply)
    assert fields.sub_goals == ()


def test_the_verifier_is_told_which_calls_are_for_which_sub_goal() -> None:
    session: Session = given(*OPEN).session
    assert session.turn
    section = build_turn_prompt(session, session.turn)[1]["content"].split("<sub_goal>\n")[1].split("\n</sub_goal>")[0]
    assert [json.loads(line) for line in section.splitlines()] == [
        {"sub_goal": MAIL, "actions": ["1.1"]},
        {"sub_goal": LOOK_UP, "actions": ["1.2"]},
    ]


# --- shown

JUDGED = c.VerifyTurn(
    status="partial",
    next_action="retry",
    reasoning="One failed.",
    rule="tool-error",
    sub_goals=(
        SubGoalVerdict(sub_goal=MAIL, status="success", reasoning="It was sent."),
        SubGoalVerdict(sub_goal=LOOK_UP, status="failure", reasoning="No such order."),
    ),
)


def test_the_journal_shows_sub_goals_of_calls_and_their_verdicts() -> None:
    verified = given(*BROKEN).when(JUDGED).then("turn.verified").event
    assert isinstance(verified, facts.TurnVerified)
    (update,) = [entry.model_dump(mode="json") for entry in entries(verified)]
    fields: list[dict[str, Any]] = update["set"]["verdict"]["sub_goals"]
    assert [(item["sub_goal"], item["word"], item["tone"]) for item in fields] == [
        (MAIL, "success", "good"),
        (LOOK_UP, "failed", "bad"),
    ]
    drafted = given(*FREE).when(TWO[1]).then_event()
    calls = [entry.model_dump(mode="json") for entry in entries(drafted)][1:]
    assert [item["sub_goal"] for item in calls] == [MAIL, LOOK_UP]


def test_an_export_shows_the_sub_goals() -> None:
    it = Story("s1")
    it.apply(*BROKEN, JUDGED)
    text = export(it.session, it.events, "md").body
    fields = (
        "**Turn 1: look at the order** (partly done, tries again) One failed.",
        f"- “{MAIL}” (success) It was sent.",
        f"- “{LOOK_UP}” (failed) No such order.",
    )
    assert "\n".join(fields) in text


def test_the_terminal_shows_the_sub_goals() -> None:
    fields = ChatScenario()
    mail, look = call("1.1", "send_mail", "write", sub_goal=MAIL), call("1.2", sub_goal=LOOK_UP)
    fields.does(c.Say(text="Mail it", workflow="agentflow", settings=SessionSettings(approval="never")))
    fields.does(turn(mail, look), c.Start(), BROKEN[-2], BROKEN[-1], JUDGED)
    assert f"for “{MAIL}”" in last(fields, facts.TurnPlanned)
    in_review = last(fields, facts.TurnVerified)
    assert f"✓ {MAIL}: success It was sent." in in_review
    assert f"✗ {LOOK_UP}: failed No such order." in in_review
