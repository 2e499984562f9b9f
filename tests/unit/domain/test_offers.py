"""Offers: drafts beside what waits or runs, which take its place only when the person says so."""

import json
from typing import Any

import pytest

from parley.events import facts
from parley.events.offers import OfferedCode, OfferedPlan, OfferedTurn
from parley.events.values import PathPlan
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import Command, CommandMeta, Work
from shared.domain.kernel.errors import CommandRefused, Forbidden, Invalid, OutOfTurn, Stale
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.admissible import admissible, admit
from shared.domain.rules.decide import AnyCommand, decide, due
from tests.unit.domain.spec import (
    ANN,
    NOON,
    TO_CODE,
    StoryLine,
    act,
    allow,
    approve,
    checked,
    command_meta,
    done,
    edit,
    edit_code,
    given,
    program,
    request,
    say,
    turn,
    unread,
    verdict,
)
from tests.unit.domain.test_execution_plan import CANCEL, DRAFTED, LOOK, PAY, finish_step, plan, resolve
from tests.unit.domain.test_execution_plan import status as status_of_steps

NEW = LOOK.model_copy(update={"id": "s9", "arguments": {"order": "#W9"}})
LATER = LOOK.model_copy(update={"id": "s5", "after": ("s1",)})
ASKS = (request("agentflow"), turn(act("1.1", effect="write", ask="a write")))
ANSWERED = c.AnswerRemark(text="It is cheap.")

PLAN_OFFERED: tuple[StoryLine, ...] = (
    *(*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1")),
    say("look at #W9 instead"),
    plan(LOOK, NEW),
)
CODE_OFFERED: tuple[StoryLine, ...] = (*TO_CODE, say("use floats"), edit_code("x = 2"), program("x = 2.0"))
TURN_OFFERED: tuple[StoryLine, ...] = (*ASKS, say("only the second"), turn(act("2.1", effect="write", ask="a write")))
OFFERED = {"plan": PLAN_OFFERED, "code": CODE_OFFERED, "turn": TURN_OFFERED}


def take(session: Session) -> c.TakeOffer:
    assert session.offer is not None
    return c.TakeOffer(version=session.offer.version)


def refused(session: Session, command: AnyCommand, meta: CommandMeta) -> bool:
    try:
        decide(session, command, meta)
    except CommandRefused:
        return True
    return False


# --- making one


@pytest.mark.parametrize(
    ("name", "kind", "phase"),
    [
        ("plan", OfferedPlan, "executing"),
        ("code", OfferedCode, "verifying"),
        ("turn", OfferedTurn, "awaiting_approval"),
    ],
)
def test_a_draft_beside_what_waits_or_runs_is_offered_and_changes_nothing(name: str, kind: type, phase: str) -> None:
    *before, drafted = OFFERED[name]
    assert isinstance(drafted, Command)
    start = given(*before).session
    result = given(*before).when(drafted).then("offer.made", actor=start.reply and start.reply.service)
    assert isinstance(result.event, facts.OfferMade)
    assert isinstance(result.event.draft, kind)
    session = result.session
    assert (session.phase, session.plan, session.code, session.turn) == (phase, start.plan, start.code, start.turn)
    assert (session.offer and session.offer.version, session.reply, unread(session)) == (session.version, None, ())


def test_what_a_service_says_with_an_offer_is_kept_with_it() -> None:
    *before, drafted = PLAN_OFFERED
    assert isinstance(drafted, c.DraftPlan)
    event = given(*before).when(drafted.model_copy(update={"say": "Yes, it can."})).then_event()
    assert isinstance(event, facts.OfferMade)
    assert event.say == "Yes, it can."
    entry = evolve(given(*before).session, event).transcript[-1]
    assert json.loads(entry.text)["reply"] == {"kind": "plan", "say": "Yes, it can.", "goal": "Cancel it"}


def test_the_next_offer_replaces_an_open_one() -> None:
    first = given(*PLAN_OFFERED).session
    result = given(*PLAN_OFFERED, say("rather #W8")).when(plan(LOOK)).then("offer.made")
    assert first.offer is not None
    result.given.when(c.TakeOffer(version=first.offer.version)).refused(Stale, "another one is")
    taken = result.given.when(c.TakeOffer()).then("plan.drafted", offer=result.event.version)
    assert taken.session.plan is not None
    assert taken.session.plan.steps == (LOOK,)


def test_an_offer_that_is_no_plan_is_refused_as_a_draft_would_be() -> None:
    *before, _ = PLAN_OFFERED
    given(*before).when(plan(NEW.model_copy(update={"id": "s1"}))).refused(Invalid, "(s1) has already started")


# --- while it is open


def test_no_change_begins_while_an_offer_is_open_and_reads_do() -> None:
    held = given(*PLAN_OFFERED).session
    assert (held.phase, held.work, held.holds) == ("executing", None, True)
    reads = given(
        *DRAFTED, plan(LOOK, LATER, CANCEL), approve, c.Start(), say("hm"), plan(LOOK, NEW), finish_step("s1")
    )
    assert (due(reads.session), reads.session.offer is not None) == ("executor", True)
    begun = reads.when(c.Start()).then_event()
    assert isinstance(begun, facts.ActionsStarted)
    assert [action.action_id for action in begun.actions] == ["t2.s5"]
    ended = given(c.Start(), finish_step("s5"), begin=reads.session).session
    assert (ended.phase, ended.work, status_of_steps(ended)["t2.s2"]) == ("executing", None, "planned")


def test_an_approval_counts_while_an_offer_is_open_and_begins_nothing() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1"), resolve, say("less"), plan(LOOK, NEW))
    allowed = given(*lines).when(allow("t2.s4")).then("approval.given").leaves("executing", "nobody", work=None)
    allowed.given.when(c.KeepOffer()).then("offer.kept").leaves("executing", "executor")


def test_a_message_beside_an_open_offer_is_answered_and_the_offer_stays() -> None:
    asked = given(*PLAN_OFFERED, say("what does it cost?"))
    result = asked.when(ANSWERED).then("remark.answered").leaves("executing", "nobody", work=None)
    assert result.session.offer == given(*PLAN_OFFERED).session.offer


# --- taking and keeping it


def test_a_taken_plan_is_a_version_in_review_by_the_planner() -> None:
    taken = given(*PLAN_OFFERED).when(take).then("plan.drafted", actor=ANN, number=2, task="t2")
    taken.leaves("awaiting_approval", "user", offer=None, turn=None)
    assert taken.session.plan is not None
    assert (taken.session.plan.by, taken.session.plan.steps) == ("planner", (LOOK, NEW))
    assert [(ended.id, ended.reason) for ended in taken.event.ended] == [("t2.s2", "superseded")]
    assert taken.session.transcript[-1].text == "Took the offer."
    approved = taken.given.when(approve).then("plan.approved").leaves("executing", "executor")
    assert status_of_steps(approved.session) == {"t2.s1": "finished", "t2.s9": "planned"}


def test_a_taken_program_is_checked_and_is_by_the_generator() -> None:
    taken = given(*CODE_OFFERED).when(take).then("code.drafted", actor=ANN, code="x = 2.0", number=3)
    taken.leaves("verifying", "verifier", offer=None)
    assert taken.session.code is not None
    assert (taken.session.code.by, taken.session.code.status) == ("generator", "checking")
    taken.given.when(checked()).then("code.verified").leaves("awaiting_approval", "user")


def test_a_taken_turn_takes_the_place_of_the_one_that_waits_and_asks_again() -> None:
    taken = given(*TURN_OFFERED).when(take).then("turn.planned", turn=2)
    taken.leaves("awaiting_approval", "user", offer=None, turns=2)
    assert taken.session.turn is not None
    assert [action.spec.id for action in taken.session.turn.actions] == ["2.1"]
    assert (taken.session.turn.by, taken.session.turn.actions[0].allowed) == ("planner", False)
    assert [(ended.id, ended.reason) for ended in taken.event.ended] == [("1.1", "superseded")]


@pytest.mark.parametrize("name", OFFERED)
def test_what_was_there_is_kept(name: str) -> None:
    before = given(*OFFERED[name][:-1]).session
    kept = given(*OFFERED[name]).when(c.KeepOffer()).then("offer.kept")
    session = kept.session
    assert (session.offer, session.phase) == (None, before.phase)
    assert (session.plan, session.code, session.turn) == (before.plan, before.code, before.turn)
    assert session.phase == "awaiting_approval" or session.work is not None


def test_messages_that_came_after_the_offer_stay_unread_when_it_is_taken() -> None:
    result = given(*PLAN_OFFERED, say("and #W8?")).when(take).then("plan.drafted")
    result.leaves("awaiting_approval", "user", unread=("and #W8?",))
    answered = result.given.when(plan(LOOK, NEW)).then("plan.drafted").leaves("awaiting_approval", "user", unread=())
    assert answered.session.counts.plans == 3


@pytest.mark.parametrize("command", [c.TakeOffer(), c.KeepOffer(), c.TakeOffer(version=9), c.KeepOffer(version=9)])
def test_an_offer_is_decided_once(command: AnyCommand) -> None:
    given(*ASKS).when(command).refused(OutOfTurn, "No offer is open")
    given(*TURN_OFFERED, take).when(command).refused(OutOfTurn, "You took the offer. No offer is open")
    given(*TURN_OFFERED, c.KeepOffer()).when(command).refused(OutOfTurn, "You kept what was there. No offer is open")


@pytest.mark.parametrize("kind", [c.TakeOffer, c.KeepOffer])
def test_an_offer_of_another_version_is_stale(kind: type[c.TakeOffer | c.KeepOffer]) -> None:
    given(*TURN_OFFERED).when(kind(version=2)).refused(Stale, "no longer open")


def test_a_program_is_not_taken_for_a_plan_that_came_after_its_offer() -> None:
    offered = given(*TO_CODE, say("make it red"), approve, c.Run(), c.Start(), program("print('red')"))
    edited = given(done("1.1"), verdict(), edit("multiply"), begin=offered.session)
    edited.when(take(edited.session)).refused(Stale, "The plan has changed since this program was offered")


def test_an_offer_that_the_plan_has_overtaken_is_not_taken() -> None:
    other = LATER.model_copy(update={"arguments": {"order": "#W5"}})
    offered = (
        *DRAFTED,
        plan(LOOK, LATER, CANCEL),
        approve,
        c.Start(),
        say("#W5"),
        plan(LOOK, other),
        finish_step("s1"),
    )
    given(*offered).when(take).then("plan.drafted")
    overtaken = given(*offered, c.Start(), finish_step("s5"))
    overtaken.when(take).refused(
        Stale, "The plan has gone on since the offer was made: Step 2 (s5) has already started"
    )
    overtaken.when(c.KeepOffer()).then("offer.kept").leaves("executing", "executor")


@pytest.mark.parametrize("end", [c.Stop(), c.CancelPlan()])
def test_the_end_of_what_runs(end: AnyCommand) -> None:
    """A stop ends everything. A cancelled plan leaves the offer, which is another plan."""
    result = given(*PLAN_OFFERED, end).session
    assert (result.phase, result.offer is None) == ("resting", isinstance(end, c.Stop))


def test_a_new_request_lapses_an_offer() -> None:
    other = say("something else", workflow="conversation")
    given(*PLAN_OFFERED, c.CancelPlan()).when(other).then("message.received", intent="request").leaves(
        "planning", "planner", offer=None
    )


# --- a service that takes it for the person


@pytest.mark.parametrize("name", OFFERED)
def test_a_service_takes_the_offer_when_the_person_agrees_to_it(name: str) -> None:
    taken = given(*OFFERED[name], checked() if name == "code" else c.Pause(), say("yes, do that"))
    result = taken.when(c.AcceptOffer()).then_event()
    assert isinstance(result, facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned)
    assert taken.session.offer is not None
    assert (result.offer, result.actor) == (taken.session.offer.version, taken.session.works[-1].service)
    after = evolve(taken.session, result)
    assert (after.offer, after.reply, unread(after)) == (None, None, ())


def test_a_service_takes_no_offer_of_another_one() -> None:
    """It could not append the event."""
    rests = given(*CODE_OFFERED, checked(), approve, say("yes"))
    assert rests.session.reply is not None
    assert (rests.session.reply.service, rests.session.offer and rests.session.offer.by) == ("planner", "generator")
    rests.when(c.AcceptOffer()).refused(OutOfTurn, "Only the service that offered it")


def test_a_service_takes_no_offer_where_none_is_open() -> None:
    given(*ASKS, say("yes")).when(c.AcceptOffer()).refused(OutOfTurn, "No offer is open")
    late = given(*PLAN_OFFERED, say("yes")).session
    kept = given(c.KeepOffer(), begin=late)
    kept.when(c.AcceptOffer(), work=late.reply).refused(OutOfTurn, "No offer is open")


# --- what readers of the log refuse


@pytest.mark.parametrize("name", OFFERED)
def test_only_the_open_offer_is_taken_as_it_is(name: str) -> None:
    session = given(*OFFERED[name]).session
    event = decide(session, take(session), CommandMeta(ANN, NOON))
    assert admit(session, event)[1] == ""
    changes: dict[str, dict[str, Any]] = {
        "plan": {"goal": "another"},
        "code": {"code": "print(666)"},
        "turn": {"sub_goal": "another"},
    }
    forged = event.model_copy(update=changes[name])
    assert "not what was offered" in admissible(session, forged)
    assert "no offer of version 1 is open" in admissible(session, event.model_copy(update={"offer": 1}))
    assert "the work at hand" in admissible(session, event.model_copy(update={"offer": None})) or not session.works
    assert admissible(session, event.model_copy(update={"offer": None}))
    kept = decide(session, c.KeepOffer(), CommandMeta(ANN, NOON))
    assert "only a person" in admissible(session, kept.model_copy(update={"actor": "planner"}))
    assert isinstance(kept, facts.OfferKept)
    assert "no offer of version 1" in admissible(session, kept.model_copy(update={"offer": 1}))


def test_the_actions_of_an_offered_turn_are_taken_as_they_are() -> None:
    session = given(*TURN_OFFERED).session
    event = decide(session, c.TakeOffer(), CommandMeta(ANN, NOON))
    assert isinstance(event, facts.TurnPlanned)
    (action,) = event.actions
    other = action.model_copy(update={"arguments": {"order": 2}})
    assert "not what was offered" in admissible(session, event.model_copy(update={"actions": (other,)}))


@pytest.mark.parametrize("kind", [c.TakeOffer, c.KeepOffer])
def test_only_who_may_approve_decides_about_an_offer(kind: type[c.TakeOffer | c.KeepOffer]) -> None:
    shared = given(*TURN_OFFERED, c.Share(user="bob", role="editor"), c.Share(user="eve", role="approver"))
    shared.when(kind(), "user:bob").refused(Forbidden, "only approvers and the owner")
    assert not refused(shared.session, kind(), CommandMeta("user:eve", NOON))


# --- “Keep it”, said before a call has started

WRITE = act("1.1", effect="write", arguments={"order": 1})
WRITES: dict[str, tuple[StoryLine, ...]] = {
    "agentflow": (request("agentflow", approval="never"), turn(WRITE)),
    "agentflow, after a read": (
        *(request("agentflow", approval="never"), turn(act("1.1"), act("1.2", "1.1", effect="write"))),
        *(c.Start(), done()),
    ),
    "agentflow, approved": (
        request("agentflow"),
        turn(WRITE.model_copy(update={"approval_reason": "x"})),
        allow("1.1"),
    ),
    "flow": (request("flow", approval="never"), turn(WRITE, path=PathPlan(nodes=("orders",)))),
    "execution plan": (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1")),
    "execution plan, approved": (
        *(*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1"), resolve, allow("t2.s4")),
    ),
    "taken up again": (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1"), c.Stop(), c.Retry()),
    "resumed": (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1"), c.Pause(), c.Resume()),
}


@pytest.mark.parametrize("story", WRITES.values(), ids=WRITES)
def test_what_is_said_before_a_call_has_started_always_prevents_it(story: tuple[StoryLine, ...]) -> None:
    """Whenever it is said, whatever else happens, and whatever work the executor does: it starts nothing but reads."""
    assert changes_begun(given(*story, c.Start()).session) == 1
    first = next(end for end in range(1, len(story) + 1) if given(*story[:end]).session.turn)
    for said_at in range(first, len(story) + 1):
        if c.Stop() in story[said_at:]:  # it would withdraw the message
            continue
        session = given(*story[:said_at], say("Keep it")).session
        works = [given(*story[:end]).session.work for end in range(first, said_at + 1)]
        for line in (*story[said_at:], c.Start()):
            session = after(session, line, *works)
        assert changes_begun(session) == 0
        assert unread(session) == ("Keep it",)


def after(session: Session, line: StoryLine, *works: Work | None) -> Session:
    """The session after the line, by any of these works or by its own; as it is if it allows none of them."""
    for work in (session.work, *works):
        try:
            command = line(session) if callable(line) else line
            assert isinstance(command, Command)
            event = decide(session, command, command_meta(session, command)._replace(work=work))
            session = evolve(session, event)
        except CommandRefused:
            continue
    return session


def changes_begun(session: Session) -> int:
    actions = session.turn.actions if session.turn else ()
    return sum(action.status == "started" and action.spec.effect != "read" for action in actions)
