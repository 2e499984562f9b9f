"""Whoever decides second learns who decided first, and what: for each kind of thing that two people can decide."""

from collections.abc import Callable

import pytest

from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import AlreadyDone, CommandRefused, OutOfTurn, Stale
from shared.domain.kernel.session import Session
from shared.domain.plan.decisions import MAX_DECISIONS
from shared.domain.rules.decide import AnyCommand, decide
from shared.domain.rules.user_commands import UserCommand
from shared.story import StoryLine
from tests.unit.domain.spec import (
    ASKED,
    NOON,
    RUN_CODE,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    act,
    approve,
    command_meta,
    edit,
    edit_code,
    given,
    reject,
    request,
    say,
    turn,
)
from tests.unit.domain.test_execution_plan import CANCEL, DRAFTED, LOOK, edited, plan

BOB = "user:bob"
SHARED = c.Share(user="bob", role="approver")
CALLS = (request("agentflow"), turn(act("1.1", effect="write"), act("1.2", effect="write")))
YES, NO = c.Approve(version=3, action_id="1.1"), c.Reject(action_id="1.1", reason="too dear")
SQL = (request("agentflow"), turn(act("1.1", tool="query_database", effect="write")))
PLAN = (*DRAFTED, plan(LOOK, CANCEL))
STOPPED = (*PLAN, approve, c.Stop())
WHOM = LOOK.model_copy(update={"tool": "ask_person", "waits_for": "person"})
WHOM_ASKED = (*DRAFTED, plan(WHOM, CANCEL), approve, c.Ask(text="whom?", about="action", action_id="t2.s1"))

type Asked = AnyCommand | Callable[[Session], AnyCommand]
RACES: list[tuple[str, tuple[StoryLine, ...], Asked, Asked, str]] = [
    ("call, both approve", CALLS, YES, YES, "ann approved it. "),
    ("call, declined and approved", CALLS, NO, YES, "ann declined it: “too dear”. No action 1.1 waits"),
    ("call, approved and declined", CALLS, YES, NO, "ann approved it. No action 1.1 waits"),
    ("the only call, without its id", CALLS, YES, c.Approve(version=3, action_id="1.1"), "ann approved it. "),
    ("query, declined and approved", SQL, c.Reject(action_id="1.1"), c.Approve(version=3), "ann declined it. "),
    ("plan, both approve", TO_PLAN, approve, approve, "ann approved the plan. Version 2 is approved already"),
    ("plan, rejected and approved", TO_PLAN, reject, approve, "ann rejected the plan. There is no plan"),
    ("plan, approved and rejected", TO_PLAN, approve, reject, "ann approved the plan. "),
    ("plan, changed and approved", TO_PLAN, edit("one"), approve, "ann changed the plan. Version 2 is not"),
    ("plan, feedback and approval", TO_PLAN, c.Say(text="shorter", feedback=True), approve, "ann wrote: “shorter”. "),
    ("plan, changed twice", TO_PLAN, edit("one"), edit("two"), "ann changed the plan. You edited version 2"),
    ("plan, cancelled and approved", TO_PLAN, c.CancelPlan(), approve, "ann cancelled the plan. "),
    ("plan, stopped and approved", TO_PLAN, c.Stop(), approve, "ann stopped the session. "),
    ("execution plan, both approve", PLAN, approve, approve, "ann approved the plan. Version 2 is approved already"),
    ("execution plan, cancelled twice", PLAN, c.CancelPlan(), c.CancelPlan(), "ann cancelled the plan. The plan is"),
    ("execution plan, deleted twice", PLAN, c.DeletePlan(), c.DeletePlan(), "ann deleted the plan. There is no plan."),
    ("execution plan, stopped twice", (*PLAN, approve), c.Stop(), c.Stop(), "ann stopped the session. Nothing is"),
    ("execution plan, retried twice", (*PLAN, approve, c.Stop()), c.Retry(), c.Retry(), "ann started it again. "),
    (
        "execution plan, replanned and retried",
        STOPPED,
        c.Reject(replan=True),
        c.Retry(),
        "ann rejected the plan. There",
    ),
    (
        "step, skipped twice",
        STOPPED,
        c.Skip(action_id="t2.s2"),
        c.Skip(action_id="t2.s2"),
        "ann skipped it. The step is",
    ),
    (
        "step, dropped and skipped",
        STOPPED,
        edited(LOOK),
        c.Skip(action_id="t2.s2"),
        "ann changed the plan. There is no ",
    ),
    ("code, both approve", TO_CODE, approve, approve, "ann approved the code. Version 4 is approved already"),
    ("code, rejected and approved", TO_CODE, reject, approve, "ann rejected the code. There is no plan or code"),
    ("code, changed and approved", TO_CODE, edit_code("x = 1"), approve, "ann changed the code. "),
    ("question, two answers", ASKED, c.Answer(text="floats"), c.Answer(text="none"), "ann answered it: “floats”. No "),
    ("question, stopped and answered", ASKED, c.Stop(), c.Answer(text="none"), "ann stopped the session. No question"),
    (
        "question, skipped and answered",
        WHOM_ASKED,
        c.Skip(action_id="t2.s1"),
        c.Answer(text="Bob"),
        "ann skipped it. No ",
    ),
    ("run, code changed", TO_DONE, edit_code("x = 1"), RUN_CODE[0], "ann changed the code. Only approved code"),
    ("run, twice", TO_DONE, RUN_CODE[0], RUN_CODE[0], "ann requested what is done now. Only approved code"),
    ("completed, twice", TO_DONE, c.Complete(), c.Complete(), "ann marked the session as done. "),
    ("paused, twice", (say(),), c.Pause(), c.Pause(), "ann paused the session. "),
    ("resumed, twice", (say(), c.Pause()), c.Resume(), c.Resume(), "ann let the session go on. "),
    ("stopped and paused", (say(),), c.Stop(), c.Pause(), "ann stopped the session. "),
]


def asked(session: Session, command: Asked) -> AnyCommand:
    return command(session) if callable(command) else command


@pytest.mark.parametrize(("lines", "first", "second", "why"), [row[1:] for row in RACES], ids=[row[0] for row in RACES])
def test_the_second_learns_what_the_first_decided(
    lines: tuple[StoryLine, ...], first: Asked, second: Asked, why: str
) -> None:
    before = given(*lines, SHARED).session
    winning, losing = asked(before, first), asked(before, second)
    assert isinstance(losing, UserCommand)
    after = given(winning, begin=before).session
    with pytest.raises(CommandRefused) as refused:
        decide(after, losing, command_meta(after, losing, BOB))
    assert str(refused.value).startswith(why)
    assert refused.value.code in ("not_now", "already_done", "stale_version")
    with pytest.raises(CommandRefused) as own:
        decide(after, losing, command_meta(after, losing))
    assert str(own.value).startswith(why.replace("ann ", "You ", 1))


def test_an_expired_approval_says_so() -> None:
    waiting = given(*CALLS).session
    expired = c.Expire(requested_version=waiting.since_version)
    after = given(expired, begin=waiting).session
    given(begin=after).when(YES).refused(OutOfTurn, "Nobody decided in time, so it was declined. No action 1.1 waits")


def test_an_approval_with_the_hash_of_its_call_holds_whatever_was_decided_since_it_was_drawn() -> None:
    seen = given(*CALLS).session.turn
    assert seen
    after = given(*CALLS, c.Reject(action_id="1.2", reason="not that"))
    after.when(c.Approve(version=1, action_id="1.1", hash=seen.actions[0].hash)).then("approval.given")
    after.when(c.Approve(version=1, action_id="1.1")).refused(Stale, "What you saw at version 1")
    after.when(c.Approve(version=1, action_id="1.1", hash=seen.actions[1].hash)).refused(Stale, "arguments differ")


def test_a_refusal_names_nobody_if_nobody_decided_it() -> None:
    for lines, command, why in (
        (CALLS, c.Approve(version=3, action_id="9.9"), "No action 9.9 waits for approval"),
        ((say(),), c.Answer(text="x"), "No question is open now"),
        ((*TO_PLAN, approve), c.Retry(), "There is nothing to retry"),
    ):
        session = given(*lines).session
        with pytest.raises(OutOfTurn) as refused:
            decide(session, command, command_meta(session, command))
        assert str(refused.value).startswith(why)


def test_the_same_message_sent_twice_is_no_race() -> None:
    before = given(*TO_PLAN).session
    meta = CommandMeta("user:ann", NOON, "once")
    after = given(begin=before).when(approve, id="once").then("plan.approved").session
    with pytest.raises(AlreadyDone, match="This command has been carried out already"):
        decide(after, asked(before, approve), meta)


def test_only_the_last_decisions_are_kept() -> None:
    lines: list[StoryLine] = [c.Pause(), c.Resume()] * MAX_DECISIONS
    session = given(say(), *lines).session
    assert len(session.decisions) == MAX_DECISIONS
