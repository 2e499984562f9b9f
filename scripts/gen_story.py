"""Example sessions for the documents: real commands through the real domain, with a fixed clock and fixed ids.

Every example of an event or a server message in docs/ comes from here, so that all of them match the code.
"""

import itertools
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache

from pydantic import JsonValue

from parley.events.values import (
    ActionSpec,
    Artefact,
    Check,
    Knowledge,
    ModelCall,
    PathPlan,
    SessionSettings,
    Step,
    ToolRule,
)
from scripts.gen_story_plans import gives_up, offers, offers_of_calls, offers_of_programs, polls, waits
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.domain.rules.decide import AnyCommand
from shared.story import Story, Transition, finish_action

BEGAN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
ID = "b3c1d09e5f6a7788"
FORK_ID = "0f9e8d7c6b5a4433"
CODE = "def add(a: float, b: float) -> float:\n    return a + b\n\n\nprint(add(1.5, 2))\n"
STEPS = (Step(text="Read two numbers"), Step(text="Add them"), Step(text="Print the sum"))
PASSED_CHECKS = (
    Check(name="parses", ok=True),
    Check(name="lints", ok=True),
    Check(name="tests", ok=True, detail="Ran 3 tests"),
)
CALL = ModelCall(
    model="rehearsal",
    role="planner",
    prompt_tokens=264,
    cached_tokens=0,
    completion_tokens=42,
    cost=0,
    latency=0.61,
    attempt=1,
)
USAGE = c.RecordUsage(calls=(CALL,))
PLAN = c.DraftPlan(goal="Write a simple calculator in Python.", steps=STEPS)
CODE_DRAFT = c.DraftCode(code=CODE, explanation="Adds two numbers and prints the sum.")
VERIFICATION = c.VerifyCode(checks=PASSED_CHECKS, tests="import unittest\n…")


NODES = (
    "classify_prompt",
    "get_relevant_tables",
    "generate_sql",
    "validate_sql",
    "execute_sql",
    "format_final_response",
)
STORED_RESULT = Artefact(name=f"{ID}/1/1.1/1", size=61_240, sha256="9f86d081884c7d659a2feaa0c55ad015" * 2)
SQL = "SELECT count(*) AS orders FROM orders WHERE status = 'pending'"
ROWS: dict[str, JsonValue] = {
    "columns": ["orders"],
    "types": ["INTEGER"],
    "rows": [[163]],
    "truncated": False,
    "seconds": 0.01,
}


def transitions_of(commands: Iterable[AnyCommand]) -> list[Transition]:
    """Apply the commands one after the other, a second apart."""
    seconds = itertools.count()
    story = Story(ID, clock=lambda: BEGAN + timedelta(seconds=next(seconds)))
    story.apply(*commands)
    return story.transitions


def conversation() -> list[Transition]:
    """From a request to a run of the approved code and further, with all kinds of feedback in between."""
    outline = Knowledge(name="notes.txt", text="The numbers come one a line.")
    return transitions_of(
        [
            c.Say(text="Help me create a simple calculator", knowledge=(outline,)),
            USAGE,
            PLAN,  # 3
            c.Reject(version=3),
            c.Say(text="Add a help text"),
            c.DraftPlan(goal=PLAN.goal, steps=(*STEPS, Step(text="Print a help text")), notes="For beginners."),  # 6
            c.EditPlan(base=6, steps=STEPS),  # 7
            c.Say(text="Why is there no help text any more?"),
            c.AnswerRemark(text="You took it out in your own version; say so if you want it back."),
            c.Approve(version=7),
            CODE_DRAFT,  # 11
            VERIFICATION,
            c.EditCode(base=11, code=CODE + "print(add(2, 2))\n"),  # 13
            VERIFICATION,
            c.Reject(version=13),
            c.Say(text="Add support for floating point numbers"),
            CODE_DRAFT,  # 17
            VERIFICATION,
            c.Approve(version=17),
            c.Run(stdin="1.5\n2\n"),
            c.Start(),
            finish_action(
                action_id="1.1", ok=True, result={"exit_code": 0, "stdout": "3.5\n", "stderr": ""}, seconds=0.06
            ),
            c.VerifyTurn(status="success", next_action="complete", reasoning="The sum was printed."),
            c.Rename(title="Calculator"),
            c.Share(user="bob", role="viewer"),
            c.Continue(),
            c.Answer(text="Now make a to-do list"),
            c.Say(text="In memory only, please"),
            c.Stop(reason="changed my mind"),
            c.Retry(),
            c.Ask(text="Should the list be kept in a file?", options=("Yes", "No")),
            c.Answer(text="No"),
            c.Fail(reason="The model did not answer in 120 s."),
            c.Retry(),
            PLAN,
            c.CancelPlan(),
            c.ChooseWorkflow(workflow="conversation"),
            c.Complete(),
            c.DeletePlan(),
        ],
    )


def turns() -> list[Transition]:
    """A turn of tool calls with every outcome: approved, denied, skipped, uncertain."""
    actions = (
        ActionSpec(id="1.1", tool="find_order", arguments={"order_id": "#W1"}),
        ActionSpec(
            id="1.2", tool="cancel_order", effect="write", depends_on=("1.1",), approval_reason="it changes an order"
        ),
        ActionSpec(
            id="1.3",
            tool="send_mail",
            effect="irreversible",
            depends_on=("1.1",),
            approval_reason="it cannot be undone",
        ),
        ActionSpec(id="1.4", tool="find_user", depends_on=("1.2",)),
    )
    settings = SessionSettings(token_budget=10_000, approval_timeout=3600)
    return transitions_of(
        [
            c.Say(text="Cancel order #W1", workflow="agentflow", settings=settings),
            c.Pause(),
            c.Resume(),
            c.PlanTurn(sub_goal="Cancel the order", actions=actions, selected_tool="cancel_order"),
            c.Start(),
            finish_action(action_id="1.1", ok=True, result='{"status": "pending", …', seconds=0.01, size=61_240),
            c.StoreResult(action_id="1.1", artefact=STORED_RESULT),
            c.Remember(tool="find_order", policy="never"),
            c.Approve(version=7, action_id="1.2"),
            c.Reject(action_id="1.3", reason="no mail"),
            c.Skip(action_id="1.4"),
            c.Start(),
            c.ReportUncertain(action_id="1.2", reason="the executor was ended while it ran"),
            c.Answer(text="It happened", action_id="1.2"),
            c.VerifyTurn(status="success", next_action="complete", reasoning="The order is cancelled."),
            c.Fail(reason="The model did not answer in 120 s."),
            c.Retry(),
            c.RaiseBudget(tokens=5_000),
            c.Ask(text=wording.BUDGET_SPENT, about="budget"),
            c.Say(text=wording.BUDGET_OPTIONS[0].label),
            c.GiveAnswer(text="Order #W1 is cancelled.", confidence=0.9, evidence=("1.1", "1.2")),
        ],
    )


def ruled_again() -> list[Transition]:
    """A turn whose call needs approval after all: the executor's rules are stricter than what the planner knew."""
    action = ActionSpec(id="1.1", tool="close_account", arguments={"user_id": "u1"}, description="Look up the account")
    return transitions_of(
        [
            c.Say(text="What is in my account?", workflow="agentflow"),
            c.PlanTurn(sub_goal="Look up the account", actions=(action,)),
            c.Start(tools={"close_account": ToolRule(effect="irreversible")}),
            c.Reject(action_id="1.1", reason="I asked for nothing of the kind"),
        ]
    )


def expiry() -> list[Transition]:
    """An approval that times out."""
    settings = SessionSettings(approval_timeout=60)
    return transitions_of(
        [c.Say(text="Help me create a simple calculator", settings=settings), PLAN, c.Expire(requested_version=2)]
    )


def forked() -> list[Transition]:
    """A session forked from another one at version 3."""
    parent = Story(ID, clock=lambda: BEGAN)
    parent.apply(c.Say(text="Help me create a simple calculator"), USAGE, PLAN)
    return parent.fork(FORK_ID).transitions


def repaired() -> list[Transition]:
    """A failed run leads to repaired code in review."""
    judged = c.VerifyTurn(status="failure", next_action="retry", reasoning="It ended with a TypeError.")
    commands: list[AnyCommand] = [
        PLAN,
        c.Approve(version=2),
        CODE_DRAFT,
        VERIFICATION,
        c.Approve(version=4),
        c.Run(),
        c.Start(),
    ]
    failed = "The program ended with exit code 1."
    ran = finish_action(action_id="1.1", ok=False, result="Traceback …", error=failed, seconds=0.05, size=402_113)
    lost = c.LoseResult(action_id="1.1", reason="Only the beginning of its 402113 bytes is here: no room")
    return transitions_of([c.Say(text="Help me create a simple calculator"), *commands, ran, lost, judged, CODE_DRAFT])


def walk() -> list[Transition]:
    """A path through a flow: edited while it runs, approved before its query runs, accepted after the answer."""
    planned = tuple(
        ActionSpec(id=f"1.{n}", tool=f"text_to_sql.{node}", depends_on=(f"1.{n - 1}",) if n > 1 else ())
        for n, node in enumerate(NODES, 1)
    )
    shown_query = {"arguments": {"sql": SQL}, "approval_reason": "the query is shown before it runs"}
    written = {"sql": SQL.replace("'pending'", "'open'"), "explanation": "Counts the orders.", "cannot": ""}
    return transitions_of(
        [
            c.Say(text="How many orders are pending?", workflow="flow"),
            c.PlanTurn(
                sub_goal="Walk text_to_sql",
                actions=planned,
                final=True,
                path=PathPlan(nodes=tuple(spec.tool for spec in planned), attempts=1),
            ),
            *_ran("1.1", {"kind": "data", "reason": ""}),
            c.Start(),
            c.RecordUsage(calls=(CALL.model_copy(update={"role": "executor", "action_id": "1.2"}),)),
            finish_action(
                action_id="1.2", ok=True, result={"tables": [{"name": "orders", "reason": ""}], "missing": ""}
            ),
            *_ran("1.3", written),
            c.EditPath(actions=planned[3:], given={"sql": SQL}, after="1.3"),
            *_ran("1.8", {"valid": True, "problem": "", "sql_tables": ["orders"]}),
            c.ChangeTurn(
                actions=(planned[4].model_copy(update=shown_query), planned[5]),
                reason="execute_sql: what it gets is known.",
            ),
            c.Approve(version=17, action_id="1.11"),
            *_ran("1.11", {"result": ROWS, "problem": ""}),
            *_ran("1.12", {"answer": "163 orders are pending.", "chart": "none"}),
            c.VerifyTurn(status="success", next_action="complete", reasoning="The path was walked to its end."),
            c.GiveAnswer(text="163 orders are pending.", confidence=1, evidence=("1.11", "1.12")),
            c.Judge(accepted=True, saved=True),
        ],
    )


def _ran(action_id: str, outputs: Mapping[str, JsonValue]) -> tuple[AnyCommand, ...]:
    return c.Start(), finish_action(action_id=action_id, ok=True, result=dict(outputs), seconds=0.2)


PLANS = (waits, polls, gives_up, offers, offers_of_calls, offers_of_programs)


@cache
def stories() -> tuple[Transition, ...]:
    """The transitions of all example sessions."""
    plans = (step for story in PLANS for step in transitions_of(story(BEGAN)))
    return (*conversation(), *turns(), *walk(), *plans, *ruled_again(), *expiry(), *forked(), *repaired())
