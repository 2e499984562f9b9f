"""What a test needs and this machine may lack: then it is skipped, but where nothing may be skipped it fails."""

import os
from typing import NoReturn

import pytest

from shared import sandbox


def lacking(reason: str) -> NoReturn:
    """End the test for this reason."""
    if os.environ.get("PARLEY_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def a_sandbox() -> None:
    """Code can be run here."""
    if missing := sandbox.available():
        lacking(missing)
