"""Verdicts on a turn: a rule gives them where the outcomes are conclusive, otherwise a model."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from services.verifier.agentflow import TurnVerdict, build_turn_prompt, rule_verdict
from services.verifier.app import verify, with_analyses
from shared.domain.kernel import commands as c
from shared.llm import ScriptedModel
from shared.story import finish_action
from tests.support.prompt_sections import sections_of
from tests.support.store import STORE
from tests.support.work import work_context
from tests.unit.domain.spec import HAPPENED, LEAVE, StoryLine, act, given, request, say, turn, verdict

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
CANCELLED = json.dumps({**ORDER, "status": "cancelled"})
ID = {"order_id": ORDER["order_id"]}
FREE = (request("agentflow", approval="never"),)
REQUEST = (request("agentflow"),)


def call(action_id: str, tool: str = "fetch", effect: str = "read", **overrides: Any) -> Any:
    return act(action_id, tool=tool, effect=effect, **({"arguments": ID} | overrides))


def cancel(action_id: str, *after: str) -> Any:
    spec = call(action_id, "cancel_pending_order", "write", arguments={**ID, "reason": "no longer needed"})
    return spec.model_copy(update={"depends_on": after})


def ends(action_id: str, result: Any = "seen", *, ok: bool = True, **assessment: Any) -> c.Finish:
    """The command that ends an action; `assessment` is what the tool's pack states about the outcome."""
    error = "" if ok else str(result)
    return finish_action(action_id=action_id, ok=ok, result=result if ok else None, error=error, **assessment)


FIND_USER = call("1.1", "find_user_id_by_email", arguments={"email": "a@b.c"})
READS = (
    *FREE,
    turn(FIND_USER, call("1.2", "get_order_details")),
    c.Start(),
    ends("1.1", ORDER["user_id"]),
    ends("1.2", json.dumps(ORDER)),
    verdict("continue"),
)


def rule_result(*story: StoryLine) -> tuple[str, str, str, str]:
    """The rule, status, next action and reasoning; four empty strings where no rule applies."""
    session = given(*story).session
    assert session.phase == "verifying"
    assert session.turn is not None
    verdict = rule_verdict(session.turn)
    return (verdict.rule, verdict.status, verdict.next_action, verdict.reasoning) if verdict else ("", "", "", "")


@pytest.mark.parametrize("final", [False, True])
def test_finished_reads_are_a_success(final: bool) -> None:
    story = (*FREE, turn(call("1.1"), call("1.2"), final=final), c.Start(), ends("1.1"), ends("1.2", None))
    assert rule_result(*story)[:3] == ("reads-answered", "success", "complete" if final else "continue")


@pytest.mark.parametrize(("final", "next_action"), [(False, "continue"), (True, "complete")])
def test_a_change_that_the_result_confirms_is_a_success(final: bool, next_action: str) -> None:
    story = (*READS, turn(cancel("2.1"), final=final), c.Start(), ends("2.1", CANCELLED, confirmed=True))
    assert rule_result(*story)[:3] == ("change-shown", "success", next_action)


@pytest.mark.parametrize("is_confirmed", [False, None], ids=["not confirmed", "unknown"])
def test_a_model_judges_a_change_that_the_result_does_not_confirm(is_confirmed: bool | None) -> None:
    ended = ends("2.1", CANCELLED, confirmed=is_confirmed)
    assert rule_result(*READS, turn(cancel("2.1"), final=True), c.Start(), ended)[0] == ""


def test_a_confirmed_change_does_not_confirm_another_in_the_same_turn() -> None:
    send = call("2.2", "send_mail", "write")
    story = (*READS, turn(cancel("2.1"), send, final=True), c.Start(), ends("2.1", CANCELLED, confirmed=True))
    assert rule_result(*story, ends("2.2"))[0] == ""


def test_a_tool_error_leads_to_a_retry() -> None:
    alone = (*FREE, turn(call("1.1"), final=True), c.Start(), ends("1.1", "Error: order not found", ok=False))
    assert rule_result(*alone) == ("tool-error", "failure", "retry", "fetch: Error: order not found")
    story = (*FREE, turn(call("1.1"), call("1.2"), final=True), c.Start(), ends("1.1"), ends("1.2", "no", ok=False))
    assert rule_result(*story)[:3] == ("tool-error", "partial", "retry")


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (lambda action_id: c.Reject(action_id=action_id, reason="the other one"), "denied: the other one"),
        (lambda action_id: c.Reject(action_id=action_id), "denied"),
        (lambda _: lambda session: c.Expire(requested_version=session.since_version), "denied: nobody decided in time"),
        (lambda action_id: c.Skip(action_id=action_id), "skipped: skipped by the person"),
    ],
)
def test_a_refused_action_leaves_the_request_incomplete(refusal: Callable[[str], StoryLine], reason: str) -> None:
    """This holds for a single action, beside successful calls, and in a turn planned as the final one."""
    write = call("1.2", "send_mail", "write")
    beside = (*REQUEST, turn(call("1.1"), write, final=True), c.Start(), ends("1.1"), refusal("1.2"))
    assert rule_result(*beside) == ("not-all-run", "partial", "continue", f"Not run: send_mail ({reason}).")
    alone = (*REQUEST, turn(write, final=True), refusal("1.1"))
    expected = ("refused", "partial") if reason.startswith("denied") else ("nothing-run", "failure")
    assert rule_result(*alone) == (*expected, "continue", f"Not run: send_mail ({reason}).")


def test_a_call_that_already_succeeded_is_a_success() -> None:
    outcome = (*FREE, turn(call("1.1", "send_mail", "write")), c.Start(), ends("1.1"), verdict("continue"))
    again = call("2.1", "send_mail", "write")
    assert rule_result(*outcome, turn(again, final=True))[:3] == ("done-already", "success", "complete")
    beside = (*outcome, turn(again, call("2.2"), final=True), c.Start(), ends("2.2"))
    assert rule_result(*beside)[:3] == ("reads-answered", "success", "complete")


def test_a_forbidden_tool_is_no_success() -> None:
    story = (*FREE, c.Remember(tool="send_mail", policy="deny"), turn(call("1.1", "send_mail", "write"), final=True))
    rule, status, next_action, reasoning = rule_result(*story)
    assert (rule, status, next_action) == ("nothing-run", "failure", "continue")
    assert "must not be used here" in reasoning


def test_an_uncertain_outcome_is_no_success_and_is_not_retried() -> None:
    uncertain = c.ReportUncertain(action_id="1.1", reason="the executor was ended while it ran")
    story = (*FREE, turn(call("1.1", "send_mail", "write"), call("1.2"), final=True), c.Start(), ends("1.2"), uncertain)
    left_uncertain = rule_result(*story, say(LEAVE))
    assert left_uncertain == ("in-doubt", "partial", "continue", "It is unknown whether this took effect: send_mail.")
    assert rule_result(*story, say(HAPPENED))[0] == "", "no result confirms what a person reports: a model judges"


def test_a_handover_is_escalated_to_a_person() -> None:
    transfer = call("1.1", "transfer_to_human_agents", arguments={"summary": "wants a loan"})
    story = (*FREE, turn(transfer, final=True), c.Start(), ends("1.1", "Transfer successful", handed_over=True))
    assert rule_result(*story)[:3] == ("handed-over", "success", "escalate")


def test_a_change_that_breaks_the_rules_of_the_store_is_escalated() -> None:
    """The planner checks the rules before a call; the verifier catches a violation that was executed anyway."""
    story = (*FREE, turn(cancel("1.1"), final=True), c.Start(), ends("1.1", CANCELLED, confirmed=True, violation="no"))
    assert rule_result(*story) == ("against-the-rules", "failure", "escalate", "no")


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ((ends("2.1"), ends("2.2")), "success"),
        ((ends("2.1"), ends("2.2", "no", ok=False)), "partial"),
        ((ends("2.1", "no", ok=False), ends("2.2", "no", ok=False)), "failure"),
        ((ends("2.1"), c.ReportUncertain(action_id="2.2", reason="?"), say(LEAVE)), "partial"),
    ],
)
def test_a_rule_judges_the_actions_of_a_manual_takeover(outcomes: tuple[StoryLine, ...], status: str) -> None:
    taken = c.TakeOver(sub_goal="by hand", actions=(cancel("2.1"), call("2.2")))
    story = (*FREE, turn(call("1.1")), c.Start(), ends("1.1"), verdict("escalate"), taken, c.Start(), *outcomes)
    assert rule_result(*story)[:3] == ("taken-over", status, "continue")


def test_a_manual_takeover_whose_calls_were_all_denied_did_nothing() -> None:
    denied = c.Remember(tool="cancel_pending_order", policy="deny")
    taken = c.TakeOver(sub_goal="by hand", actions=(cancel("2.1"),))
    story = (*FREE, turn(call("1.1")), c.Start(), ends("1.1"), verdict("escalate"), denied, taken, c.Start())
    assert rule_result(*story)[:3] == ("nothing-run", "failure", "continue")


# --- rule or model


async def verdict_of(quality: str, *story: StoryLine, reply: TurnVerdict | None = None) -> tuple[c.VerifyTurn, int]:
    """The verifier's verdict and the number of model calls."""
    session = given(*story).session
    session = replace(session, settings=session.settings.model_copy(update={"quality": quality}))
    model = ScriptedModel(*([reply] if reply else []))
    result = await verify(work_context("verifier", session, model))
    assert isinstance(result, c.VerifyTurn)
    return result, len(model.prompts)


SEEN = (*FREE, turn(call("1.1")), c.Start(), ends("1.1"))
OPEN = (*FREE, turn(call("1.1", "send_mail", "write")), c.Start(), ends("1.1", "sent"))
BROKEN = (*FREE, turn(call("1.1")), c.Start(), ends("1.1", "Error: no", ok=False))
BY_MODEL = TurnVerdict(status="partial", next_action="continue", reasoning="half of it", memory_analysis="one is open")


@pytest.mark.parametrize(
    ("quality", "story", "calls", "rule"),
    [
        ("economy", SEEN, 0, "reads-answered"),
        ("balanced", SEEN, 0, "reads-answered"),
        ("thorough", SEEN, 1, ""),
        ("economy", OPEN, 0, "not-judged"),
        ("balanced", OPEN, 1, ""),
        ("thorough", OPEN, 1, ""),
        ("thorough", BROKEN, 0, "tool-error"),
    ],
)
async def test_the_quality_setting_decides_whether_a_model_judges(
    quality: str, story: tuple[StoryLine, ...], calls: int, rule: str
) -> None:
    verdict, prompts = await verdict_of(quality, *story, reply=BY_MODEL)
    assert (prompts, verdict.rule) == (calls, rule)
    if calls:
        assert verdict.memory_analysis == "one is open"
        expected = c.VerifyTurn(**BY_MODEL.model_dump(exclude={"kind", "sub_goals"}))
        assert verdict == expected.model_copy(update={"execution_analysis": verdict.execution_analysis})


# --- the prompt


def test_the_prompt_tells_why_an_action_was_not_run() -> None:
    depending = call("1.3").model_copy(update={"depends_on": ("1.1",)})
    story = (
        *REQUEST,
        turn(call("1.1", "send_mail", "write", approval_reason="a write"), call("1.2", "read"), depending),
    )
    session = given(*story, c.Reject(action_id="1.1", reason="not now"), c.Start(), ends("1.2", "page")).session
    assert session.turn is not None
    assert sections_of(build_turn_prompt(session, session.turn)[-1]["content"])["actions"].splitlines() == [
        "1.1 send_mail: denied (not now)",
        "1.2 read: finished",
        "1.3 fetch: skipped (an action it depends on did not finish)",
    ]


def test_every_verdict_has_both_analyses() -> None:
    planned = turn(FIND_USER, cancel("1.2"), sub_goals=("look at the order", "pay it back"))
    session = given(*FREE, planned, c.Start(), ends("1.1", ORDER["user_id"])).session
    assert session.turn
    by_rule = c.VerifyTurn(status="success", next_action="continue", reasoning="r", rule="reads-answered")
    verdict = with_analyses(session, session.turn, by_rule)
    assert verdict.execution_analysis == "1.1 find_user_id_by_email: finished. 1.2 cancel_pending_order: started."
    carried_out = "1 of 2 actions of this request were carried out."
    assert verdict.memory_analysis == f"{carried_out} Still open: pay it back."
    over = with_analyses(session, session.turn, by_rule.model_copy(update={"next_action": "complete"}))
    assert over.memory_analysis == carried_out
    by_model = by_rule.model_copy(update={"rule": "", "execution_analysis": "As it should."})
    completed = with_analyses(session, session.turn, by_model)
    assert (completed.execution_analysis, completed.memory_analysis) == ("As it should.", verdict.memory_analysis)
