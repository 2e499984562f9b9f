"""Memories that their owner deletes, on SQLite and on PostgreSQL."""

import pytest
from sqlalchemy import func, select

from parley.events.values import SessionSettings
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.operations.rebuild import rebuild_from
from shared import store_api as api
from shared.domain.kernel import commands as c
from shared.testing import InMemoryLog
from tests.contract.test_plan_store_requests import Client, refused
from tests.contract.test_recall import ProjectedSessions, client, listed_memories, search, shop

__all__ = ["client", "shop"]  # fixtures
pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


@pytest.fixture
async def boots(shop: ProjectedSessions) -> str:
    """A session with two memories: at version 1 about boots, and at version 4 about a lamp."""
    story = await shop.request("Where are my boots?", "In the post.")
    await story.commit(c.Say(text="And the lamp?"))
    await shop.answer(story, "It shines.")
    return story.id


async def test_a_deleted_memory_is_not_recalled(
    client: Client, log: InMemoryLog, database: ProjectionDatabase, boots: str
) -> None:
    _, first = (await client.ask(api.MEMORY_LIST, user="ann")).items
    assert (first.request, first.version, first.id) == ("Where are my boots?", 1, f"{boots}.1")
    reply = await client.ask(api.MEMORY_FORGET, user="ann", session_id=boots, version=1)
    assert (reply.session_id, reply.version) == (boots, 1)
    for _ in range(2):
        assert await listed_memories(client) == [(2, "And the lamp?", "answered: It shines.")]
        assert (await client.ask(api.MEMORY_LIST, user="ann", query="boots")).total == 0
        assert await search(client, "boots", recent=5) == ["And the lamp?"]
        await rebuild_from(log, database, lambda *_: None)


async def test_a_retry_does_not_restore_a_deleted_memory(client: Client, shop: ProjectedSessions) -> None:
    story = await shop.request("Where are my boots?")
    # With settings the message is a new request, not a remark.
    request = c.Say(text="And the lamp?", settings=SessionSettings(max_turns=6))
    await story.commit(request, c.Fail(reason="The model is away."))
    await shop.project(story)
    newest, _ = (await client.ask(api.MEMORY_LIST, user="ann")).items
    await client.ask(api.MEMORY_FORGET, user="ann", session_id=story.id, version=newest.version)
    await story.commit(c.Retry())
    await shop.answer(story, "It shines.")
    assert await listed_memories(client) == [(1, "Where are my boots?", "answered: Done.")]


async def test_a_user_can_delete_only_their_own_memories(client: Client, boots: str) -> None:
    before = await listed_memories(client)
    for user, session_id, version in (("bob", boots, 1), ("ann", boots, 2), ("ann", "other", 1)):
        fields = {"user": user, "session_id": session_id, "version": version}
        assert await refused(client, api.MEMORY_FORGET, **fields) == "unknown"
    assert await listed_memories(client) == before
    for _ in range(2):  # a client repeats it if the answer is lost
        await client.ask(api.MEMORY_FORGET, user="ann", session_id=boots, version=1)
    assert await refused(client, api.MEMORY_FORGET, user="bob", session_id=boots, version=1) == "unknown"


async def test_a_purge_also_removes_the_record_of_deleted_memories(
    client: Client, database: ProjectionDatabase, boots: str
) -> None:
    await client.ask(api.MEMORY_FORGET, user="ann", session_id=boots, version=1)
    await client.ask(api.SESSION_PURGE, session_id=boots, user="ann")
    async with database.begin() as tx:
        assert await tx.scalar(select(func.count()).select_from(t.forgotten)) == 0
