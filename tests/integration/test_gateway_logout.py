"""Logout: which cookies and sockets it ends, at which gateways, and for how long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import jwt
import pytest
from fastapi import FastAPI
from websockets.exceptions import InvalidStatus

from services.gateway.access import logouts
from services.gateway.app import build
from shared.bus import Bus
from shared.bus.provision import provision
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.support.gateway import SECRET, World, client, gateway_settings, serving
from tests.support.http_client import http_client
from tests.support.nats import NatsServer
from tests.support.timeouts import WAIT_TIMEOUT

KEYS: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}


@asynccontextmanager
async def browser(address: str, key: str = "ka") -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that has opened the login link, and sends requests from our own page."""
    page_headers = {"origin": f"http://{address}", "sec-fetch-site": "none"}
    async with http_client(base_url=f"http://{address}", headers=page_headers) as http:
        assert (await http.get("/", params={"token": key})).status_code == 303
        yield http


def cookie(browser: httpx2.AsyncClient) -> dict[str, str]:
    """The Cookie header with the browser's cookies, which a thief can still send after the browser has deleted them."""
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}


async def status(address: str, headers: dict[str, str]) -> int:
    async with http_client(base_url=f"http://{address}", headers=headers) as http:
        return (await http.get("/api/me")).status_code


async def until_status(expected: int, address: str, headers: dict[str, str]) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT):
        while await status(address, headers) != expected:  # noqa: ASYNC110  set by another task or process
            await asyncio.sleep(0.02)


async def test_logout_invalidates_the_cookie_and_other_browsers_stay_logged_in() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as http, browser(address) as other_browser:
        stolen = cookie(http)
        assert await status(address, stolen) == 200
        answer = await http.post("/api/logout")
        assert answer.status_code == 204
        assert not http.cookies, "the response deletes the cookie"
        assert await status(address, stolen) == 401
        with pytest.raises(InvalidStatus):
            async with client(address, additional_headers=stolen):
                pass
        assert (await other_browser.get("/api/me")).status_code == 200
        assert (await http.get("/", params={"token": "ka"})).status_code == 303
        assert (await http.get("/api/me")).status_code == 200


async def test_logout_closes_the_sockets_of_this_login_only() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as http, browser(address) as other_browser:
        ticket = (await http.post("/api/tickets")).json()["ticket"]
        unused = (await http.post("/api/tickets")).json()["ticket"]
        async with (
            client(address, additional_headers=cookie(http)) as by_cookie,
            client(address, f"/ws?ticket={ticket}") as by_ticket,
            client(address, additional_headers=cookie(other_browser)) as by_other,
            client(address, additional_headers={"Authorization": "Bearer ka"}) as by_key,
        ):
            assert (await http.post("/api/logout")).status_code == 204
            assert await by_cookie.closed() == 4401
            assert await by_ticket.closed() == 4401
            for socket in (by_other, by_key):
                await socket.send("resume", session_id="nobody")
                await socket.error("not_found")
        with pytest.raises(InvalidStatus):
            async with client(address, f"/ws?ticket={unused}"):
                pass
    assert not world.app.state.gateway.logouts._watchers


async def test_only_a_cookie_can_be_logged_out() -> None:
    async with serving(World(**KEYS).app) as address, http_client(base_url=f"http://{address}") as http:
        assert (await http.post("/api/logout")).status_code == 401
        answer = await http.post("/api/logout", headers={"authorization": "Bearer ka"})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
        assert "ends when it is changed" in answer.json()["hint"]
    async with serving(World().app) as address, http_client(base_url=f"http://{address}") as http:
        assert (await http.post("/api/logout")).status_code == 422


async def test_a_foreign_page_cannot_log_a_user_out() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as http:
        for origin in ({"origin": "http://evil.example"}, {"origin": "null"}):
            assert (await http.post("/api/logout", headers=origin)).status_code == 403
        assert (await http.get("/api/me")).status_code == 200


async def test_logout_fails_while_the_bus_is_unavailable() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as http:
        world.bus.down = True
        answer = await http.post("/api/logout")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert http.cookies
        assert (await http.get("/api/me")).status_code == 200


async def test_cookies_are_refused_until_the_logouts_are_loaded() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as http:
        stolen = cookie(http)
    restarted = World(**KEYS)
    restarted.bus.down = True
    async with serving(restarted.app) as address:
        assert await status(address, stolen) == 503
        assert await status(address, {"Authorization": "Bearer ka"}) == 200
        restarted.bus.down = False
        await restarted.app.state.gateway.logouts._load()
        assert await status(address, stolen) == 200


async def test_logouts_missed_during_a_lost_connection_are_loaded() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as http:
        (value,) = http.cookies.values()
        login = jwt.decode(value, options={"verify_signature": False})["login"]
        world.bus.ended.add(login)  # a logout at another gateway
        assert await status(address, cookie(http)) == 200
        await world.bus.reconnect()
        await until_status(401, address, cookie(http))


async def test_logouts_are_rate_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logouts, "LOGOUT_BURST", 2)
    world = World(**KEYS)
    async with serving(world.app) as address:
        for expected in (204, 204, 429):
            async with browser(address) as http:
                assert (await http.post("/api/logout")).status_code == expected
        async with browser(address, "kb") as another:
            assert (await another.post("/api/logout")).status_code == 204


async def test_a_logout_holds_at_every_gateway_and_after_a_restart(settings: Settings, nats: NatsServer) -> None:
    await provision(gateway_settings(nats_url=nats.url))
    config = gateway_settings(**KEYS, nats_url=nats.url_of("gateway"))

    def gateway() -> FastAPI:
        bus = Bus(config, "gateway")
        return build(config, bus, PlanStoreClient(bus), bus.log)

    async with (
        serving(gateway()) as first_gateway,
        serving(gateway()) as second_gateway,
        browser(first_gateway) as http,
    ):
        stolen = cookie(http)
        await until_status(200, second_gateway, stolen)
        async with client(second_gateway, additional_headers=stolen) as socket:
            await until_status(200, first_gateway, stolen)
            assert (await http.post("/api/logout")).status_code == 204
            assert await socket.closed() == 4401
        assert await status(second_gateway, stolen) == 401
    async with serving(gateway()) as restarted, browser(restarted) as another:
        await until_status(200, restarted, cookie(another))  # from now on the logouts are loaded
        assert await status(restarted, stolen) == 401
