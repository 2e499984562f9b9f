"""The child process: started in its own session, killed as a group, always reaped."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from shared.sandbox.jail.launch_options import LaunchOptions
from shared.sandbox.model import Limits, SandboxUnavailable
from shared.sandbox.scratch import USERS, folder

_START = "import sys; sys.path.append(sys.argv.pop(1)); from jail.launcher import main; sys.path.pop(); main()"
_HERE = os.fspath(Path(__file__).parent)
_NEEDED = sum(1 << capability for capability in (0, 1, 3, 5, 6, 7))  # chown, dac_override, fowner, kill, setgid, setuid
_STDIN = ".stdin"


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
