"""Quotas at a running gateway: each user has one quota for all sockets and REST requests."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI, Request, Response
from starlette.types import Message

from parley.client import Parley, ParleyUnavailable
from services.gateway.access import quota
from services.gateway.access.quota import MESSAGE_BYTES, Quota, Quotas
from services.gateway.api_errors import ApiError
from services.gateway.live import channel
from services.gateway.live.hub import while_connected
from services.gateway.rest import sessions
from services.gateway.rest.requests import ResponseBackpressure
from shared.domain.kernel import commands as c
from tests.support.gateway import SECRET, World, client, gateway_settings, serving
from tests.support.http_client import http_client
from tests.support.stories import STEPS
from tests.support.timeouts import WAIT_TIMEOUT

KEYS = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}
ALICE, BOB = ({"Authorization": f"Bearer {key}"} for key in ("ka", "kb"))
CHAT = {"messages": [{"role": "user", "content": "How many orders are pending?"}], "stream": True}


@asynccontextmanager
async def rest_client(address: str, headers: dict[str, str] | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    async with http_client(base_url=f"http://{address}/api", headers=headers) as http:
        yield http


def quota_of(world: World, user: str = "local") -> Quota:
    user_quota: Quota = world.app.state.gateway.quotas.for_user(user)
    return user_quota


async def until_idle(world: World) -> None:
    """Wait until no session of this user is at work."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while quota_of(world).working_sessions:  # noqa: ASYNC110  a quota sets no event
            await asyncio.sleep(0.01)


async def test_sockets_and_rest_share_the_message_quota() -> None:
    world = World(**KEYS, max_requests_per_second=2)  # a burst of six
    world.app.state.gateway.quotas._clock = lambda: 0.0  # the clock stands still, so that no quota comes back
    async with (
        serving(world.app) as address,
        rest_client(address) as http,
        client(address, additional_headers=ALICE) as first,
        client(address, additional_headers=ALICE) as second,
    ):
        for her in (first, second):
            await her.send("stop")
            await her.error("not_now")
            await her.send("stop")
        answers = [await http.get("/me", headers=ALICE) for _ in range(2)]
        assert {answer.status_code for answer in answers} == {429}
        assert (await http.get("/me", headers=BOB)).status_code == 200


# --- working sessions


async def test_a_session_counts_as_working_until_idle_even_if_clients_leave() -> None:
    world = World(max_running_sessions_per_user=1)
    message: dict[str, Any] = {"session_id": "one", "content": "A calculator"}
    async with serving(world.app) as address, rest_client(address) as http:
        async with client(address) as her:
            await her.send("user_message", **message)
            await her.event("message.received")
        async with client(address) as her:
            await her.send("user_message", **message | {"session_id": "two"})
            error = await her.error("slow_down")
            assert error["retry_after"] >= 1
            assert "MAX_RUNNING_SESSIONS_PER_USER" in error["hint"]
        answer = await http.post("/sessions", json={"request": "A calculator"})
        assert (answer.status_code, int(answer.headers["retry-after"]) >= 1) == (429, True)
        assert (await world.story("two").load()).version == 0
        await world.story("one").drafts()
        await until_idle(world)
        assert (await http.post("/sessions", json={"request": "A calculator"})).status_code == 201


async def test_a_working_session_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world, may_close = World(max_running_sessions_per_user=1), asyncio.Event()
    close = channel.SessionChannel.close

    async def close_later(closed: channel.SessionChannel) -> None:
        await may_close.wait()
        await close(closed)

    monkeypatch.setattr(channel.SessionChannel, "close", close_later)  # it still closes when the next opens
    async with serving(world.app) as address, rest_client(address) as http:
        body: dict[str, Any] = {"request": "A calculator", "id": "one"}
        session_id = (await http.post("/sessions", json=body)).json()["session_id"]
        story = world.story(session_id)
        for number in range(3):
            await story.drafts()
            await until_idle(world)
            feedback = {"type": "feedback", "content": f"Bigger {number}"}
            assert (await http.post(f"/sessions/{session_id}/messages", json=feedback)).status_code == 200
            assert list(quota_of(world).working_sessions) == [session_id]
        may_close.set()
        await story.drafts()
        await until_idle(world)


async def test_an_approval_counts_as_starting_work() -> None:
    world = World(max_running_sessions_per_user=1)
    session = await world.story("planned").plan(user="local")
    assert session.plan
    async with serving(world.app) as address, rest_client(address) as http:
        assert (await http.post("/sessions", json={"request": "A calculator", "id": "m1"})).status_code == 201
        approval = {"type": "approval", "approved": True, "version": session.plan.version, "hash": session.plan.hash}
        assert (await http.post("/sessions/planned/messages", json=approval)).status_code == 429
        assert (await world.story("planned").load()).version == session.version


async def test_the_sdk_honours_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "DEFAULT_RETRY_AFTER", 0.1)
    world = World(max_running_sessions_per_user=1)
    async with serving(world.app) as address, Parley(f"http://{address}", timeout=0) as parley:
        first = await parley.start("A calculator")
        second = asyncio.create_task(parley.start("Another one"))
        async with asyncio.timeout(WAIT_TIMEOUT):
            while quota_of(world)._refused == 0:  # noqa: ASYNC110  polls until the first refusal
                await asyncio.sleep(0.01)
        assert not second.done()
        await first.stop()
        assert (await (await second).snapshot()).phase == "planning"


async def test_the_sdk_does_not_wait_for_a_long_retry_after() -> None:
    world = World(max_stored_bytes_per_day=2_000)
    async with serving(world.app) as address, Parley(f"http://{address}", timeout=0) as parley:
        await parley.start("A calculator. " * 90)
        with pytest.raises(ParleyUnavailable) as caught:
            await parley.start("A calculator. " * 90)
    assert (caught.value.code, "MAX_STORED_BYTES_PER_DAY" in str(caught.value)) == ("slow_down", True)


# --- stored bytes


async def test_a_fork_counts_its_size_as_stored_bytes() -> None:
    world = World(max_stored_bytes_per_day=60_000)
    await world.story("s").plan("A calculator. " * 3_000, user="local")
    async with serving(world.app) as address, rest_client(address) as http:
        forks = [(await http.post("/sessions/s/messages", json={"type": "fork"})).status_code for _ in range(2)]
        assert forks == [200, 429]
        assert (await http.post("/sessions/s/messages", json={"type": "stop"})).status_code == 200


# --- pending requests


async def test_waiting_requests_are_limited_per_user() -> None:
    world = World(**KEYS, max_pending_requests_per_user=1)
    async with serving(world.app) as address, rest_client(address) as http:
        async with http.stream("POST", "/chat", json=CHAT, headers=ALICE) as first:
            assert first.status_code == 200
            assert (await http.post("/chat", json=CHAT, headers=ALICE)).status_code == 429
            async with http.stream("POST", "/chat", json=CHAT, headers=BOB) as bobs:
                assert bobs.status_code == 200
        assert (await http.get("/me", headers=ALICE)).status_code == 200


async def test_a_request_is_cancelled_when_its_client_disconnects() -> None:
    cancelled = asyncio.Event()

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(ApiError):
        await while_connected(Request({"type": "http"}, receive), work())
    assert cancelled.is_set()


# --- unread messages


def _socket_with_small_buffer() -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    return connection


async def test_the_gateway_stops_reading_from_a_client_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    largest, add_unread = [0], Quota.add_unread

    def record_unread(self: Quota, buffer: Any, size: int) -> None:
        add_unread(self, buffer, size)
        largest.append(self.unread)

    monkeypatch.setattr(Quota, "add_unread", record_unread)
    world = World()
    story = world.story("s")
    session = await story.plan()
    session = await story.commit(c.EditPlan(base=session.version, steps=STEPS, notes="x" * 200_000))
    times = 6
    async with serving(world.app) as address:
        host, port = address.split(":")
        with _socket_with_small_buffer() as connection:
            connection.connect((host, int(port)))
            async with client(address, sock=connection, max_queue=1, compression=None) as slow, client(address) as her:
                for _ in range(times):
                    await slow.send("resume", session_id="s", after=session.version)
                await her.send("resume", session_id="s", after=session.version)
                size = len(json.dumps(await her.until("snapshot")))
                for _ in range(times):
                    await slow.until("snapshot")
    assert size > 400_000
    assert max(largest) < 2 * size


async def test_large_responses_count_until_they_are_read() -> None:
    alice_quota = Quotas(gateway_settings(max_send_buffer_bytes_per_user=500_000)).for_user("alice")
    app, body = FastAPI(), b"x" * (4 * MESSAGE_BYTES + 1)

    @app.get("/")
    async def large(request: Request) -> Response:
        request.state.quota = alice_quota
        return Response(body)

    class Reader:
        """A client that reads only on request."""

        def __init__(self) -> None:
            self.reads, self.status, self.parts = asyncio.Event(), 0, list[int]()

        async def ask(self) -> None:
            scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [], "state": {}}
            await ResponseBackpressure(app)(scope, self._receive, self._send)

        async def _receive(self) -> Message:
            return {"type": "http.request"}

        async def _send(self, message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                return
            self.parts.append(len(message["body"]))
            await self.reads.wait()

    first, second, third = Reader(), Reader(), Reader()
    pending = asyncio.create_task(first.ask())
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not first.parts:  # noqa: ASYNC110  polls until the first part is sent
            await asyncio.sleep(0)
    second.reads.set()
    await second.ask()
    assert (first.status, second.status, alice_quota.unread) == (200, 429, len(body))
    first.reads.set()
    third.reads.set()
    await pending
    await third.ask()
    assert (alice_quota.unread, sum(first.parts), max(first.parts), third.status) == (0, len(body), MESSAGE_BYTES, 200)


async def test_a_session_that_is_too_large_is_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "JOURNAL_PAGE_SIZE", 1)
    monkeypatch.setattr(sessions, "MAX_JOURNAL_PAGES", 2)
    world = World()
    story = world.story("s")
    await story.plan()
    async with serving(world.app) as address, rest_client(address) as http:
        assert (await http.get("/sessions/s/export")).status_code == 200
        await story.commit(c.Rename(title="Longer"))
        answer = await http.get("/sessions/s/export")
        assert (answer.status_code, "/journal" in answer.json()["hint"]) == (413, True)
        assert (await http.get("/sessions/s/export?format=py")).status_code == 404
