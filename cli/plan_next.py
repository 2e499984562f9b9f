"""What `parley plan` says below a plan: what to type next, how far it has come, and what its steps would change."""

import json
import textwrap
from collections.abc import Iterator

from cli.chat.text import short
from cli.plan_layout import plan_text
from parley.protocol.execution_plans import ExecutionPlan, PlanPreviews
from parley.protocol.tools import Change
from parley.protocol.words import REVIEW

WORDS = 300  # characters of a value, or of a reason


def describe(plan: ExecutionPlan, columns: int) -> str:
    """The plan as it stands, and what to type next."""
    task = plan.task_id
    parts = [plan_text(plan, columns)]
    if plan.problem:
        parts.append(f"It could not go on: {plan.problem}")
    if plan.reply:
        parts.append(textwrap.fill(plan.reply, columns))
    if plan.question:
        parts.append(f'{plan.question}\nAnswer it: parley plan answer {task} "…"')
    if plan.status == "pending_approval":
        parts.append("\n".join(_ways_to_approve(plan)))
    elif plan.status == "approved":
        parts.append(f"It has not been started.\nStart it: parley plan execute {task}")
    elif plan.result and not plan.working:
        first = plan.result.partition("\n\n")[0]
        parts.append(textwrap.fill(first, columns))  # the rest says of each step what stands there already
    parts += _ways_on(plan)
    return "\n\n".join(part for part in parts if part)


def _ways_to_approve(plan: ExecutionPlan) -> Iterator[str]:
    approve = f"parley plan approve {plan.task_id} --version {plan.version}"
    yield f"Approve it: {approve}"
    if steps := [step.id for step in plan.steps if step.preapprovable]:
        allows = " ".join(f"--preapprove {step}" for step in steps)
        yield f"Approve it, and whatever values these steps get: {approve} {allows}"
    yield f'Change it: parley plan modify {plan.task_id} "…"'


def _ways_on(plan: ExecutionPlan) -> Iterator[str]:
    task, skip = plan.task_id, f"Leave a step out: parley plan skip {plan.task_id} STEP"
    if plan.status == "failed":
        yield f'Try again: parley plan execute {task}\n{skip}\nChange it: parley plan modify {task} "…"'
    if plan.status == "paused":
        yield f"Go on: parley plan execute {task}\n{skip}"
    if plan.status == "cancelled":
        yield plan.progress.text
    if plan.status == "executing" and not plan.working and not plan.question:
        waits = any(step.status == "waiting" for step in plan.steps)
        asks = f"A change needs your approval: parley chat --session {plan.session_id}"
        yield f"It goes on by itself. Its result: parley plan execute {task}" if waits else asks


def describe_changes(plan: ExecutionPlan, previews: PlanPreviews) -> str:
    """What the steps to come would change, one line a value; "" where nothing is known of it."""
    lines: list[str] = []
    for step in plan.steps:
        if (preview := previews.steps.get(step.id)) is None:
            continue
        lines.append(f"{step.number}. {step.description}")
        if preview.error:
            lines.append(f"   {REVIEW['preview_error_now'].format(why=short(preview.error, WORDS))}")
        else:
            lines += [f"   {_changed(change)}" for change in preview.changes] or [f"   {REVIEW['preview_none']}"]
    if previews.left_out:
        lines.append(REVIEW["previews_left_out"].format(count=previews.left_out))
    return "\n".join([f"{REVIEW['preview_now']}:", *lines]) if lines else ""


def _changed(change: Change) -> str:
    before, after = (
        REVIEW["empty"] if value is None else short(json.dumps(value, ensure_ascii=False), WORDS)
        for value in (change.before, change.after)
    )
    return f"{change.label or change.path}: {before} → {after}"
