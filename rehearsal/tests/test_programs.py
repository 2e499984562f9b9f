"""Every variant of every program passes its own tests, runs without input, and passes ruff."""

import io
import subprocess
import sys
import types
import unittest
from pathlib import Path

import pytest

from rehearsal.coding import ProgramVariant
from rehearsal.examples import PROGRAMS, ExampleProgram

VARIANTS = [
    ProgramVariant(program, way, extra)
    for program in PROGRAMS
    for way in (0, 1)
    for extra in ((False, True) if program.extra else (False,))
]


def name(variant: ProgramVariant) -> str:
    return f"{variant.program.name}_{variant.way + 1}{'_extra' if variant.extra else ''}"


def run_tests(code: str, tests: str, monkeypatch: pytest.MonkeyPatch) -> unittest.TestResult:
    program, suite = types.ModuleType("program"), types.ModuleType("program_tests")
    monkeypatch.setitem(sys.modules, "program", program)
    exec(compile(code, "program.py", "exec"), program.__dict__)
    exec(compile(tests, "program_tests.py", "exec"), suite.__dict__)
    return unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromModule(suite))


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_a_variant_passes_its_own_tests(variant: ProgramVariant, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_tests(variant.code(), variant.tests(), monkeypatch)
    assert result.testsRun > 0
    assert result.errors + result.failures == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_two_ways_differ_in_plan_and_code(program: ExampleProgram) -> None:
    assert ProgramVariant(program, 0).code() != ProgramVariant(program, 1).code()
    assert not set(program.plans[0]) & set(program.plans[1])


def test_all_variants_and_their_tests_pass_ruff(tmp_path: Path) -> None:
    for variant in VARIANTS:
        folder = tmp_path / name(variant)
        folder.mkdir()
        (folder / "program.py").write_text(variant.code())
        (folder / "program_tests.py").write_text(variant.tests())
    for arguments in (["check"], ["format", "--check", "--line-length", "120"]):
        run = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--no-cache", "--quiet", str(tmp_path)]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_a_program_runs_as_a_script_without_input(variant: ProgramVariant, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(variant.code())
    done = subprocess.run(
        [sys.executable, "-I", str(path)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
