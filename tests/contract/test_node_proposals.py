"""The nodes that planners propose, as plan_store records them, on SQLite and on PostgreSQL."""

import pytest

from parley.events.values import NodeProposal, PathPlan, Step
from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection.projector import Projector
from shared.domain.kernel import commands as c
from shared.testing import InMemoryLog
from tests.support.library import Library, tools
from tests.support.plan_store_paths import WISH, Walk
from tests.support.stories import approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


@pytest.fixture
def library(log: InMemoryLog, database: ProjectionDatabase, projector: Projector) -> Library:
    return Library(log, database, projector)


async def test_proposals_of_turns_and_of_plans_are_recorded(library: Library) -> None:
    walk = Walk(library.log)
    session = await walk.ask("Why so many?", proposal=WISH)
    first = (await library.proposals()).items[0]
    assert first.model_dump(exclude={"at"}) == WISH.model_dump(exclude={"reason"}) | {
        "why": WISH.reason,
        "session_id": walk.id,
        "version": session.version,
        "request": "Why so many?",
    }
    drafted = Walk(library.log)
    plot = NodeProposal(flow="text_to_sql", name="plot", description="Draws")
    await drafted.commit(c.Say(text="Draw it", workflow="flow"))
    path = PathPlan(nodes=tools("look"), proposal=plot)
    steps = (Step(text="Look", tool=path.nodes[0]),)
    await drafted.commit(c.DraftPlan(goal="Draw it", steps=steps, kind="path", path=path))
    await drafted.commit(approve)
    await Walk(library.log, user="bob").ask("His", proposal=WISH)
    page = await library.proposals()
    assert ([item.name for item in page.items], page.total) == (["plot", "explain_result"], 2)
    page = await library.proposals(limit=1, offset=1)
    assert ([item.name for item in page.items], page.total) == (["explain_result"], 2)
    await library.assert_unchanged_by_rebuild()


async def test_a_repeated_proposal_replaces_the_earlier_one(library: Library) -> None:
    walk = Walk(library.log)
    for request in ("Why so many?", "And why so few?"):
        await walk.ask(request, proposal=WISH)
        await walk.walk()
        await walk.end("Because.")
    page = await library.proposals()
    assert ([item.request for item in page.items], page.total) == (["And why so few?"], 1)


async def test_a_long_proposal_name_is_shortened_to_the_key_limit(library: Library) -> None:
    long = NodeProposal(flow="\U0001f97e" * 500, name="\x00" + "\U0001f97e" * 499, description="d")
    await Walk(library.log).ask("Why?", proposal=long)
    [proposal] = (await library.proposals()).items
    assert (proposal.flow, proposal.name) == ("\U0001f97e" * 200, "\ufffd" + "\U0001f97e" * 199)
    await library.assert_unchanged_by_rebuild()
