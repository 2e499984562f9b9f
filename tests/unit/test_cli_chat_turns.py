"""The chat's rendering of turns, approvals, answers and lists, and the user's choices."""

import asyncio
import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console, RenderableType

from cli.chat import local_commands, render, render_journal, render_turn
from cli.chat.choices import choices, interpret
from cli.chat.effects import AskFurther, RunLocally, SendMessage, ShowText
from cli.chat.slash import slash_command
from cli.chat.state import ChatView
from parley.client import Parley, ParleyUnavailable
from parley.client.errors import RequestRefused
from parley.events import facts
from parley.events.values import ActionSpec, SessionSettings, Step
from parley.protocol import client as m
from parley.protocol.bounds import OwnAction
from parley.protocol.pages import SessionRow, SessionRows
from parley.protocol.tools import Change, Preview, ToolPage, ToolSpec
from shared.domain.kernel import commands as c
from shared.store_api import LibraryEntry, LibraryPage, MemoryPage, MemoryRecord
from shared.story import finish_action
from tests.unit.test_cli_chat_view import AT, ChatScenario, sent

WRITE = ActionSpec(
    id="1.1",
    tool="cancel_order",
    arguments={"order_id": "#W1", "reason": "no longer needed"},
    description="Cancel it",
    effect="write",
    repairs=("order_id: W1 became #W1",),
)
READ = ActionSpec(id="1.2", tool="find_order", arguments={"order_id": "#W1"}, depends_on=("1.1",))
PLAN = c.PlanTurn(
    sub_goal="Cancel the order",
    actions=(WRITE, READ),
    reasoning="She wants it cancelled.",
    sub_goals=("Cancel the order", "Tell her"),
)


def rendered(renderable: RenderableType, *, terminal: bool = False, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, force_terminal=terminal, width=width, color_system=None, highlight=False).print(renderable)
    return out.getvalue()


def waiting_for_approval() -> ChatScenario:
    """A session whose write waits for approval."""
    scenario = ChatScenario()
    scenario.does(c.Say(text="Cancel #W1", workflow="agentflow", settings=SessionSettings(max_turns=3)), PLAN)
    return scenario


def last(scenario: ChatScenario, kind: type[Any], *, mine: bool = False) -> str:
    """The chat's rendering of the newest event of this kind."""
    messages = zip(scenario.stored, scenario.events, strict=True)
    message = [message for event, message in messages if isinstance(event, kind)][-1]
    shown = render_journal.render_event(message, scenario.view, mine=mine)
    return rendered(shown) if shown else ""


def test_a_turn_shows_its_goal_and_actions() -> None:
    text = last(waiting_for_approval(), facts.TurnPlanned)
    assert "Turn 1: Cancel the order" in text
    assert "She wants it cancelled." in text
    assert "Cancel the order › Tell her" in text
    call = 'cancel_order(order_id="#W1", reason="no longer needed") · write · Needs your approval: changes data'
    assert call in " ".join(text.split())
    assert "Corrected: order_id: W1 became #W1" in text
    assert 'find_order(order_id="#W1") · after 1.1' in text


def test_a_turn_without_actions_announces_the_answer() -> None:
    scenario = ChatScenario()
    scenario.does(c.Say(text="Hello", workflow="agentflow"), c.PlanTurn(sub_goal="Say hello", actions=()))
    assert "answer follows" in last(scenario, facts.TurnPlanned)
    assert scenario.view.worker == "generator"


@pytest.mark.parametrize(
    ("preview", "words"),
    [
        (None, "can't be shown right now"),
        (Preview(known=False), "can't show its changes in advance"),
        (Preview(known=True), "would change nothing"),
        (Preview(known=True, error="Error: non-pending order"), "would fail: Error: non-pending order"),
    ],
)
@pytest.mark.parametrize("terminal", [True, False])
def test_an_action_card_without_changes_says_why(preview: Preview | None, words: str, *, terminal: bool) -> None:
    action = waiting_for_approval().view.request
    assert action
    assert words in rendered(render_turn.action_card(action.actions[0], preview), terminal=terminal)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_an_action_card_shows_before_and_after_and_fits(width: int) -> None:
    changes = (
        Change(path="orders/#W1/status", before="pending", after="cancelled"),
        Change(path="orders/#W1/cancel_reason", after="no longer needed \x1b[2J"),
        Change(path="users/ann/gift", before={"balance": 12.5, "list": ["x" * 50] * 9}),
    )
    view = waiting_for_approval().view
    shown = render.render_request(view, {"1.1": Preview(known=True, changes=changes)})
    assert shown
    text = rendered(shown, terminal=True, width=width)
    assert max(map(len, text.splitlines())) <= width
    plain = " ".join(rendered(shown).split())
    assert 'orders/#W1/status: "pending" → "cancelled"' in plain
    assert 'orders/#W1/cancel_reason: (empty) → "no longer needed' in plain
    assert "→ (empty)" in plain
    assert "Needs your approval: changes data" in plain
    assert "\x1b[2J" not in text


def test_an_action_card_is_shown_once() -> None:
    assert render.render_request(waiting_for_approval().view, {}) is None


def test_an_action_is_approved_remembered_declined_or_declined_with_a_reason() -> None:
    view = waiting_for_approval().view
    assert view.request
    waiting = view.request.actions[0]
    approval = m.Approval(type="approval", approved=True, action_id="1.1", hash=waiting.hash)
    refusal = m.Approval(type="approval", approved=False, action_id="1.1")
    for line in ("1", "yes", "Y", "approve"):
        assert sent(interpret(line, view)) == approval
    for line in ("2", "always"):
        assert sent(interpret(line, view)) == approval.model_copy(update={"remember": True})
    for line in ("3", "no", "deny"):
        assert sent(interpret(line, view)) == refusal
    assert isinstance(interpret("maybe", view), ShowText)
    effect = interpret("reason", view)
    assert isinstance(effect, AskFurther)
    asking_reason = replace(view, local_request=effect.request)
    assert sent(interpret("too dear", asking_reason)) == refusal.model_copy(update={"reason": "too dear"})
    assert interpret("", asking_reason) == AskFurther(view.request)


def _run_action(scenario: ChatScenario, *, ok: bool = True, result: Any = None, error: str = "") -> None:
    scenario.does(c.Approve(version=scenario.session.version, action_id="1.1"), c.Start())
    scenario.does(finish_action(action_id="1.1", ok=ok, result=result, error=error, seconds=0.25))


def test_results_are_shortened_and_errors_are_shown() -> None:
    scenario = waiting_for_approval()
    _run_action(scenario, result='{"status": "' + "x" * 2_000 + '"}')
    text = last(scenario, facts.ActionsFinished)
    assert "✓ 1.1 cancel_order · 0.2 s" in text
    assert len(text) < 700
    scenario = waiting_for_approval()
    _run_action(scenario, ok=False, error="Error: order not found")
    text = last(scenario, facts.ActionsFinished)
    assert "✗ 1.1 cancel_order" in text
    assert "Error: order not found" in text


def test_a_verdict_names_its_rule_and_an_answer_its_evidence() -> None:
    scenario = waiting_for_approval()
    _run_action(scenario, result="done")
    scenario.does(c.Start(), finish_action(action_id="1.2", ok=True, result="ok"))
    scenario.does(c.VerifyTurn(status="success", next_action="complete", rule="all finished", reasoning="It is done."))
    assert "✓ success, request done (checked by rule) It is done." in last(scenario, facts.TurnVerified)
    assert scenario.view.worker == "generator"
    scenario.does(
        c.GiveAnswer(text="It is **cancelled**.", confidence=0.9, evidence=("1.1", "1.2"), next=("Cancel #W2",))
    )
    text = last(scenario, facts.AnswerGiven)
    assert "It is cancelled." in text
    assert "Confidence 90% · Source: cancel order, find order" in text
    assert scenario.view.request
    assert scenario.view.request.kind == "rest"
    labels = [choice.label for choice in choices(scenario.view)]
    assert labels[-1] == "Cancel #W2"
    assert sent(interpret(str(len(labels)), scenario.view)) == m.UserMessage(type="user_message", content="Cancel #W2")


def test_an_escalated_session_can_be_taken_over_and_handed_back() -> None:
    scenario = waiting_for_approval()
    _run_action(scenario, ok=False, error="no")
    scenario.does(c.VerifyTurn(status="failure", next_action="escalate", reasoning="I give up."))
    assert scenario.view.request
    assert scenario.view.request.kind == "escalated"
    assert sent(interpret("Try another order", scenario.view)) == m.HandBack(
        type="hand_back", content="Try another order"
    )
    find_order = OwnAction(tool="find_order", arguments={"order_id": "#W1"})
    taken = sent(slash_command('/take find_order {"order_id": "#W1"}', scenario.view))
    assert isinstance(taken, m.TakeOver)
    assert taken.actions == (find_order,)
    action = ActionSpec(id="2.1", tool="find_order", arguments={"order_id": "#W1"})
    scenario.does(c.TakeOver(sub_goal="By hand", actions=(action,)), c.Start())
    assert scenario.view.is_working
    scenario.does(finish_action(action_id="2.1", ok=True, result="x"))
    scenario.does(c.VerifyTurn(status="success", next_action="complete", reasoning="Done."))
    assert scenario.view.request
    assert scenario.view.request.kind == "escalated"
    assert "hand the session back" in scenario.view.request.message


@pytest.mark.parametrize("line", ["/take x {", "/take x [1]", "/back", "/remember x perhaps"])
def test_wrong_commands_show_their_usage(line: str) -> None:
    effect = slash_command(line, ChatView(session_id="s1"))
    assert isinstance(effect, ShowText)
    assert effect.text.startswith("Usage: ")


def test_a_workflow_is_chosen_before_there_is_a_session() -> None:
    assert slash_command("/workflow agentflow", ChatView(session_id="s1")) == RunLocally("workflow", "agentflow")
    started = slash_command("/workflow agentflow", ChatView(session_id="s1", newest_version=3))
    assert isinstance(started, SendMessage)
    assert slash_command("/remember pay deny", ChatView()) == SendMessage(
        m.Remember(type="remember", tool="pay", policy="deny"), is_answer=False
    )


class ListsClient(Parley):
    """A client with fixed lists. Without a page of tools, `tools` raises ParleyUnavailable."""

    def __init__(self, page: ToolPage | None = None, *waiting: SessionRow) -> None:
        super().__init__("http://127.0.0.1:9")
        self._page, self._waiting = page, waiting

    async def tools(self, query: str = "", *, limit: int = 500) -> ToolPage:
        if self._page is None:
            raise ParleyUnavailable("The executor does not answer.")
        return self._page

    async def inbox(self) -> SessionRows:
        return SessionRows(sessions=self._waiting, total=len(self._waiting))

    async def memories(self, query: str = "") -> MemoryPage:
        fields = {"request": "Cancel #W1", "outcome": "answered: done", "lesson": "ask for the reason", "score": 0.0}
        record = MemoryRecord.model_validate(fields | {"session_id": "s0", "round": 1, "version": 1, "at": AT})
        return MemoryPage(items=(record.model_copy(update={"id": "s0.1"}),), total=3)

    async def forget(self, memory_id: str) -> None:
        if memory_id != "s0.1":
            raise RequestRefused("not_found", f"You have no memory {memory_id}.")

    async def library(self, query: str = "") -> LibraryPage:
        fields: dict[str, Any] = {
            "request": "How many?",
            "flows": ["sql"],
            "path": ["sql.run"],
            "question": "How many orders?",
        }
        fields |= {"sql": "SELECT 1", "tables": [], "answer": "7", "accepted": True, "saved": True, "at": AT}
        entry = LibraryEntry.model_validate(fields | {"session_id": "s0", "round": 1, "version": 9})
        return LibraryPage(items=(entry,), total=1)


def listed(client: Parley, name: str, words: str = "") -> str:
    return rendered(asyncio.run(local_commands.run_local(ChatView(session_id="s1"), client, name, words)))


def test_tools_memories_inbox_and_library_are_listed() -> None:
    schema: dict[str, Any] = {"properties": {"order_id": {}, "note": {}}, "required": ["order_id"]}
    spec = ToolSpec(name="cancel_order", description="Cancels", parameters=schema, effect="write")
    page = ToolPage(tools=(spec,), total=17, troubles=("the server “x” is away",))
    text = listed(ListsClient(page), "tools")
    assert "cancel_order(order_id*, note) write" in text
    assert "1 of 17" in text
    assert "is away" in text
    assert "executor does not answer" in listed(ListsClient(None), "tools")
    remembered = listed(ListsClient(page), "memories")
    assert "2030-01-01 Cancel #W1" in remembered
    assert "lesson: ask for the reason" in remembered
    assert "/forget s0.1" in remembered
    assert "1 of 3" in remembered
    assert slash_command("/forget s0.1", ChatView()) == RunLocally("forget", "s0.1")
    assert "Deleted: the memory s0.1" in listed(ListsClient(page), "forget", "s0.1")
    assert "You have no memory s0.2" in listed(ListsClient(page), "forget", "s0.2")
    assert "Nothing needs you" in listed(ListsClient(page), "inbox")
    assert "SELECT 1" in listed(ListsClient(page), "library")


def test_the_inbox_names_the_command_that_continues_a_plan() -> None:
    row = {"id": "s1", "owner": "ann", "title": "Pay", "request": "Pay", "workflow": "execution_plan", "paused": False}
    resting = {"phase": "resting", "unfinished": True, "version": 3, "created_at": AT, "updated_at": AT, "parent": None}
    for state, words, label in (
        ("approved", "start the plan", "Start: parley plan execute s1"),
        ("completed", "finish the plan", "Retry: parley plan execute --retry s1"),
    ):
        text = listed(ListsClient(None, SessionRow.model_validate(row | resting | {"state": state})), "inbox")
        assert f"{words} Pay" in text
        assert label in text


def test_events_are_shown_with_their_actor() -> None:
    scenario = ChatScenario()
    scenario.does(c.Say(text="calc"), c.DraftPlan(goal="A calculator", steps=(Step(text="Add"),)))
    scenario.does(c.Approve(version=2))
    assert last(scenario, facts.PlanApproved).split() == ["·", "You", "approved", "plan", "1"]
    lines = [" ".join(line.plain.split()) for line in render_journal.journal_lines(scenario.view)]
    assert lines == ["1 · You calc", "2 · planner wrote Plan 1 (1 step)", "3 · You approved plan 1"]
    assert last(scenario, facts.MessageReceived, mine=True) == ""
