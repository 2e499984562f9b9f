"""The prompts for a program's tests and for the verdict on its run, and the replies they accept. Pure."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from parley.events.values import NextAction, Status
from parley.reply import Kind, Reply
from shared.domain.session import Session
from shared.domain.state import Turn
from shared.llm import Message
from shared.llm.sections import prompt

TESTS_EXAMPLE = (
    '{"reply": {"kind": "tests", "tests": "import unittest\\n\\nimport program\\n\\n\\n'
    "class SquaresTest(unittest.TestCase):\\n    def test_of_none_there_are_none(self) -> None:\\n"
    '        self.assertEqual(program.squares(0), [])\\n"}}'
)
TESTS_RULES = f"""
You are the tester of Parley. You write tests for a Python program that somebody else wrote, from the <plan> it must
carry out and what the person said under <feedback>, not from what the code happens to do. One module of the standard
library's unittest that does `import program`; use the names that <code> defines. A few decisive cases: the plan's
behaviour, its edges, bad input. No network, no files, no sleeping, no input from the keyboard, no patching of the
program's insides.
Reply with the kind tests: tests (the whole module).
A good reply: {TESTS_EXAMPLE}
"""
VERDICT_EXAMPLE = (
    '{"reply": {"kind": "verdict", "execution_analysis": "Exit code 0; it printed the ten squares that the plan '
    'names.", "status": "success", "next_action": "complete", "reasoning": "The program printed all ten squares."}}'
)
VERDICT_RULES = f"""
You are the verifier of Parley. You judge whether the run of a program did what the <plan> promised. Look at its exit
code and its output under <run>.
Reply with the kind verdict:
1. execution_analysis: what the run shows, and which steps of the plan it fulfils.
2. status: success, partial or failure.
3. next_action: complete (the plan is fulfilled), retry (the program must be put right: say what is wrong), escalate (a
   person must look), continue (more runs are needed).
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
    sections = {
        "request": session.words.request,
        "plan": session.plan.text if session.plan else None,
        "code": session.code.code if session.code else None,
        "feedback": session.words.feedback_in_code,
    }
    return prompt("verifier", "tests", TESTS_RULES, sections, due="Write the tests.", zone=session.time_zone)


def build_verdict_prompt(session: Session, turn: Turn) -> list[Message]:
    runs = [
        json.dumps(action.result, ensure_ascii=False) if action.result else action.explanation
        for action in turn.actions
    ]
    sections = {
        "request": session.words.request,
        "plan": session.plan.text if session.plan else None,
        "feedback": session.words.feedback_in_code,
        "run": [run[:8000] for run in runs],
    }
    return prompt("verifier", "verdict", VERDICT_RULES, sections, due="Judge the run.", zone=session.time_zone)


def render_partial_tests(partial: Mapping[str, Any]) -> str:
    return str(partial.get("tests") or "")


def render_partial_verdict(partial: Mapping[str, Any]) -> str:
    return str(partial.get("reasoning") or "")
