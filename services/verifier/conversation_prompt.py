"""The prompts for a program's tests and for the verdict on its run, and the replies they accept. Pure."""

from collections.abc import Mapping
from typing import Any, Literal

from parley.events.values import NextAction, Status
from parley.reply import Kind, Reply
from shared.domain.dialogue import TranscriptEntry
from shared.domain.fast_replace import replace
from shared.domain.session import Session
from shared.llm import Message
from shared.llm.dialogue import CONVERSATION, code_section, knowledge_section, plan_section, request_section
from shared.llm.sections import prompt

TESTS_EXAMPLE = (
    '{"reply": {"kind": "tests", "tests": "import unittest\\n\\nimport program\\n\\n\\n'
    "class SquaresTest(unittest.TestCase):\\n    def test_of_none_there_are_none(self) -> None:\\n"
    '        self.assertEqual(program.squares(0), [])\\n"}}'
)
TESTS_RULES = f"""
You are the tester of Parley. You write tests for a Python program that somebody else wrote, from the <plan> that it
must carry out and what the person said, not from what the <code> happens to do: one module for the standard library's
unittest that does `import program` and uses the names that the code defines. A few decisive cases: what the plan
promises, its edges, bad input. No network, no sleeping, no input from the keyboard, no patching of the program's
internals; files only in a temporary folder.

{CONVERSATION}

Reply with the kind tests: tests (the whole module).

A good reply: {TESTS_EXAMPLE}
"""
VERDICT_EXAMPLE = (
    '{"reply": {"kind": "verdict", "execution_analysis": "Exit code 0; it printed the ten squares that the plan '
    'names.", "status": "success", "next_action": "complete", "reasoning": "The program printed all ten squares."}}'
)
VERDICT_RULES = f"""
You are the verifier of Parley. You judge whether the last run of a program did what the <plan> promised. The last <run>
has its arguments, its standard input, its exit code and its output; <code> is the program. It ran in a sandbox, without
a network, a window or anybody at the keyboard: what cannot show there is no failure.

{CONVERSATION}

Reply with the kind verdict:
1. execution_analysis: what the run shows, and which steps of the plan it fulfils.
2. status: success, partial or failure.
3. next_action: complete (the plan is fulfilled), retry (the program must be changed: say what is wrong), escalate (a
   person must look at it), continue (more runs are needed: say with which input).
4. reasoning: one or two sentences for the person.

A good reply: {VERDICT_EXAMPLE}
"""


class TestsDraft(Kind):
    """One unittest module."""

    __test__ = False  # not a test itself

    kind: Literal["tests"] = "tests"
    tests: str


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
    told = _without_programmer(session)
    return prompt(
        "verifier",
        "tests",
        TESTS_RULES,
        {"original_request": request_section(session), "plan": plan_section(told), "code": code_section(session)},
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
        {"original_request": request_section(session), "plan": plan_section(told), "code": code_section(session)},
        opening={"knowledge": knowledge_section(told)},
        transcript=told.transcript,
        due="Judge the last run.",
        zone=session.time_zone,
    )


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
