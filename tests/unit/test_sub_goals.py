"""Several sub-goals in one turn: planned, verified and shown."""

from typing import Any

from parley.events import facts
from parley.events.values import SessionSettings, SubGoalVerdict
from services.planner.agentflow import validate
from services.planner.agentflow_prompt import Planned
from services.verifier.agentflow import NOT_JUDGED, SubGoalReply, TurnVerdict
from shared.domain.kernel import commands as c
from shared.journal.entries import entries
from tests.unit.domain.spec import given, turn
from tests.unit.test_cli_chat_turns import last
from tests.unit.test_cli_chat_view import ChatScenario
from tests.unit.test_planner_turns import FETCH, FLOW, KNOWN, LOOK, SEND, USER, draft, planned
from tests.unit.test_verifier_rules import FREE, call, ends, verdict_of

FIND_USER = Planned(tool="find_user_id_by_email", arguments={"email": USER["email"]})
MAIL, LOOK_UP = "Send a mail", "Look the order up"
TWO = (
    *FREE,
    turn(call("1.1", "send_mail", "write", sub_goal=MAIL), call("1.2", sub_goal=LOOK_UP), final=True),
    c.Start(),
)
BROKEN = (*TWO, ends("1.1", "sent"), ends("1.2", "Error: no", ok=False))
OPEN = (*TWO, ends("1.1", "sent"), ends("1.2"))


def by_sub_goal(verdict: c.VerifyTurn) -> dict[str, tuple[str, str]]:
    """The status and reasoning of each sub-goal."""
    return {sub_goal.sub_goal: (sub_goal.status, sub_goal.reasoning) for sub_goal in verdict.sub_goals}


# --- planned


async def test_each_call_keeps_its_sub_goal_from_the_model() -> None:
    calls = [LOOK.model_copy(update={"sub_goal": " Read it "}), FIND_USER.model_copy(update={"sub_goal": "Know them"})]
    command, model = await planned(given(*KNOWN[:5]).session, draft(*calls))
    assert isinstance(command, c.PlanTurn)
    assert [action.sub_goal for action in command.actions] == ["Read it", "Know them"]
    assert "Up to 4 sub-goals" in model.prompts[0].text


async def test_a_turn_without_a_sub_goal_gets_the_sub_goals_of_its_calls() -> None:
    calls = [LOOK.model_copy(update={"sub_goal": "Read it"}), FIND_USER.model_copy(update={"sub_goal": "Know them"})]
    command, _ = await planned(given(*KNOWN[:5]).session, draft(*calls).model_copy(update={"sub_goal": " "}))
    assert isinstance(command, c.PlanTurn)
    assert command.sub_goal == "Read it; Know them"


def test_too_many_sub_goals_are_refused_with_a_reason_for_the_model() -> None:
    calls = [Planned(tool="fetch", arguments={"n": n}, sub_goal=f"Goal {n}") for n in range(5)]
    (problem,) = validate(given(*FLOW).session, draft(*calls), (FETCH, SEND)).problems
    assert problem == "A turn works on at most 4 sub-goals: leave the others to the next turn."


# --- verified


async def test_a_rule_judges_each_sub_goal_by_its_own_calls() -> None:
    """The failed look-up does not make the mail a failure. No model judges whether the mail served its purpose."""
    verdict, model_calls = await verdict_of("balanced", *BROKEN)
    assert (verdict.rule, verdict.next_action, model_calls) == ("tool-error", "retry", 0)
    assert by_sub_goal(verdict) == {MAIL: ("partial", NOT_JUDGED), LOOK_UP: ("failure", "fetch: Error: no")}


async def test_sub_goals_missing_from_a_models_verdict_are_filled_in() -> None:
    """A rule judges a missing sub-goal where it can; otherwise the verdict on the turn counts."""
    for_mail = SubGoalReply(sub_goal=f" {MAIL.upper()} ", status="success", reasoning="It was sent.")
    unknown = SubGoalReply(sub_goal="Something else", status="failure")
    reply = TurnVerdict(status="partial", next_action="continue", reasoning="half of it", sub_goals=[for_mail, unknown])
    verdict, model_calls = await verdict_of("balanced", *OPEN, reply=reply)
    assert model_calls == 1
    assert by_sub_goal(verdict) == {MAIL: ("success", "It was sent."), LOOK_UP: ("success", "")}
    without_sub_goals = reply.model_copy(update={"sub_goals": []})
    verdict, _ = await verdict_of("balanced", *OPEN, reply=without_sub_goals)
    assert by_sub_goal(verdict)[MAIL] == ("partial", "half of it"), "the verdict on the turn counts"


async def test_a_turn_with_one_sub_goal_has_only_the_verdict_on_the_turn() -> None:
    story = (*FREE, turn(call("1.1", "send_mail", "write")), c.Start(), ends("1.1", "sent"))
    judged = SubGoalReply(sub_goal="look at the order", status="success")
    reply = TurnVerdict(status="success", next_action="complete", reasoning="sent", sub_goals=[judged])
    verdict, _ = await verdict_of("balanced", *story, reply=reply)
    assert verdict.sub_goals == ()


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
    (entry_update,) = [entry.model_dump(mode="json") for entry in entries(verified)]
    sub_goals: list[dict[str, Any]] = entry_update["set"]["verdict"]["sub_goals"]
    assert [(item["sub_goal"], item["word"], item["tone"]) for item in sub_goals] == [
        (MAIL, "success", "good"),
        (LOOK_UP, "failed", "bad"),
    ]
    drafted = given(*FREE).when(TWO[1]).then_event()
    calls = [entry.model_dump(mode="json") for entry in entries(drafted)][1:]
    assert [item["sub_goal"] for item in calls] == [MAIL, LOOK_UP]


def test_the_terminal_shows_the_sub_goals() -> None:
    chat = ChatScenario()
    mail, look = call("1.1", "send_mail", "write", sub_goal=MAIL), call("1.2", sub_goal=LOOK_UP)
    chat.does(c.Say(text="Mail it", workflow="agentflow", settings=SessionSettings(approval="never")))
    chat.does(turn(mail, look), c.Start(), BROKEN[-2], BROKEN[-1], JUDGED)
    assert f"for “{MAIL}”" in last(chat, facts.TurnPlanned)
    verdict_text = last(chat, facts.TurnVerified)
    assert f"✓ {MAIL}: success It was sent." in verdict_text
    assert f"✗ {LOOK_UP}: failed No such order." in verdict_text
