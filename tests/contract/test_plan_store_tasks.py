"""`plan_tasks` reads from the database the same execution plan tasks that the session has, version by version."""

from typing import Any

import pytest

from services.plan_store.projection.projector import Projector
from services.plan_store.queries.plans import plan_tasks
from shared import store_api as api
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.transcript.forks import carry_over
from shared.testing import InMemoryLog
from tests.contract.test_plan_store_lists import ACTS, DONE, DRAFT, FAILED, LOOK, RUNS
from tests.support.stories import Conversation, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")

TEXT = c.Say(text="A calculator", workflow="conversation")
USERS_PLAN = c.Say(text="Look it up", workflow="execution_plan", brings_plan=True)
FIRST = (*RUNS, *DONE)


def edit_plan(session: Session) -> c.EditPlan:
    assert session.plan is not None
    return c.EditPlan(base=session.plan.version, steps=(LOOK,), goal=f"Changed after version {session.version}")


ANOTHER = c.Answer(text="Another one")
STOPPED_SECOND = (*FIRST, c.Continue(), ANOTHER, c.Stop())
STORIES: dict[str, tuple[Any, ...]] = {
    "one": FIRST,
    "drafted": (ACTS, DRAFT, edit_plan, edit_plan),
    "two": (*FIRST, ACTS, DRAFT),
    "two without a plan yet": (*FIRST, ACTS),
    "failed, then three": (*FAILED, c.Complete(), ACTS, DRAFT, edit_plan, c.Stop(), ACTS, DRAFT),
    "brought": (USERS_PLAN, c.EditPlan(base=1, steps=(LOOK,)), c.CancelPlan(), ACTS, DRAFT, edit_plan),
    "text before": (
        TEXT,
        c.DraftPlan(goal="A calculator", steps=(LOOK.model_copy(update={"tool": None, "arguments": None}),)),
    ),
    "deleted": (ACTS, DRAFT, c.CancelPlan(), c.DeletePlan(), ACTS, DRAFT, edit_plan),
    "all deleted": (*FIRST, ACTS, DRAFT, c.CancelPlan(), c.DeletePlan()),
    "asked what comes next": (*FIRST, c.Continue(), ANOTHER),
    "taken up again": (*STOPPED_SECOND, edit_plan, approve),
    "taken up again, then another": (*STOPPED_SECOND, edit_plan, c.CancelPlan(), ACTS, DRAFT),
    "taken up again after another": (*STOPPED_SECOND, ACTS, DRAFT, c.CancelPlan(), edit_plan),
    "a remark that is a request": (*FIRST, c.Say(text="Another one"), DRAFT),
}


async def tasks_of_session(projector: Projector, session_id: str) -> dict[str, tuple[list[int], int]]:
    """For each task the versions of its plan, and the last session version at which it was current."""
    tasks: dict[str, tuple[list[int], int]] = {}
    newest = (await projector.load(session_id)).session.version
    for version in range(1, newest + 1):
        session = (await projector.load(session_id, version=version)).session
        plan = session.plan
        if plan is None and session.counts.plans:
            if (await projector.load(session_id, version=version - 1)).session.plan is not None:
                tasks.clear()  # the user deleted the plan, and with it all tasks
            continue
        if plan is None or not session.task or plan.task != session.task:
            continue
        versions, _ = tasks.get(session.task, ([], 0))
        tasks[session.task] = ([*versions, *([] if plan.version in versions else [plan.version])], version)
    return tasks


@pytest.mark.parametrize("name", STORIES)
async def test_stored_tasks_match_those_of_the_session(
    log: InMemoryLog, projector: Projector, database: Any, name: str
) -> None:
    story = Conversation(log)
    await story.commit(*STORIES[name])
    newest = (await projector.load(story.id)).session
    tasks = (await plan_tasks(database, story.id)).tasks
    assert {task.task: (list(task.versions), task.until or newest.version) for task in tasks} == await tasks_of_session(
        projector, story.id
    )
    for task in tasks:
        session = (await projector.load(story.id, version=task.until)).session
        assert session.plan
        row = (task.goal, task.steps, task.versions[-1])
        assert row == (session.plan.goal, len(session.plan.steps), session.plan.version)
        assert (task.task == newest.task) == (task.until is None)


async def test_a_fork_numbers_its_own_tasks(log: InMemoryLog, projector: Projector, database: Any) -> None:
    parent, fork = Conversation(log), Conversation(log)
    session = await parent.commit(ACTS, DRAFT, edit_plan)
    forked = c.Fork(parent_id=session.id, parent_version=session.version, carried=carry_over(session))
    await fork.commit(forked, edit_plan)
    await projector.load(fork.id)
    (task,) = (await plan_tasks(database, fork.id)).tasks
    assert (task.task, task.versions, task.until, task.steps) == ("t1", (1, 2), None, 1)
    assert (await plan_tasks(database, "nobody")) == api.PlanTasks(tasks=())
