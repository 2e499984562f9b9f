"""Fixtures that most suites use: a real nats-server of one's own for each test, provisioned, and a bus on it."""

import gc
import signal
from collections.abc import AsyncIterator, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import hypothesis
import pytest
import structlog
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from cli.nats_server import NatsServer, nats_server
from shared import retry
from shared.bus import Bus
from shared.bus.provision import provision
from shared.domain.commands import CommandMeta
from shared.settings import Settings
from tests.support.needs import NOT_LIVE

SLOW = ("e2e", "integration", "contract")
# Two rows of about the same length, so that neither of them is the end of the run.
SHARING_A_PARLEY = tuple(
    tuple(f"tests/e2e/test_{name}.py" for name in names)
    for names in (
        ("page", "page_access", "page_deeds", "page_examples", "page_trouble"),
        ("cli", "plain_client", "tasks", "permissions", "wheel", "chaos"),
    )
)

# A run in the background is started with SIGINT ignored, and so would be every program that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes is the machine's affair, which may be busy.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")

# Through the standard library: by itself structlog keeps the stream that pytest captured for one test, and closed.
structlog.configure(
    processors=[structlog.stdlib.add_log_level, structlog.processors.KeyValueRenderer()],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--live", action="store_true", help="also run the tests that call a real, configured model")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while modules are imported: next to nothing of it is, and looking takes a quarter of the time.

    What is imported stays until the end, so later collections leave it out.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=_place)
    if not config.getoption("--live"):
        for item in items:
            if item.get_closest_marker("live"):
                item.add_marker(pytest.mark.skip(reason=NOT_LIVE))


def _place(item: pytest.Item) -> int:
    """The slow ones first, so that all workers come to their ends together."""
    folder = item.nodeid.removeprefix("tests/").partition("/")[0]
    return SLOW.index(folder) if folder in SLOW else len(SLOW)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    return OneParleyScheduling(config, log)


class OneParleyScheduling(LoadFileScheduling):  # type: ignore[misc]
    """A file runs on one worker; those that share a Parley, which is slow to start, on the same one."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        return next((" ".join(files) for files in SHARING_A_PARLEY if file in files), file)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A command that is run within a test sets logging up for a process of its own: that must not outlive the test."""
    before = structlog.get_config()
    retry.logged.clear()
    yield
    structlog.configure(**before)


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    """A fresh nats-server (about 0.15 s): a log is shared state."""
    with nats_server(tmp_path) as server:
        yield server


@pytest.fixture
async def settings(nats: NatsServer, tmp_path: Path) -> Settings:
    """Settings of a provisioned server, with times short enough for tests."""
    settings = Settings(nats_url=nats.url, parley_home=tmp_path, ack_wait=2, graceful_timeout=2, model_outage_timeout=5)
    await provision(settings)
    return settings


@pytest.fixture
async def bus(settings: Settings) -> AsyncIterator[Bus]:
    """A connected bus that consumes nothing."""
    bus = Bus(settings, "test")
    await bus.connect()
    yield bus
    await bus.stop()


@pytest.fixture
def session_id() -> str:
    return uuid4().hex[:16]


def person(command_id: str | None = None, name: str = "ann") -> CommandMeta:
    """By a person, with a command id of its own unless one is given."""
    return CommandMeta(f"user:{name}", datetime.now(UTC), command_id or uuid4().hex[:12])
