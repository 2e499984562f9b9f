"""The next commands of workers that do not fail, and a check that every session can continue."""

from typing import Any

from pydantic import JsonValue

from parley.events.values import Artefact, Step
from shared.domain import commands as c
from shared.domain.batches import actions_to_start, running_actions
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.errors import CommandRefused
from shared.domain.evolve import evolve
from shared.domain.fast_replace import replace
from shared.domain.messages import stop_takes_back_remark
from shared.domain.plan_approval import starts_by_setting
from shared.domain.session import (
    SERVICE_OF,
    USER_PHASES,
    Session,
    before_remark,
    review_target,
)
from shared.domain.state import Action
from shared.domain.waiting_steps import resume_plan
from shared.story import finish_action
from tests.unit.domain.outputs import executor_command
from tests.unit.domain.spec import ANN, NOON, RAISE, act, answer, checked, draft, program, turn, verdict


def end_command(action: Action, *, ok: bool = True, result: JsonValue = 1, size: int | None = None) -> AnyCommand:
    """The command that ends a started action: its outcome, or what happened to its full result."""
    named: dict[str, Any] = {"action_id": action.spec.id, "attempt": action.attempt}
    if action.storing and not ok:
        return c.LoseResult(**named, reason="no room")
    if action.storing:
        return c.StoreResult(**named, artefact=Artefact(name=action.spec.id, size=1, sha256=""))
    return finish_action(**named, ok=ok, result=result, size=size)


def next_worker_command(session: Session) -> AnyCommand:
    """The command of the worker that is due, without failures. Every other remark gets an answer instead of a draft."""
    if session.words.remark and session.version % 2:
        return c.AnswerRemark(text="because")
    match session.phase:
        case "planning":
            number = f"{session.counts.turns + 1}.1"
            if starts_by_setting(session):
                return c.BeginPlan()
            if session.workflow == "execution_plan":
                call = Step(text="look", tool="look", id=f"v{session.version}", effect="read")
                return c.DraftPlan(goal="g", steps=(call,), kind="execution")
            return draft() if session.workflow == "conversation" else turn(act(number))
        case "coding":
            return program(f"print({session.version})")
        case "executing":
            running = running_actions(session)
            if not running and (known := executor_command(session)):
                return known
            starts = actions_to_start(session) or not running
            return c.Start() if starts else end_command(running[0])
        case "verifying":
            return verdict("continue" if session.counts.turns % 2 else "complete") if session.turn else checked()
    return answer()


def try_command(session: Session, command: AnyCommand, meta: CommandMeta) -> Session | None:
    """The session after the command; None if it is refused."""
    try:
        return evolve(session, decide(session, command, meta))
    except CommandRefused:
        return None


def as_user(session: Session, command: AnyCommand) -> Session | None:
    return try_command(session, command, CommandMeta(ANN, NOON))


def check_not_stuck(session: Session) -> None:
    """Asserts that the due service or the user can always move the session on."""
    if session.work:
        after = try_command(
            session, next_worker_command(session), CommandMeta(session.work.service, NOON, work=session.work)
        )
        assert after is not None, f"nothing to do for {session.work}"
        assert after.work != session.work or running_actions(after) != running_actions(session)
    elif session.phase in SERVICE_OF:
        resumed = as_user(session, c.Resume())
        assert resumed is not None
        assert due(resumed) == SERVICE_OF[session.phase]
    elif session.phase in USER_PHASES:
        text = session.question.options[0].label if session.question and session.question.options else "x"
        message = as_user(session, c.Say(text=RAISE if text == RAISE else text))
        assert message is not None
        assert message.phase != session.phase or message.question != session.question
    else:
        message = as_user(session, c.Say(text="x"))
        assert message is not None
        remark_on_code = session.words.remark is not None and review_target(before_remark(session)) == "code"
        # The service that failed to answer a remark answers it with the new message.
        assert message.phase == ("coding" if remark_on_code else "planning")
        assert session.resume_phase is None or as_user(session, c.Retry()) is not None
    if session.phase not in ("resting", "failed"):
        stopped = as_user(session, c.Stop())
        assert stopped is not None
        # A stop withdraws a remark on a plan or code in review: the session is as before, and a waiting plan resumes.
        # Otherwise the session rests.
        without_remark = replace(resume_plan(before_remark(session), stopped.version), version=stopped.version)
        taken_back = stop_takes_back_remark(session)
        assert stopped.phase == (without_remark.phase if taken_back else "resting")
        assert due(stopped) == (due(without_remark) if taken_back else "nobody")
