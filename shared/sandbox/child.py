"""The child process: started in its own session, killed as a group, always reaped."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from shared.sandbox.jail.launch_options import LaunchOptions
from shared.sandbox.model import Ending, Limits, SandboxUnavailable
from shared.sandbox.scratch import USERS, exceeds, folder

_START = "import sys; sys.path.append(sys.argv.pop(1)); from jail.launcher import main; sys.path.pop(); main()"
_HERE = os.fspath(Path(__file__).parent)
_NEEDED = sum(1 << capability for capability in (0, 1, 3, 5, 6, 7))  # chown, dac_override, fowner, kill, setgid, setuid
_STDIN = ".stdin"
_CHUNK = 65_536
_DISK_INTERVAL = 0.025  # seconds between two measurements: a disk writes about a gigabyte per second


class Child(NamedTuple):
    """The process, its folder, and the descriptors to read from; `ended` becomes readable when it has ended."""

    process: "subprocess.Popen[bytes]"
    scratch: Path
    stdout: int
    stderr: int
    status: int
    ended: int

    def kill(self) -> int:
        """Kill the process group if it still runs. Returns the exit code, negative for a signal."""
        return _kill(self.process)


@contextmanager
def start_child(
    files: Mapping[str, str], args: Sequence[str], *, stdin: str, data: Mapping[str, bytes], limits: Limits
) -> Iterator[Child]:
    """Start the launcher. On exit the process group is dead and the folder is removed.

    As root, each run gets its own user id, so that its threads are counted separately.
    """
    owner = _new_user() if os.geteuid() == 0 else 0
    with ExitStack() as stack, ExitStack() as childs:
        scratch = stack.enter_context(folder({**files, _STDIN: stdin}, owner=owner, data=data))
        stdout, stderr, status = (_pipe(stack, childs) for _ in range(3))
        options = LaunchOptions(
            scratch=os.fspath(scratch),
            memory=limits.memory,
            file=limits.disk - limits.disk // 8,  # the program gets an error before the folder is full
            cpu=limits.cpu,
            threads=limits.threads,
            parent=os.getpid(),
            status=status.write,
            uid=owner,
            program=list(args),
        )
        stdin_descriptor = _open_and_unlink(scratch / _STDIN, childs)
        try:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter; the arguments are data
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, _HERE, *options.to_arguments()],
                stdin=stdin_descriptor,
                stdout=stdout.write,
                stderr=stderr.write,
                pass_fds=[status.write],
                env=_environment(scratch),
                cwd=scratch,
                start_new_session=True,
            )
            stack.callback(_kill, process)
            ended = os.pidfd_open(process.pid)
            stack.callback(os.close, ended)
        except OSError as error:
            raise SandboxUnavailable(f"The sandbox's Python cannot be started: {error}") from error
        childs.close()
        yield Child(process, scratch, stdout.read, stderr.read, status.read, ended)


def _new_user() -> int:
    """A user id for the run. Raises SandboxUnavailable if root lacks the capabilities to kill it and clean up."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (effective,) = (int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    if _NEEDED & ~effective:
        raise SandboxUnavailable("Root lacks rights here that the sandbox needs: run it as an ordinary user")
    return secrets.choice(USERS)


class _Pipe(NamedTuple):
    read: int
    write: int


def _pipe(ours: ExitStack, childs: ExitStack) -> _Pipe:
    """A pipe whose ends are closed by the two stacks. The read end does not block."""
    pipe = _Pipe(*os.pipe())
    ours.callback(os.close, pipe.read)
    childs.callback(os.close, pipe.write)
    os.set_blocking(pipe.read, False)
    return pipe


def _environment(scratch: Path) -> dict[str, str]:
    """The whole environment, set at the start: an environment that is cleared later stays readable in memory."""
    return {"HOME": os.fspath(scratch), "TMPDIR": os.fspath(scratch), "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}


def _open_and_unlink(path: Path, childs: ExitStack) -> int:
    """Open the file for reading, and remove it from its folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    childs.callback(os.close, descriptor)
    path.unlink()
    return descriptor


def _kill(process: "subprocess.Popen[bytes]") -> int:
    """Send SIGKILL to the group before reaping it, while its id cannot be reused."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


class Capture:
    """The output of one stream, at most `limit` bytes."""

    def __init__(self, descriptor: int, limit: int) -> None:
        self.descriptor = descriptor
        self.data = bytearray()
        self.truncated = False
        self._most = limit

    def read(self) -> bool:
        """Read at most one chunk. False if there is no more, for now or for ever."""
        room = self._most - len(self.data)
        try:
            chunk = os.read(self.descriptor, min(_CHUNK, room + 1))
        except BlockingIOError:
            return False
        self.truncated = self.truncated or len(chunk) > room
        self.data += chunk[:room]
        return bool(chunk) and not self.truncated

    def read_rest(self) -> None:
        """Read the rest of a stream whose writer has ended."""
        while not self.truncated and self.read():
            pass

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


async def wait_readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


class ChildWatcher:
    """Watches one child. `wait()` returns why the run is over; the caller kills the child."""

    def __init__(self, child: Child, limits: Limits, streams: list[Capture]) -> None:
        self._child = child
        self._limits = limits
        self._streams = streams
        self._loop = asyncio.get_running_loop()
        self._why: asyncio.Future[Ending] = self._loop.create_future()
        self._disk_timer: asyncio.TimerHandle | None = None

    async def wait(self) -> Ending:
        clock = self._loop.call_later(self._limits.wall, self._settle, "timeout")
        self._loop.add_reader(self._child.ended, self._settle, "exited")
        for stream in self._streams:
            self._loop.add_reader(stream.descriptor, self._read_stream, stream)
        self._check_disk()
        try:
            return await self._why
        finally:
            clock.cancel()
            if self._disk_timer:
                self._disk_timer.cancel()
            for descriptor in (self._child.ended, *(stream.descriptor for stream in self._streams)):
                self._loop.remove_reader(descriptor)

    def _settle(self, why: Ending) -> None:
        if not self._why.done():
            self._why.set_result(why)

    def _read_stream(self, stream: Capture) -> None:
        if stream.read():
            return
        if stream.truncated:
            self._settle("output_limit")
        else:
            self._loop.remove_reader(stream.descriptor)

    def _check_disk(self) -> None:
        """Measure in a thread: a program can make a measurement slow, which would block the event loop."""
        child, most = self._child, self._limits.disk
        look = self._loop.run_in_executor(None, partial(exceeds, child.scratch, limit=most, pid=child.process.pid))
        look.add_done_callback(self._disk_checked)

    def _disk_checked(self, look: "asyncio.Future[bool]") -> None:
        if self._why.done():
            look.exception()  # the folder may be removed meanwhile
        elif look.result():
            self._settle("disk_limit")
        else:
            self._disk_timer = self._loop.call_later(_DISK_INTERVAL, self._check_disk)
