"""For tests that lose servers: nats-py gives up a peer and forgets its socket, which is collected within the test.

Import the fixture too, and say `pytestmark = LOSES_SERVERS`.
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
    """Else a later test would be told of them."""
    yield
    gc.collect()
