"""Attempts to escape. Each runs twice: in the sandbox, where it must not affect the host, and in plain Python, where it
must succeed: otherwise the attack would prove nothing."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from shared.sandbox import run
from tests.integration.test_sandbox_host import scratch_root, until
from tests.support.attacks import ATTACKS
from tests.support.attacks.runner import can_inspect_processes, end, run_sandboxed, run_unsandboxed
from tests.support.attacks.world import World
from tests.support.needs import NO_PTRACE, needs_landlock

__all__ = ["scratch_root"]  # a fixture
pytestmark = needs_landlock


@pytest.fixture
def world() -> Iterator[World]:
    with World() as result:
        yield result
        end(result.survivors())


@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_has_no_effect_on_the_host(world: World, name: str) -> None:
    attack = ATTACKS[name]
    if attack.looks and not can_inspect_processes():
        pytest.skip(NO_PTRACE)  # deleted files of the program cannot be seen without ptrace
    outcome, signs = await run_sandboxed(attack, world)
    assert signs == set(), outcome.stdout
    assert outcome.ended in attack.ends, outcome
    assert outcome.ended != "exited" or outcome.exit_code == 0, outcome.stderr  # the attack ran to its end


@pytest.mark.parametrize("name", ATTACKS)
def test_without_the_sandbox_attacks_affect_the_host(world: World, name: str) -> None:
    harmful = os.geteuid() == 0 or not ATTACKS[name].root
    assert bool(run_unsandboxed(ATTACKS[name], world)) is harmful


async def test_open_descriptors_are_not_inherited(world: World) -> None:
    program = """
        import os
        for number in range(3, 4000):
            try:
                os.fstat(number)
            except OSError:
                continue
            print("open:", number)
        """
    outcome = await run({"program.py": dedent(program)})  # `world` opens an inheritable descriptor
    assert (outcome.stdout, outcome.stderr) == ("", "")


async def test_the_programs_memory_has_nothing_of_the_hosts_environment(world: World) -> None:
    program = """
        import ctypes
        environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        address = ctypes.cast(environ, ctypes.POINTER(ctypes.c_void_p))[0]
        print(ctypes.string_at(address & ~0xFFF, 0x1000))
        """
    outcome = await run({"program.py": dedent(program)})
    assert outcome.exit_code == 0, outcome.stderr
    assert "LANG=C.UTF-8" in outcome.stdout
    assert world.secret not in outcome.stdout


async def test_a_program_cannot_read_another_programs_files(scratch_root: Path) -> None:
    sleeper = "import time; open('ready', 'w').write('mine'); time.sleep(60)"
    reader = "import sys, os; print(open(sys.argv[1]).read())"
    sleeping = asyncio.create_task(run({"program.py": sleeper}))
    ready = await until(lambda: next(scratch_root.glob("*/ready"), None))
    outcome = await run({"program.py": reader}, args=("program.py", str(ready)))
    sleeping.cancel()
    await asyncio.wait([sleeping])
    assert outcome.stdout == ""
    assert "PermissionError" in outcome.stderr
