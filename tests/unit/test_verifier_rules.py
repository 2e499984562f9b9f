"""Verdicts on a turn: by rule where the outcomes are conclusive, otherwise by a model."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from services.verifier.agentflow_prompt import TurnVerdict, build_turn_prompt
from services.verifier.analysis import with_analyses
from services.verifier.handlers import verify
from services.verifier.rules import rule_verdict
from shared.domain import commands as c
from shared.domain.session import Session
from shared.llm import ScriptedModel
from shared.log import SessionAtPosition
from shared.settings import Settings
from shared.story import finish_action
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps
from tests.support.store import STORE
from tests.unit.domain.spec import HAPPENED, LEAVE, StoryLine, act, allow, given, request, say, turn, verdict

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
CANCELLED = json.dumps({**ORDER, "status": "cancelled"})
ID = {"order_id": ORDER["order_id"]}
FREE = (request("agentflow", approval="never"),)
ASKS = (request("agentflow"),)


def call(number: str, tool: str = "fetch", effect: str = "read", **more: Any) -> Any:
    return act(number, tool=tool, effect=effect, **({"arguments": ID} | more))


def cancel(number: str, *after: str) -> Any:
    spec = call(number, "cancel_pending_order", "write", arguments={**ID, "reason": "no longer needed"})
    return spec.model_copy(update={"depends_on": after})


def ends(action_id: str, result: Any = "seen", *, ok: bool = True, **more: Any) -> c.Finish:
    """`more`: what the tool's pack says of the outcome."""
    error = "" if ok else str(result)
    return finish_action(action_id=action_id, ok=ok, result=result if ok else None, error=error, **more)


WHO = call("1.1", "find_user_id_by_email", arguments={"email": "a@b.c"})
FOUND = (
    *FREE,
    turn(WHO, call("1.2", "get_order_details")),
    c.Start(),
    ends("1.1", ORDER["user_id"]),
    ends("1.2", json.dumps(ORDER)),
    verdict("continue"),
)


def judged(*story: StoryLine) -> tuple[str, str, str, str]:
    session = given(*story).session
    assert session.phase == "verifying"
    assert session.turn is not None
    verdict = rule_verdict(session.turn)
    return (verdict.rule, verdict.status, verdict.next_action, verdict.reasoning) if verdict else ("", "", "", "")


@pytest.mark.parametrize("final", [False, True])
def test_reads_that_were_answered(final: bool) -> None:
    story = (*FREE, turn(call("1.1"), call("1.2"), final=final), c.Start(), ends("1.1"), ends("1.2", None))
    assert judged(*story)[:3] == ("reads-answered", "success", "complete" if final else "continue")


@pytest.mark.parametrize(("final", "goes_on"), [(False, "continue"), (True, "complete")])
def test_a_change_that_the_result_shows(final: bool, goes_on: str) -> None:
    story = (*FOUND, turn(cancel("2.1"), final=final), c.Start(), ends("2.1", CANCELLED, confirmed=True))
    assert judged(*story)[:3] == ("change-shown", "success", goes_on)


@pytest.mark.parametrize("is_confirmed", [False, None], ids=["it does not", "no telling"])
def test_a_change_that_the_result_does_not_show_is_for_a_model(is_confirmed: bool | None) -> None:
    ended = ends("2.1", CANCELLED, confirmed=is_confirmed)
    assert judged(*FOUND, turn(cancel("2.1"), final=True), c.Start(), ended)[0] == ""


def test_one_change_that_is_shown_does_not_speak_for_another() -> None:
    sends = call("2.2", "send_mail", "write")
    story = (*FOUND, turn(cancel("2.1"), sends, final=True), c.Start(), ends("2.1", CANCELLED, confirmed=True))
    assert judged(*story, ends("2.2"))[0] == ""


def test_a_typed_error_is_tried_otherwise() -> None:
    item = (*FREE, turn(call("1.1"), final=True), c.Start(), ends("1.1", "Error: order not found", ok=False))
    assert judged(*item) == ("tool-error", "failure", "retry", "fetch: Error: order not found")
    two = (*FREE, turn(call("1.1"), call("1.2"), final=True), c.Start(), ends("1.1"), ends("1.2", "no", ok=False))
    assert judged(*two)[:3] == ("tool-error", "partial", "retry")


def test_two_changes_of_which_the_first_fails_are_not_complete() -> None:
    other = call("2.2", "cancel_pending_order", "write", arguments={**ID, "reason": "ordered by mistake"})
    after = cancel("2.1"), other.model_copy(update={"depends_on": ("2.1",)})
    story = (*FOUND, turn(*after, final=True), c.Start(), ends("2.1", "Error: payment method not found", ok=False))
    assert judged(*story)[:3] == ("tool-error", "failure", "retry")


def test_a_long_error_is_cut() -> None:
    assert len(judged(*FREE, turn(call("1.1")), c.Start(), ends("1.1", "e" * 9_000, ok=False))[3]) == 2_000


@pytest.mark.parametrize(
    ("no", "why"),
    [
        (lambda one: c.Reject(action_id=one, reason="the other one"), "denied: the other one"),
        (lambda one: c.Reject(action_id=one), "denied"),
        (lambda _: c.Expire(requested_version=2), "denied: nobody decided in time"),
        (lambda one: c.Skip(action_id=one), "skipped: skipped by the person"),
    ],
)
def test_what_a_person_did_not_want_is_not_fulfilled(no: Callable[[str], StoryLine], why: str) -> None:
    """Neither alone nor beside calls that went well, and not in a turn that was to be the last either."""
    write = call("1.2", "send_mail", "write")
    beside = (*ASKS, turn(call("1.1"), write, final=True), no("1.2"), c.Start(), ends("1.1"))
    assert judged(*beside) == ("not-all-run", "partial", "continue", f"Not run: send_mail ({why}).")
    alone = (*ASKS, turn(write, final=True), no("1.1"))
    said_no = ("refused", "partial") if why.startswith("denied") else ("nothing-run", "failure")
    assert judged(*alone) == (*said_no, "continue", f"Not run: send_mail ({why}).")


def test_what_was_done_already_is_a_success() -> None:
    outcome = (*FREE, turn(call("1.1", "send_mail", "write")), c.Start(), ends("1.1"), verdict("continue"))
    again = call("2.1", "send_mail", "write")
    assert judged(*outcome, turn(again, final=True))[:3] == ("done-already", "success", "complete")
    beside = (*outcome, turn(again, call("2.2"), final=True), c.Start(), ends("2.2"))
    assert judged(*beside)[:3] == ("reads-answered", "success", "complete")


def test_a_forbidden_tool_is_no_success() -> None:
    story = (*FREE, c.Remember(tool="send_mail", policy="deny"), turn(call("1.1", "send_mail", "write"), final=True))
    rule, status, goes_on, why = judged(*story)
    assert (rule, status, goes_on) == ("nothing-run", "failure", "continue")
    assert "must not be used here" in why


def test_a_doubt_is_neither_success_nor_tried_again_by_itself() -> None:
    doubt = c.ReportUncertain(action_id="1.1", reason="the executor was ended while it ran")
    story = (*FREE, turn(call("1.1", "send_mail", "write"), call("1.2"), final=True), c.Start(), ends("1.2"), doubt)
    left = judged(*story, say(LEAVE))
    assert left == ("in-doubt", "partial", "continue", "It is unknown whether this took effect: send_mail.")
    assert judged(*story, say(HAPPENED))[0] == "", "a person's word is not shown by a result: a model judges"


def test_a_handover_ends_with_a_person() -> None:
    away = call("1.1", "transfer_to_human_agents", arguments={"summary": "wants a loan"})
    story = (*FREE, turn(away, final=True), c.Start(), ends("1.1", "Transfer successful", handed_over=True))
    assert judged(*story)[:3] == ("handed-over", "success", "escalate")


def test_a_change_that_breaks_the_store_s_rules_is_escalated() -> None:
    """The planner asks before; a call that was made all the same is seen here."""
    story = (*FREE, turn(cancel("1.1"), final=True), c.Start(), ends("1.1", CANCELLED, confirmed=True, violation="no"))
    assert judged(*story) == ("against-the-rules", "failure", "escalate", "no")


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ((ends("2.1"), ends("2.2")), "success"),
        ((ends("2.1"), ends("2.2", "no", ok=False)), "partial"),
        ((ends("2.1", "no", ok=False), ends("2.2", "no", ok=False)), "failure"),
        ((ends("2.1"), c.ReportUncertain(action_id="2.2", reason="?"), say(LEAVE)), "partial"),
    ],
)
def test_what_a_person_did_by_hand_is_not_judged_by_a_model(outcomes: tuple[StoryLine, ...], status: str) -> None:
    taken = c.TakeOver(sub_goal="by hand", actions=(cancel("2.1"), call("2.2")))
    story = (*FREE, turn(call("1.1")), c.Start(), ends("1.1"), verdict("escalate"), taken, c.Start(), *outcomes)
    assert judged(*story)[:3] == ("taken-over", status, "continue")


# --- rule or model


async def verdict_of(quality: str, *story: StoryLine, reply: TurnVerdict | None = None) -> tuple[c.VerifyTurn, int]:
    session = given(*story).session
    session = replace(session, settings=session.settings.model_copy(update={"quality": quality}))
    model = ScriptedModel(*([reply] if reply else []))
    log = InMemoryLog()
    kit = WorkerDeps("verifier", InMemoryStore(log), log, model, Drafts(None), Settings())
    result = await verify(WorkContext(kit, SessionAtPosition(session, 0), cause="s1:c"))
    assert isinstance(result, c.VerifyTurn)
    return result, len(model.prompts)


SEEN = (*FREE, turn(call("1.1")), c.Start(), ends("1.1"))
OPEN = (*FREE, turn(call("1.1", "send_mail", "write")), c.Start(), ends("1.1", "sent"))
BROKEN = (*FREE, turn(call("1.1")), c.Start(), ends("1.1", "Error: no", ok=False))
LOOKED = TurnVerdict(status="partial", next_action="continue", reasoning="half of it", memory_analysis="one is open")


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
async def test_a_model_is_asked_where_the_session_pays_for_it(
    quality: str, story: tuple[StoryLine, ...], calls: int, rule: str
) -> None:
    verdict, question = await verdict_of(quality, *story, reply=LOOKED)
    assert (question, verdict.rule) == (calls, rule)
    if calls:
        assert verdict.memory_analysis == "one is open"
        message = c.VerifyTurn(**LOOKED.model_dump(exclude={"kind", "sub_goals"}))
        assert verdict == message.model_copy(update={"execution_analysis": verdict.execution_analysis})


async def test_a_model_that_escalates_brings_a_person() -> None:
    escalates = TurnVerdict(status="failure", next_action="escalate", reasoning="look at this")
    result, _ = await verdict_of("balanced", *OPEN, reply=escalates)
    given(*OPEN).when(result).then("turn.verified").leaves("escalated", "user")


# --- the prompt


def test_the_turn_at_hand_stands_apart_from_what_was_done_before() -> None:
    session: Session = given(*FOUND, turn(cancel("2.1")), c.Start(), ends("2.1", CANCELLED)).session
    assert session.turn is not None
    body = build_turn_prompt(session, session.turn)[1]["content"]
    executed, actions = body.split("<executed>\n")[1].split("</executed>")[0], body.split("<actions>\n")[1]
    assert ('"1.1"' in executed, '"2.1"' in executed) == (True, False)
    assert ('"1.1"' in actions, '"2.1"' in actions) == (False, True)
    assert "cancel my order" in body


def test_a_question_s_answer_is_what_the_verdict_is_about_too() -> None:
    story = (*ASKS, c.Ask(text="Which?"), say("#W7"), turn(call("1.1", "send_mail", "write")), allow("1.1"), c.Start())
    session = given(*story, ends("1.1", "sent")).session
    assert session.turn is not None
    assert "Q: Which?\nA: #W7" in build_turn_prompt(session, session.turn)[1]["content"]


def test_every_verdict_has_both_analyses() -> None:
    session = given(*FREE, turn(WHO, cancel("1.2")), c.Start(), ends("1.1", ORDER["user_id"])).session
    assert session.turn
    ruled = c.VerifyTurn(status="success", next_action="continue", reasoning="r", rule="reads-answered")
    verdict = with_analyses(session, session.turn, ruled)
    assert verdict.execution_analysis == "1.1 find_user_id_by_email: finished. 1.2 cancel_pending_order: started."
    assert verdict.memory_analysis.startswith("1 of 2 actions of this request were carried out.")
    assert "look at the order (pending)" in verdict.memory_analysis
    wrote = ruled.model_copy(update={"rule": "", "execution_analysis": "As it should."})
    beside = with_analyses(session, session.turn, wrote)
    assert (beside.execution_analysis, beside.memory_analysis) == ("As it should.", verdict.memory_analysis)
