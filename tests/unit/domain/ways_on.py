"""The next commands of workers that do not fail, and a check that every session can continue."""

from typing import Any

from pydantic import JsonValue

from parley.events.values import Artefact, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta, Work
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import SERVICE_OF, Session
from shared.domain.kernel.state import Action
from shared.domain.plan.approval import starts_by_setting
from shared.domain.rules.decide import AnyCommand, decide, due
from shared.domain.transcript.messages import drafts_at_once, withdraws_message
from shared.domain.turn.batches import actions_to_start, running_actions
from shared.story import finish_action
from tests.unit.domain.outputs import executor_command
from tests.unit.domain.spec import ANN, NOON, act, answer, checked, draft, program, turn, verdict


def end_command(action: Action, *, ok: bool = True, result: JsonValue = 1, size: int | None = None) -> AnyCommand:
    """The command that ends a started action: its outcome, or what happened to its full result."""
    named: dict[str, Any] = {"action_id": action.spec.id, "attempt": action.attempt}
    if action.storing and not ok:
        return c.LoseResult(**named, reason="no room")
    if action.storing:
        return c.StoreResult(**named, artefact=Artefact(name=action.spec.id, size=1, sha256=""))
    return finish_action(**named, ok=ok, result=result, size=size)


def next_command(session: Session, work: Work) -> AnyCommand:
    """The command that this work leads to, without failures. Some messages are answered by a draft, most in words."""
    if work == session.reply and session.version % (3 if drafts_at_once(session) else 2) == 1:
        return _draft(session, work)
    if work == session.reply:
        accepts = session.offer is not None and session.offer.by == work.service and session.version % 3
        return c.AcceptOffer() if accepts else c.AnswerRemark(text="because")
    match session.phase:
        case "planning" if starts_by_setting(session):
            return c.BeginPlan()
        case "planning" | "coding":
            return _draft(session, work)
        case "executing":
            running = running_actions(session)
            if not running and (known := executor_command(session)):
                return known
            starts = actions_to_start(session) or not running
            return c.Start() if starts else end_command(running[0])
        case "verifying":
            return verdict("continue" if session.counts.turns % 2 else "complete") if session.turn else checked()
    return answer()


def _draft(session: Session, work: Work) -> AnyCommand:
    if work.service == "generator":
        return program(f"print({session.version})")
    if session.workflow == "execution_plan":
        call = Step(text="look", tool="look", id=f"v{session.version}", effect="read")
        return c.DraftPlan(goal="g", steps=(call,), kind="execution")
    return draft() if session.workflow == "conversation" else turn(act(f"{session.counts.turns + 1}.1"))


def next_step(session: Session, work: Work) -> tuple[AnyCommand, CommandMeta]:
    """The next command of this work, with its meta."""
    return next_command(session, work), CommandMeta(work.service, NOON, work=work)


def try_command(session: Session, command: AnyCommand, meta: CommandMeta) -> Session | None:
    """The session after the command; None if it is refused."""
    try:
        return evolve(session, decide(session, command, meta))
    except CommandRefused:
        return None


def as_user(session: Session, command: AnyCommand) -> Session | None:
    return try_command(session, command, CommandMeta(ANN, NOON))


def check_not_stuck(session: Session) -> None:
    """Asserts that the due services or the user can always move the session on, and that the user can stop it."""
    for work in session.works:
        after = try_command(session, *next_step(session, work))
        assert after is not None, f"nothing to do for {work}"
        assert work not in after.works or running_actions(after) != running_actions(session)
    if not session.works:
        _check_user_moves_on(session)
    if session.reply is not None or session.phase not in ("resting", "failed"):
        _check_stop(session)


def _check_user_moves_on(session: Session) -> None:
    if session.phase in SERVICE_OF:
        further = as_user(session, c.Resume() if session.paused else c.KeepOffer())
        assert further is not None
        assert further.phase != session.phase or due(further) == SERVICE_OF[session.phase] or further.offer
    elif session.question:
        text = session.question.options[0].label if session.question.options else "x"
        answered = as_user(session, c.Answer(text=text))
        assert answered is not None
        assert answered.question != session.question
    else:
        message = as_user(session, c.Say(text="x"))
        assert message is not None
        assert due(message) in ("planner", "generator") or message.paused
        assert session.resume_phase is None or as_user(session, c.Retry()) is not None or session.is_awaiting_user


def _check_stop(session: Session) -> None:
    """A stop withdraws the message if nothing is at work, and the session is as before; otherwise the session rests."""
    stopped = as_user(session, c.Stop())
    assert stopped is not None
    if not withdraws_message(session):
        assert (stopped.phase, stopped.works, stopped.offer) == ("resting", (), None)
        return
    assert (stopped.plan, stopped.code, stopped.offer) == (session.plan, session.code, session.offer)
    assert (stopped.reply, stopped.words.unread) == (None, ())
