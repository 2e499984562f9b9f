"""plan_store's answers to requests, encoded as on the bus, on SQLite and on PostgreSQL."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.handlers import RequestHandlers, Responder
from services.plan_store.operations.purge import incomplete_purges
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection.projector import Projector
from shared import store_api as api
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.log import LogUnavailable, fork
from shared.store_api import StoreError
from shared.testing import InMemoryLog, session_ids
from tests.support.plan_store import rows
from tests.support.stories import STEPS, Conversation, approve, spent

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


class Client:
    """Encodes requests and decodes answers as the gateway does."""

    def __init__(self, responders: dict[str, Responder]) -> None:
        self._responders = responders

    async def ask[Q: api.StoreMessage, A: api.StoreMessage](self, verb: api.Verb[Q, A], **fields: Any) -> A:
        return await self.raw(verb, verb.request(**fields).model_dump_json().encode())

    async def raw[Q: api.StoreMessage, A: api.StoreMessage](self, verb: api.Verb[Q, A], body: bytes) -> A:
        answer = await self._responders[verb.subject](verb.subject, body)
        if answer.startswith(b'{"error":'):
            problem = api.ErrorReply.model_validate_json(answer).error
            raise StoreError(problem.code, problem.message)
        return verb.answer.model_validate_json(answer)


@pytest.fixture
def client(log: InMemoryLog, database: ProjectionDatabase, projector: Projector) -> Client:
    return Client(RequestHandlers(log, database, projector).responders())


async def refused(client: Client, verb: api.Verb[Any, Any], **fields: Any) -> str:
    """The error code of a request that plan_store refuses."""
    with pytest.raises(StoreError) as refusal:
        await client.ask(verb, **fields)
    return refusal.value.code


# --- sessions


async def test_load_returns_the_whole_session(client: Client, log: InMemoryLog) -> None:
    story = Conversation(log)
    await story.whole()
    answer = await client.ask(api.SESSION_LOAD, session_id=story.id, at_least=log.last(story.id))
    assert (answer.session, answer.position) == await story.load_at_position()
    assert await refused(client, api.SESSION_LOAD, session_id=story.id, at_least=10_000) == "behind"


async def test_lists_newest_first_by_page_and_state(client: Client, log: InMemoryLog) -> None:
    stories = [Conversation(log) for _ in range(4)]
    for story in stories:
        await story.plan()
    await stories[0].commit(c.Rename(title="Touched last"))
    for story in stories:
        await client.ask(api.SESSION_GET, session_id=story.id)
    page = await client.ask(api.SESSION_LIST, limit=2)
    assert [s.id for s in page.sessions] == [stories[0].id, stories[3].id]
    assert page.total == 4
    rest = await client.ask(api.SESSION_LIST, limit=2, offset=2)
    assert [s.id for s in rest.sessions] == [stories[2].id, stories[1].id]

    await stories[1].commit(approve)
    summary = await client.ask(api.SESSION_GET, session_id=stories[1].id)
    assert (summary.work_service, summary.phase) == ("generator", "coding")
    in_approval = await client.ask(api.SESSION_LIST, states=("text_plan_approval",))
    assert {s.id for s in in_approval.sessions} == {stories[0].id, stories[2].id, stories[3].id}
    working = await client.ask(api.SESSION_LIST, phases=("coding",))
    assert [s.id for s in working.sessions] == [stories[1].id]


async def test_a_user_sees_their_own_and_shared_sessions(client: Client, log: InMemoryLog) -> None:
    anns, bobs = Conversation(log, user="ann"), Conversation(log, user="bob")
    await anns.plan()
    await bobs.plan()
    for story in (anns, bobs):
        await client.ask(api.SESSION_GET, session_id=story.id)
    assert [s.id for s in (await client.ask(api.SESSION_LIST, user="bob")).sessions] == [bobs.id]
    await anns.commit(c.Share(user="bob", role="viewer"))
    await client.ask(api.SESSION_GET, session_id=anns.id)
    assert {s.id for s in (await client.ask(api.SESSION_LIST, user="bob")).sessions} == {anns.id, bobs.id}
    assert (await client.ask(api.PLAN_LIST, user="bob")).total == 2
    assert (await client.ask(api.SESSION_LIST, user="eve")).total == 0


async def test_a_search_has_no_special_characters(client: Client, log: InMemoryLog) -> None:
    texts = {
        "percent": "Make a 100% chart",
        "snake": "Rename snake_case",
        "quote": 'Greet O\'Brien with "hi"',
        "slash": "Path C:\\temp",
        "german": "Eine Straße zeichnen",
        "chinese": "写一个计算器",
    }
    for session_id, text in texts.items():
        await Conversation(log, session_id).commit(c.Say(text=text))
        await client.ask(api.SESSION_GET, session_id=session_id)
    queries: dict[str, set[str]] = {
        "100%": {"percent"},
        "%": {"percent"},
        "_": {"snake"},
        "o'brien": {"quote"},
        '"': {"quote"},
        "\\": {"slash"},
        "straße": {"german"},
        "STRASSE": {"german"},
        "计算": {"chinese"},
        "make chart": {"percent"},
        "chart MAKE": {"percent"},
        "chart nothing": set(),
        "'; drop table sessions; --": set(),
        "\x00": set(texts),
    }
    for query, expected in queries.items():
        page = await client.ask(api.SESSION_LIST, query=query)
        assert {s.id for s in page.sessions} == expected, query


async def test_invalid_requests_and_unknown_sessions_are_refused(client: Client) -> None:
    for body in (b"", b"[]", b'{"session_id": "a b"}', b'{"session_id": "a", "more": 1}', b"\xff"):
        with pytest.raises(StoreError) as refusal:
            await client.raw(api.SESSION_GET, body)
        assert refusal.value.code == "bad_request"
    assert await refused(client, api.SESSION_GET, session_id="nobody") == "unknown"
    assert await refused(client, api.PLAN_GET, session_id="nobody") == "unknown"
    assert (await client.ask(api.JOURNAL_READ, session_id="nobody")) == api.JournalPage(events=(), version=0)
    assert (await client.ask(api.HEALTH)).sessions == 0


async def test_the_journal_is_read_from_a_version(client: Client, log: InMemoryLog) -> None:
    story = Conversation(log)
    session = await story.whole()
    read: list[int] = []
    while True:
        page = await client.ask(api.JOURNAL_READ, session_id=story.id, after=len(read), limit=7)
        assert page.version == session.version
        if not page.events:
            break
        read += [event.version for event in page.events]
    assert read == list(range(1, session.version + 1))


async def test_a_page_of_large_events_has_fewer_events(client: Client, log: InMemoryLog) -> None:
    story = Conversation(log)
    await story.plan()
    for n in range(30):
        version = (await story.load()).version
        notes = f"{n}" + "x" * 100_000
        await story.commit(c.EditPlan(base=version, steps=STEPS, notes=notes))
    page = await client.ask(api.JOURNAL_READ, session_id=story.id, limit=1000)
    assert 2 < len(page.events) < 15
    assert page.version == 32


# --- plans and code


async def test_plan_versions_and_their_diff(client: Client, log: InMemoryLog) -> None:
    story = Conversation(log)
    await story.whole()
    plans = (await client.ask(api.PLAN_VERSIONS, session_id=story.id)).plans
    assert [plan.number for plan in plans] == [1, 2, 3]
    newest = await client.ask(api.PLAN_GET, session_id=story.id)
    assert newest == plans[2]
    assert await client.ask(api.PLAN_GET, session_id=story.id, version=plans[0].version) == plans[0]

    diff = await client.ask(api.PLAN_DIFF, session_id=story.id, old=plans[0].version, new=plans[2].version)
    assert "-Goal: A calculator\n+Goal: A calculator for floats" in diff.unified
    assert [(s.kind, s.old, s.new) for s in diff.steps] == [("moved", 2, 1), ("same", 1, 2), ("removed", 3, None)]
    same = await client.ask(api.PLAN_DIFF, session_id=story.id, old=plans[0].version, new=plans[0].version)
    assert same.unified == ""
    assert {s.kind for s in same.steps} == {"same"}
    assert await refused(client, api.PLAN_DIFF, session_id=story.id, old=1, new=2) == "unknown"


async def test_a_plan_is_listed_until_it_is_deleted(client: Client, log: InMemoryLog) -> None:
    story, other = Conversation(log), Conversation(log)
    for each in (story, other):
        await each.plan()
        await client.ask(api.SESSION_GET, session_id=each.id)
    assert (await client.ask(api.PLAN_LIST, user="ann", statuses=("pending_approval",))).total == 2
    await story.commit(c.DeletePlan())
    await client.ask(api.SESSION_GET, session_id=story.id)
    assert [plan.session_id for plan in (await client.ask(api.PLAN_LIST)).plans] == [other.id]
    assert await refused(client, api.PLAN_GET, session_id=story.id) == "unknown"
    assert (await client.ask(api.PLAN_GET, session_id=story.id, version=2)).deleted


async def test_code_versions_include_their_checks(client: Client, log: InMemoryLog) -> None:
    story = Conversation(log)
    await story.whole()
    codes = (await client.ask(api.CODE_VERSIONS, session_id=story.id)).codes
    assert [(code.number, code.checks[0].ok) for code in codes] == [(1, False), (2, True)]
    assert codes[1].tests == "def test(): ..."


async def test_usage_by_model_and_role(client: Client, log: InMemoryLog) -> None:
    anns, bobs = Conversation(log, user="ann"), Conversation(log, user="bob")
    for story in (anns, bobs):
        await story.plan()
    await anns.commit(spent())
    await anns.commit(spent(20, cost=0.5))
    await anns.commit(spent(1, model="big", role="generator", cost=1))
    await bobs.commit(spent(100, cost=2))
    for story in (anns, bobs):
        await client.ask(api.SESSION_GET, session_id=story.id)
    ann_rows = (await client.ask(api.USAGE_TOTALS, user="ann")).rows
    assert [(row.model, row.role, row.calls, row.prompt_tokens, row.cost) for row in ann_rows] == [
        ("big", "generator", 1, 1, 1.0),
        ("m", "planner", 2, 30, 0.75),
    ]
    assert (await client.ask(api.USAGE_TOTALS, session_id=anns.id)).rows == ann_rows
    all_rows = (await client.ask(api.USAGE_TOTALS)).rows
    assert [(row.calls, row.prompt_tokens) for row in all_rows] == [(1, 1), (3, 130)]


async def test_quarantined_messages_are_listed(client: Client, log: InMemoryLog) -> None:
    story = Conversation(log)
    await story.plan()
    position = log.publish(f"session.{story.id}.planner.x", b"what?")
    await client.ask(api.SESSION_GET, session_id=story.id)
    page = await client.ask(api.DEAD_LIST)
    assert page.parked_total == 1
    assert (page.parked[0].position, page.parked[0].session_id, page.parked[0].preview) == (position, story.id, "what?")
    assert "unguarded" in page.parked[0].reason


# --- purge


async def test_a_purged_session_cannot_be_loaded_or_begun_again(
    client: Client, log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story, other = Conversation(log), Conversation(log)
    await story.whole()
    await other.plan()
    await client.ask(api.SESSION_GET, session_id=other.id)
    expected = await rows(database)
    purge = {"session_id": story.id, "user": "ann"}
    assert await refused(client, api.SESSION_PURGE, **purge | {"user": "bob"}) == "forbidden"
    assert (await client.ask(api.SESSION_PURGE, **purge)).session_id == story.id
    assert await rows(database) == expected
    assert await session_ids(log) == [other.id]
    for verb in (api.SESSION_LOAD, api.SESSION_GET, api.JOURNAL_READ):
        assert await refused(client, verb, session_id=story.id) == "purged"
    assert (await client.ask(api.SESSION_PURGE, **purge)).session_id == story.id, "as when an answer was late"
    assert await refused(client, api.SESSION_PURGE, **purge | {"user": "bob"}) == "forbidden"

    await Conversation(log, story.id).commit(c.Say(text="Again under the same id"))
    await projector.project_up_to(story.id, log.last(story.id))
    assert await refused(client, api.SESSION_LOAD, session_id=story.id) == "purged"
    page = await client.ask(api.DEAD_LIST)
    assert [parked.reason for parked in page.parked] == ["the session was purged"]
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before


async def test_a_purge_during_work_or_of_an_unknown_session_is_refused(client: Client, log: InMemoryLog) -> None:
    story = Conversation(log)
    await story.commit(c.Say(text="Write a calculator"))
    assert await refused(client, api.SESSION_PURGE, session_id=story.id, user="ann") == "busy"
    assert await refused(client, api.SESSION_PURGE, session_id="nobody", user="ann") == "unknown"


async def test_purging_a_parent_keeps_its_forks(
    client: Client, log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    parent = Conversation(log)
    parent_state = await parent.plan()
    await fork(log, parent_state, "child", CommandMeta("user:bob", datetime.now(UTC), "f"))
    child = await projector.load("child")
    await fork(log, child.session, "grandchild", CommandMeta("user:bob", datetime.now(UTC), "f"))
    await projector.load("grandchild")
    forks = {session_id: await projector.load(session_id) for session_id in ("child", "grandchild")}

    await client.ask(api.SESSION_PURGE, session_id=parent.id, user="ann")
    async with database.begin() as tx:
        plans = (await tx.execute(select(t.plans.c.session_id, t.plans.c.goal).order_by(t.plans.c.session_id))).all()
    assert [tuple(plan) for plan in plans] == [("child", "A calculator"), ("grandchild", "A calculator")]
    restarted = Projector(log, database)
    for session_id, loaded in forks.items():
        assert loaded.session.plan is not None
        assert await projector.load(session_id) == loaded
        assert await restarted.load(session_id) == loaded
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before
    assert await Projector(log, database).load("grandchild") == forks["grandchild"]


async def test_an_interrupted_purge_is_completed_later(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(RequestHandlers(log, database, projector).responders())
    story = Conversation(log)
    await story.plan()

    async def down(_: str) -> None:
        raise LogUnavailable("no log")

    with monkeypatch.context() as patch:
        patch.setattr(log, "purge", down)
        assert await refused(client, api.SESSION_PURGE, session_id=story.id, user="ann") == "log_down"
    assert await incomplete_purges(database) == [story.id]
    assert await refused(client, api.SESSION_PURGE, session_id=story.id, user="bob") == "forbidden"
    await client.ask(api.SESSION_PURGE, session_id=story.id, user="ann")
    assert await incomplete_purges(database) == []
    assert await session_ids(log) == []


async def test_without_a_database_requests_fail_with_database_down(log: InMemoryLog) -> None:
    database = ProjectionDatabase("postgresql+asyncpg://parley@127.0.0.1:9/none")
    client = Client(RequestHandlers(log, database, Projector(log, database)).responders())
    assert await refused(client, api.SESSION_LOAD, session_id="any") == "database_down"
    assert await refused(client, api.SESSION_LIST) == "database_down"
    await database.close()


async def test_a_search_covers_messages_plans_and_answers(client: Client, log: InMemoryLog) -> None:
    story = Conversation(log)
    await story.plan()
    await story.commit(c.Reject(), c.Say(text="Add a power operator"))
    for query, total in (("power OPERATOR", 1), ("calculator", 1), ("two numbers", 1), ("spaceship", 0)):
        await client.ask(api.SESSION_GET, session_id=story.id)
        assert (await client.ask(api.SESSION_LIST, query=query)).total == total, query
    await story.drafts("A calculator with powers")
    await client.ask(api.SESSION_GET, session_id=story.id)
    assert (await client.ask(api.SESSION_LIST, query="with powers")).total == 1
