"""Exports in every workflow: steps with their outcomes, and who decided what and when."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, Check, PathPlan, Step, Workflow
from services.gateway.api_errors import ApiError
from services.gateway.views.export import MAX_RESULT_CHARS, export
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.rules.decide import AnyCommand
from shared.story import Story, finish_action
from tests.support.stories import approve
from tests.unit.domain import test_for_each as each

AT = datetime(2030, 1, 1, 12, tzinfo=UTC)
WHEN = "2030-01-01 12:00:00 UTC"
LOOK = Step(text="Look it up", tool="get_order", id="s1", effect="read", arguments={"order": "#W1"})
PAY = Step(text="Pay it back", tool="pay", id="s2", effect="write", arguments={"sum": "{{steps.s1.output.price}}"})
DONE = c.VerifyTurn(status="success", next_action="complete", reasoning="It is done.")

FAILED = c.VerifyTurn(status="failure", next_action="complete", reasoning="It failed.")


def new_story() -> Story:
    return Story("s1", clock=lambda: AT)


def say(workflow: Workflow) -> c.Say:
    return c.Say(text="Please", workflow=workflow)


def allow(session: Session) -> c.Approve:
    (action, *_) = undecided_actions(session.turn)
    return c.Approve(version=session.version, action_id=action.spec.id, hash=action.hash)


def refuse(session: Session) -> c.Reject:
    (action, *_) = undecided_actions(session.turn)
    return c.Reject(version=session.version, action_id=action.spec.id, reason="Too much")


def text_of(story: Story) -> str:
    return export(story.session, story.events, "md").body


def data_of(story: Story) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(export(story.session, story.events, "json").body)
    assert [event["version"] for event in data["journal"]] == [event.version for event in story.events]
    assert data["session"]["version"] == story.session.version
    return data


def in_order(text: str, *lines: str) -> None:
    places = [text.find(line) for line in lines]
    assert -1 not in places, (lines[places.index(-1)], text)
    assert places == sorted(places), text


def drafted() -> tuple[AnyCommand, ...]:
    return say("conversation"), c.DraftPlan(goal="G", steps=(Step(text="One"), Step(text="Two")))


def test_a_conversation_is_exported_with_plans_code_and_approvals() -> None:
    story = new_story()
    story.apply(*drafted(), c.Reject(), c.Say(text="Three!"), c.DraftPlan(goal="H", steps=(Step(text="Three"),)))
    story.apply(approve, user="local")
    story.apply(c.DraftCode(code="print(1)\n"), c.VerifyCode(checks=(Check(name="tests", ok=True),)), approve)
    story.apply(c.Run(), c.Start(), finish_action(result={"stdout": "1\n", "stderr": "", "exit_code": 0}), DONE)
    story.apply(c.Rename(title="Ünïcode / & “more”"))
    name, media, body = export(story.session, story.events, "py")
    assert (name, media, body) == ("n-code-more-s1.py", "text/x-python; charset=utf-8", "print(1)\n")
    in_order(
        text_of(story),
        f"Session `s1`, version {story.session.version}: Plan and code, done. Begun {WHEN}.",
        "**You**: Please",
        "**planner** wrote Plan 1 (2 steps): G\n\n1. One\n2. Two",
        "**You** declined plan 1.",
        "**You**: Three!",
        "**planner** wrote Plan 2 (1 step): H\n\n1. Three",
        "**local** approved plan 2.",
        "**generator** wrote Code 1 (1 line).",
        "- `run_code`: 1\n  Arguments: ",
        '  Result:\n  ```\n  {"stdout": "1\\n", "stderr": "", "exit_code": 0}\n  ```',
        "## Code 1 (approved)\n\n```python\nprint(1)\n```",
        f"## Decisions\n\n- {WHEN}, **You** declined plan 1\n- {WHEN}, **local** approved plan 2\n",
        f"- {WHEN}, **You** approved code 1",
    )
    data = data_of(story)
    assert [(decision["decision"], decision["about"], decision["by"]) for decision in data["decisions"]] == [
        ("declined", "plan", "user:ann"),
        ("approved", "plan", "user:local"),
        ("approved", "code", "user:ann"),
    ]
    assert story.session.code
    assert data["decisions"][2]["hash"] == story.session.code.hash
    assert data["calls"][0]["result"] == {"stdout": "1\n", "stderr": "", "exit_code": 0}


def test_turns_are_exported_with_arguments_and_approvals_of_each_call() -> None:
    story = new_story()
    pay = ActionSpec(id="1.1", tool="pay", effect="write", arguments={"note": "a `tick`"}, description="Pay it")
    send = ActionSpec(id="1.2", tool="send", effect="write")
    look = ActionSpec(id="1.3", tool="look")
    story.apply(say("agentflow"), c.PlanTurn(sub_goal="Pay it", actions=(pay, send, look)))
    story.apply(allow, refuse, user="local")
    story.apply(
        c.Start(),
        finish_action("1.3", ok=False, error="not there"),
        c.Start(),
        finish_action(ok=True, result="x" * (MAX_RESULT_CHARS + 1)),
    )
    story.apply(c.VerifyTurn(status="partial", next_action="complete", reasoning="It is paid."))
    story.apply(c.GiveAnswer(text="Paid.", confidence=1, evidence=("1.1",)))
    in_order(
        text_of(story),
        "**You**: Please",
        "**Turn 1: Pay it** (partly done, request done) It is paid.",
        "- `pay`: ",
        '  Arguments: `` {"note": "a `tick`"} ``',
        f"  Approved by local, {WHEN}.\n  Result:\n  ```\n  xxx",
        f"  The first {MAX_RESULT_CHARS:,} characters of {MAX_RESULT_CHARS + 1:,}.",
        "- `send`: declined: Too much",
        "- `look`: failed: not there",
        "**generator**: Paid.",
        "## Answer\n\nPaid.",
        f'- {WHEN}, **local** approved `pay` (1.1) `` {{"note": "a `tick`"}} ``',
        f"- {WHEN}, **local** declined `send` (1.2): Too much",
    )
    paid, sent, looked = data_of(story)["calls"]
    assert (paid["status"], len(paid["result"]), paid["approved_by"]) == (
        "finished",
        MAX_RESULT_CHARS + 1,
        "user:local",
    )
    assert paid["approved_at"] == paid["started_at"] == paid["finished_at"] == "2030-01-01T12:00:00Z"
    assert (sent["status"], sent["started_at"], sent["approved_by"]) == ("denied", None, "")
    assert (looked["status"], looked["error"], looked["description"]) == ("failed", "not there", "")
    with pytest.raises(ApiError) as refused:
        export(story.session, story.events, "py")
    assert (refused.value.message, "format=md" in refused.value.hint) == ("This session has no code.", True)


def test_the_error_for_a_program_that_does_not_exist_yet_says_what_to_do() -> None:
    story = new_story()
    story.apply(*drafted())
    with pytest.raises(ApiError, match="no code yet") as refused:
        export(story.session, story.events, "py")
    assert "Approve the plan first" in refused.value.hint


def test_an_execution_plan_is_exported_with_step_statuses_and_results() -> None:
    story = new_story()
    story.apply(say("execution_plan"), c.DraftPlan(goal="Pay", steps=(LOOK, PAY), kind="execution"), approve)
    story.apply(c.Start(), finish_action("t2.s1", result={"price": 20}), _resolved, allow)
    story.apply(
        c.Start(), finish_action("t2.s2", ok=False, error="no money"), FAILED, c.GiveAnswer(text="Sorry.", confidence=1)
    )
    in_order(
        text_of(story),
        "**planner** wrote Plan 1 (2 steps): Pay",
        '1. Look it up `get_order` `{"order": "#W1"}`\n2. Pay it back `pay` `{"sum": "{{steps.s1.output.price}}"}`',
        f'- `get_order`: price: 20\n  Arguments: `{{"order": "#W1"}}`\n  Approved by You, {WHEN}.',
        '  {"price": 20}',
        '- `pay`: failed: no money\n  Arguments: `{"sum": 20}`',
        "## Plan 1 (failed)\n\nPay\n\nStatus: failed\n\n1. [finished] Look it up",
        "2. [failed] Pay it back",
        f"## Decisions\n\n- {WHEN}, **You** approved plan 1\n",
        f'- {WHEN}, **You** approved `pay` (t2.s2) `{{"sum": 20}}`',
    )
    data = data_of(story)
    assert [step["status"] for step in data["execution_plan"]["steps"]] == ["finished", "failed"]
    assert data["execution_plan"]["steps"][0]["output"] == {"price": 20}
    assert [(call["id"], call["arguments"]) for call in data["calls"]] == [
        ("t2.s1", LOOK.arguments),
        ("t2.s2", {"sum": 20}),
    ]


def test_the_approval_of_a_plan_covers_its_calls_for_each_item_of_a_list() -> None:
    story = new_story()
    plan = c.DraftPlan(goal="Look", steps=(each.LIST, each.LOOK), kind="execution")
    story.apply(say("execution_plan"), plan, approve, c.Start(), each.finish_step("s1"), each.expand("s2", "#1", "#2"))
    calls = {call["id"]: (call["arguments"], call["approved_by"]) for call in data_of(story)["calls"]}
    assert calls["t2.s2[1]"] == ({"order": "#2"}, "user:ann")
    assert calls["t2.s2"][1] == "user:ann", "the step has new arguments, and is still approved"


def _resolved(session: Session) -> c.ChangeTurn:
    assert session.turn
    (spec,) = (action.spec for action in session.turn.actions if action.spec.id == "t2.s2")
    return c.ChangeTurn(actions=(spec.model_copy(update={"arguments": {"sum": 20}}),))


def test_a_path_is_exported_with_outputs_and_user_changes() -> None:
    story = new_story()
    tools = ("tea.boil", "tea.brew", "tea.tell")
    steps = tuple(Step(text=f"Do {tool}", tool=tool) for tool in tools)
    story.apply(say("flow"), c.DraftPlan(goal="Tea", steps=steps, kind="path", path=PathPlan(nodes=tools)), approve)
    story.apply(c.Start(), finish_action(result={"water": "hot"}))
    tell = ActionSpec(id="x", tool="tea.tell")
    story.apply(c.EditPath(actions=(tell,), after="1.1", given={"tea": "green"}))
    story.apply(c.Start(), _last({"answer": "Tea."}), DONE, c.GiveAnswer(text="Tea.", confidence=1))
    in_order(
        text_of(story),
        "1. Do tea.boil `tea.boil`",
        f'- `tea.boil`: water: hot\n  Approved by You, {WHEN}.\n  Result:\n  ```\n  {{"water": "hot"}}',
        "- `tea.person`: ",
        '  Result:\n  ```\n  {"tea": "green"}',
        "**You** changed the rest of the path.",
        "## Plan 1 (",
    )
    calls = data_of(story)["calls"]
    assert [(call["tool"], call["status"]) for call in calls] == [
        ("tea.boil", "finished"),
        ("tea.person", "finished"),
        ("tea.tell", "finished"),
    ]
    assert (calls[1]["result"], calls[1]["decided_by"]) == ({"tea": "green"}, "user:ann")


def _last(result: dict[str, Any]) -> Any:
    def done(session: Session) -> c.Finish:
        assert session.turn
        return finish_action(session.turn.actions[-1].spec.id, result=result)

    return done


def test_expired_decisions_and_skipped_steps_are_exported() -> None:
    story = new_story()
    writes = tuple(ActionSpec(id=f"1.{n}", tool=tool, effect="write") for n, tool in enumerate(("pay", "send"), 1))
    story.apply(say("agentflow"), c.PlanTurn(sub_goal="Pay", actions=writes), c.Skip(action_id="1.2"))
    story.apply(lambda session: c.Expire(requested_version=2))
    expired = [event for event in story.events if isinstance(event, facts.ApprovalExpired)]
    assert [event.denied for event in expired] == [("1.1",)]
    decisions = [
        (decision["decision"], decision["action_id"], decision["by"]) for decision in data_of(story)["decisions"]
    ]
    assert decisions == [("skipped", "1.2", "user:ann"), ("expired", "1.1", "keeper")]
    in_order(text_of(story), f"- {WHEN}, **You** skipped `send` (1.2)", f"- {WHEN}, expired `pay` (1.1)")
    first_event: list[SessionEvent] = story.events[:1]
    assert "## Decisions" not in export(story.session, first_event, "md").body
