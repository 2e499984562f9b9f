"""Runs the sandbox attacks inside the image: with the executor's settings, as root, and without Landlock."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scripts.containers_stack import IMAGE, ROOT, Stack, require

ATTACKS = ("python", "-m", "tests.support.attacks")
TESTS = ("-v", f"{ROOT / 'tests'}:/app/tests:ro")  # the image contains no tests
ALL_BLOCKED, REFUSED = 0, 2
LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")


class AttackCase(NamedTuple):
    """A container run with other options than in docker-compose.yml, and the expected exit code."""

    setup: str
    options: tuple[str, ...]
    expected_code: int
    only: tuple[str, ...] = ()  # substrings of the attacks to run; empty: all


AS_ROOT = ("--user", "0")
CASES = (
    AttackCase("as root", AS_ROOT, ALL_BLOCKED),
    # Without SYS_PTRACE, root cannot enforce these limits on other processes; with it, it can.
    AttackCase("as root with SYS_PTRACE", (*AS_ROOT, "--cap-add", "SYS_PTRACE"), ALL_BLOCKED, only=("hide", "disk")),
    AttackCase("as root without rights", (*AS_ROOT, "--cap-drop", "ALL"), REFUSED),
)


def run_attacks(stack: Stack) -> Iterator[str]:
    """Run all cases and yield a line for each. Raises CheckFailed."""
    code, text = stack.run_unchecked("run", "--rm", "--no-deps", "-T", *TESTS, "executor", *ATTACKS)
    yield _check_result("as the executor", ALL_BLOCKED, code, text)
    for case in CASES:
        yield _run_case(stack, case)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as profile:
        rules = [{"names": LANDLOCK, "action": "SCMP_ACT_ERRNO"}]
        json.dump({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules}, profile)
        profile.flush()
        hidden = ("--security-opt", f"seccomp={Path(profile.name)}")
        yield _run_case(stack, AttackCase("where the kernel hides Landlock", hidden, REFUSED))


def _run_case(stack: Stack, case: AttackCase) -> str:
    options = ("--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", *TESTS, *case.options)  # noqa: S108
    return _check_result(
        case.setup, case.expected_code, *stack.run_unchecked("run", *options, IMAGE, *ATTACKS, *case.only, of="docker")
    )


def _shortened(text: str) -> str:
    """The beginning and the end of a long output: stderr comes first, the last result last."""
    return text if len(text) < 4000 else f"{text[:2000]}\n[…]\n{text[-2000:]}"


def _check_result(setup: str, expected: int, code: int, text: str) -> str:
    wrong = "\n".join(line for line in text.splitlines() if "GOT THROUGH" in line)
    require(
        code == expected, f"the attacks {setup} ended with {code} instead of {expected}:\n{wrong or _shortened(text)}"
    )
    return f"attacks, {setup}: {text.strip().splitlines()[-1] if code == ALL_BLOCKED else 'the sandbox refuses to run'}"
