"""A protocol 2 connection of the SDK: its screen, and how it gets a missing event."""

import asyncio

import pytest

from parley.client import Connection, Parley
from parley.client import endpoint as endpoints
from parley.client.endpoint import Endpoint
from parley.protocol import client as m
from parley.protocol.screen import ScreenEvent, ScreenSnapshot
from services.gateway.views import screen_messages
from shared.domain.kernel import commands as c
from tests.integration.test_sdk_connection import GatewayConnection, gateway
from tests.support.gateway import World, serving
from tests.support.stories import approve
from tests.support.timeouts import WAIT_TIMEOUT
from tests.unit.test_cli_chat_view import PLAN, ChatScenario, delta, greeting


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "FIRST_PAUSE", 0.01)


def approved_session() -> ChatScenario:
    """A session with an approved plan: three events."""
    story = ChatScenario()
    story.does(c.Say(text="calc"), PLAN)
    story.does(c.Approve(version=2))
    return story


async def follow(client: Connection, version: int) -> list[str]:
    """The types and versions of snapshots and events, up to this version."""
    types: list[str] = []
    async with asyncio.timeout(WAIT_TIMEOUT):
        async for message in client:
            if isinstance(message, ScreenSnapshot | ScreenEvent):
                types.append(f"{message.type} {message.version}")
            if client.screen.version >= version and types and types[-1] == f"event {version}":
                return types
    raise AssertionError(types)


async def test_a_missing_event_causes_one_resume() -> None:
    story, received = approved_session(), list[m.AnyClientMessage]()
    first, second, third = story.stored

    async def act(connection: GatewayConnection) -> None:
        await connection.send_messages(greeting().model_copy(update={"protocol": 2}))
        received.append(await connection.receive())
        early = ChatScenario()
        early.does(c.Say(text="calc"))
        await connection.send_messages(screen_messages.snapshot(early.session), screen_messages.history_message(first))
        await connection.send_messages(
            delta(0, "1. Ad"), story.events[2], story.events[2]
        )  # the second event is missing
        received.append(await connection.receive())
        await connection.send_messages(
            screen_messages.snapshot(story.session),
            screen_messages.history_message(second),
            screen_messages.history_message(third),
        )
        await connection.wait_closed()

    async with gateway(act) as url, Connection(Endpoint(url), session_id="s1", view=2) as client:
        types = await follow(client, 3)
        assert types == ["snapshot 1", "event 1", "snapshot 3", "event 2", "event 3"]
        assert [message.after for message in received if isinstance(message, m.Resume)] == [0, 1]
        assert client.screen.view == story.screen.view
        assert client.screen.journal == story.screen.journal
        assert client.screen.draft is None


async def test_the_screen_follows_a_session() -> None:
    world = World()
    async with serving(world.app) as address, Parley(f"http://{address}") as parley:
        session = await parley.start("A calculator")
        story = world.story(session.id)
        assert (await session.screen()).view.work
        version = (await story.drafts()).version
        screen = await session.screen(version)
        assert screen.view.review
        assert "approval" in screen.can
        approved = await story.commit(approve(await story.load()))
        async with parley.connect(session.id, view=2) as client:
            await follow(client, approved.version)
        assert [entry.kind for entry in client.screen.entries()] == ["said", "plan", "decision"]
        assert "## Conversation" in await session.export()
