"""Deciding that a plan is drafted, and that its steps begin: by a person's approval, or by the settings."""

from collections.abc import Sequence

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec
from shared.domain import commands as c
from shared.domain.changing import replace
from shared.domain.commands import CommandMeta
from shared.domain.errors import Invalid, OutOfTurn
from shared.domain.event_meta import event_meta, format_of_steps
from shared.domain.plan_approval import begins_by_setting, preapproval_problems
from shared.domain.plan_steps import already_done, problems, refusal, rewritten, still_running, task_of
from shared.domain.policy import ruled
from shared.domain.said import begins_round, drafting, reason_of_draft
from shared.domain.session import Session
from shared.domain.state import Plan
from shared.domain.waves import leave_turn
from shared.domain.workflows import of_plan


def draft(session: Session, command: c.DraftPlan, meta: CommandMeta) -> SessionEvent:
    acts = of_plan(session, command.kind).turn.by_step
    drafted_in = drafting(session)
    goal, steps, notes = command.goal, command.steps, command.notes
    if acts and (wrong := (*problems(steps, goal, notes), *rewritten(drafted_in, steps))):
        raise refusal(steps, wrong)
    task = task_of(drafted_in) if acts else None
    reason = reason_of_draft(drafted_in, first=acts and not drafted_in.task)
    return facts.PlanDrafted(
        **event_meta(session, meta, facts.PlanDrafted, needs=format_of_steps(steps)),
        kind=command.kind,
        goal=goal,
        steps=steps,
        notes=notes,
        path=command.path,
        task=task,
        checks=command.checks,
        reason=reason,
        begins_round=begins_round(session),
    )


def approve(session: Session, plan: Plan, command: c.Approve, meta: CommandMeta) -> facts.PlanApproved:
    """The approval of steps that act holds their turn.

    Raises OutOfTurn while a step still runs, Invalid for steps that cannot be preapproved.
    """
    check_options(command, acts=bool(plan.task))
    if wrong := preapproval_problems(plan, command.preapprove):
        raise refusal(plan.steps, wrong)
    actions = _actions(session, replace(plan, status="approved"))
    preapproved, deferred = _in_order(plan, command.preapprove), not command.start
    return facts.PlanApproved(
        **event_meta(session, meta, facts.PlanApproved, needs=2 if preapproved or deferred else 1),
        plan_version=plan.version,
        hash=plan.hash,
        turn=session.counts.turns + 1 if actions else None,
        actions=actions,
        already_done=already_done(session, actions),
        preapproved=preapproved,
        deferred=deferred,
    )


def check_options(command: c.Approve, *, acts: bool) -> None:
    """Raises Invalid for what only the approval of a plan that acts can say."""
    if not acts and (command.preapprove or not command.start):
        raise Invalid("Only the approval of a plan that acts can preapprove steps, or leave the start for later.")


def begin_by_setting(session: Session, meta: CommandMeta) -> facts.TurnPlanned:
    """The turn of a plan that the session's settings approve. Raises OutOfTurn."""
    plan = session.plan
    if plan is None or not begins_by_setting(session):
        raise OutOfTurn("No plan begins by the settings now.")
    actions = _actions(session, replace(plan, status="approved", approved_by_setting=True))
    return facts.TurnPlanned(
        **event_meta(session, meta, facts.TurnPlanned, needs=2),
        turn=session.counts.turns + 1,
        sub_goal=plan.goal,
        actions=actions,
        final=True,
        plan_version=plan.version,
        already_done=already_done(session, actions),
    )


def _actions(session: Session, plan: Plan) -> tuple[ActionSpec, ...]:
    """The steps of this plan, ruled as its approval leaves them. Raises OutOfTurn while one of them still runs."""
    approved = leave_turn(replace(session, plan=plan))
    if still_running(session, plan.task):
        raise OutOfTurn("A step of the plan is still running: approve this version when its outcome is known.")
    steps = of_plan(session, plan.kind).actions(plan, session.counts.turns + 1)
    return tuple(ruled(approved, spec) for spec in steps)


def _in_order(plan: Plan, steps: Sequence[str]) -> tuple[str, ...]:
    return tuple(step.id for step in plan.steps if step.id and step.id in steps)
