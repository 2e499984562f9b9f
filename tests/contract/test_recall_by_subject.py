"""Which sessions recall a request or an accepted answer: those about the same subject. On SQLite and on PostgreSQL."""

from typing import Any

import pytest
from sqlalchemy import update

from parley.events.values import Outcome, SessionSettings
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection.projector import Projector
from shared import store_api as api
from shared.domain.kernel import commands as c
from shared.testing import InMemoryLog
from tests.contract.test_plan_store_requests import Client
from tests.contract.test_recall import ProjectedSessions, client, listed_memories, search, shop
from tests.support.plan_store import rows
from tests.support.stories import Conversation
from tests.unit.domain.spec import act

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")
__all__ = ["client", "shop"]  # fixtures
ANN, BOB = "retail:ann", "retail:bob"
READS_ONLY = SessionSettings(approval="never")


async def serve(
    shop: ProjectedSessions, request: str, *subjects: str | None, story: Conversation | None = None, tells: bool = True
) -> Conversation:
    """A request with one turn for each of these subjects of a call, answered and accepted."""
    story = story or Conversation(shop.log)
    await story.commit(c.Say(text=request, workflow="agentflow", settings=READS_ONLY))
    for subject in subjects:
        session = await story.load()
        spec = act(f"{session.counts.turns + 1}.1")
        ended = Outcome(action_id=spec.id, ok=True, result="seen", subject=subject)
        planned = c.PlanTurn(sub_goal="look", actions=(spec,), tells_subjects=tells)
        await story.commit(planned, c.Start(), c.Finish(outcomes=(ended,)))
        await story.commit(c.VerifyTurn(status="success", next_action="continue"))
    ending = c.PlanTurn(sub_goal="answer", actions=(), tells_subjects=tells)
    await story.commit(ending, c.GiveAnswer(text="Done.", confidence=1), c.Judge(accepted=True))
    await shop.project(story)
    return story


async def both(client: Client, subject: str = "", **fields: Any) -> list[str]:
    """The requests that a session about this subject recalls; the examples that it gets are of the same ones."""
    recalled = await search(client, "boots", subject=subject, limit=10, **fields)
    similar = await client.ask(api.LIBRARY_SIMILAR, user="ann", query="boots", subject=subject, limit=10)
    assert {entry.request for entry in similar.items} == set(recalled)
    return sorted(recalled)


async def test_work_for_a_subject_is_recalled_for_that_subject_alone(client: Client, shop: ProjectedSessions) -> None:
    await serve(shop, "boots of nobody", None, tells=False)
    await serve(shop, "boots of Ann", "", ANN, None)
    await serve(shop, "boots of Bob", BOB)
    await serve(shop, "boots of somebody", "", None)
    await serve(shop, "boots of both", ANN, BOB)
    assert await both(client) == ["boots of nobody"]
    assert await both(client, ANN) == ["boots of Ann", "boots of nobody"]
    assert await both(client, BOB) == ["boots of Bob", "boots of nobody"]
    assert await both(client, "retail:") == ["boots of nobody"]
    newest = await search(client, "", subject=ANN, recent=10)
    assert newest == ["boots of Ann", "boots of nobody"], "also where they are compared by meaning"
    assert len(await listed_memories(client)) == 5, "the owner sees all"
    assert (await client.ask(api.LIBRARY_LIST, user="ann")).total == 5


async def test_a_second_subject_takes_back_what_the_session_had_for_the_first(
    client: Client, shop: ProjectedSessions
) -> None:
    story = await serve(shop, "boots of Ann", ANN)
    assert await both(client, ANN) == ["boots of Ann"]
    await serve(shop, "boots of Bob", BOB, story=story)
    await serve(shop, "boots again", ANN, story=story)
    assert [await both(client, subject) for subject in ("", ANN, BOB)] == [[], [], []]


async def test_later_requests_of_a_session_are_for_its_subject(client: Client, shop: ProjectedSessions) -> None:
    story = await serve(shop, "boots of Ann", ANN)
    await serve(shop, "boots and a sum", None, story=story, tells=False)
    assert (await both(client), await both(client, ANN)) == ([], ["boots and a sum", "boots of Ann"])


@pytest.mark.parametrize("ends", [c.Stop(), c.Fail(reason="The model is away.")])
async def test_a_request_that_ends_before_it_is_planned_is_not_recalled(
    ends: c.Stop | c.Fail, client: Client, shop: ProjectedSessions
) -> None:
    story = Conversation(shop.log)
    await story.commit(c.Say(text="boots of somebody", workflow="agentflow"), ends)
    await shop.project(story)
    assert [request for _, request, _ in await listed_memories(client)] == ["boots of somebody"]
    assert await both(client, ANN) == []


async def test_a_subject_that_is_known_only_after_a_stop_counts(client: Client, shop: ProjectedSessions) -> None:
    story = Conversation(shop.log)
    await story.commit(c.Say(text="boots of Ann", workflow="agentflow", settings=READS_ONLY))
    await story.commit(c.PlanTurn(sub_goal="look", actions=(act("1.1"),)), c.Start(), c.Stop())
    await shop.project(story)
    assert await search(client, "boots") == ["boots of Ann"], "no tool that tells was on offer"
    await story.commit(c.Finish(outcomes=(Outcome(action_id="1.1", ok=True, subject=ANN),)))
    await shop.project(story)
    assert [await search(client, "boots", subject=subject) for subject in ("", ANN)] == [[], ["boots of Ann"]]


async def test_a_rebuild_gives_the_same_subjects_and_older_rows_are_not_recalled(
    client: Client, shop: ProjectedSessions, database: ProjectionDatabase, log: InMemoryLog, projector: Projector
) -> None:
    story = await serve(shop, "boots of Ann", ANN)
    await serve(shop, "boots of Bob", BOB)
    await serve(shop, "boots of nobody", tells=False)
    await serve(shop, "boots of both", ANN, BOB)
    await serve(shop, "more boots of Ann", "", story=story)
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before
    async with database.begin() as tx:  # as a migration leaves them
        for table in (t.memories, t.library):
            await tx.execute(update(table).values(subject=None))
    assert await both(client, ANN) == []
    await rebuild_from(log, database, lambda *_: None)
    assert await both(client, ANN) == ["boots of Ann", "boots of nobody", "more boots of Ann"]
