"""How turns, approvals and answers look, and what a person can choose in front of them."""

import asyncio
import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console, RenderableType

from cli.chat import journal, lists, render, trace
from cli.chat.choices import understand
from cli.chat.doing import Local, More, Say, Send
from cli.chat.slash import command
from cli.chat.state import View
from parley.client import Parley, ParleyDown
from parley.client.errors import Refused
from parley.events import facts
from parley.events.values import ActionSpec, SessionSettings, Step
from parley.protocol import client as m
from parley.protocol.bounds import OwnAction
from parley.protocol.pages import SessionRow, SessionRows
from parley.protocol.tools import Change, Preview, ToolPage, ToolSpec
from shared.domain import commands as c
from shared.store_api import LibraryEntry, LibraryPage, MemoryPage, MemoryRecord
from shared.story import finish
from tests.unit.test_cli_chat_view import AT, Told, sent

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


def drawn(what: RenderableType, *, terminal: bool = False, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, force_terminal=terminal, width=width, color_system=None, highlight=False).print(what)
    return out.getvalue()


def asking() -> Told:
    """A session whose write waits for a yes."""
    told = Told()
    told.does(c.Say(text="Cancel #W1", workflow="agentflow", settings=SessionSettings(max_turns=3)), PLAN)
    return told


def last(told: Told, kind: type[Any], *, mine: bool = False) -> str:
    """The newest event of this kind as the chat shows it."""
    event = [message for message in told.events if isinstance(message.event, kind)][-1]
    shown = journal.happened(event, told.view, mine=mine)
    return drawn(shown) if shown else ""


def test_a_turn_tells_what_it_is_for_and_what_it_does() -> None:
    text = last(asking(), facts.TurnPlanned)
    assert "Turn 1: Cancel the order" in text
    assert "She wants it cancelled." in text
    assert "Cancel the order › Tell her" in text
    assert 'cancel_order(order_id="#W1", reason="no longer needed") · write · needs your approval' in text
    assert "Corrected: order_id: W1 became #W1" in text
    assert 'find_order(order_id="#W1") · after 1.1' in text


def test_a_turn_without_actions_says_what_follows() -> None:
    told = Told()
    told.does(c.Say(text="Hello", workflow="agentflow"), c.PlanTurn(sub_goal="Say hello", actions=()))
    assert "answer follows" in last(told, facts.TurnPlanned)
    assert told.view.worker == "generator"


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
def test_a_card_without_changes_says_why(preview: Preview | None, words: str, *, terminal: bool) -> None:
    action = asking().view.ask
    assert action
    assert words in drawn(trace.card(action.actions[0], preview), terminal=terminal)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_card_shows_before_and_after_and_fits(width: int) -> None:
    changes = (
        Change(path="orders/#W1/status", before="pending", after="cancelled"),
        Change(path="orders/#W1/cancel_reason", after="no longer needed \x1b[2J"),
        Change(path="users/ann/gift", before={"balance": 12.5, "list": ["x" * 50] * 9}),
    )
    view = asking().view
    shown = render.asked(view, {"1.1": Preview(known=True, changes=changes)})
    assert shown
    text = drawn(shown, terminal=True, width=width)
    assert max(map(len, text.splitlines())) <= width
    plain = " ".join(drawn(shown).split())
    assert 'orders/#W1/status: "pending" → "cancelled"' in plain
    assert 'orders/#W1/cancel_reason: (empty) → "no longer needed' in plain
    assert "→ (empty)" in plain
    assert "Needs your approval: changes data" in plain
    assert "\x1b[2J" not in text


def test_a_card_is_shown_once() -> None:
    assert render.asked(asking().view, {}) is None


def test_yes_always_no_and_why() -> None:
    view = asking().view
    assert view.ask
    waiting = view.ask.actions[0]
    yes = m.Approval(type="approval", approved=True, action_id="1.1", hash=waiting.hash)
    no = m.Approval(type="approval", approved=False, action_id="1.1")
    for line in ("1", "yes", "Y", "approve"):
        assert sent(understand(line, view)) == yes
    for line in ("2", "always"):
        assert sent(understand(line, view)) == yes.model_copy(update={"remember": True})
    for line in ("3", "no", "deny"):
        assert sent(understand(line, view)) == no
    assert isinstance(understand("maybe", view), Say)
    asked = understand("reason", view)
    assert isinstance(asked, More)
    why = replace(view, own=asked.ask)
    assert sent(understand("too dear", why)) == no.model_copy(update={"reason": "too dear"})
    assert understand("", why) == More(view.ask)


def _ran(told: Told, *, ok: bool = True, result: Any = None, error: str = "") -> None:
    told.does(c.Approve(version=told.session.version, action_id="1.1"), c.Start())
    told.does(finish(action_id="1.1", ok=ok, result=result, error=error, seconds=0.25))


def test_results_are_shortened_and_errors_are_told() -> None:
    told = asking()
    _ran(told, result='{"status": "' + "x" * 2_000 + '"}')
    text = last(told, facts.ActionsFinished)
    assert "✓ 1.1 cancel_order · 0.2 s" in text
    assert len(text) < 700
    told = asking()
    _ran(told, ok=False, error="Error: order not found")
    text = last(told, facts.ActionsFinished)
    assert "✗ 1.1 cancel_order" in text
    assert "Error: order not found" in text


def test_a_verdict_names_its_rule_and_an_answer_its_evidence() -> None:
    told = asking()
    _ran(told, result="done")
    told.does(c.Start(), finish(action_id="1.2", ok=True, result="ok"))
    told.does(c.VerifyTurn(status="success", next_action="complete", rule="all finished", reasoning="It is done."))
    assert "✓ success, request done (checked by rule) It is done." in last(told, facts.TurnVerified)
    assert told.view.worker == "generator"
    told.does(c.GiveAnswer(text="It is **cancelled**.", confidence=0.9, evidence=("1.1", "1.2")))
    text = last(told, facts.AnswerGiven)
    assert "It is cancelled." in text
    assert "Confidence 90% · Source: cancel order, find order" in text
    assert told.view.ask
    assert told.view.ask.kind == "rest"


def test_what_is_in_a_persons_hands() -> None:
    told = asking()
    _ran(told, ok=False, error="no")
    told.does(c.VerifyTurn(status="failure", next_action="escalate", reasoning="I give up."))
    assert told.view.ask
    assert told.view.ask.kind == "escalated"
    assert sent(understand("Try another order", told.view)) == m.HandBack(type="hand_back", content="Try another order")
    own = OwnAction(tool="find_order", arguments={"order_id": "#W1"})
    taken = sent(command('/take find_order {"order_id": "#W1"}', told.view))
    assert isinstance(taken, m.TakeOver)
    assert taken.actions == (own,)
    action = ActionSpec(id="2.1", tool="find_order", arguments={"order_id": "#W1"})
    told.does(c.TakeOver(sub_goal="By hand", actions=(action,)), c.Start())
    assert told.view.working
    told.does(finish(action_id="2.1", ok=True, result="x"))
    told.does(c.VerifyTurn(status="success", next_action="complete", reasoning="Done."))
    assert told.view.ask
    assert told.view.ask.kind == "escalated"
    assert "hand the session back" in told.view.ask.message


@pytest.mark.parametrize("line", ["/take", "/take x {", "/take x [1]", "/back", "/remember x perhaps"])
def test_commands_that_are_wrong(line: str) -> None:
    doing = command(line, View(session_id="s1"))
    assert isinstance(doing, Say)
    assert doing.text.startswith("Usage: ")


def test_a_workflow_is_chosen_before_there_is_a_session() -> None:
    assert command("/workflow agentflow", View(session_id="s1")) == Local("workflow", "agentflow")
    later = command("/workflow agentflow", View(session_id="s1", known=3))
    assert isinstance(later, Send)
    assert command("/remember pay deny", View()) == Send(
        m.Remember(type="remember", tool="pay", policy="deny"), moves=False
    )


class Asked(Parley):
    """The gateway's lists, or its refusal."""

    def __init__(self, page: ToolPage | None) -> None:
        super().__init__("http://127.0.0.1:9")
        self._page = page

    async def tools(self, query: str = "", *, limit: int = 500) -> ToolPage:
        if self._page is None:
            raise ParleyDown("The executor does not answer.")
        return self._page

    async def inbox(self) -> SessionRows:
        return SessionRows(sessions=(), total=0)

    async def memories(self, query: str = "") -> MemoryPage:
        told = {"request": "Cancel #W1", "outcome": "answered: done", "lesson": "ask for the reason", "score": 0.0}
        record = MemoryRecord.model_validate(told | {"session_id": "s0", "round": 1, "version": 1, "at": AT})
        return MemoryPage(items=(record.model_copy(update={"id": "s0.1"}),), total=3)

    async def forget(self, memory_id: str) -> None:
        if memory_id != "s0.1":
            raise Refused("not_found", f"You have no memory {memory_id}.")

    async def library(self, query: str = "") -> LibraryPage:
        told = {"request": "How many?", "flows": ["sql"], "path": ["sql.run"], "question": "How many orders?"}
        more = {"sql": "SELECT 1", "tables": [], "answer": "7", "accepted": True, "saved": True, "at": AT}
        entry = LibraryEntry.model_validate(told | more | {"session_id": "s0", "round": 1, "version": 9})
        return LibraryPage(items=(entry,), total=1)


def test_lists() -> None:
    schema: dict[str, Any] = {"properties": {"order_id": {}, "note": {}}, "required": ["order_id"]}
    spec = ToolSpec(name="cancel_order", description="Cancels", parameters=schema, effect="write")
    page = ToolPage(tools=(spec,), total=17, troubles=("the server “x” is away",))
    text = drawn(asyncio.run(lists.listed("tools", "", Asked(page))))
    assert "cancel_order(order_id*, note) write" in text
    assert "1 of 17" in text
    assert "is away" in text
    assert "executor does not answer" in drawn(asyncio.run(lists.listed("tools", "", Asked(None))))
    remembered = drawn(asyncio.run(lists.listed("memories", "", Asked(page))))
    assert "2030-01-01 Cancel #W1" in remembered
    assert "lesson: ask for the reason" in remembered
    assert "/forget s0.1" in remembered
    assert "1 of 3" in remembered
    assert command("/forget s0.1", View()) == Local("forget", "s0.1")
    assert "Deleted: the memory s0.1" in drawn(asyncio.run(lists.listed("forget", "s0.1", Asked(page))))
    assert "You have no memory s0.2" in drawn(asyncio.run(lists.listed("forget", "s0.2", Asked(page))))
    assert "Nothing needs you" in drawn(asyncio.run(lists.listed("inbox", "", Asked(page))))
    assert "SELECT 1" in drawn(asyncio.run(lists.listed("library", "", Asked(page))))


def test_the_inbox_says_how_a_plan_goes_on() -> None:
    row = {"id": "s1", "owner": "ann", "title": "Pay", "request": "Pay", "workflow": "execution_plan", "paused": False}
    rests = {"phase": "resting", "unfinished": True, "version": 3, "created_at": AT, "updated_at": AT, "parent": None}
    for state, words, label in (("approved", "start the plan", "Start"), ("completed", "finish the plan", "Retry")):
        text = drawn(lists.inbox((SessionRow.model_validate(row | rests | {"state": state}),)))
        assert f"{words} Pay" in text
        assert f"{label}: parley plan execute s1" in text


def test_what_happened_is_told_with_who_did_it() -> None:
    told = Told()
    told.does(c.Say(text="calc"), c.DraftPlan(goal="A calculator", steps=(Step(text="Add"),)))
    told.does(c.Approve(version=2))
    assert last(told, facts.PlanApproved).split() == ["·", "You", "approved", "plan", "1"]
    lines = [" ".join(line.plain.split()) for line in journal.lines(told.view)]
    assert lines == ["1 · You calc", "2 · planner wrote Plan 1 (1 step)", "3 · You approved plan 1"]
    assert last(told, facts.MessageReceived, mine=True) == ""


def test_the_journal_tells_what_became_of_turns_and_actions() -> None:
    told = asking()
    told.does(c.Reject(version=told.session.version, action_id="1.1", reason="too dear"))
    assert "– 1.1 cancel_order · declined: too dear" in last(told, facts.ApprovalDenied)
    text = "\n".join(line.plain for line in journal.lines(told.view))
    assert "1.1 cancel_order · declined: too dear" in text
