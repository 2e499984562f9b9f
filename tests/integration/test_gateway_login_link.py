"""Login links: a link on another site cannot switch a user to another account without confirmation."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

import httpx2

from tests.support.gateway import SECRET, TOKEN, World, serving
from tests.support.http_client import http_client

KEYS: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}
LOGIN: dict[str, Any] = {"parley_auth": "token", "parley_token": TOKEN, "parley_secret": SECRET}


LOCAL_PATH = r"(\./|(\.\./)+)([^/\\\t].*)?"  # a relative path that no browser takes for a host


class Browser:
    """A browser that opens links and submits forms; `site` is the Sec-Fetch-Site that it sends, "" for none."""

    def __init__(self, http: httpx2.AsyncClient, address: str) -> None:
        self.http, self.origin = http, f"http://{address}"

    async def open(self, path: str, site: str = "none") -> httpx2.Response:
        return await self.http.get(path, headers={"sec-fetch-site": site} if site else {})

    async def confirm(self, page: httpx2.Response, **headers: str) -> httpx2.Response:
        """Submit the confirmation form."""
        form = {name: unescape(text) for name, text in re.findall(r'name="(\w+)" value="([^"]*)"', page.text)}
        return await self.http.post("/login", data=form, headers={"origin": self.origin} | headers)

    def forget(self) -> None:
        """Be another browser, without this one's cookies."""
        self.http.cookies.clear()

    async def user(self) -> str:
        answer = await self.http.get("/api/me")
        return str(answer.json()["user"]) if answer.status_code == 200 else ""


@asynccontextmanager
async def browsing(world: World) -> AsyncIterator[Browser]:
    async with serving(world.app) as address, http_client(base_url=f"http://{address}") as http:
        yield Browser(http, address)


async def test_a_link_that_the_user_opens_logs_in_at_once() -> None:
    async with browsing(World(**KEYS)) as browser:
        for site in ("none", "same-origin"):
            browser.forget()
            answer = await browser.open("/s/abc?view=inbox&token=ka", site)
            assert (answer.status_code, answer.headers["location"]) == (303, "../s/abc?view=inbox")
            assert await browser.user() == "alice"


async def test_a_link_on_another_site_asks_for_confirmation() -> None:
    async with browsing(World(**KEYS)) as browser:
        for site in ("cross-site", "same-site", ""):
            browser.forget()
            page = await browser.open("/s/abc?token=ka&view=inbox", site)
            assert page.status_code == 200
            assert "Log in to Parley as <bdi>alice</bdi>?" in page.text
            assert not browser.http.cookies
            assert await browser.user() == ""
            answer = await browser.confirm(page)
            assert (answer.status_code, answer.headers["location"]) == (303, "./s/abc?view=inbox")
            assert await browser.user() == "alice"


async def test_switching_to_another_user_needs_confirmation() -> None:
    async with browsing(World(**KEYS)) as browser:
        for site in ("none", "same-origin", "cross-site"):
            browser.forget()
            await browser.open("/?token=ka")
            page = await browser.open("/?token=kb", site)
            assert "Log in to Parley as <bdi>bob</bdi>? You are logged in as <bdi>alice</bdi> now." in page.text
            assert await browser.user() == "alice"
            assert (await browser.open("/?token=ka")).status_code == 303, "a second login of the same user is at once"
            await browser.confirm(page)
            assert await browser.user() == "bob"


async def test_the_confirmation_must_come_from_our_own_page() -> None:
    async with browsing(World(**KEYS)) as browser:
        page = await browser.open("/?token=kb", "cross-site")
        for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:1"}):
            assert (await browser.confirm(page, **headers)).status_code == 403
        bare = await browser.http.post("/login", data={"token": "kb"})
        assert bare.status_code == 403
        assert await browser.user() == ""
        # With `no-referrer` the browser would send `Origin: null`, and the gateway would refuse the form.
        assert page.headers["referrer-policy"] == "strict-origin"
        assert "no-store" in page.headers["cache-control"]


async def test_the_confirmation_names_no_user_if_there_is_only_one() -> None:
    async with browsing(World(**LOGIN)) as browser:
        page = await browser.open(f"/?token={TOKEN}", "cross-site")
        assert "Log in to Parley?" in page.text
        assert "local" not in page.text
        await browser.confirm(page)
        assert await browser.user() == "local"


async def test_neither_confirming_nor_cancelling_leads_to_another_host() -> None:
    async with browsing(World(**KEYS)) as browser:
        for path in ("//evil.example/", "/%09/evil.example", "/%5Cevil.example", "/\\evil.example"):
            browser.forget()
            page = await browser.open(f"{path}?token=ka", "cross-site")
            (cancel,) = re.findall(r'<a href="([^"]*)"', page.text)
            for target in (unescape(cancel), (await browser.confirm(page)).headers["location"]):
                assert re.fullmatch(LOCAL_PATH, target), target
        our_origin = {"origin": browser.origin}
        for link in ("//evil.example/", "/\t/evil.example", "https://evil.example/", "\\evil.example"):
            answer = await browser.http.post("/login", data={"token": "ka", "next": link}, headers=our_origin)
            assert re.fullmatch(LOCAL_PATH, answer.headers["location"]), answer.headers["location"]


async def test_the_confirmation_page_escapes_its_values() -> None:
    name = "<img><b>alice"
    world = World(**KEYS | {"parley_api_keys": f"{name}=k'\"<b>"})
    async with browsing(world) as browser:
        page = await browser.open("/?token=k'%22%3Cb%3E&x=%22%3E%3Cscript%3E", "cross-site")
        assert "&lt;img&gt;&lt;b&gt;alice" in page.text
        assert "<img" not in page.text
        assert "<script" not in page.text
        assert (await browser.confirm(page)).status_code == 303


async def test_failed_logins_by_link_are_counted_and_refused() -> None:
    async with browsing(World(**KEYS, max_failed_logins_per_minute=2)) as browser:
        assert (await browser.open("/?token=wrong", "cross-site")).status_code == 401
        headers = {"origin": browser.origin}
        assert (await browser.http.post("/login", data={"token": "wrong"}, headers=headers)).status_code == 401
        assert (await browser.http.post("/login", data={"token": "ka"}, headers=headers)).status_code == 429
        assert await browser.user() == ""


async def test_after_a_wrong_key_the_page_has_a_field_for_the_right_one() -> None:
    async with browsing(World(**KEYS)) as browser:
        page = await browser.open("/s/abc?token=wrong&view=inbox")
        assert page.status_code == 401
        assert 'action="../login"' in page.text
        assert '<input type="password" name="token"' in page.text
        (target,) = re.findall(r'name="next" value="([^"]*)"', page.text)
        form = {"next": unescape(target), "token": " kb\n"}
        answer = await browser.http.post("/login", data=form, headers={"origin": browser.origin})
        assert (answer.status_code, answer.headers["location"]) == (303, "./s/abc?view=inbox")
        assert await browser.user() == "bob"
