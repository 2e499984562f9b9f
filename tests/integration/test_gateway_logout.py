"""Logging out: what ends, where, for how long, and what does not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import jwt
import pytest
from fastapi import FastAPI
from websockets.exceptions import InvalidStatus

from cli.nats_server import NatsServer
from services.gateway.access import logouts
from services.gateway.app import build
from services.gateway.late_log import LateLog
from shared.bus import Bus
from shared.bus.provision import provision
from shared.settings import Settings
from shared.store import Store
from tests.support.gateway import SECRET, World, client, gateway_settings, serving

KEYS: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}


@asynccontextmanager
async def browser(address: str, key: str = "ka") -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that has opened the login link; what it sends comes from our own page."""
    own = {"origin": f"http://{address}", "sec-fetch-site": "none"}
    async with httpx2.AsyncClient(base_url=f"http://{address}", headers=own) as found:
        assert (await found.get("/", params={"token": key})).status_code == 303
        yield found


def cookie(browser: httpx2.AsyncClient) -> dict[str, str]:
    """As a thief would send it, whatever the browser has forgotten since."""
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}


async def status(address: str, headers: dict[str, str]) -> int:
    async with httpx2.AsyncClient(base_url=f"http://{address}", headers=headers) as other:
        return (await other.get("/api/me")).status_code


async def until(wanted: int, address: str, headers: dict[str, str]) -> None:
    async with asyncio.timeout(20):
        while await status(address, headers) != wanted:  # noqa: ASYNC110  of another task, or process
            await asyncio.sleep(0.02)


async def test_the_cookie_means_nothing_any_more_and_other_browsers_stay_logged_in() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as one, browser(address) as other:
        stolen = cookie(one)
        assert await status(address, stolen) == 200
        answer = await one.post("/api/logout")
        assert answer.status_code == 204
        assert not one.cookies, "the browser forgets it"
        assert await status(address, stolen) == 401
        with pytest.raises(InvalidStatus):
            async with client(address, additional_headers=stolen):
                pass
        assert (await other.get("/api/me")).status_code == 200
        assert (await one.get("/", params={"token": "ka"})).status_code == 303
        assert (await one.get("/api/me")).status_code == 200


async def test_open_sockets_of_this_login_end_and_no_others() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as one, browser(address) as other:
        ticket = (await one.post("/api/tickets")).json()["ticket"]
        unused = (await one.post("/api/tickets")).json()["ticket"]
        async with (
            client(address, additional_headers=cookie(one)) as by_cookie,
            client(address, f"/ws?ticket={ticket}") as by_ticket,
            client(address, additional_headers=cookie(other)) as by_other,
            client(address, additional_headers={"Authorization": "Bearer ka"}) as by_key,
        ):
            assert (await one.post("/api/logout")).status_code == 204
            assert await by_cookie.closed() == 4401
            assert await by_ticket.closed() == 4401
            for still in (by_other, by_key):
                await still.send("resume", session_id="nobody")
                await still.error("not_found")
        with pytest.raises(InvalidStatus):
            async with client(address, f"/ws?ticket={unused}"):
                pass
    assert not world.app.state.gateway.logouts._watched


async def test_what_is_no_cookie_cannot_be_logged_out() -> None:
    async with serving(World(**KEYS).app) as address, httpx2.AsyncClient(base_url=f"http://{address}") as http:
        assert (await http.post("/api/logout")).status_code == 401
        answer = await http.post("/api/logout", headers={"authorization": "Bearer ka"})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
        assert "ends when it is changed" in answer.json()["hint"]
    async with serving(World().app) as address, httpx2.AsyncClient(base_url=f"http://{address}") as http:
        assert (await http.post("/api/logout")).status_code == 422


async def test_a_foreign_page_logs_nobody_out() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as one:
        for origin in ({"origin": "http://evil.example"}, {"origin": "null"}):
            assert (await one.post("/api/logout", headers=origin)).status_code == 403
        assert (await one.get("/api/me")).status_code == 200


async def test_while_the_bus_is_away_nobody_is_told_that_they_are_logged_out() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as one:
        world.bus.down = True
        answer = await one.post("/api/logout")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert one.cookies
        assert (await one.get("/api/me")).status_code == 200


async def test_a_gateway_that_cannot_know_yet_takes_keys_and_no_cookies() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as one:
        kept = cookie(one)
    later = World(**KEYS)
    later.bus.down = True
    async with serving(later.app) as address:
        assert await status(address, kept) == 503
        assert await status(address, {"Authorization": "Bearer ka"}) == 200
        later.bus.down = False
        await later.app.state.gateway.logouts._load()
        assert await status(address, kept) == 200


async def test_what_was_missed_while_the_connection_was_lost_is_learnt() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, browser(address) as one:
        (value,) = one.cookies.values()
        world.bus.ended.add(jwt.decode(value, options={"verify_signature": False})["login"])  # at another gateway
        assert await status(address, cookie(one)) == 200
        await world.bus.reconnect()
        await until(401, address, cookie(one))


async def test_logging_out_again_and_again_is_refused_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logouts, "BURST", 2)
    world = World(**KEYS)
    async with serving(world.app) as address:
        for expected in (204, 204, 429):
            async with browser(address) as one:
                assert (await one.post("/api/logout")).status_code == expected
        async with browser(address, "kb") as another:
            assert (await another.post("/api/logout")).status_code == 204


async def test_at_every_gateway_and_after_a_restart(settings: Settings, nats: NatsServer) -> None:
    await provision(gateway_settings(nats_url=nats.url))
    chosen = gateway_settings(**KEYS, nats_url=nats.url_of("gateway"))

    def gateway() -> FastAPI:
        bus = Bus(chosen, "gateway")
        return build(chosen, bus, Store(bus), LateLog(bus))

    async with serving(gateway()) as here, serving(gateway()) as there, browser(here) as one:
        stolen = cookie(one)
        await until(200, there, stolen)
        async with client(there, additional_headers=stolen) as socket:
            await until(200, here, stolen)
            assert (await one.post("/api/logout")).status_code == 204
            assert await socket.closed() == 4401
        assert await status(there, stolen) == 401
    async with serving(gateway()) as later, browser(later) as another:
        await until(200, later, cookie(another))  # from here on it knows who has logged out
        assert await status(later, stolen) == 401
