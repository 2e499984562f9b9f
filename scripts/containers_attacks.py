"""The attacks on the sandbox, made inside the image: as the executor is run, as root, and where a layer is missing."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scripts.containers_stack import IMAGE, ROOT, Stack, must

ATTACKS = ("python", "-m", "tests.support.attacks")
TESTS = ("-v", f"{ROOT / 'tests'}:/app/tests:ro")  # the image has none
HELD, REFUSED = 0, 2
LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")


class Case(NamedTuple):
    """Somebody who runs a container otherwise than docker-compose.yml does, and what is then right."""

    who: str
    options: tuple[str, ...]
    right: int
    only: tuple[str, ...] = ()  # parts of the names of attacks


AS_ROOT = ("--user", "0")
CASES = (
    Case("as root", AS_ROOT, HELD),
    # What a root cannot bound who may not look into other processes, the other one does.
    Case("as root with SYS_PTRACE", (*AS_ROOT, "--cap-add", "SYS_PTRACE"), HELD, only=("hide", "disk")),
    Case("as root without rights", (*AS_ROOT, "--cap-drop", "ALL"), REFUSED),
)


def attacked(stack: Stack) -> Iterator[str]:
    """What came of it, a line each. Raises Failed."""
    code, text = stack.ends("run", "--rm", "--no-deps", "-T", *TESTS, "executor", *ATTACKS)
    yield _right("as the executor", HELD, code, text)
    for case in CASES:
        yield _elsewhere(stack, case)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as profile:
        rules = [{"names": LANDLOCK, "action": "SCMP_ACT_ERRNO"}]
        json.dump({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules}, profile)
        profile.flush()
        hidden = ("--security-opt", f"seccomp={Path(profile.name)}")
        yield _elsewhere(stack, Case("where the kernel hides Landlock", hidden, REFUSED))


def _elsewhere(stack: Stack, case: Case) -> str:
    options = ("--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", *TESTS, *case.options)  # noqa: S108
    return _right(case.who, case.right, *stack.ends("run", *options, IMAGE, *ATTACKS, *case.only, of="docker"))


def _ends_of(text: str) -> str:
    """What was said on stderr comes first, what was made last comes last."""
    return text if len(text) < 4000 else f"{text[:2000]}\n[…]\n{text[-2000:]}"


def _right(who: str, wanted: int, code: int, text: str) -> str:
    wrong = "\n".join(line for line in text.splitlines() if "GOT THROUGH" in line)
    must(code == wanted, f"the attacks {who} ended with {code} instead of {wanted}:\n{wrong or _ends_of(text)}")
    return f"attacks, {who}: {text.strip().splitlines()[-1] if code == HELD else 'the sandbox refuses to run'}"
