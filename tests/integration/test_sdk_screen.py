"""A connection of protocol 2 against a scripted gateway: what it keeps, and what it does where an event is missing."""

import asyncio

import pytest

from parley.client import Connection, Parley
from parley.client import endpoint as endpoints
from parley.client.endpoint import Endpoint
from parley.protocol import client as m
from parley.protocol.screen import ScreenEvent, ScreenSnapshot
from services.gateway.views import screen
from shared.domain import commands as c
from tests.integration.test_sdk_connection import Line, gateway
from tests.support.gateway import World, serving
from tests.support.stories import approve
from tests.unit.test_cli_chat_view import PLAN, Told, delta, greeting


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "FIRST_PAUSE", 0.01)


def begun() -> Told:
    """A session with a plan that was approved: three events."""
    story = Told()
    story.does(c.Say(text="calc"), PLAN)
    story.does(c.Approve(version=2))
    return story


async def follow(client: Connection, version: int) -> list[str]:
    """The types of snapshots and events, with their versions, until this one."""
    told: list[str] = []
    async with asyncio.timeout(10):
        async for message in client:
            if isinstance(message, ScreenSnapshot | ScreenEvent):
                told.append(f"{message.type} {message.version}")
            if client.screen.version >= version and told and told[-1] == f"event {version}":
                return told
    raise AssertionError(told)


async def test_where_an_event_is_missing_the_session_is_resumed_once() -> None:
    story, heard = begun(), list[m.AnyClientMessage]()
    first, second, third = story.events

    async def act(line: Line) -> None:
        await line.says(greeting().model_copy(update={"protocol": 2}))
        heard.append(await line.hears())
        early = Told()
        early.does(c.Say(text="calc"))
        await line.says(screen.snapshot(early.session), screen.told_again(first.event))
        await line.says(delta(0, "1. Ad"), third, third)  # the second is lost
        heard.append(await line.hears())
        await line.says(screen.snapshot(story.session), screen.told_again(second.event), screen.told_again(third.event))
        await line.waits()

    async with gateway(act) as url, Connection(Endpoint(url), session_id="s1", view=2) as client:
        told = await follow(client, 3)
        assert told == ["snapshot 1", "event 1", "snapshot 3", "event 2", "event 3"]
        assert [message.after for message in heard if isinstance(message, m.Resume)] == [0, 1]
        assert client.screen.view == story.screen.view
        assert client.screen.journal == story.screen.journal
        assert client.screen.draft is None


async def test_a_session_is_followed_as_a_screen_shows_it() -> None:
    world = World()
    async with serving(world.app) as address, Parley(f"http://{address}") as parley:
        session = await parley.start("A calculator")
        story = world.story(session.id)
        assert (await session.screen()).view.work
        version = (await story.drafts()).version
        shown = await session.screen(version)
        assert shown.view.review
        assert "approval" in shown.can
        approved = await story.commit(approve(await story.load()))
        async with parley.connect(session.id, view=2) as client:
            await follow(client, approved.version)
        assert [entry.kind for entry in client.screen.entries()] == ["said", "plan", "note"]
        assert "## Conversation" in await session.export()
