"""One running Parley and one browser for each module of end-to-end tests."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.e2e.browser import Person, chromium
from tests.e2e.running import Parley, parley


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Parley]:
    """A Parley that lives through all tests of the module."""
    async with parley(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def person(browser: Browser, running: Parley) -> AsyncIterator[Person]:
    """Somebody with a browser of their own, who sees every error of the page."""
    async with Person(browser, running.url) as person:
        yield person
