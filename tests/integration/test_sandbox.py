"""An honest program can use all of CPython in the sandbox, except network and processes."""

import asyncio
import os
from collections.abc import Callable
from textwrap import dedent

import pytest
import uvloop

from shared.sandbox import RunResult, available, run
from tests.support.needs import needs_landlock

pytestmark = needs_landlock

LOOPS = [pytest.param(asyncio.new_event_loop, id="asyncio"), pytest.param(uvloop.new_event_loop, id="uvloop")]


async def program(text: str, *args: str, stdin: str = "") -> RunResult:
    return await run({"program.py": dedent(text)}, args=("program.py", *args), stdin=stdin)


def test_the_sandbox_is_available_here() -> None:
    assert available() is None


@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_run_works_on_both_event_loops(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        outcome = runner.run(program("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"))
    assert (outcome.stdout, outcome.stderr, outcome.exit_code) == ("out\n", "err\n", 3)
    assert (outcome.ended, outcome.truncated) == ("exited", False)
    assert outcome.duration > 0


async def test_a_program_gets_its_arguments_and_input() -> None:
    outcome = await program("import sys; print(sys.argv); print(input('name? '))", "--x", "é", stdin="Zoë\n")
    assert outcome.stdout == "['program.py', '--x', 'é']\nname? Zoë\n"


async def test_input_at_the_end_raises_eof_error() -> None:
    outcome = await program("input()")
    assert outcome.exit_code == 1
    assert outcome.stderr.endswith("EOFError: EOF when reading a line\n")


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("pass", 0),
        ("import sys; sys.exit()", 0),
        ("raise SystemExit(7)", 7),
        ("exit(4)", 4),
        ("quit()", 0),
        ("import os; os._exit(9)", 9),
        ("1 / 0", 1),
        ("def", 1),
    ],
)
async def test_exit_codes_are_those_of_python(statement: str, code: int) -> None:
    outcome = await program(statement)
    assert (outcome.ended, outcome.exit_code) == ("exited", code)


async def test_exit_with_a_text_prints_it() -> None:
    outcome = await program("import sys; sys.exit('no such file')")
    assert (outcome.exit_code, outcome.stderr) == (1, "no such file\n")


async def test_a_traceback_shows_the_program_and_nothing_of_the_launcher() -> None:
    outcome = await program(
        """
        def divide(a, b):
            return a / b

        divide(1, 0)
        """
    )
    assert outcome.stderr.startswith('Traceback (most recent call last):\n  File "program.py", line 5, in <module>\n')
    assert "    return a / b\n" in outcome.stderr
    assert outcome.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "launcher" not in outcome.stderr
    assert "jail" not in outcome.stderr


async def test_a_syntax_error_is_shown_as_python_shows_it() -> None:
    outcome = await program("print('a'\n")
    assert (
        outcome.stderr
        == "  File \"program.py\", line 1\n    print('a'\n         ^\nSyntaxError: '(' was never closed\n"
    )


async def test_the_program_is_main_with_its_folder_first_on_the_path() -> None:
    outcome = await run(
        {
            "program.py": "import sys, os, helper\n"
            "print(__name__, __file__ == os.path.join(os.getcwd(), 'program.py'))\n"
            "print(sys.path[0] == os.getcwd() == os.environ['HOME'], helper.VALUE)\n"
            "import __main__; print(__main__.sys is sys)\n",
            "helper.py": "VALUE = 42",
        }
    )
    assert outcome.stdout == "__main__ True\nTrue 42\nTrue\n"


async def test_unittest_passes_and_fails() -> None:
    files = {
        "program.py": "def double(x): return 2 * x",
        "test_program.py": dedent(
            """
            import unittest
            from program import double

            class Doubling(unittest.TestCase):
                def test_right(self):
                    self.assertEqual(double(2), 4)

                def test_wrong(self):
                    self.assertEqual(double(2), 5)
            """
        ),
    }
    both = await run(files, args=("-m", "unittest", "-v", "test_program"))
    assert both.exit_code == 1
    assert "test_right (test_program.Doubling.test_right) ... ok" in both.stderr
    assert "AssertionError: 4 != 5" in both.stderr
    right = await run(files, args=("-m", "unittest", "-v", "test_program.Doubling.test_right"))
    assert (right.exit_code, "Ran 1 test" in right.stderr) == (0, True)


async def test_unittest_main_in_a_script_finds_its_tests() -> None:
    outcome = await program(
        """
        import unittest

        class One(unittest.TestCase):
            def test_one(self):
                self.assertTrue(True)

        if __name__ == "__main__":
            unittest.main()
        """
    )
    assert (outcome.exit_code, "Ran 1 test" in outcome.stderr) == (0, True)


async def test_dash_m_runs_an_own_module_and_reports_a_missing_one() -> None:
    files = {"tool.py": "import sys; print(__name__, sys.argv[1:])"}
    assert (await run(files, args=("-m", "tool", "a"))).stdout == "__main__ ['a']\n"
    missing = await run(files, args=("-m", "nothing"))
    assert (missing.exit_code, "No module named nothing" in missing.stderr) == (1, True)


EVERYDAY = {
    "threads": "import threading; t = threading.Thread(target=print, args=('ok',)); t.start(); t.join()",
    "pool": "from concurrent.futures import ThreadPoolExecutor as P\nwith P(8) as p: print(*p.map(str, ['ok']))",
    "asyncio": "import asyncio\nasync def main():\n    await asyncio.sleep(0); await asyncio.to_thread(print, 'ok')\n"
    "asyncio.run(main())",
    "files": "import pathlib as p; p.Path('d/e').mkdir(parents=True); p.Path('d/e/f').write_text('ok')\n"
    "p.Path('d/e/f').rename('g'); print(open('g').read())",
    "copying": "import shutil; open('a', 'w').write('ok'); shutil.copy2('a', 'b'); shutil.copytree('.', 'sub/c')\n"
    "print(open('sub/c/b').read()); shutil.rmtree('sub')",
    "archives": "import zipfile, tarfile; open('a', 'w').write('ok')\n"
    "with zipfile.ZipFile('z', 'w') as z: z.write('a')\n"
    "with tarfile.open('t', 'w:gz') as t: t.add('a')\nwith tarfile.open('t') as t: t.extractall('x', filter='data')\n"
    "print(open('x/a').read())",
    "temporary": "import tempfile\nwith tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile(dir=d) as f, "
    "tempfile.TemporaryFile() as g: print('ok')",
    "sqlite": "import sqlite3; c = sqlite3.connect('db'); c.execute('create table t(a)'); "
    "c.execute('insert into t values (?)', ('ok',)); c.commit(); print(*c.execute('select a from t').fetchone())",
    "standard library": "import json, re, csv, random, decimal, datetime, dataclasses, typing, hashlib, ssl, ctypes, "
    "bz2, lzma, uuid, secrets, logging, statistics, argparse, subprocess, multiprocessing, email, http.client, "
    "xml.dom.minidom\n"
    "uuid.uuid4(); secrets.token_hex(); print('ok')",
    "time zones": "import zoneinfo, datetime; zoneinfo.ZoneInfo('Europe/Berlin'); print('ok')",
    "clocks": "import time, os; time.sleep(0.001); time.localtime(); assert os.cpu_count() >= 1; print('ok')",
    "own signals": "import os, signal; signal.signal(signal.SIGUSR1, lambda *_: print('ok'))\n"
    "os.kill(os.getpid(), signal.SIGUSR1)",
    "alarm": "import signal; signal.signal(signal.SIGALRM, lambda *_: print('ok'))\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()",
    "pickled classes": "import pickle\nclass A: pass\n"
    "print('ok' if type(pickle.loads(pickle.dumps(A()))) is A else 'no')",
    "dev null": "open('/dev/null', 'w').write('x'); import os; os.urandom(4); print('ok')",
    "mapped memory": "import mmap, tempfile, time; m = mmap.mmap(-1, 4096); f = tempfile.TemporaryFile()\n"
    "f.write(b'ok'); f.flush(); n = mmap.mmap(f.fileno(), 2); f.close(); time.sleep(0.06); print(n[:].decode())",
    "line buffering": "import os; print('ok'); os._exit(0)",
    "a bound recursion": "def f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError: print('ok')",
    "data file": "open('data.txt', 'a').write('!'); print(open('data.txt').read().strip('!'))",
}


@pytest.mark.parametrize("name", EVERYDAY)
async def test_everyday_programs_run(name: str) -> None:
    outcome = await run({"program.py": EVERYDAY[name], "data.txt": "ok"})
    assert (outcome.stdout, outcome.stderr, outcome.exit_code) == ("ok\n", "", 0)


@pytest.mark.parametrize(
    "statement", ["import subprocess; subprocess.run(['ls'])", "import socket; socket.socket()", "open('/etc/passwd')"]
)
async def test_forbidden_operations_raise_clear_errors(statement: str) -> None:
    outcome = await program(statement)
    assert outcome.exit_code == 1
    assert "PermissionError: [Errno " in outcome.stderr


async def test_output_that_is_not_text_is_replaced() -> None:
    outcome = await program("import sys; sys.stdout.buffer.write(b'a\\xff\\xfeb'); sys.stderr.buffer.write(b'\\xc3')")
    assert (outcome.stdout, outcome.stderr) == ("a\ufffd\ufffdb", "\ufffd")


async def test_the_program_has_its_own_environment() -> None:
    outcome = await program("import os; print(sorted(os.environ), os.getuid() == 0)")
    assert outcome.stdout == "['HOME', 'LANG', 'PATH', 'TMPDIR'] False\n"


async def test_a_crash_of_the_interpreter_is_reported() -> None:
    outcome = await program("import ctypes; print('before'); ctypes.string_at(0)")
    assert (outcome.ended, outcome.exit_code, outcome.stdout) == ("killed", None, "before\n")


async def test_each_run_by_root_gets_another_user_id() -> None:
    users = {(await program("import os; print(os.getuid())")).stdout for _ in range(6)}
    if os.geteuid() == 0:
        assert len(users) > 1
    else:
        assert users == {f"{os.geteuid()}\n"}
