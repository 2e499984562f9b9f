"""A realistic session for each task: what has happened when the model is asked."""

import json
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from parley.events.values import (
    ActionSpec,
    Check,
    FurtherQuestion,
    Knowledge,
    Option,
    PathPlan,
    SessionSettings,
    Step,
    Waiting,
)
from shared.domain.kernel import commands as c
from shared.story import StoryLine, finish_action
from tests.unit.domain.spec import allow, approve

NOTES = Knowledge(name="house-rules.md", text="Amounts are in euros. A tip of 0 is allowed.")
BILL = """def shares(total: float, tip: float, people: int) -> list[float]:
    each = round(total * (1 + tip / 100) / people, 2)
    return [each] * people
"""
RIGHT_BILL = BILL.replace("return [each] * people", "rest = round(total * (1 + tip / 100) - each * people, 2)\n") + (
    "    return [round(each + rest, 2), *[each] * (people - 1)]\n"
)
FAILED = """test_the_shares_add_up (test_program.SharesTest.test_the_shares_add_up) ... FAIL
AssertionError: 99.99 != 100.0
Ran 3 tests in 0.001s
FAILED (failures=1)"""
FIRST_PLAN = c.DraftPlan(
    goal="A program that splits a restaurant bill.",
    steps=(
        Step(id="s1", text="Read the total, the tip in percent and the number of people from the arguments."),
        Step(id="s2", text="Print what each of them pays."),
    ),
    notes="The tip is 15 percent where none is given.",
    say="It needs no internet.",
)
NEXT_PLAN = c.DraftPlan(
    goal=FIRST_PLAN.goal,
    steps=(
        FIRST_PLAN.steps[0],
        Step(id="s2", text="Print what each pays; the first one pays the cents that are left."),
    ),
    notes=FIRST_PLAN.notes,
    say="The first person pays what is left over now.",
)
PLANNED: tuple[StoryLine, ...] = (
    c.Say(
        text="Write a program that splits a bill. Does it need the internet?",
        knowledge=(NOTES,),
        time_zone="Europe/Berlin",
    ),
    c.Ask(
        text="Does everybody pay the same?",
        options=("Yes", "No, by what they had"),
        further=(
            FurtherQuestion(
                text="Is there a tip?", options=(Option(key="1", label="Yes"), Option(key="2", label="No"))
            ),
        ),
    ),
    c.Answer(text="Yes", more=("Yes",)),
    FIRST_PLAN,
    c.Say(text="What happens with cents that cannot be split?"),
    c.AnswerRemark(text="They are lost: 100.00 among three is 33.33 each. The first person could pay the rest."),
)
CODED: tuple[StoryLine, ...] = (
    *PLANNED,
    c.Say(text="Yes, do that"),
    NEXT_PLAN,
    approve,
    c.DraftCode(code=BILL, explanation="It rounds each share to cents.", say="Run it with: 100 15 3"),
)
REPAIRED: tuple[StoryLine, ...] = (
    *CODED,
    c.VerifyCode(
        checks=(
            Check(name="parses", ok=True),
            Check(name="lints", ok=True),
            Check(name="tests", ok=False, detail=FAILED),
        ),
        tests="…",
    ),
)
RUN: tuple[StoryLine, ...] = (
    *REPAIRED,
    c.DraftCode(code=RIGHT_BILL, explanation="The first share takes the rest.", say="The shares add up now."),
    c.VerifyCode(
        checks=(
            Check(name="parses", ok=True),
            Check(name="lints", ok=True),
            Check(name="tests", ok=True, detail="Ran 3 tests in 0.001s\n\nOK"),
        ),
        tests="…",
    ),
    approve,
    c.Run(args=("100", "0", "3"), stdin=""),
    c.Start(),
    finish_action(
        action_id="1.1",
        ok=True,
        result={
            "exit_code": 0,
            "stdout": "33.34\n33.33\n33.33\n",
            "stderr": "",
            "ended": "exited",
            "duration": 0.04,
            "truncated": False,
        },
    ),
)
JUDGED: tuple[StoryLine, ...] = (
    *RUN,
    c.VerifyTurn(status="success", next_action="complete", reasoning="The three shares add up to 100.00."),
    c.Say(text="Thanks! And can it show a </code> tag, <b>bold</b>?"),
)
EMAIL = "noah.li@example.com"
ORDER = (
    '{"order_id": "#W1001", "user_id": "noah_li_12", "status": "pending", "items": [{"name": "Vest", "item_id": '
    '"1008292230", "price": 61.2}, {"name": "Belt", "item_id": "6534134392", "price": 20.0}]}'
)
FIND = ActionSpec(id="1.1", tool="find_user_id_by_email", arguments={"email": EMAIL}, description="Find the customer")
LOOK = ActionSpec(id="1.2", tool="get_order_details", arguments={"order_id": "#W1001"}, description="Read order #W1001")
CANCEL = ActionSpec(
    id="2.1",
    tool="cancel_pending_order",
    arguments={"order_id": "#W1001", "reason": "no longer needed"},
    description="Cancel order #W1001",
    effect="write",
    approval_reason="writes",
)
LOOKED_UP: tuple[StoryLine, ...] = (
    c.Say(
        text=f"I'm {EMAIL}. Cancel the belt of #W1001, please. Is it shipped yet?",
        workflow="agentflow",
        settings=SessionSettings(max_turns=6),
        time_zone="Europe/Berlin",
    ),
    c.PlanTurn(
        sub_goal="Read the order",
        sub_goals=("Read the order", "Cancel the belt"),
        actions=(FIND, LOOK),
        reasoning="The order must be known before it is changed.",
        say="I look the order up first.",
    ),
    c.Start(),
    finish_action(action_id="1.1", ok=True, result="noah_li_12"),
    finish_action(action_id="1.2", ok=True, result=ORDER),
    c.VerifyTurn(status="success", next_action="continue", rule="reads-answered"),
    c.PlanTurn(
        sub_goal="Cancel the belt",
        sub_goals=("Cancel the belt",),
        actions=(CANCEL,),
        reasoning="Only a whole order can be cancelled.",
        say="It is not shipped yet. The belt alone cannot be cancelled; this would cancel the whole order.",
    ),
)
DECLINED: tuple[StoryLine, ...] = (
    *LOOKED_UP,
    lambda session: c.Reject(action_id="2.1", reason="Not the vest! Then change the belt to another one."),
    c.VerifyTurn(status="partial", next_action="continue", reasoning="Not run: it was declined.", rule="refused"),
)
CANCELLED: tuple[StoryLine, ...] = (
    *LOOKED_UP,
    allow("2.1"),
    c.Start(),
    finish_action(action_id="2.1", ok=True, result='{"order_id": "#W1001", "status": "cancelled"}'),
)
ANSWERED: tuple[StoryLine, ...] = (
    *CANCELLED,
    c.VerifyTurn(status="success", next_action="complete", reasoning="Order #W1001 is cancelled."),
)
REMIND = (
    Step(id="s1", tool="get_order_details", arguments={"order_id": "#W1001"}, text="Look order #W1001 up"),
    Step(
        id="s2", tool="wait_until", arguments={"seconds": 600}, text="Wait ten minutes", waits_for="time", after=("s1",)
    ),
    Step(
        id="s3",
        tool="cancel_pending_order",
        arguments={"order_id": "{{steps.s1.output.order_id}}", "reason": "no longer needed"},
        text="Cancel it",
        effect="write",
        after=("s2",),
    ),
)
PLAN_RUNS: tuple[StoryLine, ...] = (
    c.Say(
        text="Cancel #W1001 in ten minutes, in case I change my mind.",
        workflow="execution_plan",
        settings=SessionSettings(instructions="Never more than five steps."),
        time_zone="Europe/Berlin",
    ),
    c.DraftPlan(
        kind="execution", goal="Cancel #W1001 in ten minutes.", steps=REMIND, say="You can stop it until then."
    ),
    approve,
    c.Start(),
    finish_action(action_id="t2.s1", ok=True, result=ORDER),
    c.Wait(actions=(Waiting(action_id="t2.s2", until=datetime(2030, 1, 1, 12, 10, tzinfo=UTC)),)),
    c.Say(text="Make it twenty minutes. What was in the order?"),
)

# --- flows

SQL = "SELECT count(*) AS n FROM orders WHERE status = 'pending'"
SQL_STATE: dict[str, JsonValue] = {
    "request": "And the delivered ones?",
    "previous_question": "How many orders are pending?",
    "previous_sql": SQL,
    "previous_tables": ["orders"],
}
ASKED_AGAIN: tuple[StoryLine, ...] = (
    c.Say(text="How many orders are pending?", workflow="flow", time_zone="Europe/Berlin"),
    c.PlanTurn(
        sub_goal="Walk text_to_sql",
        actions=(ActionSpec(id="1.1", tool="text_to_sql.generate_sql"),),
        reasoning="It is one count.",
        path=PathPlan(nodes=("text_to_sql.generate_sql",)),
    ),
    c.Start(),
    finish_action(action_id="1.1", ok=True, result={"sql": SQL, "explanation": "It counts.", "answer": "Two."}),
    c.VerifyTurn(status="success", next_action="complete", reasoning="It was walked to its end."),
    c.GiveAnswer(text="Two orders are pending.", confidence=1),
    c.Say(text="And the delivered ones?"),
)
TABLES: JsonValue = [{"name": "orders", "reason": "it has the status"}]
COMPLAINT = "My lamp of #W1001 arrived broken. I am Ann Lee, 02134, and I need it on Friday."
OUTPUTS: dict[str, Any] = {
    "classify_complaint": {
        "category": "damaged",
        "order_id": "#W1001",
        "email": "",
        "first_name": "Ann",
        "last_name": "Lee",
        "zip": "02134",
        "urgent": True,
    },
    "assess": {"remedy": "return", "item_ids": ["1008292230"], "reason": "It arrived broken."},
    "write_reply": {"answer": "We take it back."},
}
# By task: the state of the node, and a reply to it.
NODES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "classify_prompt": (SQL_STATE, {"category": "data"}),
    "rewrite_prompt": (SQL_STATE, {"question": "How many orders are delivered?"}),
    "get_relevant_tables": ({"request": "How many orders are pending, by city?"}, {"tables": [], "missing": ""}),
    "trim_relevant_tables": (
        {"request": "How many orders are pending?", "approved_tables": ["orders"]},
        {"tables": []},
    ),
    "generate_sql": (
        {"request": "How many?", "question": "How many orders are delivered?", "tables": TABLES, **SQL_STATE}
        | {"sql": "SELECT count(*) FROM order", "problem": "There is no table order.", "feedback": "not the old ones"},
        {"kind": "query", "explanation": "It counts.", "sql": SQL},
    ),
    "format_final_response": (
        {
            "request": "How many orders are pending?",
            "sql": SQL,
            "explanation": "It counts the orders whose status is pending.",
            "result": {"columns": ["n"], "rows": [[2]], "truncated": False},
        },
        {"text": "Two orders are pending."},
    ),
    "general_questions": ({"request": "What can you do?"}, {"text": "I answer questions."}),
    "complaint_triage.classify_complaint": ({"request": COMPLAINT}, {"outputs": OUTPUTS["classify_complaint"]}),
    "complaint_triage.assess": (
        {"request": COMPLAINT, "category": "damaged", "order": json.loads(ORDER), "urgent": True},
        {"outputs": OUTPUTS["assess"]},
    ),
    "complaint_triage.write_reply": (
        {"request": COMPLAINT, "category": "damaged", "user_id": "ann_lee_1", "order_id": "#W1001", "remedy": "return"},
        {"outputs": OUTPUTS["write_reply"]},
    ),
}
TASK: tuple[StoryLine, ...] = (
    c.Say(
        text="Draft one test task: a return.",
        workflow="agentflow",
        settings=SessionSettings(task=True),
        knowledge=(
            Knowledge(name="rules", text="A delivered order is either returned or exchanged, and only once."),
            Knowledge(name="customer", text='{"user_id": "ann_lee_1", "zip": "02134", "orders": ["#W1001"]}'),
        ),
    ),
)
