"""What a terminal says about an execution plan beside its text: what to type next, changes and versions. Pure."""

import json
import textwrap
from collections.abc import Iterator, Sequence

from cli.text import short
from parley.events.values import Step
from parley.protocol.execution_plans import (
    ChangedStep,
    ExecutionPlan,
    PlanDifference,
    PlanPreviews,
    PlanVersion,
)
from parley.protocol.screen import OfferSection
from parley.protocol.tools import Change
from parley.protocol.words import ACTIONS, REVIEW
from shared.domain.plan.text import draft_text

MAX_WIDTH = 100  # columns; longer lines are hard to read
MAX_VALUE = 300  # characters of a value, or of a reason
CHANGE_WORDS = {
    "same": REVIEW["step_same"],
    "changed": REVIEW["step_changed"],
    "moved": REVIEW["step_in_new_place"],
    "added": REVIEW["step_new"],
    "removed": REVIEW["step_removed"],
}


def align_columns(rows: Sequence[Sequence[str]], columns: int | None) -> Iterator[str]:
    """Rows with aligned columns. The last cell is cut to `columns`; None: no limit, as for a file."""
    widths = [max(map(len, cells)) for cells in zip(*(row[:-1] for row in rows), strict=True)]
    for row in rows:
        head = "  ".join(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True))
        left = columns and max(10, columns - len(head) - 2)
        last = " ".join(row[-1].split())
        yield f"{head}  {last[: left - 1] + '…' if left and len(last) > left else last}".rstrip()


def describe(plan: ExecutionPlan, columns: int) -> str:
    """The plan and what to type next."""
    task = plan.task_id
    parts = [plan.text.rstrip() or f"{plan.description}\n\nStatus: {plan.status.replace('_', ' ')}"]
    if plan.problem:
        parts.append(f"It could not continue: {plan.problem}")
    if plan.reply:
        parts.append(textwrap.fill(plan.reply, columns))
    if plan.offer:
        parts.append(_offer(plan, plan.offer))
    if plan.question:
        parts.append(f'{plan.question}\nAnswer it: parley plan answer {task} "…"')
    if plan.status == "pending_approval":
        parts.append("\n".join(_approval_commands(plan)))
    elif plan.status == "approved":
        parts.append(f"It has not been started.\nStart it: parley plan execute {task}")
    elif plan.result and not plan.working:
        first = plan.result.partition("\n\n")[0]
        parts.append(textwrap.fill(first, columns))  # the rest repeats the outcomes of the steps
    parts += _next_commands(plan)
    return "\n\n".join(part for part in parts if part)


def _offer(plan: ExecutionPlan, offer: OfferSection) -> str:
    """What is offered in place of the plan, and how to decide."""
    task = f"{plan.task_id} --version {offer.version}"
    decisions = f"{ACTIONS['take_offer']}: parley plan take {task}\n{ACTIONS['keep_offer']}: parley plan keep {task}"
    title = f"{REVIEW[f'offer_{offer.draft.type}']} {REVIEW['offer_holds']}"
    return f"{title}\n\n{draft_text(offer.draft)}\n\n{decisions}"


def _approval_commands(plan: ExecutionPlan) -> Iterator[str]:
    approve = f"parley plan approve {plan.task_id} --version {plan.version}"
    yield f"Approve it: {approve}"
    if steps := [step.id for step in plan.steps if step.preapprovable]:
        allows = " ".join(f"--preapprove {step}" for step in steps)
        yield f"Approve it, with any values of these steps: {approve} {allows}"
    yield f'Change it: parley plan modify {plan.task_id} "…"'


def _next_commands(plan: ExecutionPlan) -> Iterator[str]:
    task, skip = plan.task_id, f"Skip a step: parley plan skip {plan.task_id} STEP"
    if plan.status == "failed":
        yield f'Try again: parley plan execute --retry {task}\n{skip}\nChange it: parley plan modify {task} "…"'
    if plan.status == "paused":
        yield f"Continue: parley plan execute --retry {task}\n{skip}"
    if plan.status == "cancelled":
        yield plan.progress.text
    if plan.status == "executing" and not (plan.working or plan.question or plan.offer):
        waits = any(step.status == "waiting" for step in plan.steps)
        asks = f"A change needs your approval: parley chat --session {plan.session_id}"
        yield f"It continues by itself. Its result: parley plan execute {task}" if waits else asks


def describe_changes(plan: ExecutionPlan, previews: PlanPreviews) -> str:
    """What the remaining steps would change, one line per value; "" if there are no previews."""
    lines: list[str] = []
    for step in plan.steps:
        if (preview := previews.steps.get(step.id)) is None:
            continue
        lines.append(f"{step.number}. {step.description}")
        if preview.error:
            lines.append(f"   {REVIEW['preview_error_now'].format(why=short(preview.error, MAX_VALUE))}")
        else:
            lines += [f"   {_change_line(change)}" for change in preview.changes] or [f"   {REVIEW['preview_none']}"]
    if previews.left_out:
        lines.append(REVIEW["previews_left_out"].format(count=previews.left_out))
    return "\n".join([f"{REVIEW['preview_now']}:", *lines]) if lines else ""


def _change_line(change: Change) -> str:
    before, after = (
        REVIEW["empty"] if value is None else short(json.dumps(value, ensure_ascii=False), MAX_VALUE)
        for value in (change.before, change.after)
    )
    return f"{change.label or change.path}: {before} → {after}"


def origin(version: PlanVersion) -> str:
    """The author of this version, and the feedback that led to it."""
    is_user = version.by.startswith("user:")
    author = REVIEW["author_person" if is_user else "author"].format(by=version.by.removeprefix("user:"))
    reason = f": “{' '.join(version.reason.split())}”" if version.reason else ""
    return f"Version {version.version}. {author}{reason}"


def change_lines(difference: PlanDifference) -> Iterator[str]:
    """One line per step, and below it the fields that differ."""
    for change in difference.steps:
        step = change.after or change.before
        if step is None:
            continue
        number = change.new or change.old
        yield f"{_word(change):<10} {number}. {step.text}  {step.tool or ''}".rstrip()
        if change.kind == "changed" and change.before and change.after:
            yield from _field_changes(change.before, change.after)


def _word(change: ChangedStep) -> str:
    done = change.status == "finished" and change.kind in ("same", "moved")
    return REVIEW["step_done"] if done else CHANGE_WORDS.get(change.kind, change.kind)


def _field_changes(before: Step, after: Step) -> Iterator[str]:
    old, new = (step.model_dump(exclude={"id"}, exclude_none=True) for step in (before, after))
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield f"             {name}: {old.get(name)} → {new.get(name)}"
