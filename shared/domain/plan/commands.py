"""Decides that a plan is drafted, and that its steps start: by the user's approval or by the settings."""

from collections.abc import Sequence

from parley.events import facts
from parley.events.values import ActionSpec, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Plan
from shared.domain.plan.approval import preapproval_problems, starts_by_setting
from shared.domain.plan.policy import with_ruling
from shared.domain.plan.validation import plan_problems, refusal
from shared.domain.rules.event_meta import event_meta
from shared.domain.steps.plan_steps import already_done, changed_begun_steps, has_running_step, task_of
from shared.domain.transcript.messages import begins_round, draft_reason, drafting_session
from shared.domain.turn.batches import leave_turn
from shared.domain.workflows import workflow_of_plan


def draft(session: Session, command: c.DraftPlan, meta: CommandMeta) -> facts.PlanDrafted:
    acts = workflow_of_plan(session, command.kind).turn.by_step
    begins = begins_round(session)
    base = drafting_session(session)
    goal, steps, notes = command.goal, command.steps, command.notes
    if acts and (wrong := (*plan_problems(steps, goal, notes), *changed_begun_steps(base, steps))):
        raise refusal(steps, wrong)
    task = task_of(base) if acts else None
    reason = draft_reason(session, first=acts and not base.task and not begins)
    return facts.PlanDrafted(
        **event_meta(session, meta, facts.PlanDrafted),
        kind=command.kind,
        goal=goal,
        steps=steps,
        notes=notes,
        say=command.say,
        path=command.path,
        task=task,
        checks=command.checks,
        tells_subjects=command.tells_subjects,
        drops=() if begins else _dropped(base.plan, steps),
        reason=reason,
        begins_round=begins,
    )


def _dropped(before: Plan | None, steps: Sequence[Step]) -> tuple[str, ...]:
    """The users' own steps that these leave out, in words."""
    left = {step.id for step in steps}
    own = before.own_steps if before else ()
    return tuple(step.text for step in (before.steps if before else ()) if step.id in own and step.id not in left)


def approve(session: Session, plan: Plan, command: c.Approve, meta: CommandMeta) -> facts.PlanApproved:
    """The approval of a plan; that of an execution plan holds the turn of its steps.

    Raises OutOfTurn while a step still runs, Invalid for steps that cannot be preapproved.
    """
    check_options(command, acts=bool(plan.task))
    if wrong := preapproval_problems(plan, command.preapprove):
        raise refusal(plan.steps, wrong)
    actions = _actions(session, replace(plan, status="approved"))
    preapproved, deferred = _in_order(plan, command.preapprove), not command.start
    return facts.PlanApproved(
        **event_meta(session, meta, facts.PlanApproved),
        plan_version=plan.version,
        hash=plan.hash,
        turn=session.counts.turns + 1 if actions else None,
        actions=actions,
        already_done=already_done(session, actions),
        preapproved=preapproved,
        deferred=deferred,
    )


def check_options(command: c.Approve, *, acts: bool) -> None:
    """Raises Invalid for options that only the approval of an execution plan has."""
    if not acts and (command.preapprove or not command.start):
        raise Invalid("Only the approval of a plan that acts can preapprove steps, or leave the start for later.")


def start_by_setting(session: Session, meta: CommandMeta) -> facts.TurnPlanned:
    """The turn of a plan that the session's settings approve. Raises OutOfTurn if there is none."""
    plan = session.plan
    if plan is None or not starts_by_setting(session):
        raise OutOfTurn("No plan begins by the settings now.")
    actions = _actions(session, replace(plan, status="approved", approved_by_setting=True))
    return facts.TurnPlanned(
        **event_meta(session, meta, facts.TurnPlanned),
        turn=session.counts.turns + 1,
        sub_goal=plan.goal,
        actions=actions,
        final=True,
        plan_version=plan.version,
        already_done=already_done(session, actions),
    )


def _actions(session: Session, plan: Plan) -> tuple[ActionSpec, ...]:
    """The plan's steps as actions, with their rulings. Raises OutOfTurn while one of them still runs."""
    approved = leave_turn(replace(session, plan=plan))
    if has_running_step(session, plan.task):
        raise OutOfTurn("A step of the plan is still running: approve this version when its outcome is known.")
    steps = workflow_of_plan(session, plan.kind).actions(plan, session.counts.turns + 1)
    return tuple(with_ruling(approved, spec) for spec in steps)


def _in_order(plan: Plan, steps: Sequence[str]) -> tuple[str, ...]:
    return tuple(step.id for step in plan.steps if step.id and step.id in steps)
