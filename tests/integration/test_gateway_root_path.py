"""A reverse proxy serves Parley below a path: the page's URLs lead to where it is, and kept paths are understood."""

import re
from urllib.parse import urljoin

import pytest

from parley.protocol.schema import protocol_schema
from services.gateway.rest.page import PAGE
from services.gateway.rest.references import asyncapi
from tests.support.gateway import SECRET, World, serving
from tests.support.http_client import http_client

BELOW = ("", "/parley", "/a/b.c/d-e/_f")
KEYS = {"parley_auth": "keys", "parley_api_keys": "alice=ka", "parley_secret": SECRET}


def urls(page: str) -> list[str]:
    """The URLs of scripts, styles and the icon."""
    return re.findall(r'(?:src|href)="([^"#]+)"', page)


@pytest.mark.parametrize("below", BELOW)
async def test_everything_is_found_below_a_path_that_the_proxy_keeps(below: str) -> None:
    if not PAGE.joinpath("index.html").is_file():
        pytest.fail("the page is not built: run `make page`")
    async with serving(World().app) as address, http_client(base_url=f"http://{address}") as http:
        for path in ("/", "/s/abc", "/s/abc/"):
            page = await http.get(f"{below}{path}")
            assert page.status_code == 200
            assert len(urls(page.text)) > 2
            for url in urls(page.text):
                found = urljoin(f"{below}{path}", url)
                assert found.startswith((f"{below}/assets/", f"{below}/icon.svg"))
                assert (await http.get(found)).status_code == 200
        assert (await http.get(f"{below}/api/me")).json()["user"] == "local"
        assert (await http.get(f"{below}/openapi.json")).json()["servers"][0]["url"] == "."
        assert (await http.get(f"{below}/asyncapi.json")).json() == asyncapi()
        assert (await http.get(f"{below}/protocol.schema.json")).json() == protocol_schema()


@pytest.mark.parametrize("below", BELOW)
async def test_a_login_link_leads_back_below_the_path(below: str) -> None:
    async with serving(World(**KEYS).app) as address, http_client(base_url=f"http://{address}") as http:
        for path in ("/", "/s/abc"):
            answer = await http.get(f"{below}{path}?token=ka&x=1", headers={"sec-fetch-site": "none"})
            assert answer.status_code == 303
            assert urljoin(f"{below}{path}", answer.headers["location"]) == f"{below}{path}?x=1"
            page = await http.get(f"{below}{path}?token=ka", headers={"sec-fetch-site": "cross-site"})
            (action,) = re.findall(r'action="([^"]+)"', page.text)
            assert urljoin(f"{below}{path}", action) == f"{below}/login"
            assert urljoin(f"{below}{path}", urls(page.text)[-1]) == f"{below}{path}"


async def test_only_the_path_that_is_set_is_removed() -> None:
    world = World(agent_root_path="/tools/parley/")
    async with serving(world.app) as address, http_client(base_url=f"http://{address}") as http:
        statuses = [(await http.get(path)).status_code for path in ("/tools/parley/api/me", "/api/me", "/x/api/me")]
        assert statuses == [200, 200, 404]
        answer = await http.get("/tools/parley")
        assert urljoin("/tools/parley", answer.headers["location"]) == "/tools/parley/"


async def test_other_paths_are_not_taken_for_parleys() -> None:
    async with serving(World().app) as address, http_client(base_url=f"http://{address}") as http:
        for path in ("/x/metrics", "/x/healthz", "/x/readyz", "/nothing", "/..%2f/", "/x//api/me", "/x/api"):
            assert (await http.get(path)).status_code == 404, path
