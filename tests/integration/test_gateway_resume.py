"""A client that resumes at a version gets each event once and in order, even if the feed loses messages."""

import asyncio
import random
from functools import partial

import pytest

from services.gateway.live import channel, socket
from services.gateway.live.subscription import SendQueue
from shared.domain.kernel import commands as c
from tests.support.gateway import Client, World, client, serving
from tests.support.timeouts import WAIT_TIMEOUT


async def _follow(her: Client, version: int) -> None:
    """Read messages until this version."""
    while version not in her.versions:
        await her.next()


async def test_a_resume_sends_a_snapshot_then_missed_events_then_live_events(world: World) -> None:
    story = world.story("s")
    async with serving(world.app) as address, client(address) as her:
        await story.plan()
        await story.commit(c.Rename(title="Mine"))
        await her.send("resume", session_id="s", after=1)
        snapshot = await her.until("snapshot")
        assert (snapshot["version"], snapshot["state"], snapshot["title"]) == (3, "text_plan_approval", "Mine")
        assert snapshot["review"]["version"] == 2
        assert "approval" in snapshot["can"]
        assert "stop" in snapshot["can"]
        assert "run" not in snapshot["can"]
        await story.commit(c.Rename(title="Yours"))
        await _follow(her, 4)
        assert her.versions == [2, 3, 4]


async def test_reconnecting_at_random_points_shows_each_event_once(world: World) -> None:
    rng = random.Random(7)
    story = world.story("s")
    await story.plan()
    total = 120

    async def writes() -> None:
        for number in range(total - 2):
            await story.commit(c.Rename(title=f"Title {number}"))
            await asyncio.sleep(0)

    async with serving(world.app) as address:
        writing = asyncio.create_task(writes())
        versions: list[int] = []
        while not versions or versions[-1] < total:
            async with client(address) as her:
                await her.send("resume", session_id="s", after=versions[-1] if versions else 0)
                for _ in range(rng.randint(2, 30)):
                    if versions and her.versions and her.versions[-1] == total:
                        break
                    await her.next()
                versions += her.versions
                her.connection.transport.abort()
        await writing
    assert versions == list(range(1, total + 1))


async def test_events_missing_from_the_feed_are_read_from_the_log(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "POLL_SECONDS", 0.05)
    story = world.story("s")
    await story.plan()
    async with serving(world.app) as address, client(address) as her:
        await her.send("resume", session_id="s")
        await _follow(her, 2)
        world.bus.lossy = True
        for number in range(5):
            await story.commit(c.Rename(title=f"Title {number}"))
        await _follow(her, 7)
        assert her.versions == [1, 2, 3, 4, 5, 6, 7]


async def test_signals_of_known_events_do_not_put_off_the_read_of_the_log(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "POLL_SECONDS", 0.2)
    story = world.story("s")
    await story.plan()
    known = (await world.log.read("s"))[0]
    async with serving(world.app) as address, client(address) as her:
        await her.send("resume", session_id="s")
        await _follow(her, 2)
        world.bus.lossy = True
        await story.commit(c.Rename(title="Unheard"))
        on_feed = next(handler for subject, handler in world.bus.subscribed if subject == "feed.s.>")
        following = asyncio.create_task(_follow(her, 3))
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not following.done():
                await on_feed(known.subject, known.data)
                await asyncio.sleep(0.01)


async def test_events_during_a_bus_disconnect_are_caught_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "POLL_SECONDS", 3600)
    story = world.story("s")
    await story.plan()
    async with serving(world.app) as address, client(address) as her:
        await her.send("resume", session_id="s")
        await _follow(her, 2)
        world.bus.lossy = True
        await story.commit(c.Rename(title="Unheard"))
        await world.bus.reconnect()
        await _follow(her, 3)


async def test_invalid_log_messages_are_never_sent(world: World) -> None:
    story = world.story("s")
    await story.plan()
    stored = (await world.log.read("s"))[-1].data
    async with serving(world.app) as address, client(address) as her:
        await her.send("resume", session_id="s")
        await _follow(her, 2)
        world.log.publish("session.s.user.plan.drafted", b"not json")
        world.log.publish("session.s.user.plan.drafted", stored.replace(b'"version":2', b'"version":3'))
        await story.commit(c.Rename(title="Still here"))
        await _follow(her, 3)
        assert her.received[-1]["event"]["type"] == "session.renamed"


async def test_one_socket_can_follow_two_sessions(world: World) -> None:
    first, second = world.story("one"), world.story("two")
    await first.plan()
    await second.plan()
    async with serving(world.app) as address, client(address) as her:
        await her.send("resume", session_id="one")
        await her.until("snapshot")
        await her.send("resume", session_id="two")
        await her.until("snapshot")
        await her.send("rename", session_id="one", title="First")
        assert (await her.event("session.renamed"))["session_id"] == "one"
        await her.send("rename", title="Second")
        assert (await her.event("session.renamed"))["session_id"] == "two"


async def test_a_session_can_be_resumed_again_on_the_same_socket(world: World) -> None:
    story = world.story("s")
    await story.plan()
    async with serving(world.app) as address, client(address) as her:
        for _ in range(2):
            await her.send("resume", session_id="s")
            await her.until("event", version=2)
        await story.commit(c.Rename(title="Once"))
        await story.commit(c.Rename(title="Twice"))
        await _follow(her, 4)
        assert her.versions == [1, 2, 1, 2, 3, 4]


async def test_resending_the_first_message_sends_a_snapshot(world: World) -> None:
    """The session may already be idle: without a snapshot the sender would learn nothing of its state."""
    first = {"session_id": "s", "id": "m1", "content": "Help me create a simple calculator"}
    async with serving(world.app) as address:
        async with client(address) as her:
            await her.send("user_message", **first)
            await her.event("message.received")
        await world.story("s").drafts()
        async with client(address) as her:
            await her.send("user_message", **first)
            snapshot = await her.until("snapshot", session_id="s")
            assert (snapshot["version"], snapshot["state"]) == (2, "text_plan_approval")
            await her.send("approval", approved=True)
            assert (await her.event("plan.approved"))["version"] == 3


async def test_a_client_is_notified_while_the_log_elects_a_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "SLOW_SECONDS", 0.05)
    world = World()
    world.log.clustered = True
    await world.story("s").plan()
    async with serving(world.app) as address, client(address) as her:
        world.store.down = True
        await her.send("resume", session_id="s")
        assert "waited for" in (await her.until("log"))["content"]
        world.store.down = False
        await her.until("event", version=2)
        assert "error" not in {message["type"] for message in her.received}


async def test_requests_fail_while_the_store_is_down_and_work_afterwards(world: World) -> None:
    await world.story("s").plan()
    async with serving(world.app) as address, client(address) as her:
        world.store.down = True
        await her.send("resume", session_id="s", id="r1")
        assert (await her.error("unavailable"))["reply_to"] == "r1"
        world.bus.down = True
        await her.send("user_message", content="Hello", id="m1")
        await her.error("unavailable")
        world.store.down = False
        await her.send("resume", session_id="s")
        await her.error("unavailable")
        world.bus.down = False
        await her.send("user_message", content="Hello", id="m1")
        await her.event("message.received")
        await her.send("resume", session_id="s")
        await her.until("event", version=2)


async def test_a_slow_client_is_disconnected_and_others_get_every_event(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.gateway.live.socket.SendQueue", partial(SendQueue, messages=20))
    story = world.story("s")
    await story.plan()
    async with serving(world.app) as address, client(address) as quick:
        await quick.send("resume", session_id="s")
        await _follow(quick, 2)
        async with client(address, max_queue=1, compression=None) as slow:
            await slow.send("resume", session_id="s")
            await slow.until("event", version=2)
            notes = "x" * 200_000  # the operating system buffers some MB for a slow reader
            for number in range(40):
                session = await story.load()
                assert session.plan is not None
                edit = c.EditPlan(base=session.plan.version, steps=session.plan.steps, notes=f"{number} {notes}")
                await story.commit(edit)
                await _follow(quick, session.version + 1)
            assert await slow.closed() == 1013
            assert slow.versions == list(range(1, len(slow.versions) + 1))
        assert quick.versions == list(range(1, 43))
