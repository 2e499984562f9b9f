"""Translation of messages into commands, and parsing of plans written as text."""

from typing import get_args

import pytest
from pydantic import ValidationError

from parley.events.values import ActionSpec, Step
from parley.protocol import client as m
from parley.protocol.client import CLIENT_MESSAGES
from parley.protocol.tools import ToolSpec
from services.gateway.api_errors import ApiError
from services.gateway.messages.commands import COMMANDS, ApprovalTarget, SessionMessage, to_commands
from services.gateway.messages.plan_commands import read_plan
from services.gateway.views.allowed_messages import allowed_messages, probes
from services.gateway.views.protocol1 import snapshot
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Plan
from shared.domain.rules.decide import AnyCommand
from shared.domain.rules.user_commands import UserCommand
from shared.story import Story


def _session_after(*commands: AnyCommand, session: Session | None = None) -> Session:
    return Story(session or "s").apply(*commands)


IN_REVIEW = _session_after(
    c.Say(text="A calculator"), c.DraftPlan(goal="G", steps=(Step(text="One"), Step(text="Two")))
)


def _commands(
    message: str, session: Session = IN_REVIEW, target: ApprovalTarget | None = None
) -> tuple[UserCommand, ...]:
    parsed = CLIENT_MESSAGES.validate_json(message)
    assert isinstance(parsed, SessionMessage)
    return to_commands(parsed, session, target)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("", c.Continue()),
        ("continue with FEEDBACK", c.Continue()),
        ("Run the code", c.Run()),
        (" complete this task ", c.Complete()),
        ("Now make it blue", c.Say(text="Now make it blue")),
    ],
)
def test_a_continue_choice_becomes_its_command(text: str, command: UserCommand) -> None:
    assert to_commands(m.ContinueChoice(type="continue", content=text), IN_REVIEW, None) == (command,)


def test_an_approval_applies_to_the_version_last_shown() -> None:
    yes, no = '{"type": "approval", "approved": true}', '{"type": "approval", "approved": false}'
    assert _commands(yes, target=ApprovalTarget("item", 2, "abc")) == (c.Approve(version=2, hash="abc"),)
    assert _commands(no, target=ApprovalTarget("item", 2, "abc")) == (c.Reject(version=2),)
    assert _commands('{"type": "approval", "approved": true, "plan_version": 7}') == (c.Approve(version=7),)
    shorter = _commands(no.replace("}", ', "reason": "too long"}'), target=ApprovalTarget("item", 2, "abc"))
    assert shorter == (c.Reject(version=2, reason="too long"), c.Say(text="too long", feedback=True))
    for message in (yes, no):
        with pytest.raises(ApiError, match="Nothing has been shown") as caught:
            _commands(message)
        assert caught.value.code == "nothing_shown"
    with pytest.raises(ApiError) as caught:
        _commands(yes, target=ApprovalTarget("actions", 2))
    assert caught.value.code == "stale_version"


def test_a_policy_is_remembered_for_known_tools_only() -> None:
    pay = ToolSpec(name="pay", description="Pay", parameters={}, effect="write")
    message = CLIENT_MESSAGES.validate_json('{"type": "remember", "tool": "pay", "policy": "deny"}')
    session = _session_after(c.Say(text="Pay", workflow="agentflow"))
    assert to_commands(message, session, None, {"pay": pay}) == (c.Remember(tool="pay", policy="deny"),)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match=r"no tool pay\. Do you mean repay"):
        to_commands(message, session, None, {"repay": pay})  # type: ignore[arg-type]


def test_an_action_is_approved_by_id_and_its_answer_remembered() -> None:
    action = ActionSpec(id="1.1", tool="pay", approval_reason="it spends money", effect="write")
    waiting = _session_after(c.Say(text="Pay", workflow="agentflow"), c.PlanTurn(sub_goal="Pay", actions=(action,)))
    yes = '{"type": "approval", "approved": true, "action_id": "1.1", "remember": true, "hash": "h"}'
    approval, remembered = _commands(yes, waiting)
    assert approval == c.Approve(version=waiting.version, hash="h", action_id="1.1")
    assert remembered == c.Remember(tool="pay", policy="never")
    no = '{"type": "approval", "approved": false, "action_id": "1.1", "remember": true, "reason": "too dear"}'
    refused, remembered = _commands(no, waiting)
    assert refused == c.Reject(version=waiting.version, action_id="1.1", reason="too dear")
    assert remembered == c.Remember(tool="pay", policy="deny")
    with pytest.raises(ApiError) as caught:
        _commands('{"type": "approval", "approved": true}', waiting, ApprovalTarget("item", 2))
    assert caught.value.code == "stale_version"
    assert _commands('{"type": "approval", "approved": true}', waiting, ApprovalTarget("actions", 2)) == (
        c.Approve(version=2),
    )
    assert "approval" in allowed_messages(waiting)


def test_an_approval_may_preapprove_steps_and_defer_the_start() -> None:
    yes = '{"type": "approval", "approved": true, "version": 2, "preapprove": ["s3"], "start": false}'
    assert _commands(yes) == (c.Approve(version=2, preapprove=("s3",), start=False),)
    for field in ('"preapprove": ["s3"]', '"start": false'):
        with pytest.raises(Invalid, match="are for approvals only"):
            _commands(f'{{"type": "approval", "approved": false, "version": 2, {field}}}')
    for invalid in ('"preapprove": "s3"', '"preapprove": ["3 s"]', '"start": "no"', '"preapprove": null'):
        with pytest.raises(ValidationError):
            _commands(f'{{"type": "approval", "approved": true, "version": 2, {invalid}}}')


def test_feedback_is_refused_at_rest() -> None:
    assert _commands('{"type": "feedback", "content": "More"}') == (c.Say(text="More", feedback=True),)
    with pytest.raises(OutOfTurn):
        _commands('{"type": "feedback", "content": "More"}', _session_after(c.Stop(), session=IN_REVIEW))


def test_the_allowed_messages_are_those_of_the_users_role_in_the_session() -> None:
    assert allowed_messages(IN_REVIEW, "viewer") == allowed_messages(IN_REVIEW, None) == ("fork",)
    editor, approver = allowed_messages(IN_REVIEW, "editor"), allowed_messages(IN_REVIEW, "approver")
    assert {"user_message", "feedback", "edit", "stop", "rename", "fork"} <= set(editor) < set(approver)
    assert not {"approval", "replan", "cancel", "delete_plan", "remember"} & set(editor)
    assert approver == allowed_messages(IN_REVIEW)
    assert snapshot(IN_REVIEW, role="viewer").can == ("fork",)


def _plan(*steps: Step) -> Plan:
    return Plan(2, 1, "path", "Goal", steps, "note", "planner")


def test_the_text_of_a_plan_parses_to_the_same_plan() -> None:
    plan = _plan(Step(text="Look", tool="find", arguments={"name": "x"}), Step(text="Tell"))
    assert read_plan(plan.text, plan) == ("Goal", plan.steps, "note")


def test_a_plan_written_by_a_user_is_parsed() -> None:
    goal, steps, notes = read_plan("**Goal:** Small\n\n1) First\n   and more\n- Second\n\nNotes:\n- keep it\n1. short")
    assert goal == "Small"
    assert [step.text for step in steps] == ["First and more", "Second"]
    assert notes == "- keep it\n1. short"
    assert read_plan("1. Only").goal is None


@pytest.mark.parametrize("text", ["", "no steps here", "Goal: x", "1. " + "x" * 2_001, "\n".join(["1. x"] * 101)])
def test_text_without_steps_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_plan(text)


def test_every_message_about_a_session_has_a_translation() -> None:
    assert set(COMMANDS) == set(get_args(SessionMessage))


def test_every_message_about_a_session_is_tried_for_the_buttons() -> None:
    """One that is not in `probes` never has a button; `question` is another name of `answer`."""
    types = {get_args(message.model_fields["type"].annotation)[0] for message in COMMANDS}
    assert types - probes(IN_REVIEW).keys() == {"question", "execute"}
