"""The tool `run_program`, which runs a plan's program in the real sandbox."""

from typing import Any

from packs.program.pack import MAX_DATA, pack
from parley.events.values import Step
from services.executor.session_files import CallFiles
from services.executor.sources.packs import PackSource
from services.executor.tools import Registry, ToolInvocation, ToolResult
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.plan_checks.steps import check_plan
from tests.support.bus import FakeBus

SUM = "import json, sys\nprint(json.dumps({'total': sum(json.load(sys.stdin)['amounts'])}))"
READ = "from pathlib import Path\nprint(Path('files/notes/tea.md').read_text())"


async def run(session: Session | None = None, bus: FakeBus | None = None, **arguments: Any) -> ToolResult:
    tool = Registry(PackSource((pack,), objects=bus or FakeBus())).find("run_program")
    assert tool
    return await tool.run(ToolInvocation(session or Session("s", owner="ann"), "s/1/1.1/1", arguments))


async def with_files(**files: bytes) -> tuple[Session, FakeBus]:
    bus, session = FakeBus(), Session("s", owner="ann")
    folder = CallFiles(session, bus)
    for name, data in files.items():
        await folder.write(name.replace("__", "/"), data)
    return replace(session, files={name: ref for name, ref in folder.changes.items() if ref}), bus


async def test_a_program_reads_its_inputs_as_json_and_its_output_is_the_result() -> None:
    assert (await run(code=SUM, inputs={"amounts": [1, 2.5]})).value == {"total": 3.5}
    assert (await run(code="print('no JSON')")).value == "no JSON\n"
    assert (await run(code="print('NaN')")).value == "NaN\n"
    assert (await run(code="print('[' * 100_000)")).ok


async def test_a_program_sees_only_the_files_that_its_step_names() -> None:
    session, bus = await with_files(notes__tea=b"", **{"notes__tea.md": b"Green\n"})
    assert (await run(session, bus, code=READ, files=["notes/tea.md"])).value == "Green\n\n"
    failed = await run(session, bus, code=READ)
    assert "FileNotFoundError" in failed.error
    missing = await run(session, bus, code=READ, files=["notes/coffee.md"])
    assert "there is no file notes/coffee.md" in missing.error
    for name in ("../notes", "/etc/passwd", "a/../../b", "a\0b"):
        assert not (await run(session, bus, code=READ, files=[name])).ok


async def test_files_over_the_total_limit_are_refused() -> None:
    size = MAX_DATA // 4 + 1
    session, bus = await with_files(**{f"f{number}": b"x" * size for number in range(4)})
    assert "at most 16,000,000 bytes" in (await run(session, bus, code="print(1)", files=[*session.files])).error


async def test_a_failed_program_reports_its_error_and_output() -> None:
    failed = await run(code="print('begun')\nraise ValueError('no amounts')")
    assert (failed.ok, failed.error) == (False, "The program ended with exit code 1. ValueError: no amounts")
    assert failed.value["stdout"] == "begun\n"  # type: ignore[index,call-overload]
    assert "timeout" in (await run(code="import signal; signal.pause()")).error


def test_a_program_with_a_syntax_error_or_reference_is_a_problem_of_its_step() -> None:
    tool = Registry(PackSource((pack,))).find("run_program")
    assert tool
    tools = {"run_program": tool.spec}

    def step(code: str, **inputs: Any) -> Step:
        return Step(id="s1", text="Add", tool="run_program", arguments={"code": code, "inputs": inputs})

    assert check_plan([step(SUM)], tools).problems == ()
    (problem,) = check_plan([step("print(")], tools).problems
    assert problem == "Step 1 (s1), argument code: it is no Python: '(' was never closed (<unknown>, line 1)."
    assert "no reference may stand in it" in check_plan([step("print('{{steps.s2.output}}')")], tools).problems[-1]
    assert check_plan([step("a\0b")], tools).problems
