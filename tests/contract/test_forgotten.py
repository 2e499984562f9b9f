"""Memories that their owner deletes: on SQLite and on PostgreSQL."""

import pytest
from sqlalchemy import func, select

from parley.events.values import SessionSettings
from services.plan_store import tables as t
from services.plan_store.database import Database
from services.plan_store.rebuild import rebuild_from
from shared import store_api as api
from shared.domain import commands as c
from shared.testing import InMemoryLog
from tests.contract.test_plan_store_requests import Client, refused
from tests.contract.test_recall import Shop, client, found, shop, told

__all__ = ["client", "shop"]  # fixtures
pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


@pytest.fixture
async def boots(shop: Shop) -> str:
    """A session with two requests that are remembered: at version 1, about boots, and at version 4, about a lamp."""
    story = await shop.request("Where are my boots?", "In the post.")
    await story.commit(c.Say(text="And the lamp?"))
    await shop.answer(story, "It shines.")
    return story.id


async def test_a_memory_that_is_deleted_is_not_told_again(
    client: Client, log: InMemoryLog, database: Database, boots: str
) -> None:
    _, first = (await client.ask(api.MEMORY_LIST, user="ann")).items
    assert (first.request, first.version, first.id) == ("Where are my boots?", 1, f"{boots}.1")
    gone = await client.ask(api.MEMORY_FORGET, user="ann", session_id=boots, version=1)
    assert (gone.session_id, gone.version) == (boots, 1)
    for _ in range(2):
        assert await told(client) == [(2, "And the lamp?", "answered: It shines.")]
        assert (await client.ask(api.MEMORY_LIST, user="ann", query="boots")).total == 0
        assert await found(client, "boots", recent=5) == ["And the lamp?"]
        await rebuild_from(log, database, lambda *_: None)


async def test_a_deleted_request_that_goes_on_stays_deleted(client: Client, shop: Shop) -> None:
    story = await shop.request("Where are my boots?")
    request = c.Say(text="And the lamp?", settings=SessionSettings(max_turns=6))  # settings make it no remark
    await story.commit(request, c.Fail(reason="The model is away."))
    await shop.seen(story)
    newest, _ = (await client.ask(api.MEMORY_LIST, user="ann")).items
    await client.ask(api.MEMORY_FORGET, user="ann", session_id=story.id, version=newest.version)
    await story.commit(c.Retry())
    await shop.answer(story, "It shines.")
    assert await told(client) == [(1, "Where are my boots?", "answered: Done.")]


async def test_only_a_memory_of_ones_own_is_deleted(client: Client, boots: str) -> None:
    before = await told(client)
    for user, session_id, version in (("bob", boots, 1), ("ann", boots, 2), ("ann", "other", 1)):
        gone = {"user": user, "session_id": session_id, "version": version}
        assert await refused(client, api.MEMORY_FORGET, **gone) == "unknown"
    assert await told(client) == before
    for _ in range(2):  # an answer may be lost
        await client.ask(api.MEMORY_FORGET, user="ann", session_id=boots, version=1)
    assert await refused(client, api.MEMORY_FORGET, user="bob", session_id=boots, version=1) == "unknown"


async def test_nothing_is_kept_of_it_when_its_session_is_purged(client: Client, database: Database, boots: str) -> None:
    await client.ask(api.MEMORY_FORGET, user="ann", session_id=boots, version=1)
    await client.ask(api.SESSION_PURGE, session_id=boots, user="ann")
    async with database.begin() as tx:
        assert await tx.scalar(select(func.count()).select_from(t.forgotten)) == 0
