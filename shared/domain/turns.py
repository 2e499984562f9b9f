"""How turns evolve: planned, decided, carried out, judged; and how a session that was held up goes on."""

from collections.abc import Collection

from shared.domain import memory, paths
from shared.domain.changing import replace
from shared.domain.drafts import with_code, with_plan
from shared.domain.session import SERVICE_OF, Phase, Session, begin, settle, undecided
from shared.domain.state import PlanStatus, Turn, Verdict
from shared.domain.waves import advance, change, leave_turn, mark, revive, running
from shared.events import facts

AFTER_VERDICT: dict[str, Phase] = {"continue": "planning", "retry": "planning", "complete": "answering"}


def turn_planned(session: Session, event: facts.TurnPlanned) -> Session:
    """A turn that the planner made without what the person said meanwhile is planned again, not carried out."""
    left = replace(leave_turn(session), turns=event.turn, replan=False)
    if session.phase == "planning" and session.unread:
        return begin(replace(left, turns_before=session.turns_before + 1), "planning", event.version)
    drafted = session.phase == "planning"  # what was said is in this turn now
    heard = session.feedback if drafted else left.memory.heard
    problems = () if drafted else session.problems
    left = replace(left, memory=memory.planned(left.memory, event, heard), problems=problems)
    if not event.actions:
        return begin(left, "answering", event.version)
    turn = Turn(
        event.turn,
        event.sub_goal,
        tuple(paths.planned(spec) for spec in event.actions),
        event.actor,
        selected_tool=event.selected_tool,
        required_skills=event.required_skills,
        reasoning=event.reasoning,
        final=event.final,
        path=event.path,
        made=len(event.actions),
    )
    return advance(replace(left, turn=turn), event.version)


def turn_requested(session: Session, event: facts.TurnRequested) -> Session:
    """A person's own calls: to send them was to allow them."""
    left = replace(leave_turn(session), turns=event.turn, replan=False)
    actions = tuple(replace(paths.planned(spec), allowed=True) for spec in event.actions)
    turn = Turn(event.turn, event.sub_goal, actions, event.actor, made=len(actions), taken_over=True)
    requested = replace(left, turn=turn, memory=memory.requested(left.memory, event))
    return advance(requested, event.version)


def turn_changed(session: Session, event: facts.TurnChanged) -> Session:
    """The rest of the turn is another one: a person is asked, or the wave goes on."""
    if session.turn is None:
        return session
    return advance(replace(session, turn=paths.changed(session.turn, event)), event.version)


def decided(session: Session, version: int) -> Session:
    return session if undecided(session.turn) else advance(session, version)


def expired(session: Session, event: facts.ApprovalExpired) -> Session:
    if event.denied:
        return advance(mark(session, event.denied, "denied", error="nobody decided in time"), event.version)
    return replace(settle(session, "resting", "stopped"), halted=session.phase)


def outcome(session: Session, ids: Collection[str], version: int) -> Session:
    """The end of actions moves their turn on, unless the person has moved on already."""
    question = session.question
    asked = question is not None and question.about == "uncertain" and question.action_id in ids
    live = session.phase in ("executing", "awaiting_approval") or asked
    mine = session.turn is not None and any(a.spec.id in ids for a in session.turn.actions)
    return advance(session, version) if live and mine else session


def turn_verified(session: Session, event: facts.TurnVerified) -> Session:
    if (turn := session.turn) is None:
        return session
    told = event.execution_analysis, event.memory_analysis, event.rule
    turn = replace(turn, verdict=Verdict(event.status, event.next_action, event.reasoning, *told))
    remembered = replace(session, turn=turn, memory=memory.judged(session.memory, turn, event))
    judged = _plan_ended(remembered, event)
    if session.unread:
        return begin(judged, "planning", event.version)
    if session.workflow == "conversation":
        return _run_judged(judged, event)
    if event.next_action == "escalate" or turn.taken_over:
        return settle(judged, "escalated")
    if session.turns - session.turns_before >= session.settings.max_turns and event.next_action != "complete":
        return begin(judged, "answering", event.version)
    problems = (event.reasoning,) if event.next_action == "retry" else ()
    return begin(replace(judged, problems=problems), AFTER_VERDICT[event.next_action], event.version)


def _plan_ended(session: Session, event: facts.TurnVerified) -> Session:
    """A plan that was carried out has come to its end when the verdict does not go on with it."""
    if session.plan is None or session.plan.status != "executing" or event.next_action in ("continue", "retry"):
        return session
    well = event.next_action == "complete" and event.status != "failure"
    status: PlanStatus = "completed" if well else "failed"
    return with_plan(session, status)


def _run_judged(session: Session, event: facts.TurnVerified) -> Session:
    """A run of approved code that went wrong brings better code to review; everything else rests."""
    if event.next_action == "retry" and session.code:
        again = with_code(replace(session, problems=(event.reasoning,)), repairs=0)
        return begin(again, "coding", event.version)
    return settle(session, "resting", "answered")


def answer_given(session: Session, event: facts.AnswerGiven) -> Session:
    """The request is done, and its feedback with it, unless the person said something meanwhile."""
    told = replace(session, answer=event.text, confidence=event.confidence, evidence=event.evidence)
    if session.unread:
        return begin(told, "planning", event.version)
    return settle(replace(told, feedback=(), asked=""), "resting", "answered")


def go_on(session: Session, phase: Phase, version: int) -> Session:
    """Enter again the phase that was held up; a turn goes on from what has become of its actions."""
    if session.turn and phase in ("executing", "awaiting_approval", "awaiting_input"):
        again = begin(revive(session), "executing", version)
        if not (taken_up := [action.spec.id for action in running(session)]):
            return advance(again, version)
        return change(again, taken_up, lambda action: replace(action, began=version))
    return begin(session, phase, version) if phase in SERVICE_OF else settle(session, phase)
