"""Fixtures that most suites use: for each test a new, provisioned nats-server and a bus connected to it."""

import asyncio
import gc
import shutil
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

from packs.retail.pack import Retail
from services.plan_store.database import ProjectionDatabase
from shared import retry
from shared.bus import Bus
from shared.bus.provision import provision
from shared.domain.kernel.commands import CommandMeta
from shared.settings import Settings
from tests.support.nats import NatsServer, nats_server
from tests.support.needs import NOT_LIVE

SLOW = ("e2e", "integration", "contract")
# Each row runs on one worker. Both take about the same time, so that neither delays the end of the run.
SHARING_A_PARLEY = tuple(
    tuple(f"tests/e2e/test_{name}.py" for name in names)
    for names in (
        (
            *("page", "page_accessibility", "page_actions", "page_failures", "page_plan_keys", "page_polling"),
            "page_renders",
        ),
        (
            *("chaos", "cli", "examples", "page_execution_plan", "page_plan_approval", "page_plan_states"),
            *("page_steering", "page_templates", "permissions", "plain_client", "tasks", "wheel"),
        ),
    )
)
# Each row reads the same sources, or makes the same search through all states of a session, and keeps what it found.
SHARING_A_CACHE = tuple(
    tuple(f"tests/unit/{name}.py" for name in names)
    for names in (
        ("test_architecture", "test_architecture_transcript", "test_named_code", "test_names"),
        ("test_docs", "test_users", "domain/test_workflows"),
    )
)

# The tests of these files wait, kill or race, as do single tests with the marker: `-m races` runs them alone.
RACING = {
    "contract": ("log", "plan_store_scheduler"),
    "integration": (
        *("at_most_once", "bus", "bus_answers", "damaged_database", "flows_killed", "outcomes_raced", "plan_execute"),
        *("plan_steps", "polling_plan", "steering_plan", "stop", "storage_stops", "trouble", "watchdog", "worker"),
    ),
    "e2e": ("page_failures", "page_resilience"),
    "unit": ("bus_pull", "executor", "outcomes_recorded", "supervisor", "worker_cancellation"),
}

# A shell starts background jobs with SIGINT ignored. Programs that a test starts and interrupts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: on a busy machine an example takes longer.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")

# Log through the standard library: structlog's own logger keeps a stream that pytest closes after the first test.
structlog.configure(
    processors=[structlog.stdlib.add_log_level, structlog.processors.KeyValueRenderer()],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--live", action="store_true", help="also run the tests that call a real, configured model")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Turn the garbage collector off during imports, where it takes a quarter of the time and frees almost nothing.

    Imported objects live until the end, so they are frozen: later collections skip them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=_sort_key)
    racing = {f"tests/{folder}/test_{name}.py" for folder, names in RACING.items() for name in names}
    for item in items:
        if item.nodeid.partition("::")[0] in racing:
            item.add_marker(pytest.mark.races)
    if not config.getoption("--live"):
        for item in items:
            if item.get_closest_marker("live"):
                item.add_marker(pytest.mark.skip(reason=NOT_LIVE))


def _sort_key(item: pytest.Item) -> int:
    """The sort key that runs slow suites first, so that all workers finish at about the same time."""
    folder = item.nodeid.removeprefix("tests/").partition("/")[0]
    return SLOW.index(folder) if folder in SLOW else len(SLOW)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    return RowScheduling(config, log)


class RowScheduling(LoadFileScheduling):  # type: ignore[misc]
    """Runs each file on one worker, and the files of a row on the same one: what they share is slow to make."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        rows = (*SHARING_A_PARLEY, *SHARING_A_CACHE)
        return next((" ".join(files) for files in rows if file in files), file)


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Undoes the logging configuration of commands that a test runs in its own process."""
    before = structlog.get_config()
    retry.logged.clear()
    yield
    structlog.configure(**before)


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    """A fresh nats-server (starts in about 0.15 s), because tests must not share a log."""
    with nats_server(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def filled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a migrated database and a filled sample store, which take longer than most tests."""
    home = tmp_path_factory.mktemp("filled")
    asyncio.run(_fill(Settings(parley_home=home)))
    return home


async def _fill(settings: Settings) -> None:
    database, retail = ProjectionDatabase(settings.sql_url), Retail()
    await database.migrate()
    await database.close()
    await retail.open(settings)
    await retail.close()


@pytest.fixture
async def settings(request: pytest.FixtureRequest, nats: NatsServer, tmp_path: Path, filled_home: Path) -> Settings:
    """Settings of a provisioned server, with times short enough for tests.

    The broker delivers the message of a killed process again after two seconds in tests marked `redelivers`. In others
    it takes as long as a process on a busy machine may need to say that it is at work.
    """
    shutil.copytree(filled_home, tmp_path, dirs_exist_ok=True)
    ack_wait = 2 if request.node.get_closest_marker("redelivers") else 60
    settings = Settings(
        nats_url=nats.url, parley_home=tmp_path, ack_wait=ack_wait, graceful_timeout=2, model_outage_timeout=5
    )
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
    """The metadata of a user's command, with a new command id by default."""
    return CommandMeta(f"user:{name}", datetime.now(UTC), command_id or uuid4().hex[:12])
