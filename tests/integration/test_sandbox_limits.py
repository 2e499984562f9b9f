"""Programs that do not end, use too much, or are cancelled: the sandbox stops each, and nothing of it remains."""

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from time import monotonic

import pytest

from shared.sandbox import Limits, RunResult, run
from shared.sandbox.model import MB
from tests.integration.test_sandbox_host import entries, running, scratch_root, until
from tests.support.needs import needs_landlock
from tests.support.timeouts import WAIT_TIMEOUT

__all__ = ["scratch_root"]  # a fixture
pytestmark = needs_landlock


async def program(text: str, **limits: float) -> RunResult:
    return await run({"program.py": dedent(text)}, limits=Limits.model_validate(limits))


SLOW = {
    "sleeping": "import time; print('begun'); time.sleep(60)",
    "spinning": "print('begun')\nwhile True: pass",
    "spinning in threads": "import threading\nprint('begun')\ndef spin():\n    while True: pass\n"
    "for _ in range(4): threading.Thread(target=spin).start()",
    "ignoring signals": "import signal\nfor s in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:\n"
    "    signal.signal(s, signal.SIG_IGN)\nprint('begun')\nwhile True: pass",
    "closing its output": "import os, time; print('begun'); os.close(1); os.close(2); time.sleep(60)",
    "stopping itself": "import os, signal; print('begun'); os.kill(os.getpid(), signal.SIGSTOP)",
    "refusing to exit": "import atexit, time; print('begun'); atexit.register(time.sleep, 60)",
}


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.races
async def test_a_program_over_its_wall_time_is_stopped(scratch_root: Path, name: str) -> None:
    outcome = await program(SLOW[name], wall=0.4)
    assert (outcome.ended, outcome.exit_code, outcome.stdout) == ("timeout", None, "begun\n")
    assert 0.4 <= outcome.duration < 60, "it did not run to its end"


@pytest.mark.parametrize("name", ["spinning", "ignoring signals"])
async def test_a_program_over_its_cpu_time_is_stopped(scratch_root: Path, name: str) -> None:
    outcome = await program(SLOW[name], cpu=1, wall=50)
    assert (outcome.ended, outcome.exit_code, outcome.stdout) == ("timeout", None, "begun\n")


@pytest.mark.races
async def test_the_wall_time_begins_with_the_programs_first_line(scratch_root: Path) -> None:
    async def run_timed(**limits: float) -> tuple[RunResult, float]:
        began = monotonic()
        return await program("print('quick')", **limits), monotonic() - began

    shortest = min([(await run_timed())[1] for _ in range(5)])  # four fifths of it is the start of the interpreter
    for _ in range(30):  # on a busy machine single runs may be slow
        outcome, _ = await run_timed(wall=shortest / 2)
        if outcome.ended == "exited":
            break
    assert (outcome.ended, outcome.stdout) == ("exited", "quick\n")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_program_over_its_output_limit_is_stopped(scratch_root: Path, stream: str) -> None:
    outcome = await program(f"import sys\nwhile True: sys.{stream}.write('x' * 65536)", output=100_000)
    assert (outcome.ended, outcome.exit_code, outcome.truncated) == ("output_limit", None, True)
    assert getattr(outcome, stream) == "x" * 100_000


async def test_output_up_to_the_limit_is_allowed(scratch_root: Path) -> None:
    outcome = await program("print('x' * 999)", output=1_000)
    assert (outcome.ended, len(outcome.stdout), outcome.truncated) == ("exited", 1_000, False)
    outcome = await program("print('x' * 1000)", output=1_000)
    assert (outcome.ended, len(outcome.stdout), outcome.truncated) == ("output_limit", 1_000, True)


async def test_a_stream_over_the_limit_does_not_shorten_the_other(scratch_root: Path) -> None:
    outcome = await program("import sys; print('error', file=sys.stderr)\nwhile True: print('x' * 999)", output=5_000)
    assert (outcome.stderr, len(outcome.stdout)) == ("error\n", 5_000)


async def test_a_program_over_its_memory_limit_ends_with_a_memory_error(scratch_root: Path) -> None:
    outcome = await program("taken = []\nwhile True: taken.append(bytearray(16 * 1024 * 1024))", memory=256 * MB)
    assert (outcome.ended, outcome.exit_code) == ("memory_limit", 1)
    assert outcome.stderr.endswith("MemoryError\n")


async def test_a_program_that_catches_a_memory_error_ends_normally(scratch_root: Path) -> None:
    outcome = await program("try: bytearray(1 << 40)\nexcept MemoryError: print('too much')")
    assert (outcome.ended, outcome.exit_code, outcome.stdout) == ("exited", 0, "too much\n")


async def test_a_program_over_its_thread_limit_cannot_start_threads(scratch_root: Path) -> None:
    outcome = await program(
        """
        import threading
        threading.stack_size(65536)
        stop = threading.Event()
        started = []
        try:
            for _ in range(20_000):
                started.append(threading.Thread(target=stop.wait, daemon=True))
                started[-1].start()
        except RuntimeError as error:
            print(error)
        print(len(started))
        stop.set()
        """,
        threads=16,
        wall=30,
    )
    error, number = outcome.stdout.splitlines()
    assert error == "can't start new thread"
    assert int(number) == 17 if os.geteuid() == 0 else int(number) < 10_000


FILLS = {
    "one file": "f = open('big', 'wb')\nwhile True: f.write(b'x' * 65536)",
    "many files": "for n in range(10_000): open(str(n), 'wb').write(b'x' * 1048576)",
    "deleted files": "import os; kept = []\nfor n in range(10_000):\n"
    "    f = open('gone', 'wb', 0); kept.append(f); os.unlink('gone'); f.write(b'x' * 1048576)",
    "nameless files": "import tempfile; kept = []\nfor n in range(10_000):\n"
    "    f = tempfile.TemporaryFile(buffering=0); kept.append(f); f.write(b'x' * 1048576)",
    "empty files": "for n in range(10**9): open(str(n), 'w').close()",
    "nested folders": "import os\nwhile True: os.mkdir('deeper'); os.chdir('deeper')",
    "an unreadable folder": "import os; os.mkdir('closed', 0o300)\n"
    "for n in range(40): open(f'closed/{n}', 'wb').write(b'x' * 1048576)\nwhile True: pass",
}


@pytest.mark.parametrize("name", FILLS)
async def test_a_program_over_its_disk_limit_is_stopped_or_gets_an_error(scratch_root: Path, name: str) -> None:
    outcome = await program(FILLS[name], disk=8 * MB, wall=WAIT_TIMEOUT)
    if outcome.ended == "exited":  # the limit of a file's size or of open files came first
        assert outcome.exit_code == 1
        assert "File too large" in outcome.stderr or "Too many open files" in outcome.stderr
    else:
        assert (outcome.ended, outcome.exit_code) == ("disk_limit", None)


async def test_a_write_beyond_the_file_limit_raises_an_error_in_the_program(scratch_root: Path) -> None:
    outcome = await program("try: open('big', 'wb').write(b'x' * 2**21)\nexcept OSError as e: print(e)", disk=MB)
    assert outcome.stdout == "[Errno 27] File too large\n"


WAITS = "import os, time; open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'ready'); time.sleep(60)"


async def started_pid(scratch_root: Path) -> int:
    return int((await until(lambda: next(scratch_root.glob("*/ready"), None))).read_text())


@pytest.mark.races
async def test_cancelling_ends_the_program_at_once(scratch_root: Path) -> None:
    task = asyncio.create_task(run({"program.py": WAITS}))
    pid = await started_pid(scratch_root)
    assert running(pid)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task  # the program sleeps for a minute
    assert not running(pid)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("milliseconds", range(0, 48, 4))
@pytest.mark.races
async def test_nothing_remains_after_a_cancel_at_any_moment(scratch_root: Path, milliseconds: int) -> None:
    task = asyncio.create_task(run({"program.py": WAITS}))
    asyncio.get_running_loop().call_later(milliseconds / 1000, task.cancel)
    await asyncio.wait([task])
    assert task.cancelled()
    assert not entries(scratch_root)


async def test_eight_programs_run_side_by_side(scratch_root: Path) -> None:
    text = "import sys, threading; t = threading.Thread(target=print, args=(input(),)); t.start(); t.join()"
    outcomes = await asyncio.gather(*(run({"program.py": text}, stdin=f"{number}\n") for number in range(8)))
    assert [(outcome.stdout, outcome.exit_code) for outcome in outcomes] == [(f"{number}\n", 0) for number in range(8)]


@pytest.mark.races
async def test_a_slow_program_does_not_hold_up_the_others(scratch_root: Path) -> None:
    slow = asyncio.create_task(program("while True: pass", wall=30, cpu=30))
    assert (await program("print('quick')")).stdout == "quick\n"
    assert not slow.done()
    slow.cancel()
    await asyncio.wait([slow])


@pytest.fixture
def supervised() -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """A process that supervises a program, and its folder. The test kills it, so this fixture deletes the folder."""
    code = f"import asyncio; from shared.sandbox import run; asyncio.run(run({{'program.py': {WAITS!r}}}))"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        environment = {**os.environ, "TMPDIR": folder}
        with subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2], env=environment) as process:
            yield process, Path(folder)
            process.kill()


@pytest.mark.races
async def test_the_program_dies_with_its_supervisor(supervised: tuple["subprocess.Popen[bytes]", Path]) -> None:
    supervisor, folder = supervised
    pid = await started_pid(folder)
    assert running(pid)
    supervisor.kill()
    supervisor.wait()
    await until(lambda: None if running(pid) else True)


async def test_a_flood_of_output_uses_little_of_the_supervisors_memory(scratch_root: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await program("import sys\nwhile True: sys.stdout.write('x' * 65536)", output=1_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024  # kB
