"""Attempts to get out. Each is made twice: in the sandbox, where the host must not notice, and by a plain Python, where
it must succeed: an attack that would do no harm anyway shows nothing."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from shared.sandbox import run
from tests.integration.test_sandbox_host import place, until
from tests.support.attacks import ATTACKS
from tests.support.attacks.runner import can_inspect_processes, end, run_sandboxed, run_unsandboxed
from tests.support.attacks.world import World
from tests.support.needs import NO_PTRACE, needs_landlock

__all__ = ["place"]  # a fixture
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
        pytest.skip(NO_PTRACE)  # deleted files of the program are not seen here
    outcome, signs = await run_sandboxed(attack, world)
    assert signs == set(), outcome.stdout
    assert outcome.ended in attack.ends, outcome
    assert outcome.ended != "exited" or outcome.exit_code == 0, outcome.stderr  # its attempts were made


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
    outcome = await run({"program.py": dedent(program)})  # the world has one that can be inherited
    assert (outcome.stdout, outcome.stderr) == ("", "")


async def test_its_memory_holds_nothing_of_the_host_s_environment(world: World) -> None:
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


async def test_one_program_cannot_see_another(place: Path) -> None:
    stays = "import time; open('ready', 'w').write('mine'); time.sleep(60)"
    looks = "import sys, os; print(open(sys.argv[1]).read())"
    other = asyncio.create_task(run({"program.py": stays}))
    ready = await until(lambda: next(place.glob("*/ready"), None))
    outcome = await run({"program.py": looks}, args=("program.py", str(ready)))
    other.cancel()
    await asyncio.wait([other])
    assert outcome.stdout == ""
    assert "PermissionError" in outcome.stderr
