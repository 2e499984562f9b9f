"""The connection against a scripted gateway on a real socket: lost, repeated and refused messages, refused clients."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from parley.client import Connection, NotAllowed, Parley, ParleyDown, ParleyError, Refused, endpoint
from parley.client.socket import Link
from parley.protocol import client as m
from parley.protocol import server as s
from services.gateway.views.messages import snapshot
from shared.domain import commands as c
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
        async with asyncio.timeout(20):
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
    monkeypatch.setattr(endpoint, "FIRST_PAUSE", 0.01)


def connected(url: str, session_id: str | None = None, *, token: str = "") -> Connection:
    return Connection(endpoint.Endpoint(url, token), session_id=session_id)


async def hear(client: Connection, kind: str, count: int = 1, *, says: str = "") -> list[str]:
    """The types of what comes, until `count` of this kind have come; links as they are. The first greeting is
    answered with the request `says`."""
    found: list[str] = []
    async with asyncio.timeout(10):
        async for message in client:
            found.append(message.value if isinstance(message, Link) else message.type)
            if says and found[-1] == "greeting" and found.count("greeting") == 1:
                await client.send(m.UserMessage(type="user_message", id="mine", content=says))
            if found.count(kind) == count:
                return found
    raise AssertionError(found)


def begun() -> Told:
    """A session with a plan in review. Its messages: two events, then the review."""
    story = Told()
    story.does(c.Say(text="calc"), PLAN)
    return story


def told() -> list[s.ServerMessage]:
    return begun().messages


def where_it_stands() -> s.Snapshot:
    return snapshot(begun().session)


async def test_after_a_lost_connection_it_resumes_behind_the_last_event() -> None:
    resumed: list[m.AnyClientMessage] = []

    async def first(line: Line) -> None:
        await line.says(greeting(), *told()[:1])
        await line.connection.close()

    async def second(line: Line) -> None:
        await line.says(greeting().model_copy(update={"session_id": "another"}))
        resumed.append(await line.hears())
        await line.says(told()[2])  # the socket is not on the session yet
        await line.says(where_it_stands(), *told())
        await line.waits()

    async with gateway(first, second) as url, connected(url) as client:
        kinds = await hear(client, "text_plan_review")
    assert kinds == ["up", "greeting", "event", "down", "up", "greeting", "snapshot", "event", "text_plan_review"]
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
        heard.append(await line.hears())
        await line.says(where_it_stands())  # as for a message that begins a session which has begun
        heard.append(await line.hears())
        await line.says(where_it_stands(), *told())
        await line.waits()

    async with gateway(first, second) as url, connected(url) as client:
        kinds = await hear(client, "text_plan_review", says="calc")
    assert heard[0] == heard[1]
    assert heard[0].session_id == "s1"
    assert isinstance(heard[2], m.Resume)
    assert kinds[-4:] == ["snapshot", "event", "event", "text_plan_review"]


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

    async with gateway(first, second) as url, connected(url) as client:
        assert (await hear(client, "log", says="calc")).count("event") == 1
        assert client.sent_here("s1:mine")
        assert "mine" not in client.pending


async def test_a_message_that_is_too_big_is_given_up_and_the_others_are_sent_again() -> None:
    async def first(line: Line) -> None:
        await line.says(greeting())
        await line.hears()
        await line.hears()
        await line.connection.close(1009)

    async def second(line: Line) -> None:
        await line.says(greeting())
        again = await line.hears()
        await line.says(s.Error(session_id="s1", code="not_now", message="No.", reply_to=again.id))
        await line.waits()

    async with asyncio.timeout(20), gateway(first, second) as url, connected(url) as connection:
        await connection.send(m.Stop(type="stop", id="small"))
        await connection.send(m.UserMessage(type="user_message", id="big", content="x" * 9000))
        with pytest.raises(Refused, match=r"9,\d{3} characters") as refused:
            await connection.until(s.TextPlanReview)
        assert refused.value.code == "too_large"
        assert connection.pending == {"small"}
        with pytest.raises(Refused) as refused:
            await connection.until(s.TextPlanReview)
        assert refused.value.code == "not_now"


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

    async with gateway(act) as url, connected(url, "s1") as client:
        kinds = await hear(client, "log", 3)
    assert "error" not in kinds
    assert {message.id for message in heard} == {heard[0].id}
    assert all(isinstance(message, m.Resume) for message in heard)


async def test_a_resume_that_fails_behind_its_snapshot_is_sent_again() -> None:
    first, second = told()[:2]
    heard: list[m.AnyClientMessage] = []

    async def act(line: Line) -> None:
        await line.says(greeting())
        heard.append(await line.hears())
        cut_off = s.Error(session_id="s1", code="unavailable", message="Not complete yet.", reply_to=heard[0].id)
        await line.says(where_it_stands(), first, cut_off)
        heard.append(await line.hears())
        await line.says(where_it_stands(), second, s.Log(session_id="s1", content="all of it"))
        await line.waits()

    async with gateway(act) as url, connected(url, "s1") as client:
        kinds = await hear(client, "log", 2)
        assert not client.pending
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

    async with gateway(act) as url, connected(url) as client:
        assert await hear(client, "greeting") == ["up", "greeting"]


async def test_the_token_goes_along_and_a_closed_door_is_explained() -> None:
    def door(connection: ServerConnection, request: Request) -> Response | None:
        let_in = request.headers.get("Authorization") == "Bearer sesame"
        return None if let_in else Response(403, "Forbidden", Headers(), b"")

    async def act(connection: ServerConnection) -> None:
        await Line(connection).says(greeting())
        await connection.wait_closed()

    async with serve(act, "127.0.0.1", 0, process_request=door) as server:
        async with connected(url_of(server), token="sesame") as client:
            assert await hear(client, "greeting") == ["up", "greeting"]
        with pytest.raises(NotAllowed, match="token"):
            async with connected(url_of(server)) as client:
                await client.open()


@pytest.mark.parametrize(("url", "words"), [("ws://127.0.0.1:9/ws", "Is it up"), ("http:/x", "not the address")])
async def test_nobody_there_and_no_address(url: str, words: str) -> None:
    with pytest.raises(ParleyError, match=words):
        async with connected(url) as client:
            await client.open()


async def test_a_gateway_that_hangs_up_for_good_ends_it() -> None:
    async def act(line: Line) -> None:
        await line.says(greeting())
        await line.connection.close(1008, "not your session")

    async with gateway(act) as url, connected(url) as client:
        with pytest.raises(NotAllowed, match="not your session"):
            await hear(client, "down")


async def test_a_session_of_its_own_id_is_begun_and_not_resumed() -> None:
    async def act(line: Line) -> None:
        await line.says(greeting().model_copy(update={"session_id": "another"}))
        message = await line.hears()
        assert (message.type, message.session_id) == ("user_message", "s1")
        await line.says(*told())
        await line.waits()

    async with (
        gateway(act) as url,
        Connection(endpoint.Endpoint(url), session_id="s1", begun=False) as connection,
    ):
        await connection.send(m.UserMessage(type="user_message", content="calc"))
        async with asyncio.timeout(20):
            review = await connection.until(s.TextPlanReview)
    assert review.session_id == "s1"


async def test_of_two_gateways_the_next_is_taken_when_one_is_lost() -> None:
    async def act(line: Line) -> None:
        await line.says(greeting())
        await line.waits()

    seen: list[str] = []
    async with gateway(act, act) as one, gateway(act) as two:
        endpoints = endpoint.Endpoint(one), endpoint.Endpoint(two)
        async with asyncio.timeout(20), Connection(*endpoints) as connection:
            for _ in range(3):
                await connection.until(s.Greeting)
                seen.append(connection.url)
                connection.reconnect()
    assert seen == [one, two, one]


async def test_a_refusal_ends_what_is_waited_for_and_one_of_done_before_is_none() -> None:
    async def act(line: Line) -> None:
        await line.says(greeting())
        first, second = await line.hears(), await line.hears()
        await line.says(s.Error(session_id="s1", code="already_done", message="Done.", reply_to=first.id))
        await line.says(s.Error(session_id="s1", code="not_now", message="No.", hint="Wait.", reply_to=second.id))
        await line.waits()

    async with asyncio.timeout(20), gateway(act) as url, connected(url) as connection:
        await connection.send(m.Stop(type="stop"))
        await connection.send(m.Pause(type="pause"))
        with pytest.raises(Refused, match="Wait") as refused:
            await connection.until(s.TextPlanReview)
        assert not connection.pending
    assert refused.value.code == "not_now"


async def test_a_gateway_that_stays_away_is_given_up_when_patience_ends() -> None:
    async def act(line: Line) -> None:
        await line.says(greeting())
        await line.hears()
        await line.says(where_it_stands(), *told())
        await line.waits()

    async with AsyncExitStack() as serving:
        url = await serving.enter_async_context(gateway(act))
        parley = await serving.enter_async_context(Parley(url, patience=0.3))
        events = parley.session("s1").events()
        assert [(await anext(events)).version for _ in range(2)] == [1, 2]
        async with asyncio.timeout(20), serving.pop_all():
            waiting = asyncio.create_task(anext(events))
    with pytest.raises(ParleyDown, match="Is it up"):
        async with asyncio.timeout(20):
            await waiting
