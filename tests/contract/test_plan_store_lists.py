"""Columns for lists: why a session rests, whether its plan is completed, and which plans are newest."""

from datetime import UTC, datetime

from sqlalchemy import update

from parley.events.values import Step
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection.projector import Projector
from services.plan_store.queries.plans import list_plans
from services.plan_store.queries.sessions import list_sessions
from shared import store_api as api
from shared.domain.kernel import commands as c
from shared.domain.steps.plan_steps import is_held_up
from shared.story import finish_action
from shared.testing import InMemoryLog
from tests.support.stories import Conversation, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")

LOOK = Step(text="Look the order up", tool="get_order", id="s1", effect="read", arguments={"order": "#W1"})
NOTE = Step(text="Note it", tool="note", id="s2", effect="read", arguments={"text": "a"}, after=("s1",))
ACTS = c.Say(text="Look the order up", workflow="execution_plan")
DRAFT = c.DraftPlan(goal="Look the order up", steps=(LOOK, NOTE), kind="execution")
RUNS = (ACTS, DRAFT, approve, c.Start())
JUDGED = (
    c.VerifyTurn(status="failure", next_action="complete", reasoning="no"),
    c.GiveAnswer(text="No.", confidence=1),
)
DONE = (
    finish_action(action_id="t2.s1", ok=True),
    c.Start(),
    finish_action(action_id="t2.s2", ok=True),
    c.VerifyTurn(status="success", next_action="complete", reasoning="well"),
    c.GiveAnswer(text="Done.", confidence=1),
)
FAILED = (*RUNS, finish_action(action_id="t2.s1", ok=False), *JUDGED)
OTHERWISE = c.DraftPlan(goal="Note it", steps=(LOOK, NOTE.model_copy(update={"id": "s3"})), kind="execution")
STORIES = {  # session id: commands, state in words, rest reason, whether the plan is unfinished
    "new": ((c.Say(text="A calculator"),), "planning", "new", False),
    "stopped": ((c.Say(text="A calculator"), c.Stop()), "stopped", "stopped", False),
    "to-approve": ((ACTS, DRAFT), "plan to approve", "new", False),
    "runs": (RUNS, "running", "new", False),
    "paused": ((*RUNS, c.Pause()), "paused", "new", True),
    "paused-draft": ((ACTS, c.Pause()), "paused", "new", False),
    "cut-off": ((*RUNS, c.Stop()), "stopped", "stopped", True),
    "done": ((*RUNS, *DONE), "ready", "answered", False),
    "failed": (FAILED, "ready", "answered", True),
    "left": ((*FAILED, c.Complete()), "done", "completed", False),
    "replanned": ((*FAILED, c.Say(text="Do it otherwise")), "answering you", "answered", False),
    "offered": ((*RUNS, c.Say(text="Do it otherwise"), OTHERWISE), "offer for you", "new", False),
}


async def store_all_stories(log: InMemoryLog, projector: Projector) -> dict[str, Conversation]:
    stories = {name: Conversation(log, name) for name in STORIES}
    for name, story in stories.items():
        await story.commit(*STORIES[name][0])
        await projector.load(name)
    return stories


async def test_a_row_has_the_rest_reason_and_whether_the_plan_is_unfinished(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    stories = await store_all_stories(log, projector)
    page = await list_sessions(database, api.ListSessions(user="ann"))
    columns = {row.id: (row.word, row.rest_reason, row.unfinished) for row in page.sessions}
    assert columns == {name: tuple(expected) for name, (_, *expected) in STORIES.items()}
    for name, story in stories.items():
        session = (await story.load_at_position()).session
        assert (session.rest_reason, is_held_up(session)) == columns[name][1:]


async def test_unfinished_plans_and_offers_are_listed_with_waiting_sessions(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    await store_all_stories(log, projector)
    ask = api.ListSessions(
        user="ann", phases=("awaiting_approval", "awaiting_input", "failed", api.UNFINISHED, api.OFFER)
    )
    page = await list_sessions(database, ask)
    assert {row.id for row in page.sessions} == {"to-approve", "paused", "cut-off", "failed", "offered"}
    assert (await list_sessions(database, ask.model_copy(update={"query": "spaceship"}))).total == 0
    assert (await list_sessions(database, ask.model_copy(update={"user": "bob"}))).total == 0


async def test_plans_are_listed_newest_first_page_by_page(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    for number in range(6):
        story = Conversation(log, f"s{number}", user="bob" if number == 5 else "ann")
        await story.commit(ACTS, DRAFT, c.EditPlan(base=2, steps=(LOOK,), goal=f"Look {number} up"))
        if number == 1:
            await story.commit(c.DeletePlan())
        if number >= 4:
            await story.commit(c.Share(user="eve", role="viewer"))
        await projector.load(story.id)
    await Conversation(log, "empty").commit(c.Say(text="A calculator"))
    await projector.load("empty")

    async def listed(**ask: object) -> tuple[list[str], int]:
        page = await list_plans(database, api.ListPlans.model_validate(ask))
        assert all((plan.number, len(plan.steps)) == (2, 1) for plan in page.plans)
        return [plan.goal.split()[1] for plan in page.plans], page.total

    assert await listed() == (["5", "4", "3", "2", "0"], 5)
    assert await listed(user="ann") == (["4", "3", "2", "0"], 4)
    assert await listed(user="ann", limit=2, offset=1) == (["3", "2"], 4)
    assert await listed(user="ann", offset=9) == ([], 4)
    assert await listed(user="eve") == (["5", "4"], 2)
    assert await listed(user="bob", kinds=("execution",)) == (["5"], 1)
    assert await listed(kinds=("text",)) == ([], 0)
    assert await listed(statuses=("pending_approval",), limit=1) == (["5"], 5)
    assert await listed(statuses=("superseded",)) == ([], 0)
    async with database.begin() as tx:  # plans of the same time are ordered by session id
        await tx.execute(update(t.plans).values(at=datetime(2026, 1, 1, tzinfo=UTC)))
    assert await listed(user="ann", limit=3) == (["0", "2", "3"], 4)


async def test_a_share_with_the_owner_lists_a_session_once_and_a_revoked_share_hides_it(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = Conversation(log)
    await story.commit(ACTS, DRAFT, c.Share(user="eve", role="viewer"), c.Share(user="eve", role=None))
    await projector.load(story.id)
    async with database.begin() as tx:
        await tx.execute(t.shares.insert().values(session_id=story.id, user="ann", role="viewer"))
    for user, total in (("ann", 1), ("eve", 0)):
        assert (await list_plans(database, api.ListPlans(user=user))).total == total
        assert (await list_sessions(database, api.ListSessions(user=user))).total == total
