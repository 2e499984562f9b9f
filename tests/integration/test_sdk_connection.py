"""The SDK's connection to a scripted gateway on a real socket: reconnects, repeated and refused messages, logins."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from parley.client import Connection, NotAllowed, Parley, ParleyError, ParleyUnavailable, RequestRefused, endpoint
from parley.client.socket import Link
from parley.protocol import client as m
from parley.protocol import server as s
from services.gateway.views.protocol1 import snapshot
from shared.domain.kernel import commands as c
from tests.support.timeouts import WAIT_TIMEOUT
from tests.unit.test_cli_chat_view import PLAN, ChatScenario, greeting

Script = Callable[["GatewayConnection"], Awaitable[None]]


class GatewayConnection:
    """The gateway's side of one connection, scripted by the test."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection

    async def send_messages(self, *messages: s.ServerMessage) -> None:
        for message in messages:
            await self.connection.send(message.model_dump_json(by_alias=True))

    async def receive(self) -> m.AnyClientMessage:
        async with asyncio.timeout(WAIT_TIMEOUT):
            return m.CLIENT_MESSAGES.validate_json(await self.connection.recv())

    async def wait_closed(self) -> None:
        await self.connection.wait_closed()


@asynccontextmanager
async def gateway(*scripts: Script) -> AsyncIterator[str]:
    """The URL of a gateway that runs one script per connection. A failed script fails the test."""
    remaining = iter(scripts)
    failures: list[BaseException] = []

    async def play(connection: ServerConnection) -> None:
        try:
            await next(remaining)(GatewayConnection(connection))
        except BaseException as error:
            failures.append(error)
            raise

    async with serve(play, "127.0.0.1", 0) as server:
        yield url_of(server)
    assert not failures


def url_of(server: Server) -> str:
    return f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/ws"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "FIRST_PAUSE", 0.01)


def connected(url: str, session_id: str | None = None, *, token: str = "") -> Connection:
    return Connection(endpoint.Endpoint(url, token), session_id=session_id)


async def receive_until(client: Connection, kind: str, count: int = 1, *, says: str = "") -> list[str]:
    """The types of the received messages, up to the `count`th of this kind. Changes of the link are listed, too.

    Answers the first greeting with the user message `says`.
    """
    types: list[str] = []
    async with asyncio.timeout(WAIT_TIMEOUT):
        async for message in client:
            types.append(message.value if isinstance(message, Link) else message.type)
            if says and types[-1] == "greeting" and types.count("greeting") == 1:
                await client.send(m.UserMessage(type="user_message", id="mine", content=says))
            if types.count(kind) == count:
                return types
    raise AssertionError(types)


def session_in_review() -> ChatScenario:
    """The messages of a session with a plan in review: two events, then the review."""
    story = ChatScenario()
    story.does(c.Say(text="calc"), PLAN)
    return story


def review_messages() -> list[s.ServerMessage]:
    return session_in_review().messages


def review_snapshot() -> s.Snapshot:
    return snapshot(session_in_review().session)


async def test_a_lost_connection_resumes_after_the_last_received_event() -> None:
    resumed: list[m.AnyClientMessage] = []

    async def first(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting(), *review_messages()[:1])
        await socket.connection.close()

    async def second(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting().model_copy(update={"session_id": "another"}))
        resumed.append(await socket.receive())
        await socket.send_messages(review_messages()[2])  # not expected: this socket has not joined the session yet
        await socket.send_messages(review_snapshot(), *review_messages())
        await socket.wait_closed()

    async with gateway(first, second) as url, connected(url) as client:
        kinds = await receive_until(client, "text_plan_review")
    assert kinds == ["up", "greeting", "event", "down", "up", "greeting", "snapshot", "event", "text_plan_review"]
    assert isinstance(resumed[0], m.Resume)
    assert (resumed[0].session_id, resumed[0].after) == ("s1", 1)


async def test_unacknowledged_messages_are_sent_again_with_the_same_id() -> None:
    received: list[m.AnyClientMessage] = []

    async def first(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        received.append(await socket.receive())
        await socket.connection.close()

    async def second(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting().model_copy(update={"session_id": "another"}))
        received.append(await socket.receive())
        await socket.send_messages(review_snapshot())  # the gateway's answer when the session exists already
        received.append(await socket.receive())
        await socket.send_messages(review_snapshot(), *review_messages())
        await socket.wait_closed()

    async with gateway(first, second) as url, connected(url) as client:
        kinds = await receive_until(client, "text_plan_review", says="calc")
    assert received[0] == received[1]
    assert received[0].session_id == "s1"
    assert isinstance(received[2], m.Resume)
    assert kinds[-4:] == ["snapshot", "event", "event", "text_plan_review"]


async def test_acknowledged_messages_are_not_sent_again() -> None:
    async def first(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        message = await socket.receive()
        event = review_messages()[0]
        assert isinstance(event, s.EventMessage)
        own_event = event.event.model_copy(update={"id": f"s1:{message.id}"})
        await socket.send_messages(event.model_copy(update={"event": own_event}))
        await socket.connection.close()

    async def second(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        assert isinstance(await socket.receive(), m.Resume)
        await socket.send_messages(s.Log(session_id="s1", content="nothing else came"))
        assert isinstance(await socket.receive(), m.Close)

    async with gateway(first, second) as url, connected(url) as client:
        assert (await receive_until(client, "log", says="calc")).count("event") == 1
        assert client.sent_here("s1:mine")
        assert "mine" not in client.pending


async def test_a_too_large_message_is_dropped_and_the_others_are_sent_again() -> None:
    async def first(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        await socket.receive()
        await socket.receive()
        await socket.connection.close(1009)

    async def second(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        repeated = await socket.receive()
        await socket.send_messages(s.Error(session_id="s1", code="not_now", message="No.", reply_to=repeated.id))
        await socket.wait_closed()

    async with asyncio.timeout(WAIT_TIMEOUT), gateway(first, second) as url, connected(url) as connection:
        await connection.send(m.Stop(type="stop", id="small"))
        await connection.send(m.UserMessage(type="user_message", id="big", content="x" * 9000))
        with pytest.raises(RequestRefused, match=r"9,\d{3} characters") as refused:
            await connection.until(s.TextPlanReview)
        assert refused.value.code == "too_large"
        assert connection.pending == {"small"}
        with pytest.raises(RequestRefused) as refused:
            await connection.until(s.TextPlanReview)
        assert refused.value.code == "not_now"


async def test_messages_refused_as_unavailable_are_sent_again() -> None:
    received: list[m.AnyClientMessage] = []

    async def script(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        for _ in range(2):
            received.append(await socket.receive())
            error = s.Error(session_id="s1", code="unavailable", message="The log is away.", reply_to=received[-1].id)
            await socket.send_messages(error)
        received.append(await socket.receive())
        await socket.send_messages(s.Log(session_id="s1", content="heard"))
        await socket.wait_closed()

    async with gateway(script) as url, connected(url, "s1") as client:
        kinds = await receive_until(client, "log", 3)
    assert "error" not in kinds
    assert {message.id for message in received} == {received[0].id}
    assert all(isinstance(message, m.Resume) for message in received)


async def test_a_resume_that_fails_after_its_snapshot_is_sent_again() -> None:
    first, second = review_messages()[:2]
    received: list[m.AnyClientMessage] = []

    async def script(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        received.append(await socket.receive())
        cut_off = s.Error(session_id="s1", code="unavailable", message="Not complete yet.", reply_to=received[0].id)
        await socket.send_messages(review_snapshot(), first, cut_off)
        received.append(await socket.receive())
        await socket.send_messages(review_snapshot(), second, s.Log(session_id="s1", content="all of it"))
        await socket.wait_closed()

    async with gateway(script) as url, connected(url, "s1") as client:
        kinds = await receive_until(client, "log", 2)
        assert not client.pending
    assert "error" not in kinds
    assert [(message.type, message.id, getattr(message, "after", 0)) for message in received] == [
        ("resume", received[0].id, 0),
        ("resume", received[0].id, 1),
    ]


async def test_unknown_messages_are_ignored() -> None:
    async def script(socket: GatewayConnection) -> None:
        await socket.connection.send('{"type": "of_tomorrow", "session_id": "s1"}')
        await socket.send_messages(greeting())
        await socket.wait_closed()

    async with gateway(script) as url, connected(url) as client:
        assert await receive_until(client, "greeting") == ["up", "greeting"]


async def test_the_token_is_sent_and_a_refused_login_names_it() -> None:
    def authorize(connection: ServerConnection, request: Request) -> Response | None:
        has_token = request.headers.get("Authorization") == "Bearer sesame"
        return None if has_token else Response(403, "Forbidden", Headers(), b"")

    async def script(connection: ServerConnection) -> None:
        await GatewayConnection(connection).send_messages(greeting())
        await connection.wait_closed()

    async with serve(script, "127.0.0.1", 0, process_request=authorize) as server:
        async with connected(url_of(server), token="sesame") as client:
            assert await receive_until(client, "greeting") == ["up", "greeting"]
        with pytest.raises(NotAllowed, match="token"):
            async with connected(url_of(server)) as client:
                await client.open()


@pytest.mark.parametrize(("url", "words"), [("ws://127.0.0.1:9/ws", "Is it up"), ("http:/x", "not the address")])
async def test_unreachable_gateways_and_invalid_addresses_are_reported(url: str, words: str) -> None:
    with pytest.raises(ParleyError, match=words):
        async with connected(url) as client:
            await client.open()


async def test_a_close_code_for_a_refused_session_ends_the_connection_for_good() -> None:
    async def script(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        await socket.connection.close(1008, "not your session")

    async with gateway(script) as url, connected(url) as client:
        with pytest.raises(NotAllowed, match="not your session"):
            await receive_until(client, "down")


async def test_a_new_session_with_a_given_id_is_not_resumed() -> None:
    async def script(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting().model_copy(update={"session_id": "another"}))
        message = await socket.receive()
        assert (message.type, message.session_id) == ("user_message", "s1")
        await socket.send_messages(*review_messages())
        await socket.wait_closed()

    async with (
        gateway(script) as url,
        Connection(endpoint.Endpoint(url), session_id="s1", exists=False) as connection,
    ):
        await connection.send(m.UserMessage(type="user_message", content="calc"))
        async with asyncio.timeout(WAIT_TIMEOUT):
            review = await connection.until(s.TextPlanReview)
    assert review.session_id == "s1"


async def test_reconnecting_tries_the_next_gateway() -> None:
    async def script(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        await socket.wait_closed()

    urls: list[str] = []
    async with gateway(script, script) as first_url, gateway(script) as second_url:
        endpoints = endpoint.Endpoint(first_url), endpoint.Endpoint(second_url)
        async with asyncio.timeout(WAIT_TIMEOUT), Connection(*endpoints) as connection:
            for _ in range(3):
                await connection.until(s.Greeting)
                urls.append(connection.url)
                connection.reconnect()
    assert urls == [first_url, second_url, first_url]


async def test_an_error_ends_a_wait_unless_its_code_is_already_done() -> None:
    async def script(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        first, second = await socket.receive(), await socket.receive()
        await socket.send_messages(s.Error(session_id="s1", code="already_done", message="Done.", reply_to=first.id))
        await socket.send_messages(
            s.Error(session_id="s1", code="not_now", message="No.", hint="Wait.", reply_to=second.id)
        )
        await socket.wait_closed()

    async with asyncio.timeout(WAIT_TIMEOUT), gateway(script) as url, connected(url) as connection:
        await connection.send(m.Stop(type="stop"))
        await connection.send(m.Pause(type="pause"))
        with pytest.raises(RequestRefused, match="Wait") as refused:
            await connection.until(s.TextPlanReview)
        assert not connection.pending
    assert refused.value.code == "not_now"


async def test_events_of_a_gateway_that_stays_unreachable_end_with_an_error_after_the_timeout() -> None:
    async def script(socket: GatewayConnection) -> None:
        await socket.send_messages(greeting())
        await socket.receive()
        await socket.send_messages(review_snapshot(), *review_messages())
        await socket.wait_closed()

    async with AsyncExitStack() as serving:
        url = await serving.enter_async_context(gateway(script))
        parley = await serving.enter_async_context(Parley(url, timeout=0.3))
        events = parley.session("s1").events()
        assert [(await anext(events)).version for _ in range(2)] == [1, 2]
        async with asyncio.timeout(WAIT_TIMEOUT), serving.pop_all():
            waiting = asyncio.create_task(anext(events))
    with pytest.raises(ParleyUnavailable, match="Is it up"):
        async with asyncio.timeout(WAIT_TIMEOUT):
            await waiting
