"""Planner, generator and verifier of a conversation: their prompts, replies and program checks."""

import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from parley.events.values import ActionSpec, Service, Status, Step
from services.generator.conversation import CodeDraft, write_code
from services.planner.conversation import PlanDraft, draft_plan
from services.planner.conversation import build_prompt as plan_prompt
from services.verifier.app import verify
from services.verifier.conversation import RunVerdict, build_verdict_prompt, render_partial_verdict
from services.verifier.program_checks import MAX_DETAIL, check_syntax, run_linter, run_tests
from shared import sandbox
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import Work
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Code, Plan, Turn
from shared.domain.transcript.dialogue import Words
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.worker import WorkContext
from tests.support import work
from tests.support.needs import needs_landlock
from tests.unit.domain.spec import TO_DONE, TO_PLAN, draft, given, reject, say

PLAN = Plan(2, 1, "text", "A calculator", (Step(text="Ask"), Step(text="Add")), "", "planner", "approved")
CODE = Code(4, 1, 2, "print(1)\n", "", "generator", "review")
SESSION = Session("s", version=4, words=Words(request="Write a calculator"))


def work_context(service: Service, session: Session, *replies: BaseModel | Exception) -> WorkContext:
    """The context of this service in the session, where it is made due."""
    due = replace(session, work=Work(service=service, version=session.version))
    return work.work_context(service, due, ScriptedModel(*replies))


# --- prompts


def test_the_plan_is_told_with_goal_and_notes_unless_the_conversation_has_them() -> None:
    assert "Goal: A calculator\n\n1. Ask\n2. Add" in plan_prompt(replace(SESSION, plan=PLAN), Settings())[-1]["content"]
    told = plan_prompt(given(*TO_PLAN, say("shorter")).session, Settings())
    assert '"goal": "a calculator"' in told[2]["content"]
    assert "Goal:" not in told[-1]["content"]
    assert "1. add" in told[-1]["content"]


def test_the_verifier_judges_a_program_by_its_own_plan_only() -> None:
    newer = (*TO_DONE, say("undo, too"), draft("undo"), reject, say("keep it"), c.AnswerRemark(text="All right."))
    text = build_verdict_prompt(given(*newer, c.Run()).session)[-1]["content"]
    assert "undo" not in "".join(re.findall(r"<plan-\w+>.*?</plan-\w+>", text, re.DOTALL))


# --- planner


async def test_a_plan_command_is_built_from_the_models_draft() -> None:
    reply = PlanDraft(goal=" A calculator ", steps=["Ask ", " ", "Add", "x" * 3000], notes=" none ")
    command = await draft_plan(work_context("planner", SESSION, reply))
    assert isinstance(command, c.DraftPlan)
    assert (command.goal, command.notes) == ("A calculator", "none")
    assert [len(step.text) for step in command.steps] == [3, 3, 2000]


# --- generator


@pytest.mark.parametrize(
    "reply",
    [
        "print(1)",
        "print(1)\n\n",
        "```python\nprint(1)\n```",
        "\n```py\nprint(1)\n```\n",
        "```\nprint(1)```",
        "```Python title=a.py\nprint(1)\n```",
    ],
)
async def test_the_fence_around_code_is_removed(reply: str) -> None:
    command = await write_code(
        work_context("generator", replace(SESSION, plan=PLAN), CodeDraft(code=reply, explanation=" e "))
    )
    assert command == c.DraftCode(code="print(1)\n", explanation="e")


# --- verifier


@pytest.mark.parametrize("code", ["def broken(:\n", "x = \0", "(" * 5000, "x = 1\n  y = 2\n"])
def test_code_that_does_not_parse_fails_the_check(code: str) -> None:
    check = check_syntax(code)
    assert (check.name, check.ok) == ("parses", False)
    assert check.detail


async def test_the_linter_reports_errors_and_not_style() -> None:
    assert (await run_linter("import sys\n\nprint( sys.argv )\n")).ok
    check = await run_linter("import os\n\nprint(nothing)\n")
    assert check.ok is False
    assert "F401" in check.detail
    assert "program.py:3:7: F821" in check.detail


async def test_a_missing_linter_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.verifier.program_checks.sys.executable", "/bin/false")
    missing = await run_linter("print(1)\n")
    assert missing.ok is None
    assert "could not be run" in missing.detail


NO_TESTS = "import program\n"
GOOD_TESTS = """import unittest
import program


class Adds(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(program.add(1, 2), 3)
"""
ADDS = "def add(a, b):\n    return a + b\n"
FORGED = "import os, sys\nsys.stderr.write('Ran 7 tests in 0.001s\\n\\nOK\\n')\nsys.stderr.flush()\nos._exit(0)\n"


@needs_landlock
@pytest.mark.parametrize(
    ("code", "tests", "ok", "detail"),
    [
        (ADDS, GOOD_TESTS, True, "Ran 1 test"),
        (ADDS.replace("+", "-"), GOOD_TESTS, False, "AssertionError: -1 != 3"),
        (ADDS, NO_TESTS, False, "Ran 0 tests"),
        (ADDS, "import nothing\n", False, "No module named"),
        ("import sys\nsys.exit(0)\n", GOOD_TESTS, False, "ended before its tests did"),
        (FORGED, GOOD_TESTS, False, "ended before its tests did"),
        (FORGED.replace("'Ran", "'0 1 True Ran"), GOOD_TESTS, False, "ended before its tests did"),
    ],
)
async def test_tests_pass_only_when_they_ran_and_passed(code: str, tests: str, ok: bool, detail: str) -> None:
    check = await run_tests(code, tests)
    assert (check.ok, detail in check.detail) == (ok, True), check.detail
    assert len(check.detail) <= MAX_DETAIL + 2


async def test_without_a_sandbox_tests_are_neither_run_nor_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unavailable(*_: Any, **__: Any) -> sandbox.RunResult:
        raise sandbox.SandboxUnavailable("The sandbox needs Linux")

    monkeypatch.setattr(sandbox, "run", unavailable)
    check = await run_tests(ADDS, GOOD_TESTS)
    assert check.ok is None
    assert "needs Linux" in check.detail
    monkeypatch.setattr(sandbox, "available", lambda: "The sandbox needs Linux.")
    context = work_context("verifier", replace(SESSION, plan=PLAN, code=CODE))
    command = await verify(context)
    assert isinstance(command, c.VerifyCode)
    assert [(check.name, check.ok) for check in command.checks] == [("parses", True), ("lints", True), ("tests", None)]


async def test_the_model_is_not_called_for_code_that_does_not_parse() -> None:
    command = await verify(work_context("verifier", replace(SESSION, code=replace(CODE, code="def broken(:\n"))))
    assert isinstance(command, c.VerifyCode)
    assert [check.name for check in command.checks] == ["parses"]


async def test_the_model_judges_runs_and_a_rule_judges_unrun_code() -> None:
    verdict_draft = RunVerdict(status="success", next_action="complete", reasoning="It printed 3.")
    ran = replace(SESSION, plan=PLAN, code=CODE, turn=turn(Action(spec(), "finished", {"exit_code": 0})))
    verdict = await verify(work_context("verifier", ran, verdict_draft))
    assert isinstance(verdict, c.VerifyTurn)
    assert (verdict.status, verdict.next_action, verdict.reasoning, verdict.rule) == (
        "success",
        "complete",
        "It printed 3.",
        "",
    )
    assert "run_code: finished" in verdict.execution_analysis
    assert render_partial_verdict({"reasoning": "It pri"}) == "It pri"
    skipped = await verify(work_context("verifier", replace(ran, turn=turn(Action(spec(), "skipped")))))
    assert isinstance(skipped, c.VerifyTurn)
    assert (skipped.status, skipped.rule) == ("failure", "nothing-run")


@pytest.mark.parametrize("status", ["not_shown", "bad_input", "missing_here"])
async def test_a_verdict_that_blames_nobody_ends_the_run(status: Status) -> None:
    ran = replace(SESSION, plan=PLAN, code=CODE, turn=turn(Action(spec(), "finished", {"exit_code": 0})))
    verdict = await verify(work_context("verifier", ran, RunVerdict(status=status, next_action="escalate")))
    assert isinstance(verdict, c.VerifyTurn)
    assert (verdict.status, verdict.next_action) == (status, "complete")


def spec(tool: str = "run_code", **arguments: Any) -> ActionSpec:
    return ActionSpec(id="1.1", tool=tool, arguments=arguments or {"hash": CODE.hash})


def turn(*actions: Action) -> Turn:
    return Turn(1, "Run the approved code", actions, "user:ann", workflow="conversation")
