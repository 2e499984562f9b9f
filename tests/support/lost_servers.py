"""For tests that stop NATS servers: nats-py leaves sockets open, which must be collected within the test.

Import the fixture too, and set `pytestmark = LOSES_SERVERS`.
"""

import gc
from collections.abc import Iterator

import pytest

LOSES_SERVERS = [
    pytest.mark.usefixtures("sockets_collected"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def sockets_collected() -> Iterator[None]:
    """Collect the open sockets now; otherwise a later test would get the warnings."""
    yield
    gc.collect()
