"""Decides what users do with what is in review: approve, reject, replan, edit."""

from collections.abc import Sequence

from parley.events import SessionEvent, facts
from parley.events.hashing import canonical_hash
from parley.events.values import Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import AlreadyDone, Invalid, OutOfTurn, Stale, require
from shared.domain.kernel.session import SERVICE_OF, Session, decidable_actions, item_in_review, review_target
from shared.domain.kernel.state import Action, Code, Plan
from shared.domain.plan import commands as plan_commands
from shared.domain.plan.policy import policy_of
from shared.domain.plan.validation import plan_problems, refusal
from shared.domain.rules.event_meta import event_meta
from shared.domain.steps.plan_steps import changed_begun_steps
from shared.domain.turn.batches import find_action
from shared.domain.workflows import WORKFLOWS, workflow_of_plan

APPROVED_STATUSES: frozenset[str] = frozenset({"approved", "executing", "completed", "failed"})
CHANGED_PLAN = "The plan has changed since this code was written: approve the plan first."
AT_WORK = "The session is {phase}: {what} can be edited while it is in review or the session rests. Stop it first."


def approve(session: Session, command: c.Approve, meta: CommandMeta) -> SessionEvent:
    if command.action_id is not None or review_target(session) == "actions":
        _require_undecided(session, command)
        action = _waiting_action(session, command)
        plan_commands.check_options(command, acts=False)
        if policy_of(session, action.spec) == "deny":
            raise OutOfTurn(f"{action.spec.tool} is denied in this session: refuse the action, or change the policy.")
        if command.hash is None:
            _require_newest_review(session, command)
        elif command.hash != action.hash:
            raise Stale("The action's arguments differ from what you saw. Look at them and decide again.")
        return facts.ApprovalGiven(
            **event_meta(session, meta, facts.ApprovalGiven, action.spec.id), action_id=action.spec.id, hash=action.hash
        )
    _require_unapproved(session, command)
    item = _in_review(session, command.version, command.hash)
    if command.hash is None and session.plan and session.code and session.plan.version == session.code.version:
        both = f"Plan and code of this fork both have version {item.version}"  # both come from the fork's first event
        raise Stale(f"{both}: name the hash of the one that you approve.")
    if isinstance(item, Code):
        plan_commands.check_options(command, acts=False)
        return facts.CodeApproved(
            **event_meta(session, meta, facts.CodeApproved), code_version=item.version, hash=item.hash
        )
    return plan_commands.approve(session, item, command, meta)


def _require_undecided(session: Session, command: c.Approve) -> None:
    """Raises AlreadyDone if the action is approved already, for example in a second browser tab."""
    action = find_action(session, command.action_id) if command.action_id else None
    waits = action in decidable_actions(session)
    if action and action.allowed and not waits and command.hash in (None, action.hash):
        raise AlreadyDone(f"{action.spec.tool} ({action.spec.id}) is approved already; nothing was done twice.")


def _require_unapproved(session: Session, command: c.Approve) -> None:
    """Raises AlreadyDone if the plan or code is approved already, for example in a second browser tab."""
    named = [item for item in (session.plan, session.code) if item and item.version == command.version]
    approved = named and all(item.status in APPROVED_STATUSES for item in named)
    if approved and (command.hash is None or command.hash in [item.hash for item in named]):
        waits = session.phase == "resting" and session.rest_reason == "approved"
        hint = " It has not been started: start it." if waits and command.start else ""
        raise AlreadyDone(f"Version {command.version} is approved already; nothing was done twice.{hint}")


def reject(session: Session, command: c.Reject, meta: CommandMeta) -> SessionEvent:
    if command.action_id is not None or (review_target(session) == "actions" and not command.replan):
        action = _waiting_action(session, command)
        return facts.ApprovalDenied(
            **event_meta(session, meta, facts.ApprovalDenied, action.spec.id),
            action_id=action.spec.id,
            reason=command.reason,
        )
    if command.replan:
        return _replan(session, command, meta)
    item = _in_review(session, command.version)
    if command.target is not None and command.target != review_target(session):
        raise OutOfTurn(f"The {review_target(session)} is in review now, not the {command.target}.")
    if isinstance(item, Code):
        return facts.CodeRejected(**event_meta(session, meta, facts.CodeRejected), code_version=item.version)
    return facts.PlanRejected(**event_meta(session, meta, facts.PlanRejected), plan_version=item.version)


def _replan(session: Session, command: c.Reject, meta: CommandMeta) -> SessionEvent:
    """Asks for another draft: in review, after a rejection or at rest, never during work."""
    if session.phase in SERVICE_OF:
        raise OutOfTurn(f"The session is {session.phase}: stop it first, or say what to change.")
    target = command.target or ("code" if review_target(session) == "code" else "text")
    item = session.code if target == "code" else session.plan
    if item is None:
        raise OutOfTurn(f"There is no {'code' if target == 'code' else 'plan'} to replace yet.")
    if command.version is not None and command.version != item.version:
        raise Stale(f"Version {command.version} is no longer the newest; version {item.version} is.")
    if isinstance(item, Code):
        _require_current_plan(session, item)
        return facts.CodeRejected(
            **event_meta(session, meta, facts.CodeRejected), code_version=item.version, replan=True
        )
    return facts.PlanRejected(**event_meta(session, meta, facts.PlanRejected), plan_version=item.version, replan=True)


def _require_current_plan(session: Session, code: Code) -> None:
    if session.plan is None or session.plan.version != code.plan_version:
        raise OutOfTurn(CHANGED_PLAN)


def edit_plan(session: Session, command: c.EditPlan, meta: CommandMeta) -> SessionEvent:
    plan = session.plan or _empty_first_plan(session)
    require(
        session.phase not in SERVICE_OF or _is_running_steps(session),
        AT_WORK.format(phase=session.phase, what="a plan"),
    )
    if plan is None:
        raise OutOfTurn("There is no plan to edit in this session: say in a message what you want.")
    if command.base != plan.version:
        raise Stale(f"You edited version {command.base}, but version {plan.version} is the newest.")
    goal = plan.goal if command.goal is None else command.goal.strip() or plan.goal
    notes = plan.notes if command.notes is None else command.notes
    if not command.steps:
        raise Invalid("A plan needs at least one step.")
    _check_words(command.steps, calls=workflow_of_plan(session, plan.kind).steps_call)
    if _content(goal, command.steps, notes) == _content(plan.goal, plan.steps, plan.notes):
        raise Invalid("The edit changes nothing.")
    if plan.task and (
        wrong := (*plan_problems(command.steps, goal, notes), *changed_begun_steps(session, command.steps))
    ):
        raise refusal(command.steps, wrong)
    return facts.PlanEdited(
        **event_meta(session, meta, facts.PlanEdited),
        base_version=plan.version,
        goal=goal,
        steps=command.steps,
        notes=notes,
        checks=command.checks,
    )


def _content(goal: str, steps: Sequence[Step], notes: str) -> str:
    """The same for equal plans only: to Python, 1 and True are equal."""
    return canonical_hash([goal, notes, *(step.model_dump(mode="json") for step in steps)])


def _is_running_steps(session: Session) -> bool:
    """Whether the steps of a plan run. After an edit the running ones end, and no other starts."""
    turn = session.turn
    return turn is not None and turn.rules.by_step and session.phase in ("executing", "verifying", "answering")


def _check_words(steps: Sequence[Step], *, calls: bool) -> None:
    """Raises Invalid for a step without text, or with a tool or arguments in a text plan."""
    for number, step in enumerate(steps, 1):
        if not step.text.strip():
            raise Invalid(f"Step {number} is blank: say what it is to do, or leave it out.")
        if (step.tool or step.arguments) and not calls:
            what = f"calls {step.tool}" if step.tool else f"has arguments ({', '.join(step.arguments or {})[:200]})"
            raise Invalid(f"Step {number} {what}: a text plan calls nothing. Choose “Plan and act” for that.")


def _empty_first_plan(session: Session) -> Plan | None:
    """An empty plan to edit, if the session's first request announced a plan of the user's own; else None."""
    own = WORKFLOWS.get(session.workflow)
    awaited = session.phase == "resting" and session.rest_reason == "new" and session.version == 1
    if not awaited or own is None or own.plans not in ("text", "execution"):
        return None
    task = f"t{session.version + 1}" if own.turn.by_step else ""
    return Plan(session.version, 0, own.plans, session.words.request, (), "", "", task=task)


def edit_code(session: Session, command: c.EditCode, meta: CommandMeta) -> SessionEvent:
    code = session.code
    require(session.phase not in SERVICE_OF, AT_WORK.format(phase=session.phase, what="code"))
    if code is None:
        raise OutOfTurn("There is no code to edit in this session yet.")
    if code.status == "superseded":
        raise OutOfTurn(CHANGED_PLAN)
    if command.base != code.version:
        raise Stale(f"You edited version {command.base}, but version {code.version} is the newest.")
    _require_current_plan(session, code)
    if not command.code.strip():
        raise Invalid("The program is empty.")
    if command.code == code.code:
        raise Invalid("The edit changes nothing.")
    return facts.CodeEdited(**event_meta(session, meta, facts.CodeEdited), base_version=code.version, code=command.code)


def _in_review(session: Session, version: int | None, hash_: str | None = None) -> Plan | Code:
    """The plan or code in review. Raises OutOfTurn if there is none, Stale if it is not the one named."""
    item = item_in_review(session)
    if item is None:
        raise OutOfTurn(f"There is no plan or code in review now: the session is {session.phase}.")
    if version is not None and version != item.version:
        raise Stale(
            f"Version {version} is not the one in review; version {item.version} is. Look at it and decide again."
        )
    if hash_ is not None and hash_ != item.hash:
        raise Stale(f"The content differs from version {item.version} as it is stored. Look at it and decide again.")
    return item


def _require_newest_review(session: Session, command: c.Approve | c.Reject) -> None:
    if command.version is not None and command.version < session.since_version:
        raise Stale(f"What you saw at version {command.version} has been decided. Look at what waits now.")


def _waiting_action(session: Session, command: c.Approve | c.Reject) -> Action:
    """The action that waits for this decision. Raises Stale, Invalid, OutOfTurn.

    A decision that names no action may be meant for what was in review before.
    """
    action_id = command.action_id
    if action_id is None:
        _require_newest_review(session, command)
    waiting = decidable_actions(session)
    if action_id is None and len(waiting) > 1:
        raise Invalid("Several actions wait for approval: name one with action_id.")
    for action in waiting:
        if action_id in (None, action.spec.id):
            return action
    raise OutOfTurn(f"No action {action_id or ''} waits for approval.".replace("  ", " "))
