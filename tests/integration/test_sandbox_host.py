"""The host around the sandbox, as the other sandbox tests see it."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.needs import needs_landlock


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
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the scratch folders are made during the test. Nothing may remain: no file, process, descriptor or task."""
    before, known = descriptors(), children()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        assert not entries(Path(folder))
    assert children() <= known
    assert descriptors() <= before  # fewer, where one that an earlier test forgot was collected


async def until[Value](look: Callable[[], Value | None]) -> Value:
    """The first thing that `look` finds, within 10 seconds: what a jailed program does can only be looked for."""
    async with asyncio.timeout(10):
        while (entries := look()) is None:  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.002)
    return entries


@needs_landlock
def test_this_process_is_seen() -> None:
    assert running(os.getpid())
    assert {"0", "1", "2"} <= descriptors()
