"""Sessions with turns and paths in SQL, on SQLite and on PostgreSQL."""

from typing import Any

from sqlalchemy import select

from parley.events.values import Artefact, PathPlan, Step
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection.projector import Projector
from shared.domain.kernel import commands as c
from shared.story import finish_action
from shared.testing import InMemoryLog
from tests.support.plan_store import rows
from tests.support.plan_store_paths import PLAIN, Walk
from tests.support.stories import Conversation, approve, spent

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")

ARTEFACT = Artefact(name="s/1/1.1", size=3_000_000, sha256="ab" * 32)
STORED = c.StoreResult(action_id="1.1", artefact=ARTEFACT)


async def fetch(database: ProjectionDatabase, *columns: Any) -> list[tuple[Any, ...]]:
    async with database.begin() as tx:
        return [tuple(row) for row in await tx.execute(select(*columns).order_by(columns[0]))]


def turn(*actions: dict[str, Any], **fields: Any) -> c.PlanTurn:
    return c.PlanTurn.model_validate({"sub_goal": "look", "actions": actions} | fields)


async def new_session(log: InMemoryLog) -> Conversation:
    """A session with a request to agentflow."""
    story = Conversation(log)
    await story.commit(c.Say(text="Return my boots", workflow="agentflow"))
    return story


async def assert_same_after_rebuild(log: InMemoryLog, database: ProjectionDatabase) -> None:
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before


async def test_a_stopped_turn_with_a_late_outcome_is_the_same_after_a_rebuild(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = await new_session(log)
    await story.commit(turn({"id": "1.1", "tool": "slow"}), c.Start())
    await story.commit(c.Stop(), c.Say(text="Something else"))
    await story.commit(finish_action(result="the beg…", size=ARTEFACT.size, seconds=2), STORED)
    loaded = await projector.load(story.id)
    assert loaded.session == await story.load()
    await assert_same_after_rebuild(log, database)


async def test_the_cost_of_a_nodes_model_calls_names_the_node(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    walk = Walk(log)
    await walk.ask("How many are waiting?", "generate_sql", "validate_sql")
    await walk.commit(c.Start())
    await walk.spend_on("1.1", 10)
    await walk.commit(finish_action(action_id="1.1", ok=True, result={"sql": "SELECT 1"}, seconds=2))
    await walk.spend_on("1.1", 1)
    await walk.commit(spent(100))
    await projector.load(walk.id)
    u = t.usage.c
    assert await fetch(database, u.version, u.action_id) == [(4, "1.1"), (6, "1.1"), (7, "")]
    await assert_same_after_rebuild(log, database)


async def test_a_path_keeps_its_versions(log: InMemoryLog, database: ProjectionDatabase, projector: Projector) -> None:
    walk = Walk(log)
    await walk.commit(c.Say(text="How many are waiting?", workflow="flow"))
    path = PathPlan(nodes=tuple(f"text_to_sql.{node}" for node in PLAIN), attempts=2)
    steps = tuple(Step(text=node, tool=node) for node in path.nodes)
    drafted = await walk.commit(c.DraftPlan(goal="Count them", steps=steps, kind="path", path=path))
    assert drafted.plan is not None
    await walk.commit(c.EditPlan(base=drafted.plan.version, steps=steps[2:]))
    await walk.commit(approve)
    await walk.walk()
    await projector.load(walk.id)
    p = t.plans.c
    assert await fetch(database, p.number, p.kind, p.status) == [(1, "path", "superseded"), (2, "path", "executing")]
    edited = path.model_copy(update={"nodes": path.nodes[2:]}).model_dump(mode="json")
    assert await fetch(database, p.number, p.path) == [(1, path.model_dump(mode="json")), (2, edited)]
    await assert_same_after_rebuild(log, database)
