"""The tool `run_code`: it runs the approved program only, and reports how the run ended."""

from dataclasses import replace
from typing import Any

import pytest

from packs.program import pack as program
from packs.program.pack import MAX_OUTPUT
from services.executor.sources.packs import register_tool
from services.executor.tools import ToolInvocation, ToolResult
from shared import sandbox
from shared.domain.state import Code
from tests.support.executor_bench import SESSION
from tests.support.needs import needs_landlock

CODE = Code(4, 1, 2, "print(1)\n", "", "generator", "approved")


def ask(code: Code | None, **arguments: Any) -> ToolInvocation:
    return ToolInvocation(replace(SESSION, code=code), "k", {"hash": CODE.hash} | arguments)


async def run_code(call: ToolInvocation) -> ToolResult:
    return await register_tool(program.run_code, "program").run(call)


async def test_only_the_approved_code_is_run() -> None:
    for code in (None, replace(CODE, status="review"), replace(CODE, code="print(2)\n")):
        result = await run_code(ask(code))
        assert not result.ok
        assert "not the one" in result.error


@needs_landlock
@pytest.mark.parametrize(
    ("code", "ok", "error"),
    [
        ("import sys\nprint(sys.argv[1:], input())\n", True, ""),
        ("raise SystemExit(3)\n", False, "The program ended with exit code 3."),
        ("import os\nos.kill(os.getpid(), 9)\n", False, "The program ended with killed."),
    ],
)
async def test_a_run_reports_how_it_ended(code: str, ok: bool, error: str) -> None:
    approved = replace(CODE, code=code)
    result = await run_code(ask(approved, hash=approved.hash, args=["a", 1], stdin="in"))
    assert isinstance(result.value, dict)
    assert (result.ok, result.error) == (ok, error)
    assert result.value["stdout"] == ("['a', '1'] in\n" if ok else "")


async def test_without_a_sandbox_the_error_explains_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unavailable(*_: Any, **__: Any) -> sandbox.RunResult:
        raise sandbox.SandboxUnavailable("The sandbox needs Linux")

    monkeypatch.setattr(sandbox, "run", unavailable)
    result = await run_code(ask(CODE))
    assert (result.ok, result.value) == (False, None)
    assert "needs Linux" in result.error
    assert "downloaded" in result.error


async def test_output_that_is_too_large_for_an_event_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    async def loud(*_: Any, **__: Any) -> sandbox.RunResult:
        output = "\x00" * 200_000
        return sandbox.RunResult(exit_code=0, stdout=output, stderr="é", duration=1, ended="exited", truncated=False)

    monkeypatch.setattr(sandbox, "run", loud)
    result = await run_code(ask(CODE))
    assert isinstance(result.value, dict)
    assert result.value["truncated"] is True
    assert result.value["stderr"] == "é"
    assert len(str(result.value["stdout"])) == MAX_OUTPUT // 6
