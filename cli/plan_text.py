"""What `parley plan` prints of a plan: its text, what can be done with it, and what its steps would change."""

import json
from collections.abc import Iterator

from cli.chat.text import short
from parley.protocol.execution_plans import ExecutionPlan, PlanPreviews
from parley.protocol.tools import Change
from parley.protocol.words import REVIEW

WORDS = 300  # characters of a value, or of a reason


def describe(plan: ExecutionPlan) -> str:
    """The plan as Markdown, then the commands that lead on."""
    task = plan.task_id
    parts = [plan.text.rstrip()]
    if plan.problem:
        parts.append(f"It could not go on: {plan.problem}")
    if plan.question:
        parts.append(f'{plan.question}\nAnswer: parley plan modify {task} "…"')
    if plan.status == "pending_approval":
        parts.append("\n".join(_ways_on(plan)))
    elif plan.status == "approved":
        parts.append(f"It has not been started.\nStart it: parley plan execute {task}")
    elif plan.result and not plan.working:
        parts.append(plan.result)
    if plan.status in ("failed", "paused"):
        parts.append(f"Go on: parley plan execute {task}")
    if plan.status == "executing" and not plan.working:
        parts.append(f"It asks you something: parley chat --session {plan.session_id}")
    return "\n\n".join(part for part in parts if part)


def _ways_on(plan: ExecutionPlan) -> Iterator[str]:
    approve = f"parley plan approve {plan.task_id} --version {plan.version}"
    yield f"Approve it: {approve}"
    if ticks := [step.id for step in plan.steps if step.preapprovable]:
        allows = " ".join(f"--preapprove {step}" for step in ticks)
        yield f"Approve it, and whatever values these steps get: {approve} {allows}"
    yield f'Change it: parley plan modify {plan.task_id} "…"'


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
