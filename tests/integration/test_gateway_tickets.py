"""One-time tickets: what they open, whom, how often and how long."""

import asyncio
import time
from typing import Any

import httpx2
import jwt
import pytest
from websockets.exceptions import InvalidStatus

from cli.nats_server import NatsServer
from parley.client import Parley
from services.gateway.access.keys import COOKIE, TICKET, derive
from services.gateway.access.tickets import SECONDS
from services.gateway.app import build
from services.gateway.late_log import LateLog
from shared.bus import Bus
from shared.settings import Settings
from shared.store import Store
from tests.support.gateway import SECRET, TOKEN, World, client, gateway_settings, serving

KEYS: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}
NOW = int(time.time())
CLAIMS = {"sub": "alice", "aud": TICKET, "iat": NOW, "exp": NOW + 30, "jti": "a" * 32, "login": ""}
KEY = derive(SECRET.encode(), TICKET)


async def ticket(address: str, key: str = "ka") -> str:
    async with httpx2.AsyncClient(base_url=f"http://{address}") as http:
        answer = await http.post("/api/tickets", headers={"authorization": f"Bearer {key}"})
        assert (answer.status_code, answer.json()["seconds"]) == (201, SECONDS)
        return str(answer.json()["ticket"])


async def user_of(address: str, path: str, **options: Any) -> str:
    """Who the gateway takes us for; "" and the words of its refusal."""
    try:
        async with client(address, path, **options) as found:
            return str(found.heard[0]["user"])
    except InvalidStatus as refused:
        return f"{refused.response.status_code} {(refused.response.body or b'').decode()}"


async def test_a_ticket_opens_one_socket_once() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address:
        path = f"/ws?ticket={await ticket(address)}"
        assert await user_of(address, path) == "alice"
        again = await user_of(address, path)
        assert again.startswith("401")
        assert "has been used" in again
        assert "POST /api/tickets" in again


@pytest.mark.parametrize("mode", ["keys", "token", "jwt", "none"])
async def test_in_every_way_of_logging_in(mode: str) -> None:
    world = World(**KEYS | {"parley_auth": mode, "parley_token": TOKEN})
    carol = jwt.encode({"sub": "carol", "exp": int(time.time()) + 600}, SECRET, algorithm="HS256")
    secret = {"keys": "kb", "token": TOKEN, "jwt": carol, "none": "x"}[mode]
    async with serving(world.app) as address:
        path = f"/ws?ticket={await ticket(address, secret)}"
        assert await user_of(address, path) == {"keys": "bob", "jwt": "carol"}.get(mode, "local")


async def test_it_is_not_given_to_strangers_nor_to_foreign_pages() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, httpx2.AsyncClient(base_url=f"http://{address}") as http:
        assert (await http.post("/api/tickets")).status_code == 401
        await http.get(
            "/", params={"token": "ka"}, headers={"sec-fetch-site": "none"}
        )  # from here on the browser's cookie says who it is
        assert (await http.post("/api/tickets")).status_code == 403
        assert (await http.post("/api/tickets", headers={"origin": "http://evil.example"})).status_code == 403
        own = await http.post("/api/tickets", headers={"origin": f"http://{address}"})
        path = f"/ws?ticket={own.json()['ticket']}"
        assert (await user_of(address, path, origin="http://evil.example")).startswith("403")
        assert await user_of(address, path, origin=f"http://{address}") == "alice"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", "not valid"),
        ("a.b.c", "not valid"),
        ("%00", "not valid"),
        ("x" * 5_000, "not valid"),
        ("ka", "not valid"),
        (jwt.encode(CLAIMS | {"exp": NOW - 1, "proof": "keys"}, KEY), "not valid"),
        (jwt.encode(CLAIMS | {"proof": "keys"}, "x" * 40), "not valid"),
        (jwt.encode(CLAIMS | {"proof": "keys"}, KEY), "not valid"),
        (jwt.encode(CLAIMS, KEY), "not valid"),
        (jwt.encode(CLAIMS | {"aud": COOKIE, "proof": "keys"}, KEY), "not valid"),
    ],
    ids=["word", "dots", "nul", "long", "key", "expired", "forged", "proof", "unproven", "cookie"],
)
async def test_what_is_no_ticket(text: str, said: str) -> None:
    world = World(**KEYS)
    async with serving(world.app) as address:
        told = await user_of(address, f"/ws?ticket={text}")
        assert told.startswith("401")
        assert said in told
        assert world.bus.redeemed == set()


async def test_a_ticket_ends_after_its_seconds_and_with_the_key_it_came_from() -> None:
    now = [float(NOW)]
    world = World(**KEYS)
    world.app.state.gateway.door._clock = lambda: now[0] - SECONDS - 1  # it was issued so long ago
    async with serving(world.app) as address:
        assert (await user_of(address, f"/ws?ticket={await ticket(address)}")).startswith("401")
        world.app.state.gateway.door._clock = time.time
        fresh = await ticket(address)
    changed = World(**KEYS | {"parley_api_keys": "alice=another"})
    async with serving(changed.app) as address:
        assert (await user_of(address, f"/ws?ticket={fresh}")).startswith("401")


async def test_nobody_else_can_use_it_and_it_is_not_used_up_by_trying() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address:
        path = f"/ws?ticket={await ticket(address)}"
        told = await user_of(address, path, additional_headers={"Authorization": "Bearer kb"})
        assert told.startswith("401")
        assert "somebody else" in told
        assert (await user_of(address, path, additional_headers={"Authorization": "Bearer no"})).startswith("401")
        assert await user_of(address, path, additional_headers={"Authorization": "Bearer ka"}) == "alice"


async def test_while_the_broker_is_away_it_opens_nothing() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address:
        path = f"/ws?ticket={await ticket(address)}"
        world.bus.down = True
        told = await user_of(address, path)
        assert told.startswith("503")
        assert "unavailable" in told


async def test_a_ticket_and_a_cookie_are_not_one_another() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, httpx2.AsyncClient(base_url=f"http://{address}") as http:
        found = await ticket(address)
        assert (await http.get("/api/me", headers={"authorization": f"Bearer {found}"})).status_code == 401
        name = world.app.state.gateway.door.cookie(secure=False)
        assert (await http.get("/api/me", headers={"cookie": f"{name}={found}"})).status_code == 401
        await http.get("/", params={"token": "ka"}, headers={"sec-fetch-site": "none"})
        assert (await user_of(address, f"/ws?ticket={http.cookies[name]}")).startswith("401")


async def test_a_socket_ends_with_its_login() -> None:
    world = World(**KEYS | {"parley_auth": "jwt"})
    short = jwt.encode({"sub": "carol", "exp": int(time.time()) + 5}, SECRET, algorithm="HS256")
    async with serving(world.app) as address:
        path = f"/ws?ticket={await ticket(address, short)}"
        async with client(address, path) as by_ticket:
            assert await by_ticket.closed() == 4401


async def test_a_program_hands_one_on() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, Parley(f"http://{address}", token="kb") as parley:
        url = await parley.socket_url()
        assert await user_of(address, url.removeprefix(f"ws://{address}")) == "bob"


async def test_once_across_gateways(settings: Settings, nats: NatsServer) -> None:
    """Two gateways, twenty handshakes at once with each of five tickets: one of them comes in, and none later."""
    chosen = gateway_settings(**KEYS, nats_url=nats.url)
    buses = [Bus(chosen, "gateway"), Bus(chosen, "gateway")]
    one, other = (build(chosen, bus, Store(bus), LateLog(bus)) for bus in buses)
    async with serving(one) as here, serving(other) as there:
        for bus in buses:
            await bus.connect()
        for _ in range(5):
            path = f"/ws?ticket={await ticket(here)}"
            told = await asyncio.gather(*(user_of(address, path) for address in (here, there) * 10))
            assert told.count("alice") == 1
            assert sum("has been used" in each for each in told) == 19
            assert "has been used" in await user_of(there, path)
