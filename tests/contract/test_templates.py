"""Templates as plan_store keeps them: the log of the library in memory and on JetStream, rows on both databases."""

import asyncio
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from parley.protocol.templates import Schedule, Template, TemplateStep
from services.plan_store.database import Database
from services.plan_store.handlers import Requests
from services.plan_store.projection import Projector
from services.plan_store.rebuild import rebuild_from
from services.plan_store.templates import Templates
from shared import store_api as api
from shared.bus import Bus
from shared.library_log import LibraryLog
from shared.log import Indeterminate, LogDown, VersionConflict
from shared.store_api import StoreError
from shared.testing import InMemoryLibrary, InMemoryLog
from tests.contract.test_plan_store_requests import Client, refused

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


def template(name: str = "Mine") -> Template:
    return Template(name=name, goal="Look", steps=(TemplateStep(id="s1", text="Look", tool="look"),))


@pytest.fixture(params=["memory", "jetstream"])
def library_log(request: pytest.FixtureRequest) -> LibraryLog:
    if request.param == "memory":
        return InMemoryLibrary()
    bus: Bus = request.getfixturevalue("bus")
    return bus.library


async def test_a_message_is_stored_behind_the_one_that_it_was_made_from(library_log: LibraryLog) -> None:
    first = await library_log.append("a", b"1", after=0)
    other = await library_log.append("b", b"2", after=0)
    for after in (0, other.position, 99):
        with pytest.raises(VersionConflict):
            await library_log.append("a", b"3", after=after)
    second = await library_log.append("a", b"4", after=first.position)
    found = await library_log.read(after=0)
    assert [(raw.position, raw.subject, raw.data) for raw in found] == [
        (first.position, "library.a", b"1"),
        (other.position, "library.b", b"2"),
        (second.position, "library.a", b"4"),
    ]
    assert [raw.position for raw in await library_log.read(after=first.position, limit=1)] == [other.position]
    last = await library_log.append("a", b"5", after=second.position, last=True)
    assert [raw.data for raw in await library_log.read(after=0)] == [b"2", b"5"]
    assert last.position > second.position


async def test_of_many_who_append_at_once_one_is_first(library_log: LibraryLog) -> None:
    tries = (library_log.append("a", str(one).encode(), after=0) for one in range(8))
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(one, VersionConflict) for one in results) == 7
    assert len(await library_log.read(after=0)) == 1


# --- rows


@pytest.fixture
def library() -> InMemoryLibrary:
    return InMemoryLibrary()


def client_of(library: InMemoryLibrary, database: Database) -> Client:
    log = InMemoryLog()
    return Client(
        Requests(log, database, Projector(log, database), templates=Templates(library, database)).responders()
    )


@pytest.fixture
def client(library: InMemoryLibrary, database: Database) -> Client:
    return client_of(library, database)


async def save(client: Client, template_id: str = "a", user: str = "ann", **fields: Any) -> api.TemplateRecord:
    told = {"user": user, "template_id": template_id, "template": template()} | fields
    return await client.ask(api.TEMPLATE_SAVE, **told)


async def test_a_template_is_made_read_listed_changed_and_deleted(client: Client, library: InMemoryLibrary) -> None:
    made = await save(client, fingerprints={"look": "f"})
    assert (made.version, made.template, made.fingerprints, made.schedule) == (1, template(), {"look": "f"}, None)
    assert await save(client) == made  # sent again
    changed = await save(client, expected=1, template=template("Other"))
    assert (changed.version, changed.template.name, changed.fingerprints) == (2, "Other", {})
    await save(client, "b")
    page = await client.ask(api.TEMPLATE_LIST, user="ann")
    assert ([one.id for one in page.items], page.total) == (["b", "a"], 2)
    assert await client.ask(api.TEMPLATE_GET, user="ann", template_id="a") == changed
    await client.ask(api.TEMPLATE_DELETE, user="ann", template_id="a", expected=2)
    assert await refused(client, api.TEMPLATE_GET, user="ann", template_id="a") == "unknown"
    assert await refused(client, api.TEMPLATE_SAVE, user="ann", template_id="a", template=template()) == "unknown"
    assert [raw.subject for raw in library.messages] == ["library.b", "library.a"]
    assert b"Other" not in library.messages[-1].data


async def test_whoever_changes_an_older_version_is_told(client: Client) -> None:
    await save(client)
    await save(client, expected=1, template=template("Other"))
    for expected in (0, 1, 3):
        fields = {"user": "ann", "template_id": "a", "template": template("Third"), "expected": expected}
        assert await refused(client, api.TEMPLATE_SAVE, **fields) == "stale"
    assert await refused(client, api.TEMPLATE_DELETE, user="ann", template_id="a", expected=1) == "stale"
    assert await refused(client, api.TEMPLATE_SCHEDULE, user="ann", template_id="a", expected=1) == "stale"
    assert (
        await refused(client, api.TEMPLATE_SAVE, user="ann", template_id="c", template=template(), expected=1)
        == "unknown"
    )


async def test_to_everybody_else_it_is_not_there(client: Client) -> None:
    await save(client)
    theirs = {"user": "eve", "template_id": "a"}
    assert await refused(client, api.TEMPLATE_GET, **theirs) == "unknown"
    assert await refused(client, api.TEMPLATE_DELETE, **theirs) == "unknown"
    assert await refused(client, api.TEMPLATE_SCHEDULE, **theirs, expected=1) == "unknown"
    for expected in (0, 1):
        assert await refused(client, api.TEMPLATE_SAVE, **theirs, template=template(), expected=expected) == "unknown"
    assert (await client.ask(api.TEMPLATE_LIST, user="eve")).items == ()
    assert (await client.ask(api.TEMPLATE_GET, user="ann", template_id="a")).version == 1


async def test_two_plan_stores_change_a_template_one_after_the_other(
    client: Client, library: InMemoryLibrary, url: str
) -> None:
    await save(client)
    beside = Database(url)
    try:
        other = client_of(library, beside)
        names = [template(name) for name in ("Other", "Third")]
        both = (save(one, expected=1, template=name) for one, name in zip((client, other), names, strict=True))
        results = await asyncio.gather(*both, return_exceptions=True)
        [lost] = [one for one in results if isinstance(one, StoreError)]
        [kept] = [one for one in results if isinstance(one, api.TemplateRecord)]
        assert (lost.code, kept.version) == ("stale", 2)
        for one in (client, other):
            assert await one.ask(api.TEMPLATE_GET, user="ann", template_id="a") == kept
    finally:
        await beside.close()


async def test_what_nobody_knows_of_is_looked_up_and_what_was_not_stored_is_tried_again(
    client: Client, library: InMemoryLibrary
) -> None:
    library.faults = [Indeterminate("stored")]
    made = await save(client)
    library.faults = [Indeterminate("lost"), Indeterminate("lost")]
    assert (await save(client, expected=1, template=template("Other"))).version == 2
    assert made.version == 1
    assert len(library.messages) == 2
    library.faults = [Indeterminate("lost")] * 9
    assert await refused(client, api.TEMPLATE_DELETE, user="ann", template_id="a") == "log_down"
    library.faults = [LogDown("away")]
    assert await refused(client, api.TEMPLATE_DELETE, user="ann", template_id="a") == "log_down"
    library.faults = [Indeterminate("stored")]
    await client.ask(api.TEMPLATE_DELETE, user="ann", template_id="a")
    assert await refused(client, api.TEMPLATE_GET, user="ann", template_id="a") == "unknown"


async def test_the_rows_follow_the_log_also_of_a_new_database(
    client: Client, library: InMemoryLibrary, database: Database
) -> None:
    await save(client, "a")
    kept = await save(client, "b")
    await client.ask(api.TEMPLATE_DELETE, user="ann", template_id="a")
    await rebuild_from(InMemoryLog(), database, lambda *_: None)
    assert (await client.ask(api.TEMPLATE_LIST, user="ann")).items == (kept,)
    again = Templates(library, database)
    async with database.begin() as tx:
        await tx.exec_driver_sql("DELETE FROM templates")
    assert (await again.list(api.ListTemplates(user="ann"))).items == (kept,)
    with pytest.raises(StoreError):
        await again.save(api.SaveTemplate(user="ann", template_id="a", template=template()))


async def test_what_somebody_else_puts_on_its_subject_changes_nothing(client: Client, library: InMemoryLibrary) -> None:
    made = await save(client)
    at = library.messages[-1].position
    for body in (b"{}", library.messages[0].data.replace(b'"ann"', b'"eve"'), b"no json"):
        at = (await library.append("a", body, after=at)).position
    assert await client.ask(api.TEMPLATE_GET, user="ann", template_id="a") == made
    assert (await save(client, expected=1, template=template("Other"))).version == 2


async def test_one_has_so_many_and_no_more(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.plan_store.templates.MOST", 2)
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


async def test_a_schedule_is_a_version_that_a_change_of_the_steps_keeps(client: Client) -> None:
    await save(client)
    daily = Schedule(daily=time(7), zone="Europe/Berlin", values={"a": 1})
    asked = {"user": "ann", "template_id": "a"}
    made = await client.ask(api.TEMPLATE_SCHEDULE, **asked, expected=1, schedule=daily)
    assert (made.version, made.schedule, made.last_run) == (2, daily, None)
    assert made.next_run
    assert timedelta() < made.next_run - datetime.now(UTC) <= timedelta(hours=25)
    kept = await save(client, expected=2, template=template("Other"))
    assert (kept.schedule, kept.next_run) == (daily, made.next_run)
    ended = await client.ask(api.TEMPLATE_SCHEDULE, **asked, expected=3)
    assert (ended.schedule, ended.next_run) == (None, None)
    for wrong in (
        Schedule(),
        Schedule(once=datetime(2020, 1, 1, tzinfo=UTC)),
        Schedule(daily=time(1), once=datetime.now(UTC)),
    ):
        assert await refused(client, api.TEMPLATE_SCHEDULE, **asked, expected=4, schedule=wrong) == "bad_request"
