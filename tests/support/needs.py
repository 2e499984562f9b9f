"""What a test needs and this machine may lack: then it is skipped, but where nothing may be skipped it fails."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from shared import sandbox

TAU_BENCH = Path(__file__).parents[3] / "shared" / "data" / "tau-bench-retail"
# It is tau-bench's own and not part of this project: no machine has to have it.
needs_tau_bench = pytest.mark.skipif(not TAU_BENCH.is_dir(), reason="tau-bench's data is not beside the project")


def lacking(reason: str) -> NoReturn:
    """End the test for this reason."""
    if os.environ.get("PARLEY_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def a_sandbox() -> None:
    """Code can be run here."""
    if missing := sandbox.available():
        lacking(missing)
