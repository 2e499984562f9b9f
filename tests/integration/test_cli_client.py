"""The client against a scripted gateway on a real socket: lost connections, repeated messages, closed doors."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from cli import client as module
from cli.client import Client, GatewayDown, NotAllowed
from services.gateway.views import snapshot
from shared.domain import commands as c
from shared.protocol import client as m
from shared.protocol import server as s
from tests.unit.test_cli_chat_view import PLAN, Told, greeting

Act = Callable[["Line"], Awaitable[None]]


class Line:
    """The gateway's side of one connection."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection

    async def says(self, *messages: s.ServerMessage) -> None:
        for message in messages:
            await self.connection.send(message.model_dump_json(by_alias=True))

    async def hears(self) -> m.AnyClientMessage:
        async with asyncio.timeout(5):
            return m.CLIENT_MESSAGES.validate_json(await self.connection.recv())

    async def waits(self) -> None:
        await self.connection.wait_closed()


@asynccontextmanager
async def gateway(*acts: Act) -> AsyncIterator[str]:
    """Plays one act a connection; the URL. A failed act fails the test."""
    left = iter(acts)
    failures: list[BaseException] = []

    async def play(connection: ServerConnection) -> None:
        try:
            await next(left)(Line(connection))
        except BaseException as error:
            failures.append(error)
            raise

    async with serve(play, "127.0.0.1", 0) as server:
        yield url_of(server)
    assert not failures


def url_of(server: Server) -> str:
    return f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/ws"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(module, "_PAUSE", 0.01)


async def hear(client: Client, kind: str, count: int = 1, *, says: str = "") -> list[str]:
    """The types of what comes, until `count` of this kind have come; links as they are. The first greeting is
    answered with the request `says`."""
    found: list[str] = []
    async with asyncio.timeout(10):
        async for message in client.messages():
            found.append(message if isinstance(message, str) else message.type)
            if says and found[-1] == "greeting" and found.count("greeting") == 1:
                await client.send(m.UserMessage(type="user_message", id="mine", content=says))
            if found.count(kind) == count:
                return found
    raise AssertionError(found)


def told() -> list[s.ServerMessage]:
    """What a gateway says of a session with a plan in review: two events, then the review."""
    story = Told()
    story.does(c.Say(text="calc"), PLAN)
    return story.messages


async def test_after_a_lost_connection_it_resumes_behind_the_last_event() -> None:
    resumed: list[m.AnyClientMessage] = []

    async def first(line: Line) -> None:
        await line.says(greeting(), *told()[:1])
        await line.connection.close()

    async def second(line: Line) -> None:
        await line.says(greeting().model_copy(update={"session_id": "another"}))
        resumed.append(await line.hears())
        await line.says(*told()[1:])
        await line.waits()

    async with gateway(first, second) as url, Client(url) as client:
        kinds = await hear(client, "text_plan_review")
    assert kinds == ["up", "greeting", "event", "down", "up", "greeting", "event", "text_plan_review"]
    assert isinstance(resumed[0], m.Resume)
    assert (resumed[0].session_id, resumed[0].after) == ("s1", 1)


async def test_what_nothing_has_told_of_is_sent_again_with_the_same_id() -> None:
    heard: list[m.AnyClientMessage] = []

    async def first(line: Line) -> None:
        await line.says(greeting())
        heard.append(await line.hears())
        await line.connection.close()

    async def second(line: Line) -> None:
        await line.says(greeting().model_copy(update={"session_id": "another"}))
        heard.extend([await line.hears(), await line.hears()])
        await line.says(s.Log(session_id="s1", content="heard"))
        await line.waits()

    async with gateway(first, second) as url, Client(url) as client:
        await hear(client, "log", says="calc")
    assert heard[0] == heard[1]
    assert heard[0].session_id == "s1"
    assert isinstance(heard[2], m.Resume)  # behind the message that begins the session


async def test_what_an_event_has_told_of_is_not_sent_again() -> None:
    async def first(line: Line) -> None:
        await line.says(greeting())
        message = await line.hears()
        event = told()[0]
        assert isinstance(event, s.Event)
        mine = event.event.model_copy(update={"id": f"s1:{message.id}"})
        await line.says(event.model_copy(update={"event": mine}))
        await line.connection.close()

    async def second(line: Line) -> None:
        await line.says(greeting())
        assert isinstance(await line.hears(), m.Resume)
        await line.says(s.Log(session_id="s1", content="nothing else came"))
        assert isinstance(await line.hears(), m.Close)

    async with gateway(first, second) as url, Client(url) as client:
        assert (await hear(client, "log", says="calc")).count("event") == 1
        assert client.is_mine("s1:mine")
        assert "mine" not in client.unsure


async def test_what_is_refused_because_something_is_away_is_sent_again() -> None:
    heard: list[m.AnyClientMessage] = []

    async def act(line: Line) -> None:
        await line.says(greeting())
        for _ in range(2):
            heard.append(await line.hears())
            away = s.Error(session_id="s1", code="unavailable", message="The log is away.", reply_to=heard[-1].id)
            await line.says(away)
        heard.append(await line.hears())
        await line.says(s.Log(session_id="s1", content="heard"))
        await line.waits()

    async with gateway(act) as url, Client(url, session_id="s1") as client:
        kinds = await hear(client, "log", 3)
    assert "error" not in kinds
    assert {message.id for message in heard} == {heard[0].id}
    assert all(isinstance(message, m.Resume) for message in heard)


async def test_a_resume_that_fails_behind_its_snapshot_is_sent_again() -> None:
    story = Told()
    story.does(c.Say(text="calc"), PLAN)
    first, second = (message for message in story.messages if isinstance(message, s.Event))
    heard: list[m.AnyClientMessage] = []

    async def act(line: Line) -> None:
        await line.says(greeting())
        heard.append(await line.hears())
        cut_off = s.Error(session_id="s1", code="unavailable", message="Not complete yet.", reply_to=heard[0].id)
        await line.says(snapshot(story.session), first, cut_off)
        heard.append(await line.hears())
        await line.says(snapshot(story.session), second, s.Log(session_id="s1", content="all of it"))
        await line.waits()

    async with gateway(act) as url, Client(url, session_id="s1") as client:
        kinds = await hear(client, "log", 2)
        assert not client.unsure
    assert "error" not in kinds
    assert [(one.type, one.id, getattr(one, "after", 0)) for one in heard] == [
        ("resume", heard[0].id, 0),
        ("resume", heard[0].id, 1),
    ]


async def test_a_message_it_does_not_know_is_passed_over() -> None:
    async def act(line: Line) -> None:
        await line.connection.send('{"type": "of_tomorrow", "session_id": "s1"}')
        await line.says(greeting())
        await line.waits()

    async with gateway(act) as url, Client(url) as client:
        assert await hear(client, "greeting") == ["up", "greeting"]


async def test_the_token_goes_along_and_a_closed_door_is_explained() -> None:
    def door(connection: ServerConnection, request: Request) -> Response | None:
        let_in = request.headers.get("Authorization") == "Bearer sesame"
        return None if let_in else Response(403, "Forbidden", Headers(), b"")

    async def act(connection: ServerConnection) -> None:
        await Line(connection).says(greeting())
        await connection.wait_closed()

    async with serve(act, "127.0.0.1", 0, process_request=door) as server:
        async with Client(url_of(server), token="sesame") as client:
            assert await hear(client, "greeting") == ["up", "greeting"]
        with pytest.raises(NotAllowed, match="PARLEY_TOKEN"):
            async with Client(url_of(server)):
                pass


@pytest.mark.parametrize(("url", "words"), [("ws://127.0.0.1:9/ws", "make up"), ("http:/x", "not the address")])
async def test_nobody_there_and_no_address(url: str, words: str) -> None:
    with pytest.raises(GatewayDown, match=words):
        async with Client(url):
            pass


async def test_a_gateway_that_hangs_up_for_good_ends_it() -> None:
    async def act(line: Line) -> None:
        await line.says(greeting())
        await line.connection.close(1008, "not your session")

    async with gateway(act) as url, Client(url) as client:
        with pytest.raises(GatewayDown, match="not your session"):
            await hear(client, "down")
