"""The gateway decides commands with its cached session, which saves loads. A stale cache does no harm."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from parley.protocol.client import Approval
from services.gateway.access.users import LOCAL_USER
from services.gateway.app import build
from services.gateway.messages import handlers
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import CommandRefused
from shared.log import SessionAtPosition, StoredMessage
from tests.support.gateway import FakeStore, World, client, gateway_settings, serving
from tests.support.http_client import http_client


class CountingWorld(World):
    """A world that counts loads from plan_store and reads from the log's leader."""

    def __init__(self) -> None:
        super().__init__()
        self.loads = self.leader_reads = 0
        load, read = self.store.load, self.log.read

        async def counted_load(session_id: str, **options: Any) -> SessionAtPosition:
            self.loads += 1
            return await load(session_id, **options)

        async def counted_read(session_id: str, **options: Any) -> list[StoredMessage]:
            self.leader_reads += bool(options.get("leader"))
            return await read(session_id, **options)

        self.store.load = counted_load  # type: ignore[method-assign]
        self.log.read = counted_read  # type: ignore[method-assign]


@pytest.fixture
def world() -> CountingWorld:
    return CountingWorld()


@pytest_asyncio.fixture
async def address(world: CountingWorld) -> AsyncIterator[str]:
    async with serving(world.app) as address:
        yield address


async def test_a_command_to_a_followed_session_causes_no_load(world: CountingWorld, address: str) -> None:
    await world.story("s").plan()
    async with client(address) as her:
        await her.send("resume", session_id="s")
        await her.until("event", version=2)
        world.loads = 0
        world.store.down = True  # the command must not need plan_store
        await her.send("approval", session_id="s", approved=True)
        await her.event("plan.approved")
        await her.send("stop", session_id="s")
        await her.event("session.stopped")
        assert world.loads == 0


async def test_a_stale_cached_session_causes_no_wrong_refusal(world: CountingWorld, address: str) -> None:
    """The bus drops the live events, so another writer's event is only in the log."""
    story = world.story("s")
    await story.commit(c.Say(text="A calculator"))
    async with client(address) as her:
        await her.send("resume", session_id="s")
        await her.until("event", version=1)
        world.bus.lossy = True
        await story.drafts()
        await her.send("approval", session_id="s", approved=True, version=2)
        approved = await her.event("plan.approved")
        assert approved["plan_version"] == 2


async def test_a_stale_cached_session_accepts_no_outdated_approval(world: CountingWorld, address: str) -> None:
    story = world.story("s")
    await story.plan()
    async with client(address) as her:
        await her.send("resume", session_id="s")
        await her.until("event", version=2)
        world.bus.lossy = True
        await story.commit(c.Reject(replan=True))
        await her.send("approval", session_id="s", approved=True, version=2)
        await her.error("not_now")


async def test_a_command_that_another_gateway_has_carried_out_is_not_repeated(
    world: CountingWorld, address: str
) -> None:
    await world.story("s").plan()
    other_app = build(gateway_settings(), world.bus, FakeStore(world.log), world.log)
    async with serving(other_app) as other_address, client(address) as her, client(other_address) as him:
        for person in (her, him):
            await person.send("resume", session_id="s")
            await person.until("event", version=2)
        world.bus.lossy = True
        await him.send("rename", session_id="s", title="Mine", id="m1")
        await him.event("session.renamed")
        await her.send("rename", session_id="s", title="Mine", id="m1")
        await her.event("session.renamed")
        await her.send("rename", session_id="s", title="Other", id="m2")
        assert (await her.event("session.renamed"))["version"] == 4  # 2 of the plan, one for each title


async def test_a_refusal_causes_one_read_from_the_leader(world: CountingWorld, address: str) -> None:
    await world.story("s").plan()
    gateway = world.app.state.gateway
    channel = gateway.hub.join("s")
    await channel.refresh()
    world.loads = world.leader_reads = 0
    approval = Approval(type="approval", session_id="s", approved=True, version=1)  # not the plan's version
    with pytest.raises(CommandRefused):
        await handlers.act(approval, "s", handlers.Sender(LOCAL_USER), gateway.core, channel)
    assert (world.loads, world.leader_reads) == (0, 1)
    await gateway.hub.leave("s")


async def test_a_rest_message_to_a_followed_session_causes_no_load(world: CountingWorld, address: str) -> None:
    await world.story("s").plan()
    async with client(address) as her:
        await her.send("resume", session_id="s")
        await her.until("event", version=2)
        world.loads = 0
        async with http_client(base_url=f"http://{address}", trust_env=False) as rest:
            approval = {"type": "approval", "approved": True, "version": 2}
            sent = await rest.post("/api/sessions/s/messages", json=approval)
        assert sent.status_code == 200, sent.text
        await her.event("plan.approved")
        assert world.loads == 0
