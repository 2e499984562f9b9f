"""The tasks of a session's execution plans from its rows: the same as in the session at each version."""

from typing import Any

import pytest

from services.plan_store.projection import Projector
from services.plan_store.tasks import plan_tasks
from shared import store_api as api
from shared.domain import commands as c
from shared.domain.forks import carry_over
from shared.domain.session import Session
from shared.testing import InMemoryLog
from tests.contract.test_plan_store_lists import ACTS, DONE, DRAFT, FAILED, LOOK, RUNS
from tests.support.stories import Conversation, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")

TEXT = c.Say(text="A calculator", workflow="conversation")
OWN = c.Say(text="Look it up", workflow="execution_plan", brings_plan=True)
FIRST = (*RUNS, *DONE)


def edited(session: Session) -> c.EditPlan:
    assert session.plan is not None
    return c.EditPlan(base=session.plan.version, steps=(LOOK,), goal=f"Changed after version {session.version}")


ANOTHER = c.Answer(text="Another one")
AGAIN = (*FIRST, c.Continue(), ANOTHER, c.Stop())
STORIES: dict[str, tuple[Any, ...]] = {
    "one": FIRST,
    "drafted": (ACTS, DRAFT, edited, edited),
    "two": (*FIRST, ACTS, DRAFT),
    "two without a plan yet": (*FIRST, ACTS),
    "failed, then three": (*FAILED, c.Complete(), ACTS, DRAFT, edited, c.Stop(), ACTS, DRAFT),
    "brought": (OWN, c.EditPlan(base=1, steps=(LOOK,)), c.CancelPlan(), ACTS, DRAFT, edited),
    "text before": (
        TEXT,
        c.DraftPlan(goal="A calculator", steps=(LOOK.model_copy(update={"tool": None, "arguments": None}),)),
    ),
    "deleted": (ACTS, DRAFT, c.CancelPlan(), c.DeletePlan(), ACTS, DRAFT, edited),
    "all deleted": (*FIRST, ACTS, DRAFT, c.CancelPlan(), c.DeletePlan()),
    "asked what comes next": (*FIRST, c.Continue(), ANOTHER),
    "taken up again": (*AGAIN, edited, approve),
    "taken up again, then another": (*AGAIN, edited, c.CancelPlan(), ACTS, DRAFT),
    "taken up again after another": (*AGAIN, ACTS, DRAFT, c.CancelPlan(), edited),
    "a remark that is a request": (*FIRST, c.Say(text="Another one"), DRAFT),
}


async def known(projector: Projector, session_id: str) -> dict[str, tuple[list[int], int]]:
    """By task: the versions of its plan, and the last session version at which it was current."""
    tasks: dict[str, tuple[list[int], int]] = {}
    newest = (await projector.load(session_id)).session.version
    for version in range(1, newest + 1):
        session = (await projector.load(session_id, version=version)).session
        plan = session.plan
        if plan is None and session.counts.plans:
            if (await projector.load(session_id, version=version - 1)).session.plan is not None:
                tasks.clear()  # deleted, with all that there was
            continue
        if plan is None or not session.task or plan.task != session.task:
            continue
        versions, _ = tasks.get(session.task, ([], 0))
        tasks[session.task] = ([*versions, *([] if plan.version in versions else [plan.version])], version)
    return tasks


@pytest.mark.parametrize("name", STORIES)
async def test_tasks_match_those_of_the_session(
    log: InMemoryLog, projector: Projector, database: Any, name: str
) -> None:
    story = Conversation(log)
    await story.commit(*STORIES[name])
    newest = (await projector.load(story.id)).session
    tasks = (await plan_tasks(database, story.id)).tasks
    assert {task.task: (list(task.versions), task.until or newest.version) for task in tasks} == await known(
        projector, story.id
    )
    for task in tasks:
        as_it_was = (await projector.load(story.id, version=task.until)).session
        assert as_it_was.plan
        row = (task.goal, task.steps, task.versions[-1])
        assert row == (as_it_was.plan.goal, len(as_it_was.plan.steps), as_it_was.plan.version)
        assert (task.task == newest.task) == (task.until is None)


async def test_a_fork_has_a_task_of_its_own(log: InMemoryLog, projector: Projector, database: Any) -> None:
    parent, fork = Conversation(log), Conversation(log)
    session = await parent.commit(ACTS, DRAFT, edited)
    await fork.commit(c.Fork(parent_id=session.id, parent_version=session.version, carried=carry_over(session)), edited)
    await projector.load(fork.id)
    (task,) = (await plan_tasks(database, fork.id)).tasks
    assert (task.task, task.versions, task.until, task.steps) == ("t1", (1, 2), None, 1)
    assert (await plan_tasks(database, "nobody")) == api.PlanTasks(tasks=())
