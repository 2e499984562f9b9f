"""Artefacts on a real nats-server: stored, fetched and deleted, also after a crash and by a purge."""

import asyncio
import os
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest

from services.plan_store.app import PlanStore
from shared.bus import Bus, BusUnavailable
from shared.bus.artefacts import MAX_BYTES
from shared.bus.jetstream_api import subjects_of
from shared.bus.provision import check, provision
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.session import Session
from shared.log import EventTooLarge, SessionAtPosition, commit
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.conftest import person
from tests.support.inbox import api

LARGE = os.urandom(3_000_000)


async def stream_state(bus: Bus) -> dict[str, Any]:
    info: dict[str, Any] = (await api(bus, "STREAM.INFO.OBJ_ARTEFACTS", {}))["state"]
    return info


@pytest.mark.parametrize("body", [b"", b"one", LARGE[: 128 * 1024], LARGE], ids=["empty", "small", "chunk", "large"])
async def test_a_stored_artefact_can_be_fetched(bus: Bus, body: bytes) -> None:
    artefact = await bus.keep("s1/1/1.1", body)
    assert (artefact.name, artefact.size, artefact.sha256) == ("s1/1/1.1", len(body), sha256(body).hexdigest())
    assert await bus.fetch("s1/1/1.1") == body
    assert await bus.fetch("s1/1/1.2") is None


async def test_artefacts_can_have_any_name(bus: Bus) -> None:
    names = ["s/1/a b", "s/1/计算 *.>", "s/1/" + "x" * 64, "s/2/1.1"]
    for name in names:
        await bus.keep(name, name.encode())
    assert [await bus.fetch(name) for name in names] == [name.encode() for name in names]
    await bus.drop("s/1/")
    assert [await bus.fetch(name) for name in names] == [None, None, None, b"s/2/1.1"]


async def test_storing_the_same_bytes_again_stores_nothing(bus: Bus) -> None:
    first = await bus.keep("s/1/1.1", LARGE)
    before = await stream_state(bus)
    assert await bus.keep("s/1/1.1", LARGE) == first
    assert await stream_state(bus) == before


async def test_different_bytes_replace_the_old_ones(bus: Bus) -> None:
    await bus.keep("s/1/1.1", LARGE)
    await bus.keep("s/1/1.1", b"new")
    assert await bus.fetch("s/1/1.1") == b"new"
    await bus.drop("s/")
    assert (await stream_state(bus))["messages"] == 0, "the chunks of the older artefacts are deleted, too"


async def test_two_writers_can_store_the_same_artefact_concurrently(settings: Settings, bus: Bus) -> None:
    other_bus = Bus(settings, "other")
    await other_bus.connect()
    await asyncio.gather(bus.keep("s/1/1.1", LARGE), other_bus.keep("s/1/1.1", LARGE))
    assert await other_bus.fetch("s/1/1.1") == LARGE
    await bus.drop("s/")
    assert (await stream_state(bus))["messages"] == 0, "the chunks of the slower upload are deleted, too"
    await other_bus.stop()


async def test_chunks_left_by_a_crash_are_deleted(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("shared.bus.artefacts.ObjectInfo.as_dict", crash)
        with pytest.raises(KeyboardInterrupt):
            await bus.keep("s/1/1.1", LARGE)
    assert (await stream_state(bus))["messages"] > 10
    assert await bus.fetch("s/1/1.1") is None, "no complete artefact was ever stored"
    await bus.keep("s/1/1.1", LARGE)
    assert await bus.fetch("s/1/1.1") == LARGE
    await bus.drop("s/")
    assert (await stream_state(bus))["messages"] == 0


async def test_only_the_sessions_own_artefacts_are_listed(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bucket may contain millions of artefacts of other sessions."""
    counts: list[int] = []

    async def count_listed(*args: Any, **how: Any) -> dict[str, int]:
        subjects = await subjects_of(*args, **how)
        counts.append(len(subjects))
        return subjects

    monkeypatch.setattr("shared.bus.artefacts.subjects_of", count_listed)
    for name in ("s/1/1.1", "s/2/1.1", "other/1/1.1", "s2/1/1.1", "s"):
        await bus.keep(name, b"x")
    await bus.drop("s/")
    assert [await bus.fetch(name) for name in ("s/1/1.1", "other/1/1.1", "s2/1/1.1", "s")] == [None, b"x", b"x", b"x"]
    assert counts == [3]


async def test_a_body_over_the_limit_is_refused(bus: Bus) -> None:
    with pytest.raises(EventTooLarge, match="33554432 are allowed"):
        await bus.keep("s/1/1.1", bytes(MAX_BYTES + 1))
    assert (await stream_state(bus))["messages"] == 0


# --- the bucket


async def test_artefacts_are_readable_by_standard_object_store_clients(bus: Bus) -> None:
    await bus.keep("s/1/1.1", LARGE)
    bucket = await bus.client.jetstream().object_store("ARTEFACTS")
    assert (await bucket.get("s/1/1.1")).data == LARGE
    assert [info.name for info in await bucket.list()] == ["s/1/1.1"]


async def test_only_provisioning_creates_the_bucket(settings: Settings, bus: Bus) -> None:
    await api(bus, "STREAM.DELETE.OBJ_ARTEFACTS", {})
    for attempt in (bus.keep("s/1/1.1", b"x"), bus.fetch("s/1/1.1")):
        with pytest.raises(BusUnavailable, match="parley provision"):
            await attempt
    await bus.drop("s/")
    assert await check(settings) == ["stream OBJ_ARTEFACTS: missing"]
    assert await provision(settings) == ["stream OBJ_ARTEFACTS: made"]
    await bus.keep("s/1/1.1", b"x")
    config = (await api(bus, "STREAM.INFO.OBJ_ARTEFACTS", {}))["config"]
    assert (config["storage"], config["num_replicas"], config["allow_rollup_hdrs"]) == ("file", 1, True)


async def test_an_unreachable_server_is_reported(settings: Settings, bus: Bus) -> None:
    await bus.client.close()
    for attempt in (bus.keep("s/1/1.1", b"x"), bus.fetch("s/1/1.1"), bus.drop("s/")):
        with pytest.raises(BusUnavailable):
            await attempt


# --- purging


async def test_purging_a_session_deletes_its_artefacts(settings: Settings, bus: Bus) -> None:
    service = PlanStore(settings)
    await service.start()
    for session_id in ("s1", "s10"):
        loaded, _ = await commit(bus.log, SessionAtPosition(Session(session_id), 0), c.Say(text="Look it up"), person())
        await commit(bus.log, loaded, c.Stop(), CommandMeta("user:ann", datetime.now(UTC), f"stop-{session_id}"))
        await bus.keep(f"{session_id}/1/1.1", LARGE)
    await PlanStoreClient(bus).ask("session.purge", session_id="s1", user="ann")
    assert await bus.fetch("s1/1/1.1") is None
    assert await bus.fetch("s10/1/1.1") == LARGE
    await service.stop()
