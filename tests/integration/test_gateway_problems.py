"""Every error over REST is an RFC 9457 problem: from routes, the framework, authentication and the HTTP protocol."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

import pytest
import pytest_asyncio

from tests.support.gateway import TOKEN, World, serving
from tests.support.http_client import http_client
from tests.support.timeouts import WAIT_TIMEOUT

MEDIA_TYPE = "application/problem+json"
LOGGED_IN = {"Authorization": f"Bearer {TOKEN}"}
# method, path, body, status, code
REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("GET", "/api/sessions/nobody", None, 404, "not_found"),
    ("GET", "/api/nowhere", None, 404, "not_found"),
    ("POST", "/api/sessions", {"request": 7}, 422, "bad_message"),
    ("POST", "/api/sessions", {"request": "x" * 2_000_000}, 413, "too_large"),
    ("GET", "/api/sessions?limit=0", None, 422, "bad_message"),
]


@pytest_asyncio.fixture
async def address() -> AsyncIterator[str]:
    world = World(parley_auth="token", parley_token=TOKEN, parley_secret="s" * 40)
    async with serving(world.app) as address:
        yield address


def check_problem(body: bytes, status: int, code: str) -> None:
    problem = json.loads(body)
    assert (problem["status"], problem["code"], problem["type"]) == (status, code, f"urn:parley:problem:{code}")
    assert problem["title"]
    assert problem["detail"] == f"{problem['message']} {problem['hint']}".strip()


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), REFUSED)
async def test_a_refused_request_gets_a_problem(
    address: str, method: str, path: str, body: Any, status: int, code: str
) -> None:
    async with http_client(base_url=f"http://{address}") as http:
        answer = await http.request(method, path, json=body, headers=LOGGED_IN)
    assert (answer.status_code, answer.headers["content-type"]) == (status, MEDIA_TYPE)
    check_problem(answer.content, status, code)


async def test_every_api_route_refuses_an_unauthenticated_request_with_a_problem(address: str) -> None:
    async with http_client(base_url=f"http://{address}") as http:
        paths = (await http.get("/openapi.json")).json()["paths"]
        routes = [(path, method) for path in paths if path.startswith("/api/") for method in paths[path]]
        assert len(routes) > 20
        for path, method in routes:
            answer = await http.request(method, re.sub(r"{\w+}", "1", path))
            assert (answer.status_code, answer.headers["content-type"]) == (401, MEDIA_TYPE), (path, method)
            check_problem(answer.content, 401, "unauthorized")


async def test_every_documented_error_of_the_api_is_a_problem(address: str) -> None:
    async with http_client(base_url=f"http://{address}") as http:
        paths = (await http.get("/openapi.json")).json()["paths"]
    refusals = [
        answer["content"]
        for path, operations in paths.items()
        for operation in operations.values()
        for status, answer in operation["responses"].items()
        if path.startswith("/api/") and status >= "4"
    ]
    assert refusals
    problem = {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
    assert all(content == {MEDIA_TYPE: problem} for content in refusals)


async def test_malformed_http_gets_a_problem(address: str) -> None:
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\x00: 1\r\n\r\n")
    async with asyncio.timeout(WAIT_TIMEOUT):
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert f"content-type: {MEDIA_TYPE}".encode() in head.lower()
    assert str(HTTPStatus.BAD_REQUEST.value).encode() in head.splitlines()[0]
    check_problem(body, 400, "bad_request")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("PUT", "/api/sessions", "GET, POST"), ("DELETE", "/api/sessions/s1/plans/3", "GET"), ("PATCH", "/api/me", "GET")],
)
async def test_a_wrong_method_gets_a_problem_that_names_the_allowed_ones(
    method: str, path: str, allowed: str, address: str
) -> None:
    async with http_client(base_url=f"http://{address}", headers=LOGGED_IN) as http:
        answer = await http.request(method, path)
        nowhere = await http.request(method, "/api/nowhere")
    assert (answer.status_code, answer.headers["allow"], answer.headers["content-type"]) == (405, allowed, MEDIA_TYPE)
    assert f"only {allowed}" in answer.json()["message"]
    assert nowhere.status_code == 404
