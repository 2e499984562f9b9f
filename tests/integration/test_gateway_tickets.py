"""One-time tickets open one WebSocket for one user, once, for a limited time."""

import asyncio
import time
from typing import Any

import jwt
import pytest
from websockets.exceptions import InvalidStatus

from parley.client import Parley
from services.gateway.access.auth import COOKIE, TICKET, TICKET_SECONDS, derive_key
from services.gateway.app import build
from shared.bus import Bus
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.support.gateway import SECRET, TOKEN, World, client, gateway_settings, serving
from tests.support.http_client import http_client
from tests.support.nats import NatsServer

KEYS: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}
NOW = int(time.time())
CLAIMS = {"sub": "alice", "aud": TICKET, "iat": NOW, "exp": NOW + 30, "jti": "a" * 32, "login": ""}
KEY = derive_key(SECRET.encode(), TICKET)


async def issue_ticket(address: str, key: str = "ka") -> str:
    async with http_client(base_url=f"http://{address}") as http:
        answer = await http.post("/api/tickets", headers={"authorization": f"Bearer {key}"})
        assert (answer.status_code, answer.json()["seconds"]) == (201, TICKET_SECONDS)
        return str(answer.json()["ticket"])


async def user_of(address: str, path: str, **options: Any) -> str:
    """The authenticated user; if the handshake is refused, its status and body."""
    try:
        async with client(address, path, **options) as connection:
            return str(connection.received[0]["user"])
    except InvalidStatus as refused:
        return f"{refused.response.status_code} {(refused.response.body or b'').decode()}"


async def test_a_ticket_opens_one_socket_once() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address:
        path = f"/ws?ticket={await issue_ticket(address)}"
        assert await user_of(address, path) == "alice"
        second_use = await user_of(address, path)
        assert second_use.startswith("401")
        assert "has been used" in second_use
        assert "POST /api/tickets" in second_use


@pytest.mark.parametrize("mode", ["keys", "token", "jwt", "none"])
async def test_tickets_work_with_every_authentication_mode(mode: str) -> None:
    world = World(**KEYS | {"parley_auth": mode, "parley_token": TOKEN})
    carol = jwt.encode({"sub": "carol", "exp": int(time.time()) + 600}, SECRET, algorithm="HS256")
    secret = {"keys": "kb", "token": TOKEN, "jwt": carol, "none": "x"}[mode]
    async with serving(world.app) as address:
        path = f"/ws?ticket={await issue_ticket(address, secret)}"
        assert await user_of(address, path) == {"keys": "bob", "jwt": "carol"}.get(mode, "local")


async def test_tickets_are_not_issued_to_unauthenticated_requests_or_foreign_pages() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, http_client(base_url=f"http://{address}") as http:
        assert (await http.post("/api/tickets")).status_code == 401
        # This sets a cookie, which authenticates the requests that follow.
        await http.get("/", params={"token": "ka"}, headers={"sec-fetch-site": "none"})
        assert (await http.post("/api/tickets")).status_code == 403
        assert (await http.post("/api/tickets", headers={"origin": "http://evil.example"})).status_code == 403
        same_origin = await http.post("/api/tickets", headers={"origin": f"http://{address}"})
        path = f"/ws?ticket={same_origin.json()['ticket']}"
        assert (await user_of(address, path, origin="http://evil.example")).startswith("403")
        assert await user_of(address, path, origin=f"http://{address}") == "alice"


async def test_invalid_tickets_are_refused() -> None:
    tickets = {
        "word": "x",
        "dots": "a.b.c",
        "NUL": "%00",
        "long": "x" * 5_000,
        "key": "ka",
        "expired": jwt.encode(CLAIMS | {"exp": NOW - 1, "proof": "keys"}, KEY),
        "forged": jwt.encode(CLAIMS | {"proof": "keys"}, "x" * 40),
        "proof": jwt.encode(CLAIMS | {"proof": "keys"}, KEY),
        "unproven": jwt.encode(CLAIMS, KEY),
        "cookie": jwt.encode(CLAIMS | {"aud": COOKIE, "proof": "keys"}, KEY),
    }
    world = World(**KEYS, max_failed_logins_per_minute=0)
    async with serving(world.app) as address:
        for kind, text in tickets.items():
            assert (await user_of(address, f"/ws?ticket={text}")).startswith("401"), kind
        assert world.bus.redeemed == set()


async def test_a_ticket_is_refused_after_its_time_or_without_its_key() -> None:
    now = [float(NOW)]
    world = World(**KEYS)
    # The clock is slow while the ticket is issued, so the ticket has already expired.
    world.app.state.gateway.authenticator._clock = lambda: now[0] - TICKET_SECONDS - 1
    async with serving(world.app) as address:
        assert (await user_of(address, f"/ws?ticket={await issue_ticket(address)}")).startswith("401")
        world.app.state.gateway.authenticator._clock = time.time
        valid = await issue_ticket(address)
    changed = World(**KEYS | {"parley_api_keys": "alice=another"})
    async with serving(changed.app) as address:
        assert (await user_of(address, f"/ws?ticket={valid}")).startswith("401")


async def test_a_ticket_is_bound_to_its_user_and_not_consumed_by_others() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address:
        path = f"/ws?ticket={await issue_ticket(address)}"
        result = await user_of(address, path, additional_headers={"Authorization": "Bearer kb"})
        assert result.startswith("401")
        assert "another user" in result
        assert (await user_of(address, path, additional_headers={"Authorization": "Bearer no"})).startswith("401")
        assert await user_of(address, path, additional_headers={"Authorization": "Bearer ka"}) == "alice"


async def test_tickets_are_refused_while_the_broker_is_unavailable() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address:
        path = f"/ws?ticket={await issue_ticket(address)}"
        world.bus.down = True
        result = await user_of(address, path)
        assert result.startswith("503")
        assert "unavailable" in result


async def test_tickets_and_cookies_are_not_interchangeable() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, http_client(base_url=f"http://{address}") as http:
        issued = await issue_ticket(address)
        assert (await http.get("/api/me", headers={"authorization": f"Bearer {issued}"})).status_code == 401
        name = world.app.state.gateway.authenticator.cookie_name(secure=False)
        assert (await http.get("/api/me", headers={"cookie": f"{name}={issued}"})).status_code == 401
        await http.get("/", params={"token": "ka"}, headers={"sec-fetch-site": "none"})
        assert (await user_of(address, f"/ws?ticket={http.cookies[name]}")).startswith("401")


async def test_a_socket_closes_when_its_login_expires() -> None:
    world = World(**KEYS | {"parley_auth": "jwt"})
    short = jwt.encode({"sub": "carol", "exp": int(time.time()) + 5}, SECRET, algorithm="HS256")
    async with serving(world.app) as address:
        path = f"/ws?ticket={await issue_ticket(address, short)}"
        async with client(address, path) as connection:
            assert await connection.closed() == 4401


async def test_the_sdk_gives_a_socket_url_with_a_ticket() -> None:
    world = World(**KEYS)
    async with serving(world.app) as address, Parley(f"http://{address}", token="kb") as parley:
        url = await parley.socket_url()
        assert await user_of(address, url.removeprefix(f"ws://{address}")) == "bob"


async def test_a_ticket_is_accepted_once_across_gateways(settings: Settings, nats: NatsServer) -> None:
    """Twenty concurrent handshakes at two gateways share each of five tickets: one succeeds, and none later.

    Where the broker has not answered one of them in time, none may have succeeded: that ticket does not count.
    """
    shared_settings = gateway_settings(**KEYS, nats_url=nats.url)
    buses = [Bus(shared_settings, "gateway"), Bus(shared_settings, "gateway")]
    first, second = (build(shared_settings, bus, PlanStoreClient(bus), bus.log) for bus in buses)
    async with serving(first) as first_address, serving(second) as second_address:
        for bus in buses:
            await bus.connect()
        answered = 0
        while answered < 5:
            path = f"/ws?ticket={await issue_ticket(first_address)}"
            results = await asyncio.gather(
                *(user_of(address, path) for address in (first_address, second_address) * 10)
            )
            late = sum(result.startswith("503") for result in results)
            used = sum("has been used" in result for result in results)
            assert results.count("alice") + used + late == 20
            assert results.count("alice") == 1 if late == 0 else results.count("alice") <= 1
            assert "alice" not in await user_of(second_address, path)
            answered += late == 0
