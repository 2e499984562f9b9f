"""Protocol 2 over `/ws`: a screen is the same whether its client connects early, late or again after every event."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus

from parley.client.screen import Screen
from parley.events import SessionEvent
from parley.protocol.screen import SCREEN_MESSAGES, ScreenEvent, ScreenSnapshot
from parley.protocol.server import Delta
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import due
from shared.log import SessionAtPosition, accept
from tests.logs.recorded import load
from tests.support.gateway import Client, World, client, serving
from tests.support.stories import approve

VIEW = "/ws?view=2"


def recorded_events(name: str) -> Iterator[tuple[SessionEvent, Session]]:
    """The events of a recorded session, each with the state after it."""
    log = load(name)
    loaded = SessionAtPosition(Session(log.session_id), 0)
    for raw in log.messages:
        loaded, event, _ = accept(loaded, raw)
        if event:
            yield event, loaded.session


async def apply_messages(screen: Screen, her: Client, version: int) -> None:
    """Apply messages to the screen, up to this version."""
    while screen.version < version:
        message = SCREEN_MESSAGES.validate_python(await her.next())
        if isinstance(message, ScreenSnapshot | ScreenEvent):
            screen.take(message)


async def new_screen(address: str, session_id: str, version: int) -> Screen:
    screen = Screen()
    async with client(address, VIEW) as her:
        await her.send("resume", session_id=session_id, after=0)
        await her.until("snapshot")
        screen.take(SCREEN_MESSAGES.validate_python(her.received[-1]))  # type: ignore[arg-type]
        for _ in range(version):
            screen.take(SCREEN_MESSAGES.validate_python(await her.until("event")))  # type: ignore[arg-type]
    return screen


def assert_same(screen: Screen, other: Screen) -> None:
    assert screen.view == other.view
    assert screen.can == other.can
    assert list(screen.journal.items()) == list(other.journal.items())


@pytest.mark.parametrize("name", ["conversation", "write", "confirmed_path", "stopped", "remarks"])
async def test_a_client_that_reconnects_after_every_event_misses_nothing(world: World, name: str) -> None:
    reconnecting, connected, position = Screen(), Screen(), 0
    events = list(recorded_events(name))
    session_id = events[0][0].session_id
    async with serving(world.app) as address, client(address, VIEW) as live:
        for event, after in events:
            position = await world.log.append(event, after=position, due=due(after))
            if event.version == 1:
                await live.send("resume", session_id=session_id, after=0)
            await apply_messages(connected, live, event.version)
            async with client(address, VIEW) as her:
                await her.send("resume", session_id=session_id, after=reconnecting.version)
                while (
                    not her.received
                    or her.received[-1].get("version") != event.version
                    or her.received[-1]["type"] != "event"
                ):
                    message = SCREEN_MESSAGES.validate_python(await her.next())
                    if isinstance(message, ScreenSnapshot | ScreenEvent):
                        reconnecting.take(message)
            assert reconnecting.view == connected.view, event.type
            assert reconnecting.can == connected.can, event.type
        late = await new_screen(address, session_id, len(events))
        assert_same(late, connected)
        assert_same(late, reconnecting)


async def test_an_approval_without_a_version_approves_what_is_on_the_screen(world: World) -> None:
    story = world.story("s")
    async with serving(world.app) as address, client(address, VIEW) as her:
        await story.plan()
        await her.send("resume", session_id="s", after=0)
        assert (await her.until("snapshot"))["view"]["review"]["target"] == "plan"
        await her.send("approval", session_id="s", approved=True)
        (approved,) = (await her.until("event", version=3))["entries"]
        assert (approved["decision"], approved["of_version"], approved["number"]) == ("approved", 2, 1)
        await story.codes()
        message = await her.until("event", version=5)
        assert message["changed"]["review"]["target"] == "code"
        await her.send("approval", session_id="s", approved=True)
        (approved,) = (await her.until("event", version=6))["entries"]
        assert (approved["decision"], approved["about"], approved["of_version"]) == ("approved", "code", 4)


async def test_each_event_causes_exactly_one_message(world: World) -> None:
    story = world.story("s")
    async with serving(world.app) as address, client(address, VIEW) as her:
        await story.plan()
        await her.send("resume", session_id="s", after=0)
        await story.commit(approve)
        await story.codes()
        await story.commit(approve, c.Complete())
        await her.until("event", version=(await story.load()).version)
        assert {message["type"] for message in her.received} == {"greeting", "snapshot", "event"}
        assert her.received[0]["protocol"] == 2


async def test_a_draft_names_the_version_of_its_work(world: World) -> None:
    story = world.story("s")
    async with serving(world.app) as address, client(address, VIEW) as her:
        await story.commit(c.Say(text="A calculator"))
        await her.send("resume", session_id="s", after=0)
        work = (await her.until("snapshot"))["view"]["work"]
        assert work == {"service": "planner", "version": 1}
        delta = {
            "session_id": "s",
            "type": "delta",
            "draft_id": "1-plan-3f2a91",
            "kind": "plan",
            "offset": 0,
            "text": "G",
        }
        await world.bus.publish("delta.s.1-plan-3f2a91", json.dumps(delta).encode())
        assert (await her.until("delta"))["work"] == 1


async def test_a_draft_comes_after_the_event_that_began_its_work(world: World) -> None:
    """A page drops a draft of a session or work that it has not heard of; the feed may be later than the draft."""
    story = world.story("s")
    async with serving(world.app) as address, client(address, VIEW) as her:
        await story.plan()
        await her.send("resume", session_id="s", after=0)
        await her.until("event", version=2)
        world.bus.lossy = True
        await story.commit(approve)
        draft = Delta(session_id="s", draft_id="3-code-3f2a91", kind="code", offset=0, text="print")
        await world.bus.publish("delta.s.3-code-3f2a91", draft.model_dump_json().encode())
        await her.until("delta")
        assert [message["type"] for message in her.received[-2:]] == ["event", "delta"]
        assert her.received[-2]["version"] == 3


async def test_a_draft_that_a_busy_service_sends_late_follows_the_snapshot(world: World) -> None:
    story, answers = world.story("s"), asyncio.Event()
    draft = Delta(session_id="s", draft_id="1-plan-3f2a91", kind="plan", offset=0, text="Goal: A ca")

    async def late(*_: object) -> bytes:
        await answers.wait()
        return draft.model_dump_json().encode()

    world.bus.respond("draft.get.s", late)
    async with serving(world.app) as address, client(address, VIEW) as her:
        await story.commit(c.Say(text="A calculator"))
        await her.send("resume", session_id="s", after=0)
        assert (await her.until("snapshot"))["draft"] is None
        answers.set()
        assert (await her.until("delta"))["text"] == "Goal: A ca"


async def test_both_protocols_can_follow_one_session(world: World) -> None:
    story = world.story("s")
    async with serving(world.app) as address, client(address) as old, client(address, VIEW) as new:
        await story.plan()
        for person in (old, new):
            await person.send("resume", session_id="s", after=0)
            await person.until("snapshot")
        await story.commit(approve)
        assert (await old.until("event", version=3)).keys() == {"type", "session_id", "version", "event"}
        assert (await new.until("event", version=3))["changed"]["plan"]["status"] == "approved"


async def test_an_unknown_view_is_refused_with_a_reason(world: World) -> None:
    async with serving(world.app) as address:
        with pytest.raises(InvalidStatus) as refused:
            async with client(address, "/ws?view=3"):
                pass
        assert b"There is no view" in (refused.value.response.body or b"")
