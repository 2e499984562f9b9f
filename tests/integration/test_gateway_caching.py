"""Caching: immutable files compressed at build time, and lists with ETags."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, override

import httpx2
import pytest
import pytest_asyncio

from parley.protocol.pages import SessionPage, SessionSummary
from services.gateway.app import build
from services.gateway.rest.page import accepted_encodings
from services.gateway.rest.sessions import MAX_REQUEST_CHARS, session_rows_response
from shared.store_api import SESSION_LIST
from tests.support.gateway import FakeStore, World, gateway_settings, serving
from tests.support.http_client import http_client

SCRIPT = b"console.log('parley');\n" * 100


@pytest_asyncio.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """A gateway whose page is one script."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<p>Parley</p>")
    for suffix, body in {"": SCRIPT, ".br": b"as brotli", ".gz": b"as gzip"}.items():
        (tmp_path / "assets" / f"index-1a2b.js{suffix}").write_bytes(body)
    (tmp_path / "assets" / "small.css").write_text("p {}")
    world = World()
    app = build(gateway_settings(), world.bus, world.store, world.log, page=tmp_path)
    async with serving(app) as address, http_client(base_url=f"http://{address}") as client:
        yield client


@pytest.mark.parametrize(
    ("accept", "encoding", "body"),
    [
        ("gzip, deflate, br", "br", b"as brotli"),
        ("gzip", "gzip", b"as gzip"),
        ("br;q=0, gzip", "gzip", b"as gzip"),
        ("identity", None, SCRIPT),
    ],
)
async def test_a_script_is_sent_in_the_smallest_encoding_the_browser_accepts(
    http: httpx2.AsyncClient, accept: str, encoding: str | None, body: bytes
) -> None:
    async with http.stream("GET", "/assets/index-1a2b.js", headers={"accept-encoding": accept}) as answer:
        raw = b"".join([part async for part in answer.aiter_raw()])
    assert (answer.status_code, answer.headers.get("content-encoding"), raw) == (200, encoding, body)
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_cached_script_is_not_sent_again(http: httpx2.AsyncClient) -> None:
    for encoding, body in {"br": b"as brotli", "gzip": b"as gzip", "identity": SCRIPT}.items():
        headers = {"accept-encoding": encoding}
        head = await http.head("/assets/index-1a2b.js", headers=headers)
        assert (head.status_code, head.headers["content-length"], head.content) == (200, str(len(body)), b"")
        again = await http.get("/assets/index-1a2b.js", headers=headers | {"if-none-match": head.headers["etag"]})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", head.headers["etag"])
        assert again.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert again.headers["vary"] == "Accept-Encoding"


async def test_files_without_a_compressed_copy_are_sent_uncompressed(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/assets/small.css")
    assert (answer.text, answer.headers.get("content-encoding")) == ("p {}", None)
    assert (await http.head("/assets/small.css")).headers["content-length"] == "4"


async def test_a_missing_file_is_a_404_and_not_the_page(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/assets/index-of-yesterday.js")).status_code == 404
    assert (await http.get("/assets/../index.html")).text == "<p>Parley</p>"


async def test_the_page_itself_is_never_cached(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/")).headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("header", "encodings"),
    [("", {""}), ("br", {"br"}), ("gzip;q=0.5, br;q=0.0", {"gzip"}), ("BR , GZIP", {"br", "gzip"})],
)
def test_accept_encoding_is_parsed(header: str, encodings: set[str]) -> None:
    assert accepted_encodings(header) == encodings


def page(**overrides: object) -> SessionPage:
    fields = {"id": "s", "owner": "ann", "title": "T", "request": "r" * 50_000, "workflow": "flow", "phase": "resting"}
    state = {"state": "completed", "paused": False, "version": 3, "position": 7, "parent": None, "work_since": None}
    times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    row = SessionSummary.model_validate(
        fields | state | times | {"work_service": None, "work_version": None} | overrides
    )
    return SessionPage(sessions=(row,), total=1)


def test_session_lists_have_short_rows() -> None:
    body = bytes(session_rows_response(page(), "").body)
    assert len(body) < MAX_REQUEST_CHARS + 400
    assert b"position" not in body


def test_an_unchanged_list_is_not_sent_again() -> None:
    first = session_rows_response(page(), "")
    tag = first.headers["etag"]
    for etags in (tag, f'"other", {tag}', f"W/{tag}"):
        again = session_rows_response(page(position=9), etags)
        assert (again.status_code, bytes(again.body), again.headers["etag"]) == (304, b"", tag)
    assert session_rows_response(page(title="U"), tag).status_code == 200
    assert first.headers["cache-control"] == "private, no-cache"


class OneSession(FakeStore):
    """A plan_store whose lists contain one session with this title."""

    title = "T"

    @override
    async def ask(self, verb: str, **arguments: Any) -> Any:
        if verb == SESSION_LIST.name:
            return page(title=self.title).model_dump(mode="json")
        return await super().ask(verb, **arguments)


@pytest.mark.parametrize("path", ["/api/sessions?limit=100", "/api/inbox"])
async def test_a_poll_is_answered_with_304_until_a_row_changes(path: str) -> None:
    world = World()
    store = OneSession(world.log)
    app = build(gateway_settings(), world.bus, store, world.log)
    async with serving(app) as address, http_client(base_url=f"http://{address}") as http:
        first = await http.get(path)
        headers = {"if-none-match": first.headers["etag"]}
        again = await http.get(path, headers=headers)
        store.title = "U"
        changed = await http.get(path, headers=headers)
    assert (first.status_code, first.headers["cache-control"]) == (200, "private, no-cache")
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert again.headers["cache-control"] == "private, no-cache"
    assert (changed.status_code, changed.json()["sessions"][0]["title"]) == (200, "U")
