"""The conversation that is measured, written down in advance: request, plan, approved, code, checked, approved.

The domain says which events it makes, so that whoever plays a part in it (the person, the bare pipeline, the sessions
that are loaded in bulk) tells the same ones, byte for byte, as the services do.
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import BaseModel

from services.generator.prompt import CodeReply, program
from services.planner.prompt import PlanReply
from services.verifier.prompt import TestsReply
from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.events import Due, dump_event
from shared.events.values import Check, Step
from shared.llm import Call, Role

ID = "the-session-at-hand"  # stands for the session's id, which has as many characters
AT = datetime(2026, 1, 1, tzinfo=UTC)
USAGE = "usage.spent"
REQUEST = "Write a program that prints the first twenty Fibonacci numbers, one a line."
GOAL = "A program prints the first twenty Fibonacci numbers."
STEPS = ("Keep the last two numbers.", "Print the smaller one, twenty times.", "Call it when the program is run.")
CODE = """def fibonacci(count: int) -> list[int]:
    found, a, b = [], 0, 1
    for _ in range(count):
        found.append(a)
        a, b = b, a + b
    return found


if __name__ == "__main__":
    print(*fibonacci(20), sep="\\n")
"""
TESTS = """import unittest

from program import fibonacci


class Fibonacci(unittest.TestCase):
    def test_first(self):
        self.assertEqual(fibonacci(5), [0, 1, 1, 2, 3])
"""
REPLIES: dict[type[BaseModel], BaseModel] = {
    PlanReply: PlanReply(goal=GOAL, steps=list(STEPS)),
    CodeReply: CodeReply(code=CODE, explanation="It adds the last two numbers."),
    TestsReply: TestsReply(tests=TESTS),
}
CHECKS = (Check(name="parses", ok=True), Check(name="lints", ok=True), Check(name="tests", ok=True))
EXCHANGE = 9  # events


def call(role: Role) -> Call:
    return Call(
        model="instant",
        role=role,
        prompt_tokens=400,
        cached_tokens=0,
        completion_tokens=100,
        cost=0.0,
        latency=0.0,
        attempts=1,
        outcome="ok",
        estimated=False,
    )


class Line(NamedTuple):
    """One event of the conversation; `due` is whoever has the next word, `by` who has this one."""

    by: str
    due: Due
    type: str
    body: bytes

    def subject(self, session_id: str) -> str:
        return f"session.{session_id}.{self.due}.{self.type}"

    def told(self, session_id: str) -> bytes:
        """The body, of this session. An id that is longer or shorter makes the bodies so."""
        return self.body.replace(ID.encode(), session_id.encode())


class _Playing:
    """The session as it comes about."""

    def __init__(self) -> None:
        self.session = Session(ID)
        self.lines: list[Line] = []

    def person(self, command: AnyCommand, name: str) -> None:
        self._tell(command, By("user:ann", AT, f"{name}-{self.session.version}"))

    def service(self, role: Role, *commands: AnyCommand) -> None:
        work = self.session.work
        spent = By(role, AT, f"usage-{self.session.version:032x}", work=work)
        self._tell(c.Spend(**call(role).model_dump()), spent)
        for command in commands:
            self._tell(command, By(role, AT, work=work))

    def _tell(self, command: AnyCommand, by: By) -> None:
        event = decide(self.session, command, by)
        self.session = evolve(self.session, event)
        self.lines.append(Line(by.actor, due(self.session), event.type, dump_event(event)))


def played(exchanges: int = 1) -> tuple[Session, tuple[Line, ...]]:
    """The session after so many exchanges, and its events."""
    one = _Playing()
    for _ in range(exchanges):
        one.person(c.Say(text=REQUEST, workflow=None if one.lines else "conversation"), "say")
        one.service("planner", c.DraftPlan(goal=GOAL, steps=tuple(Step(text=text) for text in STEPS)))
        one.person(_approved(one.session.plan), "approve-plan")
        one.service("generator", c.DraftCode(code=program(CODE), explanation="It adds the last two numbers."))
        one.service("verifier", c.VerifyCode(checks=CHECKS, tests=TESTS))
        one.person(_approved(one.session.code), "approve-code")
    return one.session, tuple(one.lines)


def _approved(item: Any) -> c.Approve:
    return c.Approve(version=item.version, hash=item.hash)
