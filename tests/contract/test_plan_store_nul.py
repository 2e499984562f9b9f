"""Logs of earlier releases may hold NUL characters: their sessions are projected, and stay readable."""

import pytest

from parley.events.values import Step
from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection.projector import Projector
from services.plan_store.queries.plans import get_plan, list_plans, plan_tasks, plan_versions
from services.plan_store.queries.sessions import list_sessions
from shared import store_api as api
from shared.domain.kernel import commands as c
from shared.testing import InMemoryLog
from tests.support.stories import Conversation

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


@pytest.mark.parametrize("kind_of_plan", ["text", "execution"])
async def test_a_stored_nul_leaves_every_list_and_plan_readable(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, kind_of_plan: str
) -> None:
    story = Conversation(log, "old")
    step = (
        Step(text="copy NOTHING it", tool="note", id="s1", effect="read")
        if kind_of_plan == "execution"
        else Step(text="a NOTHING b")
    )
    workflow = "execution_plan" if kind_of_plan == "execution" else None
    draft = c.DraftPlan(goal="NOTHING", steps=(step,), notes="NOTHING", kind=kind_of_plan)
    await story.commit(c.Say(text="NOTHING", workflow=workflow), draft, c.Rename(title="NOTHING"))
    for place, message in enumerate(log.messages):
        log.messages[place] = message._replace(data=message.data.replace(b"NOTHING", rb"\u0000"))
    loaded = await projector.load("old")
    assert loaded.session.plan is not None
    assert "\x00" in loaded.session.plan.steps[0].text

    assert (await list_sessions(database, api.ListSessions(user="ann"))).total == 1
    assert (await list_plans(database, api.ListPlans(user="ann"))).total == 1
    (record,) = (await plan_versions(database, "old", 100_000)).plans
    assert record == await get_plan(database, api.GetPlan(session_id="old", version=2))
    assert record.reason == "�"
    tasks = await plan_tasks(database, "old")
    assert [task.steps for task in tasks.tasks] == ([1] if kind_of_plan == "execution" else [])
