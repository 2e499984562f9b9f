"""One running Parley and one browser for all end-to-end tests of a worker, on one event loop.

Starting all services takes as long as five tests. Tests share no sessions. Before each test, the fixture `running`
waits until all services are ready and clears the faults of the model.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.e2e.browser import Person, chromium
from tests.e2e.cli_runner import Cli
from tests.e2e.parley_process import RunningParley, running_parley
from tests.support.http_server import HttpServer, http_server
from tests.support.parley import InProcess, in_process

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shared fixtures belong to one event loop, so the tests that use them must run on it."""
    for item in items:
        if item.path.parent == HERE and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="package"), append=False)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def outside() -> AsyncIterator[HttpServer]:
    """An HTTP server that plans may fetch from. Each test sets its answers."""
    async with http_server() as server:
        yield server


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def stack(tmp_path_factory: pytest.TempPathFactory, outside: HttpServer) -> AsyncIterator[RunningParley]:
    """The Parley that all tests share."""
    allowed = json.dumps([{"origin": outside.url("")}])
    async with running_parley(tmp_path_factory.mktemp("home"), PARLEY_HTTP_ALLOW=allowed) as stack:
        yield stack


@pytest_asyncio.fixture(loop_scope="package")
async def running(stack: RunningParley) -> RunningParley:
    """The shared Parley, with all services ready and a model without faults."""
    await stack.wait_until_ready()
    await stack.clear_faults()
    return stack


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    """A Parley in this process, with a scripted model, for the tests of one file."""
    async with in_process(tmp_path_factory.mktemp("home")) as parley:
        yield parley


@pytest.fixture
def cli(running: RunningParley, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(running.home, monkeypatch)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="package")
async def person(browser: Browser, running: RunningParley) -> AsyncIterator[Person]:
    """A user whose test fails on unexpected console errors."""
    async with Person(browser, running.url) as person:
        yield person
