"""The workflow `conversation`: check the code before the user sees it, and judge its run against the plan."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, Literal

from pydantic import Field

from parley.events.values import Check, NextAction, Status
from parley.reply import Kind, Reply
from services.verifier.program_checks import check_syntax, run_linter, run_tests
from shared import sandbox
from shared.domain.kernel import commands as c
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Code, Plan, Turn
from shared.domain.plan.program_tests import lasting_tests, sources, unfenced
from shared.domain.transcript.dialogue import TranscriptEntry
from shared.llm import Message
from shared.llm.dialogue import CONVERSATION, code_section, knowledge_section, plan_section, request_section
from shared.llm.sections import prompt
from shared.worker import WorkContext

RESULTS = {True: "ok", False: "failed", None: "not run"}
TESTS_EXAMPLE = (
    '{"reply": {"kind": "tests", "tests": "import unittest\\n\\nimport program\\n\\n\\n'
    "class SquaresTest(unittest.TestCase):\\n    def test_s1_of_none_there_are_none(self) -> None:\\n"
    '        self.assertEqual(program.squares(0), [])\\n", "unreachable": ["s2"]}}'
)
TESTS_RULES = f"""
You are the tester of Parley. You write tests for a Python program that somebody else wrote, from the <plan> that it
must carry out and what the person said, not from what the <code> happens to do: one module for the standard library's
unittest that does `import program` and uses the names that the code defines. A few decisive cases: what the plan
promises, its edges, bad input. Name each test for its step: test_s2_… for the step with the id s2. No network, no
sleeping, no input from the keyboard, no patching of the program's internals; files only in a temporary folder: nothing
of the system, such as /etc, can be read. Helpers of tests may change.
<earlier_tests> were written for the version before: keep word for word the tests of steps that did not change, unless
the person has said since that they want something else, and write the others anew. <dispute> is what the programmer
says against tests that failed: write these anew if the plan and the person do not ask for what they check; if they do,
keep them.

{CONVERSATION}

Reply with the kind tests: tests (the whole module), unreachable (the ids of the steps that no test can reach here,
because they need a window, a network …; an empty list if there are none).

A good reply: {TESTS_EXAMPLE}
"""
VERDICT_EXAMPLE = (
    '{"reply": {"kind": "verdict", "execution_analysis": "Exit code 0; it printed the ten squares that the plan '
    'names.", "status": "success", "next_action": "complete", "reasoning": "Ten is the default; '
    'another count can be given."}}'
)
VERDICT_RULES = f"""
You are the verifier of Parley. You judge whether the last run of a program did what the <plan> promised. The last <run>
has its arguments, its standard input, its exit code and its output; <code> is the program, <tests> its tests and how
the checks ended, <files> what the person keeps in this session. It ran in a sandbox, without a network, a window or
anybody at the keyboard, and without those files.

{CONVERSATION}

Reply with the kind verdict:
1. execution_analysis: what the run shows, and which steps of the plan it fulfils.
2. status: success, partial, failure (the program is wrong), or one of these, which are no fault of the program:
   not_shown (this run cannot show it: say which arguments or standard input would), bad_input (the input was wrong, and
   the program said so as it should), missing_here (the program is right, but a network, a window, a package or a file
   is missing here: say which, and where it would work).
3. next_action: complete (nothing has to be changed), retry (the program must be changed: say what is wrong), escalate
   (a person must look at it), continue (more runs are needed).
4. reasoning: one sentence for the person. They see the output: add what it does not say, such as what follows from it.

A good reply: {VERDICT_EXAMPLE}
"""
KEEP_TESTS = (
    "These tests are missing or changed, though their steps are as they were: {names}. Give the whole module with "
    "these tests word for word, unless the person has asked for something else since they were written."
)


class TestsDraft(Kind):
    """One unittest module."""

    __test__ = False  # not a test itself

    kind: Literal["tests"] = "tests"
    tests: str
    unreachable: list[str] = Field(default_factory=list, max_length=50)


class TestsReply(Reply):
    """The verifier's tests."""

    __test__ = False  # not a test itself

    reply: TestsDraft


class RunVerdict(Kind):
    """What a run came to."""

    kind: Literal["verdict"] = "verdict"
    execution_analysis: str = ""
    status: Status
    next_action: NextAction
    reasoning: str = ""


class VerdictReply(Reply):
    """The verifier's verdict on a run."""

    reply: RunVerdict


def build_tests_prompt(session: Session) -> list[Message]:
    told, code = _without_programmer(session), session.code
    return prompt(
        "verifier",
        "tests",
        TESTS_RULES,
        {
            "original_request": request_section(session),
            "plan": plan_section(told, ids=True),
            "code": code_section(session),
            "earlier_tests": code.earlier_tests if code else None,
            "dispute": code.disputes if code else None,
        },
        opening={"knowledge": knowledge_section(told)},
        transcript=told.transcript,
        due="Write the tests.",
        zone=session.time_zone,
    )


def build_verdict_prompt(session: Session) -> list[Message]:
    told = _without_programmer(session)
    return prompt(
        "verifier",
        "verdict",
        VERDICT_RULES,
        {
            "original_request": request_section(session),
            "plan": plan_section(told),
            "code": code_section(session),
            "tests": _tests_lines(session.code) if session.code else None,
            "files": [f"{name}: {file.size} bytes" for name, file in session.files.items()],
        },
        opening={"knowledge": knowledge_section(told)},
        transcript=told.transcript,
        due="Judge the last run.",
        zone=session.time_zone,
    )


def unreachable_note(plan: Plan | None, ids: Collection[str]) -> str:
    """The steps that no test can reach, by the numbers that the person sees; "" for none."""
    steps = enumerate(plan.steps if plan else (), 1)
    named = [f"step {number} (“{step.text}”)" for number, step in steps if step.id in ids]
    return f"No test can reach {', '.join(named)}." if named else ""


def _tests_lines(code: Code) -> list[str]:
    """The program's tests, and how it was checked."""
    results = (f"{check.name}: {RESULTS[check.ok]} {check.detail}".rstrip() for check in code.checks)
    return [*([code.tests] if code.tests else ()), *results]


def _without_programmer(session: Session) -> Session:
    """What the judge of a program may know: not what the programmer thought, no earlier verdicts, and no newer plan,
    which the program does not follow.
    """
    told = (entry for entry in session.transcript if entry.kind == "question" or not _is_judgement(entry))
    plan, code = session.plan, session.code
    followed = plan if plan and code and plan.version == code.plan_version else None
    return replace(session, transcript=tuple(told), plan=followed)


def _is_judgement(entry: TranscriptEntry) -> bool:
    return entry.by in ("generator", "verifier")


def render_partial_tests(partial: Mapping[str, Any]) -> str:
    return str(partial.get("tests") or "")


def render_partial_verdict(partial: Mapping[str, Any]) -> str:
    return str(partial.get("reasoning") or "")


async def check(context: WorkContext, session: Session) -> c.VerifyCode:
    code = session.code.code if session.code else ""
    checks = [check_syntax(code)]
    if not checks[0].ok:
        return c.VerifyCode(checks=tuple(checks))
    checks.append(await run_linter(code))
    if missing := await asyncio.to_thread(sandbox.available):
        return c.VerifyCode(checks=(*checks, Check(name="tests", ok=None, detail=f"Not run: {missing}")))
    tests, unreachable = await _tests(context)
    note, steps = unreachable_note(session.plan, unreachable), session.plan.steps if session.plan else ()
    if note and not sources(tests) and all(step.id in unreachable for step in steps):
        result = Check(name="tests", ok=None, detail=f"Not run: {note}")
    else:
        result = await run_tests(code, tests)
        result = result.model_copy(update={"detail": f"{result.detail}\n\n{note}".rstrip()})
    return c.VerifyCode(checks=(*checks, result), tests=tests, unreachable=unreachable)


async def _tests(context: WorkContext) -> tuple[str, tuple[str, ...]]:
    """The tests, and the ids of the steps that they cannot reach. After a repair those of its draft run again."""
    code = context.session.code
    if code and code.reruns_tests:
        return code.earlier_tests, code.unreachable
    lasting, refused = lasting_tests(context.session), False

    def refuse(reply: TestsReply) -> str:
        nonlocal refused
        tests = unfenced(reply.reply.tests)
        if error := check_syntax(tests).detail:
            return f"The tests do not parse: {error}"
        written = sources(tests).values()  # in whichever class
        lost = [name for (name, _), source in lasting.items() if source not in written]
        refused, again = True, refused  # a second time it stands: what was said since may contradict a test
        return KEEP_TESTS.format(names=", ".join(lost)) if lost and not again else ""

    messages = build_tests_prompt(context.prompt_session)
    draft = await context.ask(messages, TestsReply, kind="tests", render=render_partial_tests, refuse=refuse)
    steps = {step.id for step in context.session.plan.steps} if context.session.plan else set()
    return unfenced(draft.reply.tests), tuple(step for step in draft.reply.unreachable if step in steps)


async def judge(context: WorkContext, turn: Turn) -> c.VerifyTurn:
    """The verdict on the run. Makes no model call if nothing was run."""
    if all(action.status in ("skipped", "denied") for action in turn.actions):
        return c.VerifyTurn(status="failure", next_action="complete", reasoning="Nothing was run.", rule="nothing-run")
    messages = build_verdict_prompt(context.prompt_session)
    reply = await context.ask(messages, VerdictReply, kind="verdict", render=render_partial_verdict)
    verdict = c.VerifyTurn(**reply.reply.model_dump(exclude={"kind"}))
    ends = verdict.status in ("not_shown", "bad_input", "missing_here")  # no change of the program would help
    return verdict.model_copy(update={"next_action": "complete"}) if ends else verdict
