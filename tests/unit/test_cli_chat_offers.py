"""Offers and replies beside the work in the terminal: what is shown, and what can be typed."""

import pytest
from rich.console import Console

from cli.chat.choices import choice_label, choices, hint, interpret
from cli.chat.effects import SendMessage, ShowText
from cli.chat.render import render_live, render_request
from cli.chat.slash import slash_command
from cli.chat.state import ChatView
from parley.events.values import ActionSpec, Step
from parley.protocol import client as m
from parley.protocol.words import HINTS, REVIEW, STATUS, TERMINAL
from shared.domain.kernel import commands as c
from tests.unit.test_cli_chat_turns import rendered
from tests.unit.test_cli_chat_view import ChatScenario

LOOK = Step(text="Look", tool="look", id="s1", effect="read")
PAY = Step(text="Pay", tool="pay", id="s2", effect="write", after=("s1",))
NOTE = Step(text="Note it", tool="note", id="s3", effect="read", after=("s1",))
TO_PLAN = (c.Say(text="Pay", workflow="execution_plan"), c.DraftPlan(goal="Pay", steps=(LOOK, PAY), kind="execution"))
CHANGE = c.Say(text="Only note it")
OTHER = c.DraftPlan(goal="Note it", steps=(LOOK, NOTE), kind="execution", say="I note it instead.")
CALL = ActionSpec(id="1", tool="pay", arguments={"bill": 7}, effect="write", approval_reason="it changes something")


def running() -> ChatScenario:
    """A plan whose first step runs."""
    chat = ChatScenario()
    chat.does(*TO_PLAN)
    chat.does(c.Approve(version=2), c.Start())
    return chat


def at_approval() -> ChatScenario:
    chat = ChatScenario()
    chat.does(c.Say(text="Pay bill 7", workflow="agentflow"), c.PlanTurn(sub_goal="Pay", actions=(CALL,)))
    return chat


def status(view: ChatView) -> str:
    """The region above the input line, on one line."""
    return " ".join(rendered(render_live(view, elapsed=2, url="", rows=20, console=Console(width=100))).split())


def offered() -> ChatView:
    chat = running()
    return chat.does(CHANGE, OTHER)


def test_a_running_plan_and_the_reply_beside_it_are_shown_together() -> None:
    view = running().does(CHANGE)
    replying = STATUS["replying_holds"].format(service="planner")
    assert f"executor is carrying out the plan · {replying} · 2 s · {TERMINAL['working_keys']}" in status(view)
    assert view.request is None


def test_a_reply_while_nothing_works_can_be_withdrawn() -> None:
    view = at_approval().does(c.Say(text="Why?"))
    assert TERMINAL["withdraw_keys"] in status(view)
    assert interpret("1", view) == ShowText(TERMINAL["not_yet"])  # the choices might change
    assert isinstance(interpret("And when?", view), SendMessage)


def test_an_offer_can_be_taken_or_kept_while_reads_go_on() -> None:
    view = offered()
    assert view.sections
    assert view.sections.work, "the first step still runs"
    assert [choice.label for choice in choices(view)] == ["Take the new one", "Go on with the old one"]
    assert view.request
    assert (choice_label("1", view), hint(view.request)) == (" Take the new one", HINTS["offer"])
    version = view.request.version if view.request else 0
    take, keep = m.TakeOffer(type="take_offer", version=version), m.KeepOffer(type="keep_offer", version=version)
    for line in ("1", "take", "yes"):
        assert interpret(line, view) == SendMessage(take), line
    for line in ("2", "Keep", "n"):
        assert interpret(line, view) == SendMessage(keep), line
    assert (slash_command("/take", view), slash_command("/keep", view)) == (SendMessage(take), SendMessage(keep))
    assert interpret("Note it twice", view) == SendMessage(m.UserMessage(type="user_message", content="Note it twice"))


def test_an_offer_shows_its_steps_and_what_it_leaves_out() -> None:
    shown = rendered(render_request(offered(), {}) or "")
    for words in (REVIEW["offer_plan"], "Note it", "– Pay (removed)", REVIEW["offer_holds"]):
        assert words in shown


def test_an_offered_turn_shows_its_calls() -> None:
    other = CALL.model_copy(update={"tool": "refund", "arguments": {"bill": 8}})
    view = at_approval().does(c.Say(text="No, pay it back"), c.PlanTurn(sub_goal="Pay it back", actions=(other,)))
    shown = rendered(render_request(view, {}) or "")
    assert REVIEW["offer_turn"] in shown
    assert "refund(bill=8)" in shown


@pytest.mark.parametrize("command", ["/take", "/keep"])
def test_without_an_offer_there_is_nothing_to_decide(command: str) -> None:
    assert slash_command(command, at_approval().view) == ShowText(TERMINAL["no_offer"])
