"""The sandbox on other machines: as an ordinary user, and where a layer is missing, which must mean refusal."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.needs import needs_landlock

pytestmark = needs_landlock

WITHIN = ["-k", "not without_the_sandbox"]  # that the attacks do harm is shown by root
ROOT = Path(__file__).parents[2]
HERE = Path(__file__)
ORDINARY = 60_777
READ_ANY = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]

# A machine that lacks something is made with the same means: a filter over this process and all it starts.
WITHOUT = """
import asyncio, os, struct, sys
from shared.sandbox import SandboxUnavailable, available, run
from shared.sandbox.jail import kernel

def deny(number, error, *, option=None, by_right=False):
    instruction = lambda code, value, then=0, otherwise=0: struct.pack("=HBBI", code, then, otherwise, value)
    tests = instruction(0x15, number, 0, 1 if option is None else 3)
    if option is not None:
        tests += instruction(0x20, 16) + instruction(0x15, option, 0, 1)
    answers = instruction(0x06, 0x50000 | error) + instruction(0x06, 0x7FFF0000)
    if not by_right:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.install_filter(instruction(0x20, 0) + tests + answers)

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
    "the parent's death is not told": ("deny(167 if arm else 157, 22, option=1)", "Invalid argument"),
    "limits cannot be set": ("deny(261 if arm else 302, 1)", "Operation not permitted"),
    "capabilities cannot be given up": ("deny(91 if arm else 126, 1)", "The sandbox cannot be closed here: "),
    "Landlock is a pretence": ("deny(446, 0)", "Landlock was accepted but does not hold"),
    "filters are a pretence": ("deny(167 if arm else 157, 0, option=22)", "the system call filter was accepted"),
    "the parent's death is a pretence": ("deny(167 if arm else 157, 0, option=1)", "prctl was accepted but does not"),
    "limits are a pretence": ("deny(261 if arm else 302, 0)", "a limit was accepted but does not hold"),
    "there is no Python": ("sys.executable = '/nonexistent/python'", "No such file or directory"),
    "processes cannot be watched": ("deny(434, 38)", "Function not implemented"),
}
AS_ROOT = {
    "root may not change its user": ("kernel.prctl(24, 6); kernel.prctl(24, 7)", "run it as an ordinary user"),
    "root may not kill": ("kernel.set_capabilities(0b1100_1011)", "run it as an ordinary user"),
    "no_new_privs is a pretence": ("deny(167 if arm else 157, 0, option=38, by_right=True)", "prctl was accepted but"),
    "giving up capabilities is a pretence": ("deny(91 if arm else 126, 0)", "the loss of capabilities was accepted"),
    "another user is a pretence": ("deny(147 if arm else 117, 0)", "the change of the user id was accepted but"),
    "other groups are a pretence": ("os.setgroups([4711]); deny(159 if arm else 116, 0)", "the change of the user id"),
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


def test_this_test_covers_every_layer() -> None:
    first, second = launcher_report("pass")
    assert first == "None"
    assert "it ran" in second


@pytest.mark.parametrize("name", LACKS)
def test_a_missing_layer_is_a_refusal(name: str) -> None:
    lack, reason = LACKS[name]
    available, raised = launcher_report(lack)
    assert reason in available
    assert raised == available
    assert "it can be downloaded" in available


if os.geteuid() == 0:  # an ordinary user has no rights of root to lack, and runs all the others as one

    @pytest.mark.parametrize("name", AS_ROOT)
    def test_root_without_its_rights_is_a_refusal(name: str) -> None:
        lack, reason = AS_ROOT[name]
        available, raised = launcher_report(lack)
        assert reason in available
        assert raised == available

    @pytest.mark.long  # these tests again, by another user
    @pytest.mark.timeout(300)
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
                [*become, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *WITHIN, *tests],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                timeout=280,
                check=False,
            )
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
