"""Runs one program in the sandbox and reports how it ended."""

import asyncio
import os
import platform
import select
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from functools import cache
from time import monotonic

from shared.sandbox.child import Capture, Child, ChildWatcher, start_child, wait_readable
from shared.sandbox.model import Ending, Limits, RunResult, SandboxUnavailable
from shared.sandbox.scratch import check_data, check_names

_READY = b"ready"
_START_LIMIT = 30.0  # seconds; 0.05 is usual


@cache
def available() -> str | None:
    """None if programs can run here, else a sentence that says what is missing and what to do.

    The first call starts a program to find out (about 50 ms, blocking).
    """
    try:
        _check_system()
        with start_child({"program.py": ""}, ("program.py",), stdin="", data={}, limits=Limits()) as child:
            select.select([child.status], [], [], _START_LIMIT)
            _check_ready(child)
    except SandboxUnavailable as reason:
        return str(reason)
    return None


async def run(
    files: Mapping[str, str],
    *,
    args: Sequence[str] = ("program.py",),
    stdin: str = "",
    data: Mapping[str, bytes] | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> RunResult:
    """Run `python <args>` in a new folder with `files` (plain names to texts), isolated from the system.

    data: copied to its folder `files`, under names that may contain folders.

    args: one of the files and its arguments, or `-m`, a module of the standard library or of the files, and its
    arguments. Cancelling kills the program at once. Raises ValueError for bad names, SandboxUnavailable if a layer of
    the sandbox is missing. The outcome reports the program's own errors.
    """
    _check_arguments(files, args)
    check_data(data or {})
    _check_system()
    async with _exit_in_thread(start_child(files, args, stdin=stdin, data=data or {}, limits=limits)) as child:
        await _wait_until_ready(child)
        began = monotonic()
        stdout, stderr = (Capture(descriptor, limits.output) for descriptor in (child.stdout, child.stderr))
        ending = await ChildWatcher(child, limits, [stdout, stderr]).wait()
        code = child.kill()
        duration = monotonic() - began
        stdout.read_rest()
        stderr.read_rest()
    if stdout.truncated or stderr.truncated:
        ending = "output_limit"
    elif ending == "exited":
        ending = _ending(code, duration=duration, stderr=stderr.text, limits=limits)
    return RunResult(
        exit_code=code if ending in {"exited", "memory_limit"} else None,
        stdout=stdout.text,
        stderr=stderr.text,
        duration=duration,
        ended=ending,
        truncated=stdout.truncated or stderr.truncated,
    )


@asynccontextmanager
async def _exit_in_thread[T](context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Exit the context in a thread: removing thousands of files would block the event loop."""
    with ExitStack() as stack:
        entered = stack.enter_context(context)
        leaving = stack.pop_all()
    try:
        yield entered
    finally:
        await asyncio.shield(asyncio.to_thread(leaving.close))


def _ending(code: int, *, duration: float, stderr: str, limits: Limits) -> Ending:
    """How a program ended that was not stopped from outside."""
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and duration >= limits.cpu):
        return "timeout"
    if code < 0:
        return "killed"
    last_line = stderr.rstrip().rpartition("\n")[2]
    return "memory_limit" if code and last_line.startswith("MemoryError") else "exited"


def _check_arguments(files: Mapping[str, str], args: Sequence[str]) -> None:
    check_names(files)
    module = len(args) > 1 and args[0] == "-m"
    if not module and not (args and args[0] in files):
        raise ValueError("the first argument must be one of the files, or -m with the name of a module")
    if any("\0" in argument for argument in args):
        raise ValueError("an argument holds a null character")


def _check_system() -> None:
    if sys.platform != "linux":
        raise SandboxUnavailable(f"The sandbox needs Linux, and this is {platform.system()}")


async def _wait_until_ready(child: Child) -> None:
    try:
        async with asyncio.timeout(_START_LIMIT):
            await wait_readable(child.status)
    except TimeoutError:
        raise SandboxUnavailable(f"The sandbox did not start within {_START_LIMIT:.0f} seconds") from None
    _check_ready(child)


def _check_ready(child: Child) -> None:
    """Read the launcher's report, which is a single write."""
    try:
        report = os.read(child.status, 4096)
    except BlockingIOError:
        report = b"the launcher did not answer"
    if report == _READY:
        return
    reason = report.decode(errors="replace") or _launcher_error(child)
    raise SandboxUnavailable(f"The sandbox cannot be closed here: {reason}")


def _launcher_error(child: Child) -> str:
    code = child.kill()
    errors = Capture(child.stderr, 4096)
    errors.read_rest()
    return errors.text.strip().rpartition("\n")[2] or f"the launcher ended with {code}"
