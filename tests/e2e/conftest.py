"""One running Parley and one browser for all end-to-end tests that run one after another, on one loop.

Starting all services takes as long as five tests. Sessions know nothing of each other; what one test does to the
services and to the model is mended before the next one.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.e2e.browser import Person, chromium
from tests.e2e.command import Cli
from tests.e2e.running import Parley, parley
from tests.support.http_server import HttpServer, http_server

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is shared is of one loop, and so is whoever uses it."""
    for item in items:
        if item.path.parent == HERE and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="package"), append=False)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def outside() -> AsyncIterator[HttpServer]:
    """What plans may fetch; a test says what is answered, and when."""
    async with http_server() as server:
        yield server


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def stack(tmp_path_factory: pytest.TempPathFactory, outside: HttpServer) -> AsyncIterator[Parley]:
    """A Parley that lives through all of them."""
    allowed = json.dumps([{"origin": outside.url("")}])
    async with parley(tmp_path_factory.mktemp("home"), PARLEY_HTTP_ALLOW=allowed) as stack:
        yield stack


@pytest_asyncio.fixture(loop_scope="package")
async def running(stack: Parley) -> Parley:
    """The same, with everything up and a model that does nothing wrong."""
    await stack.restarted()
    await stack.healthy()
    return stack


@pytest.fixture
def cli(running: Parley, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(running.home, monkeypatch)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="package")
async def person(browser: Browser, running: Parley) -> AsyncIterator[Person]:
    """Somebody with a browser of their own, who sees every error of the page."""
    async with Person(browser, running.url) as person:
        yield person
