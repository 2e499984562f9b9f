"""Queries about plans: lists, versions, their differences, and tasks."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from sqlalchemy import RowMapping, Select, and_, case, func, select

from parley.events.values import Step
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.queries.sessions import (
    ANSWER_BYTES,
    materialized,
    require_complete,
    rows,
    rows_within,
    visible_to,
    without_total,
)
from shared import store_api as api
from shared.domain.plan.text import plan_text
from shared.domain.transcript.compaction import newest_within
from shared.store_api import PlanDiff, PlanOrigin, PlanRecord, StepChange

# when the session's newest plan, its status or a step last changed
updated_at = t.sessions.c.snapshot["plan_changed_at"].as_string().label("updated_at")
MIN_SIMILARITY = 0.5  # from this similarity on a step counts as changed, below it as replaced
MAX_COMPARED = 500  # characters of a step
MAX_LINES = 2_000  # of a text: difflib takes quadratic time, at worst about 40 ms for this many
CONTEXT_LINES = 3  # unchanged lines around a change


def plan_record(row: Mapping[Any, Any]) -> api.PlanRecord:
    steps = tuple(Step.model_validate(step) for step in row["steps"])
    fields = {**row, "steps": steps, "text": plan_text(row["goal"], steps, row["notes"])}
    return api.PlanRecord.model_validate(fields)


def _with_reason(session_id: str) -> Select[Any]:
    """A query for the versions of a session's plan, each with the reason from its event."""
    plan, event = t.plans.c, t.journal.c
    of_version = and_(event.session_id == plan.session_id, event.version == plan.version)
    reason = func.coalesce(event.body["reason"].as_string(), "").label("reason")
    return select(t.plans, reason).outerjoin(t.journal, of_version).where(plan.session_id == session_id)


async def plan_versions(database: ProjectionDatabase, session_id: str, size: int) -> api.PlanHistory:
    query = _with_reason(session_id).order_by(t.plans.c.number.desc())
    rows_found = await _newest_first(database, query, size)
    return api.PlanHistory(plans=_newest_within([plan_record(row) for row in rows_found], size))


async def get_plan(database: ProjectionDatabase, ask: api.GetPlan) -> api.PlanRecord:
    """The given version, by default the newest that is not deleted. Raises StoreError (unknown)."""
    query = _with_reason(ask.session_id).order_by(t.plans.c.number.desc())
    conditions = ~t.plans.c.deleted if ask.version is None else t.plans.c.version == ask.version
    rows_found = await rows(database, query.where(conditions).limit(1))
    if not rows_found:
        raise api.StoreError("unknown", "There is no such plan.")
    return plan_record(rows_found[0])


async def list_plans(database: ProjectionDatabase, ask: api.ListPlans) -> api.PlanPage:
    """One page of sessions' newest plans. Index lookups select them; only those of the page are read completely.

    No column marks the newest version, so none can be wrong after another release has written.
    """
    plan, visible = t.plans.c, visible_to(ask.user, select(t.sessions.c.id)).subquery()
    conditions = [~plan.deleted]
    conditions += [plan.status.in_(ask.statuses)] if ask.statuses else []
    conditions += [plan.kind.in_(ask.kinds)] if ask.kinds else []
    last = select(t.plans).where(plan.session_id == visible.c.id).order_by(plan.number.desc()).limit(1)
    at = last.with_only_columns(case((and_(*conditions), plan.at))).scalar_subquery()
    newest = materialized(select(visible.c.id, at.label("at")))
    keys = select(newest).where(newest.c.at.is_not(None))
    count = select(func.count()).select_from(keys.subquery())
    page = keys.order_by(newest.c.at.desc(), newest.c.id).limit(ask.limit).offset(ask.offset)
    selected = page.add_columns(count.scalar_subquery().label("total")).subquery()
    version = t.plans.alias().c
    number = select(func.max(version.number)).where(version.session_id == selected.c.id).scalar_subquery()
    of_page = selected.join(t.plans, and_(plan.session_id == selected.c.id, plan.number == number))
    of_page = of_page.join(t.sessions, t.sessions.c.id == selected.c.id)
    async with database.begin() as tx:
        query = (
            select(t.plans, updated_at, selected.c.total)
            .select_from(of_page)
            .order_by(selected.c.at.desc(), selected.c.id)
        )
        rows_found, whole = await rows_within(tx, query, ANSWER_BYTES)
        total = rows_found[0]["total"] if rows_found else await tx.scalar(count) if ask.offset else 0
    require_complete(whole)
    return api.PlanPage(plans=tuple(plan_record(without_total(row)) for row in rows_found), total=total or 0)


async def code_versions(database: ProjectionDatabase, ask: api.CodeVersions, size: int) -> api.CodeHistory:
    columns = (t.code_versions.c[name] for name in api.CodeRecord.model_fields)
    query = (
        select(*columns).where(t.code_versions.c.session_id == ask.session_id).order_by(t.code_versions.c.number.desc())
    )
    rows_found = await _newest_first(database, query, size)
    return api.CodeHistory(codes=_newest_within([api.CodeRecord(**row) for row in rows_found], size))


async def _newest_first(database: ProjectionDatabase, query: Select[Any], size: int) -> list[RowMapping]:
    async with database.begin() as tx:
        return (await rows_within(tx, query, size))[0]


def _newest_within[Record: api.StoreMessage](records: Sequence[Record], size: int) -> tuple[Record, ...]:
    """All versions, oldest first, or as many of the newest as fit the answer: this request has no paging."""
    return newest_within(tuple(reversed(records)), size, lambda record: record.model_dump_json())


def diff(old: PlanRecord, new: PlanRecord) -> PlanDiff:
    """The difference between two versions, line by line unless a text has more than `MAX_LINES` lines."""
    before, after = old.text.splitlines(), new.text.splitlines()
    coarse = max(len(before), len(after)) > MAX_LINES
    names = f"version {old.version}", f"version {new.version}"
    lines = _coarse(before, after, *names) if coarse else difflib.unified_diff(before, after, *names, lineterm="")
    steps = tuple(compare(old.steps, new.steps))
    origins = tuple(PlanOrigin(**record.model_dump(include=set(PlanOrigin.model_fields))) for record in (old, new))
    unified = "\n".join(lines)
    return PlanDiff(old=old.version, new=new.version, unified=unified, steps=steps, coarse=coarse, origins=origins)


def _coarse(before: Sequence[str], after: Sequence[str], old: str, new: str) -> list[str]:
    """A unified diff with one hunk from the first changed line to the last. Takes linear time."""
    if before == after:
        return []
    head = _common_prefix(before, after)
    tail = min(_common_prefix(before[::-1], after[::-1]), min(len(before), len(after)) - head)
    start, leading, trailing = max(head - CONTEXT_LINES, 0), min(head, CONTEXT_LINES), min(tail, CONTEXT_LINES)
    removed, added = before[head : len(before) - tail], after[head : len(after) - tail]
    around = leading + trailing
    return [
        f"--- {old}",
        f"+++ {new}",
        f"@@ -{start + 1},{len(removed) + around} +{start + 1},{len(added) + around} @@",
        *(f" {line}" for line in before[start:head]),
        *(f"-{line}" for line in removed),
        *(f"+{line}" for line in added),
        *(f" {line}" for line in before[len(before) - tail : len(before) - tail + trailing]),
    ]


def _common_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    """The number of equal lines at the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def compare(old: tuple[Step, ...], new: tuple[Step, ...]) -> Iterator[StepChange]:
    """One change per step of either plan: in the new plan's order, removed steps before the step that followed them."""
    before, after = [step.model_dump_json() for step in old], [step.model_dump_json() for step in new]
    old_index = _match_by_id(old, new) if _have_ids(old, new) else _match_steps(old, new, before, after)
    unchanged = _unchanged(before, after)
    removals = iter(sorted(set(range(len(old))) - set(old_index.values())))
    removed = next(removals, None)
    for j, step in enumerate(new):
        i = old_index.get(j)
        while removed is not None and i is not None and removed < i:
            yield StepChange(kind="removed", old=removed + 1, new=None, before=old[removed], after=None)
            removed = next(removals, None)
        if i is None:
            yield StepChange(kind="added", old=None, new=j + 1, before=None, after=step)
        elif before[i] != after[j]:
            yield StepChange(kind="changed", old=i + 1, new=j + 1, before=old[i], after=step)
        else:
            kind = "same" if (i, j) in unchanged else "moved"
            yield StepChange.model_validate({"kind": kind, "old": i + 1, "new": j + 1, "before": old[i], "after": step})
    while removed is not None:
        yield StepChange(kind="removed", old=removed + 1, new=None, before=old[removed], after=None)
        removed = next(removals, None)


def _have_ids(*plans: tuple[Step, ...]) -> bool:
    """Whether every step has an id. A step keeps its id in all versions of a plan."""
    return all(step.id for steps in plans for step in steps)


def _match_by_id(old: tuple[Step, ...], new: tuple[Step, ...]) -> dict[int, int]:
    """New step index to the index of the old step with the same id."""
    places = {step.id: i for i, step in enumerate(old)}
    return {j: places[step.id] for j, step in enumerate(new) if step.id in places}


def _unchanged(before: list[str], after: list[str]) -> set[tuple[int, int]]:
    """Index pairs of equal steps in the same order on both sides: about a longest common subsequence."""
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return {(block.a + k, block.b + k) for block in blocks for k in range(block.size)}


def _match_steps(old: tuple[Step, ...], new: tuple[Step, ...], before: list[str], after: list[str]) -> dict[int, int]:
    """New step index to old step index: equal steps in order first, then equal ones, then similar ones."""
    matches = {j: i for i, j in _unchanged(before, after)}
    left = [i for i in range(len(old)) if i not in matches.values()]
    for j in range(len(new)):
        if j not in matches and (i := next((i for i in left if before[i] == after[j]), None)) is not None:
            matches[j] = i
            left.remove(i)
    old_bigrams = {i: _bigrams(old[i]) for i in left}
    for j in range(len(new)):
        if j in matches or not left:
            continue
        bigrams = _bigrams(new[j])
        similarity, place = max((_similarity(old_bigrams[i], bigrams), -i) for i in left)
        if similarity >= MIN_SIMILARITY:
            matches[j] = -place
            left.remove(-place)
    return matches


def _bigrams(step: Step) -> set[str]:
    """The pairs of adjacent characters: a cheap measure of similarity for any language."""
    text = step.text[:MAX_COMPARED].casefold()
    return {text[k : k + 2] for k in range(len(text))}


def _similarity(first: set[str], second: set[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second))


async def plan_tasks(database: ProjectionDatabase, session_id: str) -> api.PlanTasks:
    """The tasks, oldest first, without deleted plans."""
    plan, event = t.plans.c, t.journal.c
    of_event = and_(event.session_id == plan.session_id, event.version == plan.version)
    columns = (plan.number, plan.version, plan.kind, plan.goal, plan.status, plan.at, plan.deleted, event.type)
    drafted, steps = event.body["task"].as_string().label("task"), func.json_array_length(plan.steps).label("steps")
    versions = select(*columns, drafted, steps).join(t.journal, of_event).where(plan.session_id == session_id)
    rounds = select(event.version).where(event.session_id == session_id, event.begins_round)
    async with database.begin() as tx:
        rows = (await tx.execute(versions.order_by(plan.number))).mappings().all()
        begins = list(await tx.scalars(rounds.order_by(event.version)))
        is_last = and_(event.session_id == session_id, event.version.in_([version - 1 for version in begins]))
        times: dict[int | None, Any] = dict((await tx.execute(select(event.version, event.at).where(is_last))).all())
        times[None] = await tx.scalar(select(updated_at).where(t.sessions.c.id == session_id))
    return api.PlanTasks(tasks=tuple(_tasks(rows, begins, times)))


def _tasks(
    rows: Sequence[RowMapping], begins: Sequence[int], times: Mapping[int | None, Any]
) -> Iterator[api.PlanTask]:
    """`times`: by a task's `until`, when it last changed."""
    versions: dict[str, list[RowMapping]] = {}
    task, deleted = "", False
    for row in rows:
        task = _task(row, "" if deleted else task)
        deleted = row["deleted"]
        if task and not deleted:
            versions.setdefault(task, []).append(row)
    for task, of_task in versions.items():
        last = of_task[-1]
        until = next((version - 1 for version in begins if version > last["version"]), None)
        yield api.PlanTask(
            task=task,
            versions=tuple(row["version"] for row in of_task),
            until=until,
            updated_at=times.get(until),
            **{name: last[name] for name in ("goal", "status", "steps", "at")},
        )


def _task(row: RowMapping, before: str) -> str:
    """The task of this version of the plan, by the domain's rule; "" if it is not an execution plan."""
    match row["type"]:
        case "plan.drafted":
            return row["task"] or ""
        case "plan.edited" if before or row["number"] > 1:
            return before
        case _ if row["kind"] == "execution":  # submitted by a user, or carried over into a fork
            return f"t{row['version']}"
        case _:
            return ""
