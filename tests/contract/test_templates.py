"""Templates in plan_store: the template log in memory and on JetStream, the rows on both databases."""

import asyncio
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from parley.protocol.templates import Schedule, Template, TemplateStep
from services.plan_store.database import ProjectionDatabase
from services.plan_store.handlers import RequestHandlers
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection.projector import Projector
from services.plan_store.scheduler.templates import TemplateStore
from shared import store_api as api
from shared.bus import Bus
from shared.log import Indeterminate, LogUnavailable, VersionConflict
from shared.store_api import StoreError
from shared.template_log import TemplateLog
from shared.testing import InMemoryLog, InMemoryTemplateLog
from tests.contract.test_plan_store_requests import Client, refused

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")
EVERY_MORNING = Schedule(daily=time(7))


def template(name: str = "Mine") -> Template:
    return Template(name=name, goal="Look", steps=(TemplateStep(id="s1", text="Look", tool="look"),))


@pytest.fixture(params=["memory", "jetstream"])
def templates_log(request: pytest.FixtureRequest) -> TemplateLog:
    if request.param == "memory":
        return InMemoryTemplateLog()
    bus: Bus = request.getfixturevalue("bus")
    return bus.library


async def test_a_message_is_stored_after_the_version_it_changes(templates_log: TemplateLog) -> None:
    first = await templates_log.append("a", b"1", after=0)
    other = await templates_log.append("b", b"2", after=0)
    for after in (0, other, 99):
        with pytest.raises(VersionConflict):
            await templates_log.append("a", b"3", after=after)
    second = await templates_log.append("a", b"4", after=first)
    messages = await templates_log.read(after=0)
    assert [(raw.position, raw.subject, raw.data) for raw in messages] == [
        (first, "library.a", b"1"),
        (other, "library.b", b"2"),
        (second, "library.a", b"4"),
    ]
    assert [raw.position for raw in await templates_log.read(after=first, limit=1)] == [other]
    last = await templates_log.append("a", b"5", after=second, last=True)
    assert [raw.data for raw in await templates_log.read(after=0)] == [b"2", b"5"]
    assert last > second


async def test_of_many_concurrent_appends_one_succeeds(templates_log: TemplateLog) -> None:
    appends = (templates_log.append("a", str(item).encode(), after=0) for item in range(8))
    results = await asyncio.gather(*appends, return_exceptions=True)
    assert sum(isinstance(reply, VersionConflict) for reply in results) == 7
    assert len(await templates_log.read(after=0)) == 1


# --- rows


@pytest.fixture
def library() -> InMemoryTemplateLog:
    return InMemoryTemplateLog()


def client_of(library: InMemoryTemplateLog, database: ProjectionDatabase) -> Client:
    log = InMemoryLog()
    return Client(
        RequestHandlers(
            log, database, Projector(log, database), templates=TemplateStore(library, database)
        ).responders()
    )


@pytest.fixture
def client(library: InMemoryTemplateLog, database: ProjectionDatabase) -> Client:
    return client_of(library, database)


async def save(client: Client, template_id: str = "a", user: str = "ann", **fields: Any) -> api.TemplateRecord:
    request = {"user": user, "template_id": template_id, "template": template()} | fields
    return await client.ask(api.TEMPLATE_SAVE, **request)


async def test_a_template_is_created_read_listed_changed_and_deleted(
    client: Client, library: InMemoryTemplateLog
) -> None:
    result = await save(client, fingerprints={"look": "f"})
    assert (result.version, result.template, result.fingerprints, result.schedule) == (
        1,
        template(),
        {"look": "f"},
        None,
    )
    assert await save(client) == result  # the same request again
    changed = await save(client, expected=1, template=template("Other"))
    assert (changed.version, changed.template.name, changed.fingerprints) == (2, "Other", {})
    await save(client, "b")
    page = await client.ask(api.TEMPLATE_LIST, user="ann")
    assert ([item.id for item in page.items], page.total) == (["b", "a"], 2)
    assert await client.ask(api.TEMPLATE_GET, user="ann", template_id="a") == changed
    await client.ask(api.TEMPLATE_DELETE, user="ann", template_id="a", expected=2)
    assert await refused(client, api.TEMPLATE_GET, user="ann", template_id="a") == "unknown"
    assert await refused(client, api.TEMPLATE_SAVE, user="ann", template_id="a", template=template()) == "unknown"
    assert [raw.subject for raw in library.messages] == ["library.b", "library.a"]
    assert b"Other" not in library.messages[-1].data


async def test_changing_an_older_version_is_refused(client: Client) -> None:
    await save(client)
    await save(client, expected=1, template=template("Other"))
    for expected in (0, 1, 3):
        fields = {"user": "ann", "template_id": "a", "template": template("Third"), "expected": expected}
        assert await refused(client, api.TEMPLATE_SAVE, **fields) == "stale"
    assert await refused(client, api.TEMPLATE_DELETE, user="ann", template_id="a", expected=1) == "stale"
    scheduled = {"expected": 1, "schedule": EVERY_MORNING}
    assert await refused(client, api.TEMPLATE_SCHEDULE, user="ann", template_id="a", **scheduled) == "stale"
    assert (
        await refused(client, api.TEMPLATE_SAVE, user="ann", template_id="c", template=template(), expected=1)
        == "unknown"
    )


async def test_a_change_that_comes_again_is_answered_as_before(client: Client) -> None:
    """Whoever gets no answer in time asks again, after the first request may have been carried out."""
    await save(client)
    changed = await save(client, expected=1, template=template("Other"))
    assert await save(client, expected=1, template=template("Other")) == changed
    address = {"user": "ann", "template_id": "a"}
    scheduled = await client.ask(api.TEMPLATE_SCHEDULE, **address, expected=2, schedule=EVERY_MORNING)
    assert await client.ask(api.TEMPLATE_SCHEDULE, **address, expected=2, schedule=EVERY_MORNING) == scheduled
    deleted = await client.ask(api.TEMPLATE_DELETE, **address, expected=3)
    assert await client.ask(api.TEMPLATE_DELETE, **address, expected=3) == deleted
    assert await refused(client, api.TEMPLATE_DELETE, user="eve", template_id="a") == "unknown"


async def test_other_users_cannot_see_a_template(client: Client) -> None:
    await save(client)
    address = {"user": "eve", "template_id": "a"}
    assert await refused(client, api.TEMPLATE_GET, **address) == "unknown"
    assert await refused(client, api.TEMPLATE_DELETE, **address) == "unknown"
    assert await refused(client, api.TEMPLATE_SCHEDULE, **address, expected=1) == "unknown"
    for expected in (0, 1):
        assert await refused(client, api.TEMPLATE_SAVE, **address, template=template(), expected=expected) == "unknown"
    assert (await client.ask(api.TEMPLATE_LIST, user="eve")).items == ()
    assert (await client.ask(api.TEMPLATE_GET, user="ann", template_id="a")).version == 1


async def test_two_plan_stores_change_a_template_one_after_the_other(
    client: Client, library: InMemoryTemplateLog, url: str
) -> None:
    await save(client)
    second_database = ProjectionDatabase(url)
    try:
        second_client = client_of(library, second_database)
        changes = [template(name) for name in ("Other", "Third")]
        both_clients = (client, second_client)
        saves = (save(item, expected=1, template=new) for item, new in zip(both_clients, changes, strict=True))
        results = await asyncio.gather(*saves, return_exceptions=True)
        [conflict] = [reply for reply in results if isinstance(reply, StoreError)]
        [saved] = [reply for reply in results if isinstance(reply, api.TemplateRecord)]
        assert (conflict.code, saved.version) == ("stale", 2)
        for item in both_clients:
            assert await item.ask(api.TEMPLATE_GET, user="ann", template_id="a") == saved
    finally:
        await second_database.close()


async def test_an_append_with_unknown_result_is_looked_up_and_retried(
    client: Client, library: InMemoryTemplateLog
) -> None:
    library.faults = [Indeterminate("stored")]
    result = await save(client)
    library.faults = [Indeterminate("lost"), Indeterminate("lost")]
    assert (await save(client, expected=1, template=template("Other"))).version == 2
    assert result.version == 1
    assert len(library.messages) == 2
    library.faults = [Indeterminate("lost")] * 9
    assert await refused(client, api.TEMPLATE_DELETE, user="ann", template_id="a") == "log_down"
    library.faults = [LogUnavailable("away")]
    assert await refused(client, api.TEMPLATE_DELETE, user="ann", template_id="a") == "log_down"
    library.faults = [Indeterminate("stored")]
    await client.ask(api.TEMPLATE_DELETE, user="ann", template_id="a")
    assert await refused(client, api.TEMPLATE_GET, user="ann", template_id="a") == "unknown"


async def test_the_rows_are_rebuilt_from_the_log_also_in_an_empty_database(
    client: Client, library: InMemoryTemplateLog, database: ProjectionDatabase
) -> None:
    await save(client, "a")
    saved = await save(client, "b")
    await client.ask(api.TEMPLATE_DELETE, user="ann", template_id="a")
    await rebuild_from(InMemoryLog(), database, lambda *_: None)
    assert (await client.ask(api.TEMPLATE_LIST, user="ann")).items == (saved,)
    again = TemplateStore(library, database)
    async with database.begin() as tx:
        await tx.exec_driver_sql("DELETE FROM templates")
    assert (await again.list(api.ListTemplates(user="ann"))).items == (saved,)
    with pytest.raises(StoreError):
        await again.save(api.SaveTemplate(user="ann", template_id="a", template=template()))


async def test_invalid_or_foreign_messages_on_a_templates_subject_are_ignored(
    client: Client, library: InMemoryTemplateLog
) -> None:
    result = await save(client)
    position = library.messages[-1].position
    for body in (b"{}", library.messages[0].data.replace(b'"ann"', b'"eve"'), b"no json"):
        position = await library.append("a", body, after=position)
    assert await client.ask(api.TEMPLATE_GET, user="ann", template_id="a") == result
    assert (await save(client, expected=1, template=template("Other"))).version == 2


async def test_the_number_of_templates_per_user_is_limited(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.plan_store.scheduler.templates.MAX_TEMPLATES", 2)
    await save(client, "a")
    await save(client, "b")
    assert await refused(client, api.TEMPLATE_SAVE, user="ann", template_id="c", template=template()) == "full"
    assert (await save(client, "b")).version == 1
    assert (await save(client, "c", user="bob")).version == 1
    long = {f"a{number}": "ä" * 40_000 for number in range(4)}
    large = Template(name="L", goal="L", steps=(TemplateStep(id="s1", text="L", tool="look", arguments=long),))
    assert (
        await refused(client, api.TEMPLATE_SAVE, user="ann", template_id="b", template=large, expected=1) == "too_large"
    )


async def test_a_change_of_the_steps_keeps_the_schedule(client: Client) -> None:
    await save(client)
    daily = Schedule(daily=time(7), zone="Europe/Berlin", values={"a": 1})
    address = {"user": "ann", "template_id": "a"}
    result = await client.ask(api.TEMPLATE_SCHEDULE, **address, expected=1, schedule=daily)
    assert (result.version, result.schedule, result.last_run) == (2, daily, None)
    assert result.next_run
    assert timedelta() < result.next_run - datetime.now(UTC) <= timedelta(hours=25)
    saved = await save(client, expected=2, template=template("Other"))
    assert (saved.schedule, saved.next_run) == (daily, result.next_run)
    ended = await client.ask(api.TEMPLATE_SCHEDULE, **address, expected=3)
    assert (ended.schedule, ended.next_run) == (None, None)
    for wrong in (
        Schedule(),
        Schedule(once=datetime(2020, 1, 1, tzinfo=UTC)),
        Schedule(daily=time(1), once=datetime.now(UTC)),
    ):
        assert await refused(client, api.TEMPLATE_SCHEDULE, **address, expected=4, schedule=wrong) == "bad_request"
