"""What people and services do next where nothing disturbs them, and that there always is something."""

from typing import Any

from pydantic import JsonValue

from parley.events.values import Artefact, Step
from shared.domain import commands as c
from shared.domain.changing import replace
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.errors import Refused
from shared.domain.evolve import evolve
from shared.domain.plan_approval import begins_by_setting
from shared.domain.said import takes_back_remark
from shared.domain.session import (
    ASKING,
    SERVICE_OF,
    Session,
    put_back,
    reviewing,
)
from shared.domain.state import Action
from shared.domain.waiting import gone_on
from shared.domain.waves import running, to_start
from shared.story import finish
from tests.unit.domain.outputs import with_outputs
from tests.unit.domain.spec import ANN, NOON, RAISE, act, answer, checked, draft, program, turn, verdict


def ends(action: Action, *, ok: bool = True, result: JsonValue = 1, size: int | None = None) -> AnyCommand:
    """What comes next of an action that is under way: its outcome, or what becomes of its result."""
    named: dict[str, Any] = {"action_id": action.spec.id, "attempt": action.attempt}
    if action.storing and not ok:
        return c.LoseResult(**named, reason="no room")
    if action.storing:
        return c.StoreResult(**named, artefact=Artefact(name=action.spec.id, size=1, sha256=""))
    return finish(**named, ok=ok, result=result, size=size)


def good(session: Session) -> AnyCommand:
    """What a worker that does its job says next; every other remark asks for nothing but words."""
    if session.words.remark and session.version % 2:
        return c.AnswerRemark(text="because")
    match session.phase:
        case "planning":
            number = f"{session.counts.turns + 1}.1"
            if begins_by_setting(session):
                return c.BeginPlan()
            if session.workflow == "execution_plan":
                call = Step(text="look", tool="look", id=f"v{session.version}", effect="read")
                return c.DraftPlan(goal="g", steps=(call,), kind="execution")
            return draft() if session.workflow == "conversation" else turn(act(number))
        case "coding":
            return program(f"print({session.version})")
        case "executing":
            now = running(session)
            if not now and (known := with_outputs(session)):
                return known
            starts = to_start(session) or not now
            return c.Start() if starts else ends(now[0])
        case "verifying":
            return verdict("continue" if session.counts.turns % 2 else "complete") if session.turn else checked()
    return answer()


def tried(session: Session, command: AnyCommand, meta: CommandMeta) -> Session | None:
    """The session after the command, or None where it is refused."""
    try:
        return evolve(session, decide(session, command, meta))
    except Refused:
        return None


def person(session: Session, command: AnyCommand) -> Session | None:
    return tried(session, command, CommandMeta(ANN, NOON))


def ways_on(session: Session) -> None:
    """No dead end: whoever is due has a way on, and a person always has."""
    if session.work:
        after = tried(session, good(session), CommandMeta(session.work.service, NOON, work=session.work))
        assert after is not None, f"nothing to do for {session.work}"
        assert after.work != session.work or running(after) != running(session)
    elif session.phase in SERVICE_OF:
        resumed = person(session, c.Resume())
        assert resumed is not None
        assert due(resumed) == SERVICE_OF[session.phase]
    elif session.phase in ASKING:
        text = session.question.options[0].label if session.question and session.question.options else "x"
        said = person(session, c.Say(text=RAISE if text == RAISE else text))
        assert said is not None
        assert said.phase != session.phase or said.question != session.question
    else:
        said = person(session, c.Say(text="x"))
        assert said is not None
        on_code = session.words.remark is not None and reviewing(put_back(session)) == "code"
        assert said.phase == ("coding" if on_code else "planning")  # a remark that failed is answered with the words
        assert session.resume_phase is None or person(session, c.Retry()) is not None
    if session.phase not in ("resting", "failed"):
        stopped = person(session, c.Stop())
        assert stopped is not None
        # a remark on what is in review is taken back, and what was there is there again, or goes on by this event;
        # a plan that runs is stopped
        at = replace(gone_on(put_back(session), stopped.version), version=stopped.version)
        taken_back = takes_back_remark(session)
        assert stopped.phase == (at.phase if taken_back else "resting")
        assert due(stopped) == (due(at) if taken_back else "nobody")
