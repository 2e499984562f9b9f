"""The new process: started in its own session, killed as a group, always reaped."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from shared.sandbox.jail.order import Order
from shared.sandbox.model import Limits, SandboxUnavailable
from shared.sandbox.scratch import folder

_START = "import sys; sys.path.append(sys.argv.pop(1)); from jail.launcher import main; sys.path.pop(); main()"
_HERE = os.fspath(Path(__file__).parent)
_FIRST_USER, _USERS = 60_800, 256  # a range that no distribution hands out
_NEEDED = sum(1 << capability for capability in (0, 1, 3, 5, 6, 7))  # chown, dac_override, fowner, kill, setgid, setuid
_STDIN = ".stdin"


class Child(NamedTuple):
    """The process, its folder, and the descriptors to read from; `ended` becomes readable when it is over."""

    process: "subprocess.Popen[bytes]"
    scratch: Path
    stdout: int
    stderr: int
    status: int
    ended: int

    def end(self) -> int:
        """Kills the whole group if it still runs; returns the exit code, negative for a signal."""
        return _end(self.process)


@contextmanager
def started(
    files: Mapping[str, str], args: Sequence[str], *, stdin: str, data: Mapping[str, bytes], limits: Limits
) -> Iterator[Child]:
    """Starts the launcher. On leaving, however it is left, the process group is dead and the folder gone.

    Started as root, each run gets a user id of its own, so that threads are counted for it alone.
    """
    owner = _new_user() if os.geteuid() == 0 else 0
    with ExitStack() as stack, ExitStack() as childs:
        scratch = stack.enter_context(folder({**files, _STDIN: stdin}, owner=owner, data=data))
        stdout, stderr, status = (_pipe(stack, childs) for _ in range(3))
        order = Order(
            scratch=os.fspath(scratch),
            memory=limits.memory,
            file=limits.disk - limits.disk // 8,  # its end is an error to the program before the folder is full
            cpu=limits.cpu,
            threads=limits.threads,
            parent=os.getpid(),
            status=status.write,
            uid=owner,
            program=list(args),
        )
        given = _opened_once(scratch / _STDIN, childs)
        try:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter; the arguments are data
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, _HERE, *order.to_arguments()],
                stdin=given,
                stdout=stdout.write,
                stderr=stderr.write,
                pass_fds=[status.write],
                env=_environment(scratch),
                cwd=scratch,
                start_new_session=True,
            )
            stack.callback(_end, process)
            ended = os.pidfd_open(process.pid)
            stack.callback(os.close, ended)
        except OSError as error:
            raise SandboxUnavailable(f"The sandbox's Python cannot be started: {error}") from error
        childs.close()
        yield Child(process, scratch, stdout.read, stderr.read, status.read, ended)


def _new_user() -> int:
    """Refuses a root without its rights: it could start a program as another user, but not end it or clean up."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (effective,) = (int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    if _NEEDED & ~effective:
        raise SandboxUnavailable("Root lacks rights here that the sandbox needs: run it as an ordinary user")
    return _FIRST_USER + secrets.randbelow(_USERS)


class _Pipe(NamedTuple):
    read: int
    write: int


def _pipe(ours: ExitStack, childs: ExitStack) -> _Pipe:
    """Each stack closes its end. Ours does not block."""
    pipe = _Pipe(*os.pipe())
    ours.callback(os.close, pipe.read)
    childs.callback(os.close, pipe.write)
    os.set_blocking(pipe.read, False)
    return pipe


def _environment(scratch: Path) -> dict[str, str]:
    """All that the program finds in its environment; given at the start, since a cleared one would stay in memory."""
    return {"HOME": os.fspath(scratch), "TMPDIR": os.fspath(scratch), "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}


def _opened_once(path: Path, childs: ExitStack) -> int:
    """The file for reading only, and no longer in its folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    childs.callback(os.close, descriptor)
    path.unlink()
    return descriptor


def _end(process: "subprocess.Popen[bytes]") -> int:
    """SIGKILL to the group before the reaping, while its number cannot mean anything else."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()
