"""The tests of a program stay: what a repair runs, what the programmer sees and disputes, what a tester may drop."""

import re

import pytest

from parley.events.values import Check, Step
from services.generator.conversation import WrongTest, write_code
from services.generator.conversation import build_prompt as code_prompt
from services.verifier.app import verify
from services.verifier.conversation import TestsDraft, build_tests_prompt
from services.verifier.program_checks import MAX_DETAIL, run_tests
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import MAX_REPAIRS, Session
from shared.domain.kernel.state import Code
from shared.domain.plan.program_tests import failed_tests, is_disputable, sources
from shared.llm import Message
from shared.settings import Settings
from tests.support.needs import needs_landlock
from tests.unit.domain.spec import StoryLine, approve, draft, feedback, given, program, say
from tests.unit.test_handlers import work_context

MODULE = """import unittest

import program


class AddsTest(unittest.TestCase):
    def test_s1_adds(self):
        self.assertEqual(program.add(1, 2), 3)

    def test_s2_takes_none(self):
        self.assertEqual(program.add(0, 0), 0)
"""
OTHER = MODULE.replace("(0, 0), 0", "(0, 1), 1")
WITHOUT = MODULE.replace("test_s1_adds", "test_s1_other")
RIGHT, WRONG = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a + b if a else 1\n"
FAILED = "FAIL: test_s2_takes_none (test_program.AddsTest.test_s2_takes_none)\nAssertionError: 1 != 0"
STEPS = (Step(id="s1", text="Add two numbers"), Step(id="s2", text="Nothing and nothing is nothing"))
PLAN = c.DraftPlan(goal="a calculator", steps=STEPS)
FAILS = c.VerifyCode(checks=(Check(name="tests", ok=False, detail=FAILED),), tests=MODULE, unreachable=("s2",))
PASSES = c.VerifyCode(checks=(Check(name="tests", ok=True),), tests=MODULE)
BROKEN = c.VerifyCode(checks=(Check(name="parses", ok=False, detail="SyntaxError"),))
WRITTEN = (say(), PLAN, approve, program(WRONG))
DISPUTE = c.DraftCode(code=WRONG, disputes="Nothing is one, as the person said.")


def checked_code(code: str, tests: str, check: Check) -> Code:
    return Code(1, 1, 1, code, "", "generator", "rejected", checks=(check,), tests=tests)


def section(messages: list[Message], name: str) -> str:
    return messages[-1]["content"].partition(f"\n<{name}-")[2].partition(">\n")[2].partition(f"\n</{name}-")[0]


def disputes(session: Session) -> c.DraftCode:
    """The draft of a programmer who always says that the test is wrong."""
    assert session.code
    return c.DraftCode(code=session.code.code, disputes="The test is wrong.")


def test_the_programmer_sees_the_tests_that_failed_and_may_object() -> None:
    failing = given(*WRITTEN, FAILS).session
    told = section(code_prompt(failing, Settings()), "failing_tests")
    assert told == "def test_s2_takes_none(self):\n    self.assertEqual(program.add(0, 0), 0)"
    assert is_disputable(failing)
    assert not is_disputable(given(*WRITTEN, PASSES).session)
    assert not is_disputable(given(*WRITTEN).session)


async def test_a_disputed_test_leaves_the_program_as_it_was_and_is_written_anew() -> None:
    failing = given(*WRITTEN, FAILS).session
    command = await write_code(work_context("generator", failing, WrongTest(reason=DISPUTE.disputes)))
    assert command == DISPUTE
    checking = given(*WRITTEN, FAILS, DISPUTE).session
    assert checking.code
    assert (checking.code.code, checking.code.repairs, checking.phase) == (WRONG, 1, "verifying")
    prompt = build_tests_prompt(checking)
    assert section(prompt, "dispute") == DISPUTE.disputes
    assert section(prompt, "earlier_tests") == MODULE
    assert '"kind": "test_wrong"' in checking.transcript[-1].text


def test_whoever_always_disputes_ends_in_review_with_the_failing_check() -> None:
    story: list[StoryLine] = [*WRITTEN, FAILS]
    for _ in range(MAX_REPAIRS):
        story += [disputes, FAILS]
    session = given(*story).session
    assert session.code
    assert (session.phase, session.code.status, session.code.repairs) == ("awaiting_approval", "review", MAX_REPAIRS)
    assert [check.ok for check in session.code.checks] == [False]


@needs_landlock
async def test_a_repair_runs_the_same_tests_without_a_model() -> None:
    repaired = given(*WRITTEN, FAILS, program(RIGHT)).session
    command = await verify(work_context("verifier", repaired))  # the script has no reply
    assert isinstance(command, c.VerifyCode)
    assert (command.tests, command.unreachable, command.checks[-1].ok) == (MODULE, ("s2",), True)
    assert command.checks[-1].detail.endswith("No test can reach step 2 (“Nothing and nothing is nothing”).")


def test_the_tests_stay_where_a_repair_does_not_even_parse() -> None:
    session = given(*WRITTEN, FAILS, program("def"), BROKEN, program(RIGHT)).session
    assert session.code
    assert (session.code.tests, session.code.earlier_tests, session.code.repairs) == ("", MODULE, 2)
    assert session.code.reruns_tests


@needs_landlock
@pytest.mark.parametrize(
    "changes",
    [
        (feedback("subtract instead"), c.DraftCode(code="def", wish="subtract")),
        (approve, say("subtract instead"), draft("Subtract two numbers"), approve, program("def")),
    ],
)
async def test_a_repair_of_a_draft_that_no_test_ran_for_gets_new_tests(changes: tuple[StoryLine, ...]) -> None:
    subtracts, tests = "def add(a, b):\n    return a - b\n", MODULE.replace("2), 3", "2), -1")
    session = given(*WRITTEN, PASSES, *changes, BROKEN, program(subtracts)).session
    command = await verify(work_context("verifier", session, TestsDraft(tests=tests)))
    assert isinstance(command, c.VerifyCode)
    assert (command.tests, command.checks[-1].ok) == (tests, True)
    assert section(build_tests_prompt(session), "earlier_tests") == MODULE


def test_a_draft_that_takes_a_message_in_is_no_repair() -> None:
    retried = (*WRITTEN, FAILS, say("nothing is one"), c.Fail(reason="no model", retryable=True), c.Retry())
    session = given(*retried, program(RIGHT)).session
    assert session.code
    assert (session.words.unread, session.code.repairs) == ((), 0)


@needs_landlock
@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ((WITHOUT, MODULE), MODULE),  # refused once, and given again as it was
        ((WITHOUT, WITHOUT), WITHOUT),  # a second time it stands
        ((OTHER.replace("test_s1_adds", "test_s1_sum"), OTHER), OTHER),
    ],
)
async def test_tests_of_unchanged_steps_may_be_dropped_only_on_second_thoughts(
    replies: tuple[str, ...], expected: str
) -> None:
    changed = PLAN.model_copy(update={"steps": (STEPS[0], Step(id="s2", text="Nothing and one is one"))})
    session = given(*WRITTEN, PASSES, approve, say("change it"), changed, approve, program(RIGHT)).session
    assert section(build_tests_prompt(session), "earlier_tests") == MODULE
    command = await verify(work_context("verifier", session, *(TestsDraft(tests=tests) for tests in replies)))
    assert isinstance(command, c.VerifyCode)
    assert command.tests == expected


@needs_landlock
async def test_no_test_is_dropped_unseen_because_another_class_has_its_name() -> None:
    both = f"{MODULE}\n\nclass More(unittest.TestCase):\n    def test_s1_adds(self):\n        program.add(3, 4)\n"
    passed = PASSES.model_copy(update={"tests": both})
    session = given(*WRITTEN, passed, approve, say("again"), PLAN, approve, program(RIGHT)).session
    one = both.replace("    def test_s1_adds(self):\n        self.assertEqual(program.add(1, 2), 3)\n\n", "")
    command = await verify(work_context("verifier", session, TestsDraft(tests=one), TestsDraft(tests=both)))
    assert isinstance(command, c.VerifyCode)
    assert command.tests == both


def test_the_programmer_sees_the_helpers_that_a_failed_test_names() -> None:
    helpers = "def total(a, b):\n    return program.add(a, b)\n\n\ndef other():\n    return 1\n\n\n"
    module = MODULE.replace("class ", f"{helpers}class ").replace("program.add(0, 0)", "total(0, 0)")
    failing = given(*WRITTEN, FAILS.model_copy(update={"tests": module})).session
    assert list(failed_tests(failing.code)) == [("total", ""), ("test_s2_takes_none", "AddsTest")]


TWINS = """import unittest, program

class Passes(unittest.TestCase):
    def test_s1_is(self):
        self.assertEqual(program.ONE, 1)

class Fails(unittest.TestCase):
    def test_s1_is(self):
        self.assertEqual(program.ONE, 2)

class FailsToo(Fails):
    pass

class Base:
    def test_s2_is(self):
        self.assertEqual(program.ONE, 3)

class Inherits(Base, unittest.TestCase):
    pass
"""


@needs_landlock
async def test_tests_of_the_same_name_are_told_apart_by_their_class() -> None:
    check = await run_tests("ONE = 1\n", TWINS)
    failed = ["Fails.test_s1_is", "FailsToo.test_s1_is", "Inherits.test_s2_is"]
    assert re.findall(r"^FAIL: .* \(test_program\.(.*)\)", check.detail, re.MULTILINE) == failed


def test_the_programmer_sees_the_failed_test_of_its_class_or_the_one_that_it_inherits() -> None:
    failed = "FAIL: test_s1_is (test_program.Fails.test_s1_is)\nFAIL: test_s2_is (test_program.Inherits.test_s2_is)"
    code = checked_code("ONE = 1\n", TWINS, Check(name="tests", ok=False, detail=failed))
    assert list(failed_tests(code)) == [("test_s1_is", "Fails"), ("test_s2_is", "Base")]


@needs_landlock
async def test_every_failed_test_is_named_however_much_there_is_to_say() -> None:
    cases = "".join(f"    async def test_s{n}(self):\n        self.assertEqual(program.f(), {n})\n" for n in range(20))
    tests = f"import unittest, program\n\nclass A(unittest.IsolatedAsyncioTestCase):\n{cases}"
    noisy = "def f():\n    print('noise ' * 1000)\n"
    check = await run_tests(noisy, tests)
    assert list(failed_tests(checked_code(noisy, tests, check))) == [(f"test_s{n}", "A") for n in range(20)]
    assert check.detail.count("AssertionError: None != ") == 20
    assert len(check.detail) <= MAX_DETAIL + 2


@needs_landlock
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_what_a_program_prints_is_no_part_of_the_report(stream: str) -> None:
    noise = f"print('=' * 70, 'Report', '=' * 70, sep='\\n', file=sys.{stream})"
    check = await run_tests(f"import sys\n\ndef add(a, b):\n    {noise}\n    return 9\n", MODULE)
    assert check.detail.count("Report") == 2
    assert check.detail.endswith("FAILED (failures=2)")


@needs_landlock
async def test_tests_run_without_their_fence_and_only_if_they_parse() -> None:
    broken, fenced = (TestsDraft(tests=f"```python\n{tests}```\n") for tests in ("def test(:\n", MODULE))
    command = await verify(work_context("verifier", given(*WRITTEN[:-1], program(RIGHT)).session, broken, fenced))
    assert isinstance(command, c.VerifyCode)
    assert (command.tests, command.checks[-1].ok) == (MODULE, True)


@needs_landlock
@pytest.mark.parametrize("tests", ["", "import program\n"])
async def test_where_no_test_can_reach_any_step_there_is_nothing_to_repair(tests: str) -> None:
    session = given(*WRITTEN[:-1], program(RIGHT)).session
    command = await verify(work_context("verifier", session, TestsDraft(tests=tests, unreachable=["s1", "s2"])))
    assert isinstance(command, c.VerifyCode)
    assert command.checks[-1].ok is None
    assert command.checks[-1].detail.startswith("Not run: No test can reach step 1 (“Add two numbers”), step 2")
    assert given(command, begin=session).session.phase == "awaiting_approval"


@needs_landlock
async def test_a_disputed_test_may_go() -> None:
    session = given(*WRITTEN, FAILS, DISPUTE).session
    command = await verify(work_context("verifier", session, TestsDraft(tests=OTHER)))
    assert isinstance(command, c.VerifyCode)
    assert command.tests == OTHER


def test_tests_that_do_not_parse_have_no_sources() -> None:
    assert sources("def test(:") == {}
    assert failed_tests(None) == {}
    assert list(sources("@skip\ndef test_s1_x(): ...\n").values()) == ["@skip\ndef test_s1_x(): ..."]
