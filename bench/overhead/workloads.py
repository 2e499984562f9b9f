"""The workloads: the user's requests, and the model's prepared replies."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from parley.events.values import Check, ModelCall, Planning, SessionSettings, Workflow
from parley.reply import Reply
from services.generator.agentflow import AnswerDraft, AnswerReply
from services.generator.conversation import CodeDraft, CodeReply
from services.planner.agentflow_prompt import Planned, TurnDraft, TurnReply
from services.planner.conversation import PlanDraft, PlanReply
from services.planner.flow_prompt import FlowPath, PathDraft, PathReply
from services.verifier.conversation import TestsDraft, TestsReply
from shared.llm import Message, Role


class Workload(NamedTuple):
    """A request with its workflow and settings. None: keep those of the session, or the default in a new one."""

    name: str
    workflow: Workflow | None
    request: str
    settings: SessionSettings | None = None


CONVERSATION = Workload(
    "conversation", "conversation", "Write a program that prints the first twenty Fibonacci numbers, one a line."
)
LOOKUP = Workload(
    "look-up", "agentflow", "I am Tara Foster, zip 95837. What is the state of order #W3833642, and what is in it?"
)
WRITE = Workload(
    "write",
    "agentflow",
    "I am Tara Foster, zip 95837. Cancel order #W3833642, I no longer need it.",
    SessionSettings(world="own"),  # an order can be cancelled once
)
QUESTION = Workload(
    "question",
    "flow",
    "Which 5 states have the most pending orders?",
    SessionSettings(planning=Planning(cache=False)),  # every path is planned by the model
)
WORKLOADS = (CONVERSATION, LOOKUP, WRITE, QUESTION)

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
CHECKS = (Check(name="parses", ok=True), Check(name="lints", ok=True), Check(name="tests", ok=True))
SQL = (
    "SELECT orders.state, COUNT(*) AS orders FROM orders WHERE orders.status = 'pending' AND orders.state IS NOT NULL "
    "GROUP BY orders.state ORDER BY COUNT(*) DESC, orders.state LIMIT 5"
)
NODE_REPLIES: dict[str, dict[str, Any]] = {  # the path's nodes, with the model's replies to those that call it
    "classify_prompt": {"category": "data"},
    "rewrite_prompt": {"question": QUESTION.request},
    "get_relevant_tables": {"tables": [{"name": "orders", "reason": "It has the states."}]},
    "has_user_approved": {},
    "trim_relevant_tables": {"tables": [{"table": "orders", "columns": ["state", "status"]}]},
    "generate_sql": {"kind": "query", "sql": SQL, "explanation": "Pending orders, counted by state."},
    "validate_sql": {},
    "execute_sql": {},
    "format_final_response": {"text": "Wisconsin has the most of them.", "chart": "bar"},
}
PLAN = PlanReply(
    reply=PlanDraft(
        goal="A program prints the first twenty Fibonacci numbers.",
        steps=[
            "Keep the last two numbers.",
            "Print the smaller one, twenty times.",
            "Call it when the program is run.",
        ],
    )
)
REPLIES: tuple[Reply, ...] = (
    PLAN,
    CodeReply(reply=CodeDraft(code=CODE, explanation="It adds the last two numbers.")),
    TestsReply(reply=TestsDraft(tests=TESTS)),
    AnswerReply(
        reply=AnswerDraft(text="Order #W3833642 is done with, as the results show.", confidence=0.9, evidence=["3.1"])
    ),
    PathReply(
        reply=PathDraft(
            paths=[FlowPath(flow="text_to_sql", nodes=list(NODE_REPLIES))], reasoning="A question about the data."
        )
    ),
)


def _turn(sub_goal: str, tool: str, *, final: bool = False, **arguments: str) -> TurnDraft:
    """A turn of one call."""
    return TurnDraft(
        sub_goal=sub_goal, actions=[Planned(tool=tool, arguments={**arguments}, text=sub_goal)], final=final
    )


FIND = _turn("Find the customer", "find_user_id_by_name_zip", first_name="Tara", last_name="Foster", zip="95837")
ACCOUNT = _turn("Look at the account", "get_user_details", user_id="tara_foster_4577")
ORDER = _turn("Look at the order", "get_order_details", order_id="#W3833642")
CANCEL = _turn("Cancel the order", "cancel_pending_order", order_id="#W3833642", reason="no longer needed", final=True)
TURNS = {
    LOOKUP.request: (FIND, ACCOUNT, ORDER.model_copy(update={"final": True})),
    WRITE.request: (FIND, ORDER, CANCEL),
}


def reply_to[R: BaseModel](messages: Sequence[Message], reply: type[R]) -> R:
    """The prepared reply to this prompt. Turns are looked up by the request and the turn's number."""
    if issubclass(reply, TurnReply):
        return reply.model_validate({"reply": _turn_reply(messages).model_dump()})
    if prepared := next((candidate for candidate in REPLIES if issubclass(reply, type(candidate))), None):
        return reply.model_validate(prepared.model_dump())
    (node,) = re.findall(r"^Task: (\w+)$", messages[0]["content"], re.MULTILINE)
    return reply.model_validate({"reply": NODE_REPLIES[node]})


def _turn_reply(messages: Sequence[Message]) -> TurnDraft:
    asked, due = messages[1]["content"], messages[-1]["content"]
    (turns,) = (turns for request, turns in TURNS.items() if request in asked)
    (number,) = re.findall(r"^<turn-[0-9a-f]{8}>\n(\d+);", due, re.MULTILINE)
    return turns[(int(number) - 1) % len(turns)]  # each request takes as many turns, and they are counted on


def model_call(role: Role) -> ModelCall:
    """The same made-up cost for each model call."""
    return ModelCall(
        model="instant",
        role=role,
        prompt_tokens=400,
        cached_tokens=0,
        completion_tokens=100,
        cost=0.0,
        latency=0.0,
        attempt=1,
        outcome="ok",
        estimated=False,
    )
