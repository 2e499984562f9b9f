"""Runs an attack: in the sandbox, or with plain Python."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from shared.sandbox import Limits, RunResult, run
from shared.sandbox.jail import kernel
from tests.support.attacks.model import Attack
from tests.support.attacks.world import World

_TRACE = 19  # CAP_SYS_PTRACE


def can_inspect_processes() -> bool:
    """Whether the supervisor may inspect the processes that it starts."""
    return os.geteuid() != 0 or bool(kernel.capabilities() >> _TRACE & 1)


async def run_sandboxed(attack: Attack, world: World) -> tuple[RunResult, set[str]]:
    limits = Limits(wall=attack.wall, cpu=4)
    files = attack.files(world.described())
    outcome = await run(files, args=("program.py", world.mark), limits=limits)
    return outcome, world.signs(outcome.stdout)


def run_unsandboxed(attack: Attack, world: World) -> set[str]:
    """The signs of an attack without the sandbox, limited only by the user's rights; removes what it left behind."""
    with tempfile.TemporaryDirectory(dir=world.home.parent) as folder:
        for name, text in attack.files(world.described()).items():
            Path(folder, name).write_text(text)
        command = [sys.executable, "-X", "utf8", "program.py", world.mark]
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, close_fds=False
        ) as process:
            printed = _output(process, timeout=1 if "timeout" in attack.ends else 20)
        _clean_naively(Path(folder), world)
        signs = world.signs(printed)
    for path in world.dropped():
        path.unlink()
    return signs


def _output(process: "subprocess.Popen[bytes]", *, timeout: float) -> str:
    """The output of the program; one that outlives the timeout gets a SIGTERM, and counts as harm if it ignores it."""
    try:
        return process.communicate(timeout=timeout)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.terminate()
    try:
        return process.communicate(timeout=0.5)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        return "got it: it does not end when it is asked to"


def _clean_naively(folder: Path, world: World) -> None:
    """Change modes through links, as a careless cleanup would.

    Only within the world: for root, a link to / would make the whole machine inaccessible to other users.
    """
    allowed = (folder.resolve(), world.home.resolve())
    for path in folder.rglob("*"):
        with suppress(OSError, RuntimeError):
            if any(path.resolve().is_relative_to(root) for root in allowed):
                path.chmod(0o700)


def end(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
