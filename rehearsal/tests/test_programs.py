"""Every variant of every program passes its own tests, runs without input, and passes ruff."""

import importlib
import io
import itertools
import subprocess
import sys
import types
import unittest
from pathlib import Path

import pytest

from rehearsal.coding import ProgramVariant, from_code
from rehearsal.registry import PROGRAMS, ProgramSpec
from rehearsal.variants import SECOND, render


def all_variants() -> list[ProgramVariant]:
    variants = []
    for program in PROGRAMS:
        names = [feature.name for feature in program.features]
        subsets = itertools.chain.from_iterable(itertools.combinations(names, n) for n in range(len(names) + 1))
        variants += [ProgramVariant(program, approach, frozenset(subset)) for subset in subsets for approach in (0, 1)]
    return variants


VARIANTS = all_variants()


def name(variant: ProgramVariant) -> str:
    return "-".join([variant.program.name, str(variant.approach + 1), *sorted(variant.features)])


def suite_of(variant: ProgramVariant) -> str:
    return render(f"{variant.program.name}_tests", variant.features | ({SECOND} if variant.approach else set()))


def run_tests(code: str, tests: str, monkeypatch: pytest.MonkeyPatch) -> unittest.TestResult:
    program, suite = types.ModuleType("program"), types.ModuleType("program_tests")
    monkeypatch.setitem(sys.modules, "program", program)
    exec(compile(code, "program.py", "exec"), program.__dict__)
    exec(compile(tests, "program_tests.py", "exec"), suite.__dict__)
    return unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromModule(suite))


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_a_variant_passes_its_own_tests(variant: ProgramVariant, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_tests(variant.code(), suite_of(variant), monkeypatch)
    assert result.testsRun > 0
    assert result.errors + result.failures == []


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_a_variant_prints_something_without_input(
    variant: ProgramVariant, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = types.ModuleType("program")
    monkeypatch.setitem(sys.modules, "program", program)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    exec(compile(variant.code(), "program.py", "exec"), program.__dict__)
    assert capsys.readouterr().out == "", "importing it must do nothing"
    program.main()
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_a_variant_is_recognised_by_its_code(variant: ProgramVariant) -> None:
    recognised = from_code(variant.program, variant.code())
    assert (recognised.approach, recognised.features) == (variant.approach, variant.features)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_two_approaches_differ_in_plan_and_code(program: ProgramSpec) -> None:
    first, second = ProgramVariant(program, 0), ProgramVariant(program, 1)
    assert first.code() != second.code()
    assert not set(program.plans[0]) & set(program.plans[1])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_source_file_with_all_variants_can_be_imported(
    program: ProgramSpec, capsys: pytest.CaptureFixture[str]
) -> None:
    assert importlib.import_module(f"rehearsal.programs.{program.name}").__doc__
    assert capsys.readouterr().out == ""


def test_all_variants_and_their_tests_pass_ruff(tmp_path: Path) -> None:
    for variant in VARIANTS:
        folder = tmp_path / name(variant).replace("-", "_")
        folder.mkdir()
        (folder / "program.py").write_text(variant.code())
        (folder / "program_tests.py").write_text(suite_of(variant))
    for arguments in (["check"], ["format", "--check", "--line-length", "120"]):
        run = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--no-cache", "--quiet", str(tmp_path)]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_runs_as_a_script(program: ProgramSpec, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(ProgramVariant(program).code())
    done = subprocess.run(
        [sys.executable, "-I", str(path)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
