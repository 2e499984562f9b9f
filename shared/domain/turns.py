"""How turns evolve: planned, decided, carried out, judged; and how a session that was held up goes on."""

from collections.abc import Collection

from parley.events import facts
from parley.events.values import ActionSpec
from shared.domain import memory, outcomes, paths, workflows
from shared.domain.changing import replace
from shared.domain.plan_steps import unfinished
from shared.domain.plan_versions import attempted
from shared.domain.references import references
from shared.domain.session import (
    SERVICE_OF,
    Phase,
    Session,
    begin,
    settle,
    undecided,
    with_answer,
    with_counts,
    with_next_draft,
    with_plan,
    with_words,
)
from shared.domain.state import Action, PlanStatus, Turn, Verdict
from shared.domain.waves import advance, change, dead, leave_turn, mark, new_attempt, revive, running
from shared.domain.wording import TRIED_BEFORE, UNANSWERED
from shared.domain.workflow import unread_while_planning


def turn_planned(session: Session, event: facts.TurnPlanned) -> Session:
    """A turn that the planner made without what the person said meanwhile is planned again, not carried out."""
    left = with_next_draft(with_counts(leave_turn(session), turns=event.turn), another=False)
    if unread_while_planning(session, event):
        return with_counts(left, turns_before=session.counts.turns_before + 1)
    drafted = session.phase == "planning"  # what was said is in this turn now
    heard = session.words.feedback if drafted else left.memory.heard
    problems = () if drafted else session.next_draft.problems
    left = replace(with_next_draft(left, problems=problems), memory=memory.planned(left.memory, event, heard))
    if not event.actions:
        return left
    workflow = workflows.of_turn(session, event)
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
        workflow=workflow.name,
        rules=workflow.turn,
        made=len(event.actions),
    )
    return replace(left, turn=turn)


def turn_requested(session: Session, event: facts.TurnRequested) -> Session:
    """A person's own calls: to send them was to allow them."""
    left = with_next_draft(with_counts(leave_turn(session), turns=event.turn), another=False)
    workflow = workflows.of_turn(session, event)
    turn = Turn(
        event.turn,
        event.sub_goal,
        tuple(replace(paths.planned(spec), allowed=True) for spec in event.actions),
        event.actor,
        workflow=workflow.name,
        rules=workflow.turn,
        made=len(event.actions),
        taken_over=True,
    )
    return replace(left, turn=turn, memory=memory.requested(left.memory, event))


def turn_changed(session: Session, event: facts.TurnChanged) -> Session:
    """The rest of the turn is another one: a person is asked, or the wave goes on."""
    if session.turn is None:
        return session
    turn, known = paths.changed(session.turn, event), {action.spec.id for action in session.turn.actions}
    actions = tuple(a if a.spec.id in known else attempted(session, a) for a in turn.actions)
    return advance(replace(session, turn=replace(turn, actions=actions)), event.version)


def decided(session: Session, version: int) -> Session:
    return session if undecided(session.turn) else advance(session, version)


def expired(session: Session, event: facts.ApprovalExpired) -> Session:
    if event.unanswered:
        return advance(mark(session, [event.unanswered], "failed", error=UNANSWERED), event.version)
    if event.denied:
        return advance(mark(session, event.denied, "denied", error="nobody decided in time"), event.version)
    return replace(settle(session, "resting", "stopped"), resume_phase=session.phase)


def outcome(session: Session, ids: Collection[str], version: int) -> Session:
    """The end of actions moves their turn on, unless the person has moved on already."""
    question = session.question
    asked = question is not None and question.about in ("uncertain", "action") and question.action_id in ids
    live = session.phase in ("executing", "awaiting_approval", "waiting") or asked
    mine = session.turn is not None and any(a.spec.id in ids for a in session.turn.actions)
    return advance(session, version) if live and mine else session


def turn_verified(session: Session, event: facts.TurnVerified) -> Session:
    if (turn := session.turn) is None:
        return session
    told = event.execution_analysis, event.memory_analysis, event.rule, event.sub_goals
    turn = replace(turn, verdict=Verdict(event.status, event.next_action, event.reasoning, *told))
    remembered = replace(session, turn=turn, memory=memory.judged(session.memory, turn, event))
    return workflows.of_work(session).judged(_plan_ended(remembered, event), event)


def _plan_ended(session: Session, event: facts.TurnVerified) -> Session:
    """A plan that was carried out has come to its end when the verdict does not go on with it."""
    if session.plan is None or session.plan.status != "executing" or event.next_action in ("continue", "retry"):
        return session
    well = event.next_action == "complete" and event.status != "failure"
    status: PlanStatus = "completed" if well else "failed"
    return with_plan(session, status)


def answer_given(session: Session, event: facts.AnswerGiven) -> Session:
    """The request is done, and its feedback with it, unless the person said something meanwhile."""
    told = with_answer(session, text=event.text, confidence=event.confidence, evidence=event.evidence)
    return told if session.words.unread else with_words(told, feedback=(), last_question="")


def skipped(session: Session, event: facts.ActionSkipped) -> Session:
    """Once every step that came to nothing is left out, the plan goes on with the others, unless it was stopped."""
    after = outcomes.applied(session, event)
    held_up = session.plan is not None and session.plan.status == "failed" and unfinished(session)
    if held_up and _came_to_nothing(session.turn) and not _came_to_nothing(after.turn):
        return _on_with_plan(after, event.version)
    return outcome(after, [event.action_id], event.version)


def _came_to_nothing(turn: Turn | None) -> list[Action]:
    """The steps that hold the plan up; not those that only wait for them, or were halted by them."""
    halted = ("dependency_failed", "stopped")
    return [action for action in dead(turn) if action.end_reason not in halted] if turn else []


def retried(session: Session, event: facts.SessionRetried) -> Session:
    """Work goes on where it was held up; a plan, with the steps that came to nothing as other attempts."""
    held_up = session.resume_phase
    if unfinished(session) and held_up not in ("verifying", "answering"):
        return _on_with_plan(_attempted_again(session), event.version)
    return go_on(session, held_up or "planning", event.version)


def _on_with_plan(session: Session, version: int) -> Session:
    """What came to nothing only because of another step is to be done again."""
    turn = session.turn
    waiting = [a.spec.id for a in turn.actions if a.end_reason == "dependency_failed"] if turn else []
    open_again = mark(session, waiting, "planned", error="", end_reason=None, allowed=False)
    return go_on(with_plan(open_again, "executing"), "executing", version)


def _attempted_again(session: Session) -> Session:
    """The steps that came to nothing, as the plan has them; of one in doubt the person is asked again what happened.

    What failed is another attempt. If it cannot be undone, the person is asked before it.
    """
    turn, plan = session.turn, session.plan
    if turn is None or plan is None:
        return session
    specs = {spec.id: spec for spec in workflows.of_plan(session, plan.kind).actions(plan, turn.number)}
    for action in _came_to_nothing(turn):
        spec = specs.get(action.spec.id) or _unruled(action.spec)  # the call for an item is not in the plan
        if action.status == "uncertain":
            session = mark(session, [spec.id], "uncertain", left=False)
        elif action.status == "failed":
            asks = spec.effect == "irreversible" and not references(spec.arguments)  # else it is asked with its values
            asked = {"decision": "require_approval", "approval_reason": TRIED_BEFORE} if asks else {}
            session = new_attempt(session, [spec.id], "planned", spec=spec.model_copy(update=asked), allowed=False)
        elif action.end_reason is None:
            session = mark(session, [spec.id], "planned", spec=spec, error="", allowed=False)
    return session


def _unruled(spec: ActionSpec) -> ActionSpec:
    """A call that was denied is ruled anew before it begins: a policy, or what it is denied for, may have changed."""
    return spec.model_copy(update={"decision": "proceed", "decision_reason": ""}) if spec.decision == "deny" else spec


def go_on(session: Session, phase: Phase, version: int) -> Session:
    """Enter again the phase that was held up; a turn goes on from what has become of its actions."""
    if session.turn and phase in ("executing", "awaiting_approval", "awaiting_input"):
        again = begin(revive(session), "executing", version)
        if not (taken_up := [action.spec.id for action in running(session)]):
            return advance(again, version)
        return change(again, taken_up, lambda action: replace(action, began=version))
    return begin(session, phase, version) if phase in SERVICE_OF else settle(session, phase)
