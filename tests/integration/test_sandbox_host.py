"""Helpers of the sandbox tests that observe the host."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.needs import needs_landlock
from tests.support.timeouts import WAIT_TIMEOUT


def descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def children() -> set[str]:
    """The children of this process, running or not yet reaped."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def entries(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.fixture
def scratch_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the sandbox's scratch folders. After the test no file, process or descriptor may remain."""
    before, known = descriptors(), children()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        assert not entries(Path(folder))
    assert children() <= known
    assert descriptors() <= before  # fewer, if the garbage collector closed one of an earlier test


async def until[Value](look: Callable[[], Value | None]) -> Value:
    """The first result of `look` that is not None, within 10 seconds; a sandboxed program sends no event."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while (result := look()) is None:  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.002)
    return result


@needs_landlock
def test_this_process_and_its_descriptors_are_seen() -> None:
    assert running(os.getpid())
    assert {"0", "1", "2"} <= descriptors()
