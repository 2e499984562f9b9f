"""How turns evolve: planned, approved, carried out, verified; and how an interrupted plan goes on."""

from parley.events import facts
from parley.events.values import ActionSpec
from shared.domain import workflows
from shared.domain.kernel.actors import author_of
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session, with_answer, with_counts, with_next_draft, with_plan
from shared.domain.kernel.state import Action, PlanStatus, Turn, Verdict
from shared.domain.kernel.subjects import recall_subject
from shared.domain.kernel.wording import TRIED_BEFORE, UNANSWERED
from shared.domain.kernel.workflow import unread_while_planning
from shared.domain.plan.versions import with_next_attempt
from shared.domain.steps.plan_steps import is_unfinished
from shared.domain.steps.references import references
from shared.domain.transcript import memory
from shared.domain.turn import flow_paths, outcomes
from shared.domain.turn.batches import dead_actions, leave_turn, mark_actions, new_attempt


def turn_planned(session: Session, event: facts.TurnPlanned) -> Session:
    """Starts the planned turn. If messages came while it was planned, it is planned again instead."""
    base = with_next_draft(with_counts(leave_turn(session), turns=event.turn), another=False)
    if unread_while_planning(session, event):
        counts = session.counts
        return with_counts(base, turns_before=counts.turns_before + 1, turns_before_words=counts.turns_before_words + 1)
    problems = () if session.phase == "planning" else session.next_draft.problems
    remembered = replace(memory.turn_planned(base.memory, event), recalled_for=recall_subject(session))
    base = replace(with_next_draft(base, problems=problems), memory=remembered)
    if not event.actions:
        return base
    workflow = workflows.workflow_of_turn(session, event)
    turn = Turn(
        event.turn,
        event.sub_goal,
        tuple(flow_paths.from_spec(spec) for spec in event.actions),
        author_of(event),
        selected_tool=event.selected_tool,
        required_skills=event.required_skills,
        reasoning=event.reasoning,
        final=event.final,
        path=event.path,
        workflow=workflow.name,
        rules=workflow.turn,
        made=len(event.actions),
    )
    return replace(base, turn=turn)


def turn_requested(session: Session, event: facts.TurnRequested) -> Session:
    """Starts the user's own turn. Sending its calls counts as approving them."""
    base = with_next_draft(with_counts(leave_turn(session), turns=event.turn), another=False)
    workflow = workflows.workflow_of_turn(session, event)
    turn = Turn(
        event.turn,
        event.sub_goal,
        tuple(replace(flow_paths.from_spec(spec), allowed=True) for spec in event.actions),
        event.actor,
        workflow=workflow.name,
        rules=workflow.turn,
        made=len(event.actions),
        taken_over=True,
    )
    return replace(base, turn=turn, memory=memory.turn_requested(base.memory, event))


def turn_changed(session: Session, event: facts.TurnChanged) -> Session:
    """Replaces the rest of the turn."""
    if session.turn is None:
        return session
    turn, known = flow_paths.apply_change(session.turn, event), {action.spec.id for action in session.turn.actions}
    actions = tuple(a if a.spec.id in known else with_next_attempt(session, a) for a in turn.actions)
    return replace(session, turn=replace(turn, actions=actions))


def approval_expired(session: Session, event: facts.ApprovalExpired) -> Session:
    if event.unanswered:
        return mark_actions(session, [event.unanswered], "failed", error=UNANSWERED)
    denied = event.denied
    return mark_actions(session, denied, "denied", error="nobody decided in time") if denied else session


def turn_verified(session: Session, event: facts.TurnVerified) -> Session:
    if (turn := session.turn) is None:
        return session
    details = event.execution_analysis, event.memory_analysis, event.rule, event.sub_goals
    turn = replace(turn, verdict=Verdict(event.status, event.next_action, event.reasoning, *details))
    remembered = replace(session, turn=turn, memory=memory.turn_verified(session.memory, turn, event))
    return workflows.workflow_of_work(session).judged(_end_plan(remembered, event), event)


def _end_plan(session: Session, event: facts.TurnVerified) -> Session:
    """Ends the plan that was carried out, unless the verdict goes on with it."""
    if session.plan is None or session.plan.status != "executing" or event.next_action in ("continue", "retry"):
        return session
    well = event.next_action == "complete" and event.status != "failure"
    status: PlanStatus = "completed" if well else "failed"
    return with_plan(session, status)


def answer_given(session: Session, event: facts.AnswerGiven) -> Session:
    return with_answer(session, text=event.text, confidence=event.confidence, evidence=event.evidence, next=event.next)


def frees_plan(session: Session, event: facts.ActionSkipped) -> bool:
    """The last failed step of the plan is skipped, so the plan goes on with the others, unless it was stopped."""
    held_up = session.plan is not None and session.plan.status == "failed" and is_unfinished(session)
    after = outcomes.apply_outcomes(session, event).turn
    return held_up and bool(_blocking_steps(session.turn)) and not _blocking_steps(after)


def _blocking_steps(turn: Turn | None) -> list[Action]:
    """The steps that keep the plan from going on, without those that only depend on them or were stopped."""
    halted = ("dependency_failed", "stopped")
    return [action for action in dead_actions(turn) if action.end_reason not in halted] if turn else []


def plan_retried(session: Session, event: facts.SessionRetried) -> Session:
    """Goes on with the plan, whose failed steps get another attempt."""
    return plan_resumed(_retry_steps(session), event)


def plan_resumed(session: Session, _: facts.SessionRetried | facts.ActionSkipped) -> Session:
    """Goes on with the plan. Steps that did not run because of another step are planned again."""
    turn = session.turn
    waiting = [a.spec.id for a in turn.actions if a.end_reason == "dependency_failed"] if turn else []
    open_again = mark_actions(session, waiting, "planned", error="", end_reason=None, allowed=False)
    return replace(with_plan(open_again, "executing"), resume_phase="executing")


def _retry_steps(session: Session) -> Session:
    """Plans the blocking steps again as the plan has them; for an uncertain one the user is asked what happened.

    A failed step gets another attempt; if it is irreversible, the user approves it first.
    """
    turn, plan = session.turn, session.plan
    if turn is None or plan is None:
        return session
    specs = {spec.id: spec for spec in workflows.workflow_of_plan(session, plan.kind).actions(plan, turn.number)}
    for action in _blocking_steps(turn):
        spec = specs.get(action.spec.id) or _without_denial(action.spec)  # the plan has no spec for a single item
        if action.status == "uncertain":
            session = mark_actions(session, [spec.id], "uncertain", left=False)
        elif action.status == "failed":
            asks = spec.effect == "irreversible" and not references(
                spec.arguments
            )  # else approval is asked for once its values are known
            asked = {"decision": "require_approval", "approval_reason": TRIED_BEFORE} if asks else {}
            session = new_attempt(session, [spec.id], "planned", spec=spec.model_copy(update=asked), allowed=False)
        else:
            session = mark_actions(session, [spec.id], "planned", spec=spec, error="", allowed=False)
    return session


def _without_denial(spec: ActionSpec) -> ActionSpec:
    """The action without its denial, to be ruled again: the policy or the reason may have changed."""
    return spec.model_copy(update={"decision": "proceed", "decision_reason": ""}) if spec.decision == "deny" else spec
