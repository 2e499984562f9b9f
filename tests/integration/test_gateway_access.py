"""Access control: login, cookies, keys, JWTs, origins, other users' sessions, and security headers."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from websockets.exceptions import InvalidStatus

from services.gateway import readiness
from services.gateway.access.auth import COOKIE, derive_key
from services.gateway.app import build
from services.gateway.rest.page import NONCE_PLACEHOLDER, SAFE_HEADERS
from shared.domain.kernel import commands as c
from tests.support.gateway import SECRET, TOKEN, World, client, serving
from tests.support.http_client import http_client
from tests.support.timeouts import WAIT_TIMEOUT

KEYS = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}
LOGIN = {"parley_auth": "token", "parley_token": TOKEN, "parley_secret": SECRET}


PASTED = {"sec-fetch-site": "none"}  # what a browser sends for an address that the user typed or pasted


@asynccontextmanager
async def _http_client(address: str, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with http_client(base_url=f"http://{address}", headers=headers) as http:
        yield http


async def _handshake(address: str, path: str = "/ws", **options: Any) -> int:
    """The status of the WebSocket handshake: 101 if it is accepted."""
    try:
        async with client(address, path, **options):
            return 101
    except InvalidStatus as refused:
        return int(refused.response.status_code)


async def test_a_login_link_sets_a_cookie() -> None:
    world = World(**LOGIN)
    async with serving(world.app) as address, _http_client(address) as browser:
        assert (await browser.get("/api/me")).status_code == 401
        assert (await browser.get("/", params={"token": "wrong"})).status_code == 401
        answer = await browser.get("/", params={"view": "inbox", "token": TOKEN}, headers=PASTED)
        assert (answer.status_code, answer.headers["location"]) == (303, "./?view=inbox")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert TOKEN not in cookie
        me = (await browser.get("/api/me")).json()
        assert (me["user"], me["everything"], me["auth"]) == ("local", True, "token")
        assert await _handshake(address, additional_headers={"Cookie": "=".join(*browser.cookies.items())}) == 101


async def test_a_redirect_never_leaves_this_host() -> None:
    world = World(**LOGIN)
    async with serving(world.app) as address, _http_client(address) as browser:
        answer = await browser.get(f"//evil.example/?token={TOKEN}", headers=PASTED)
        assert not answer.headers.get("location", "/").startswith("//")


async def test_programs_use_bearer_tokens() -> None:
    world = World(**LOGIN)
    async with serving(world.app) as address:
        async with _http_client(address, authorization=f"Bearer {TOKEN}") as program:
            assert (await program.get("/api/me")).status_code == 200
        assert await _handshake(address) == 401
        assert await _handshake(address, "/ws?token=wrong") == 401
        # a WebSocket URL must not contain a lasting secret
        assert await _handshake(address, f"/ws?token={TOKEN}") == 401
        assert await _handshake(address, additional_headers={"Authorization": f"Bearer {TOKEN}"}) == 101


async def test_forged_and_expired_cookies_are_refused() -> None:
    world = World(**LOGIN)
    now = int(time.time())
    known, key = world.app.state.gateway.authenticator.login_with_secret(TOKEN), derive_key(SECRET.encode(), COOKIE)
    good = {"sub": "local", "aud": COOKIE, "proof": known.proof, "login": "a" * 32, "exp": now + 60}
    bad = [
        jwt.encode(good, "x" * 40, algorithm="HS256"),
        jwt.encode(good, SECRET, algorithm="HS256"),
        jwt.encode(good | {"exp": now - 1}, key, algorithm="HS256"),
        jwt.encode(good | {"aud": "other"}, key, algorithm="HS256"),
        jwt.encode(good | {"proof": ""}, key, algorithm="HS256"),
        "nonsense",
    ]
    async with serving(world.app) as address, _http_client(address) as browser:
        name = world.app.state.gateway.authenticator.cookie_name(secure=False)
        for cookie in bad:
            assert (await browser.get("/api/me", headers={"cookie": f"{name}={cookie}"})).status_code == 401
        fine = jwt.encode(good, key, algorithm="HS256")
        assert (await browser.get("/api/me", headers={"cookie": f"{name}={fine}"})).status_code == 200


async def test_sessions_belong_to_their_owner() -> None:
    world = World(**KEYS)
    story = world.story("s")
    await story.plan(user="alice")
    alice, bob = ({"Authorization": f"Bearer {key}"} for key in ("ka", "kb"))
    async with serving(world.app) as address, _http_client(address, authorization="Bearer kb") as http:
        async with client(address, additional_headers=bob) as he:
            for message in ("resume", "stop", "user_message", "fork"):
                content = {"content": "mine!"} if message == "user_message" else {}
                await he.send(message, session_id="s", **content)
                await he.error("not_found")
            await story.commit(c.Share(user="bob", role="viewer"), user="alice")
            await he.send("resume", session_id="s")
            assert (await he.until("snapshot"))["owner"] == "alice"
            await he.send("approval", approved=True)
            await he.error("forbidden")
            await story.commit(c.Share(user="bob", role="approver"), user="alice")
            await he.send("approval", approved=True)
            assert (await he.event("plan.approved"))["actor"] == "user:bob"
        await world.story("t").plan(user="alice")
        assert (await http.get("/api/sessions/t")).status_code == 404
        assert (await http.get("/api/sessions/t/journal")).status_code == 404
        assert (await http.post("/api/sessions/t/messages", json={"type": "stop"})).status_code == 404
        assert (await http.delete("/api/sessions/t")).status_code == 404
        assert (await http.get("/api/dead")).status_code == 403
        async with client(address, additional_headers=alice) as she:
            await she.send("resume", session_id="t")
            await she.until("snapshot")


async def test_only_a_valid_jwt_logs_in() -> None:
    world = World(parley_auth="jwt", parley_secret=SECRET)
    token = jwt.encode({"sub": "carol", "exp": int(time.time()) + 60}, SECRET, algorithm="HS256")
    unsigned = jwt.encode({"sub": "carol"}, "", algorithm="none")
    no_subject = jwt.encode({"exp": int(time.time()) + 60}, SECRET, algorithm="HS256")
    strange = [jwt.encode({"sub": name}, SECRET, algorithm="HS256") for name in ("ca\0rol", "carol\ud800")]
    async with serving(world.app) as address, _http_client(address) as http:
        for bad in (unsigned, no_subject, *strange, "x"):
            assert (await http.get("/api/me", headers={"authorization": f"Bearer {bad}"})).status_code == 401
        me = await http.get("/api/me", headers={"authorization": f"Bearer {token}"})
        assert me.json()["user"] == "carol"
        answer = await http.get("/", params={"token": token}, headers=PASTED)
        assert answer.status_code == 303
        assert (await http.get("/api/me")).json()["user"] == "carol"


async def test_a_handshake_needs_an_allowed_origin() -> None:
    world = World(parley_allowed_origins=("https://parley.example",))
    async with serving(world.app) as address:
        statuses = {
            f"http://{address}": 101,
            "https://parley.example": 101,
            f"https://{address}": 403,
            "http://evil.example": 403,
            "http://127.0.0.1:1": 403,
            f"http://{address}.evil.example": 403,
            "null": 403,
            "http://[": 403,
        }
        for origin, status in statuses.items():
            assert await _handshake(address, additional_headers={"Origin": origin}) == status, origin
        assert await _handshake(address) == 101


async def test_a_foreign_host_name_that_resolves_to_this_machine_is_refused() -> None:
    world = World()
    async with serving(world.app) as address, _http_client(address) as http:
        rebound = {"host": "evil.example", "origin": "http://evil.example"}
        assert (await http.get("/api/me", headers=rebound)).status_code == 403
        assert (await http.get("/api/me", headers={"host": "["})).status_code in (400, 403)
        assert (await http.get("/api/me")).status_code == 200


async def test_changes_with_a_cookie_are_accepted_only_from_our_own_page() -> None:
    world = World(**LOGIN)
    await world.story("s").plan()
    url, stop = "/api/sessions/s/messages", {"type": "rename", "title": "x"}
    async with serving(world.app) as address, _http_client(address) as browser:
        await browser.get("/", params={"token": TOKEN}, headers=PASTED)
        our_origin = f"http://{address}"
        assert (await browser.post(url, json=stop)).status_code == 403
        assert (await browser.post(url, json=stop, headers={"origin": "http://evil.example"})).status_code == 403
        assert (await browser.post(url, json=stop, headers={"sec-fetch-site": "cross-site"})).status_code == 403
        assert (await browser.post(url, json=stop, headers={"sec-fetch-site": "same-site"})).status_code == 403
        assert (await browser.post(url, json=stop, headers={"origin": our_origin})).status_code == 200
        assert (await browser.post(url, json=stop, headers={"sec-fetch-site": "same-origin"})).status_code == 200
        async with _http_client(address, authorization=f"Bearer {TOKEN}") as program:
            assert (await program.post(url, json=stop)).status_code == 200


async def test_behind_https_the_cookie_has_the_host_prefix() -> None:
    world = World(**LOGIN, trusted_proxies=("127.0.0.1",))
    async with serving(world.app) as address, _http_client(address, **{"x-forwarded-proto": "https"}) as browser:
        answer = await browser.get("/", params={"token": TOKEN}, headers=PASTED)
        cookie = answer.headers["set-cookie"]
        name, _, value = cookie.partition(";")[0].partition("=")
        assert name.startswith("__Host-parley_")
        assert "Secure" in cookie
        assert "Path=/" in cookie
        assert "Domain" not in cookie
        assert "max-age=" in answer.headers["strict-transport-security"]
        assert (await browser.get("/api/me", headers={"cookie": f"{name}={value}"})).status_code == 200
        # without the prefix, a page on plain HTTP could have set the cookie
        assert (await browser.get("/api/me", headers={"cookie": f"{name[7:]}={value}"})).status_code == 401
    async with serving(world.app) as address, _http_client(address) as browser:
        answer = await browser.get("/", params={"token": TOKEN}, headers=PASTED)
        assert "strict-transport-security" not in answer.headers


async def test_every_response_has_security_headers() -> None:
    world = World(**LOGIN)
    async with serving(world.app) as address, _http_client(address) as http:
        for path in ("/", "/?token=wrong", "/api/me", "/api/no", "/healthz", "/readyz", "/openapi.json", "/no.html"):
            headers = (await http.get(path)).headers
            assert "default-src 'self'" in headers["content-security-policy"], path
            assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert "camera=()" in headers["permissions-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            if path.startswith("/api/"):
                assert headers["cache-control"] == "no-store"
        with pytest.raises(InvalidStatus) as refused:
            async with client(address):
                pass
        assert refused.value.response.headers["x-content-type-options"] == "nosniff"


async def test_error_responses_have_security_headers_and_reveal_no_details(tmp_path: Path) -> None:
    requests = (
        ("GET", "/api/sessions/s", b"", 500),
        ("POST", "/", b"", 405),
        ("DELETE", "/readyz", b"", 405),
        ("GET", "/no/such/page", b"", 404),
        ("POST", "/api/messages", b" " * 300_000, 413),
        ("GET", "/s/" + "x" * 9, b"", 500),
    )
    world = World()
    (tmp_path / "index.html").write_text("")
    app = build(world.settings, world.bus, world.store, world.log, page=tmp_path)
    (tmp_path / "index.html").unlink()  # makes the page handler fail, outside of the API

    async def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("postgresql://parley:hunter2@db/parley")

    world.store.load = broken  # type: ignore[method-assign]
    async with serving(app) as address, _http_client(address) as http:
        for method, path, body, status in requests:
            answer = await http.request(method, path, content=body)
            assert answer.status_code == status, path
            assert {name: answer.headers[name] for name in SAFE_HEADERS} == SAFE_HEADERS
            assert "hunter2" not in answer.text
            assert "ZeroDivision" not in answer.text


async def test_guessing_keys_is_throttled() -> None:
    world = World(**KEYS, max_failed_logins_per_minute=3)
    async with serving(world.app) as address, _http_client(address) as http:
        right, wrong = {"authorization": "Bearer ka"}, {"authorization": "Bearer no"}
        assert (await http.get("/api/me", headers=right)).status_code == 200
        statuses = [(await http.get("/api/me", headers=wrong)).status_code for _ in range(4)]
        assert statuses == [401, 401, 401, 429]
        assert (await http.get("/", params={"token": "kb"})).status_code == 429
        assert await _handshake(address, additional_headers={"Authorization": "Bearer kb"}) == 429
        assert (await http.get("/api/me", headers=right)).status_code == 200  # a key that worked before still works


@pytest.mark.parametrize(("trusted", "status"), [((), 429), (("127.0.0.1",), 401), (("127.0.0.0/8",), 401)])
async def test_forwarded_addresses_are_accepted_from_trusted_proxies_only(
    trusted: tuple[str, ...], status: int
) -> None:
    world = World(**KEYS, max_failed_logins_per_minute=3, trusted_proxies=trusted)
    async with serving(world.app) as address, _http_client(address) as http:
        for number in range(4):
            claimed = {"authorization": "Bearer no", "x-forwarded-for": f"192.0.2.{number}"}
            answer = await http.get("/api/me", headers=claimed)
        assert answer.status_code == status


async def test_a_refusal_behind_an_untrusted_proxy_names_the_setting() -> None:
    async with serving(World(**LOGIN).app) as address, _http_client(address, authorization=f"Bearer {TOKEN}") as http:
        behind = {"origin": f"https://{address}", "x-forwarded-proto": "https"}
        answer = await http.get("/api/me", headers=behind)
        assert answer.status_code == 403
        assert "TRUSTED_PROXIES" in answer.json()["hint"]
    trusting = World(**LOGIN, trusted_proxies=("127.0.0.1",))
    async with serving(trusting.app) as address, _http_client(address, authorization=f"Bearer {TOKEN}") as http:
        behind = {"origin": f"https://{address}", "x-forwarded-proto": "https"}
        assert (await http.get("/api/me", headers=behind)).status_code == 200


async def test_readiness_names_failed_dependencies_but_no_hosts() -> None:
    world = World(nats_url="nats://hunter2@nats.internal:4222")
    world.bus.down = world.store.down = True
    async with serving(world.app) as address, _http_client(address) as http:
        answer = await http.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["checks"]["nats"].startswith("no connection")
        assert answer.json()["checks"]["plan_store"].startswith("no answer")
        assert "internal" not in answer.text


async def test_readiness_names_a_silent_worker_and_is_ready_without_it() -> None:
    world = World()
    world.bus.answers = {f"ping.{worker}": lambda _: b"ok" for worker in ("executor", "verifier", "generator")}
    async with serving(world.app) as address, _http_client(address) as http:
        answer = await http.get("/readyz")
        checks = answer.json()["checks"]
        assert answer.status_code == 200
        assert checks["planner"].startswith("no answer: is one up?")
        assert {checks[worker] for worker in ("executor", "verifier", "generator")} == {"ok"}


async def test_concurrent_readiness_requests_run_the_checks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world, reads, go = World(), 0, asyncio.Event()
    read = world.log.read

    async def counted(*args: Any, **options: Any) -> Any:
        nonlocal reads
        reads += 1
        await go.wait()
        return await read(*args, **options)

    world.log.read = counted  # type: ignore[method-assign]
    monkeypatch.setattr(readiness, "RESULT_TTL", 3600)
    async with serving(world.app) as address, _http_client(address) as http:
        requests = [asyncio.create_task(http.get("/readyz")) for _ in range(20)]
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not reads:  # noqa: ASYNC110  the log has no event for a read
                await asyncio.sleep(0.01)
        go.set()
        answers = [*(await asyncio.gather(*requests)), await http.get("/readyz")]
        assert {answer.status_code for answer in answers} == {200}
        assert reads == 1
        monkeypatch.setattr(readiness, "RESULT_TTL", 0)
        checker = readiness.ReadinessChecker(world.app.state.gateway.core)
        for _ in range(2):
            await checker.checks()
        assert reads == 3, "a cached answer must not be used"


async def test_each_page_has_its_own_nonce(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(f'<meta property="csp-nonce" nonce="{NONCE_PLACEHOLDER}">')
    (tmp_path / "app.js").write_text("1")
    world, nonces = World(), set()
    app = build(world.settings, world.bus, world.store, world.log, page=tmp_path)
    async with serving(app) as address, _http_client(address) as http:
        for path in ("/", "/", "/index.html", "/s/some-session"):
            answer = await http.get(path)
            nonce = answer.text.split('"')[3]
            assert f"style-src 'self' 'nonce-{nonce}'" in answer.headers["content-security-policy"]
            assert answer.headers["cache-control"] == "no-store"
            nonces.add(nonce)
        assert len(nonces) == 4
        assert NONCE_PLACEHOLDER not in nonces
        assert (await http.get("/app.js")).text == "1"
        assert (await http.get("/no/such/file")).status_code == 404
