"""The sandbox for an ordinary user, and on machines without one of its layers, where it must refuse to run."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.needs import needs_landlock

pytestmark = needs_landlock

SELECTED = ["-k", "not without_the_sandbox"]  # only root can show that the attacks do harm
ROOT = Path(__file__).parents[2]
HERE = Path(__file__)
ORDINARY = 60_777
READ_ANY = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]

# A system call filter over this process and its children simulates a machine without a layer.
WITHOUT = """
import asyncio, os, struct, sys
from shared.sandbox import SandboxUnavailable, available, run
from shared.sandbox.jail import kernel

def deny(number, error, *, option=None, by_right=False):
    instruction = lambda code, value, then=0, otherwise=0: struct.pack("=HBBI", code, then, otherwise, value)
    tests = instruction(0x15, number, 0, 1 if option is None else 3)
    if option is not None:
        tests += instruction(0x20, 16) + instruction(0x15, option, 0, 1)
    actions = instruction(0x06, 0x50000 | error) + instruction(0x06, 0x7FFF0000)
    if not by_right:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.install_filter(instruction(0x20, 0) + tests + actions)

arm = os.uname().machine == "aarch64"
{lack}
print(available())
try:
    print(asyncio.run(run({{"program.py": "print('it ran')"}})))
except SandboxUnavailable as reason:
    print(reason)
"""
LACKS = {
    "Landlock is not in the kernel": ("deny(444, 38)", "the kernel offers no Landlock (Function not implemented)"),
    "Landlock is forbidden": ("deny(446, 1)", "Operation not permitted"),
    "no_new_privs is forbidden": ("deny(167 if arm else 157, 1, option=38)", "Operation not permitted"),
    "filters are forbidden": ("deny(167 if arm else 157, 22, option=22)", "Invalid argument"),
    "no signal at the parent's death": ("deny(167 if arm else 157, 22, option=1)", "Invalid argument"),
    "limits cannot be set": ("deny(261 if arm else 302, 1)", "Operation not permitted"),
    "capabilities cannot be given up": ("deny(91 if arm else 126, 1)", "The sandbox cannot be closed here: "),
    "Landlock has no effect": ("deny(446, 0)", "Landlock was accepted but does not hold"),
    "filters have no effect": ("deny(167 if arm else 157, 0, option=22)", "the system call filter was accepted"),
    "the signal at the parent's death has no effect": (
        "deny(167 if arm else 157, 0, option=1)",
        "prctl was accepted but does not",
    ),
    "limits have no effect": ("deny(261 if arm else 302, 0)", "a limit was accepted but does not hold"),
    "there is no Python": ("sys.executable = '/nonexistent/python'", "No such file or directory"),
    "processes cannot be watched": ("deny(434, 38)", "Function not implemented"),
}
AS_ROOT = {
    "root may not change its user": ("kernel.prctl(24, 6); kernel.prctl(24, 7)", "run it as an ordinary user"),
    "root may not kill": ("kernel.set_capabilities(0b1100_1011)", "run it as an ordinary user"),
    "no_new_privs has no effect": ("deny(167 if arm else 157, 0, option=38, by_right=True)", "prctl was accepted but"),
    "giving up capabilities has no effect": ("deny(91 if arm else 126, 0)", "the loss of capabilities was accepted"),
    "the change of user has no effect": ("deny(147 if arm else 117, 0)", "the change of the user id was accepted but"),
    "the change of groups has no effect": (
        "os.setgroups([4711]); deny(159 if arm else 116, 0)",
        "the change of the user id",
    ),
    "root may do nothing": ("kernel.set_capabilities(0)", "run it as an ordinary user"),
}


def launcher_report(lack: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(lack=lack)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_without_a_missing_layer_the_program_runs() -> None:
    first, second = launcher_report("pass")
    assert first == "None"
    assert "it ran" in second


@pytest.mark.parametrize("name", LACKS)
def test_the_sandbox_refuses_to_run_without_a_layer(name: str) -> None:
    lack, reason = LACKS[name]
    available, raised = launcher_report(lack)
    assert reason in available
    assert raised == available
    assert "it can be downloaded" in available


if os.geteuid() == 0:  # an ordinary user has no root capabilities to lose, and runs all other tests as such a user

    @pytest.mark.parametrize("name", AS_ROOT)
    def test_the_sandbox_refuses_to_run_for_root_without_capabilities(name: str) -> None:
        lack, reason = AS_ROOT[name]
        available, raised = launcher_report(lack)
        assert reason in available
        assert raised == available

    @pytest.mark.long  # runs all tests of the sandbox again
    def test_the_whole_sandbox_as_an_ordinary_user() -> None:
        become = ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"]
        with tempfile.TemporaryDirectory(dir="/tmp") as home:
            os.chown(home, ORDINARY, ORDINARY)
            environment = {"HOME": home, "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
            readable = subprocess.run(
                [*become, sys.executable, "-c", "import pytest"],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                check=False,
            )
            if readable.returncode:  # the interpreter or the project is in a private folder
                become += READ_ANY
            tests = [os.fspath(path) for path in HERE.parent.glob("test_sandbox*.py")]
            done = subprocess.run(
                [*become, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SELECTED, *tests],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                timeout=280,
                check=False,
            )
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
