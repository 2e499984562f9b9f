"""Edited plans, the lines of `tail`, and rendering in narrow and wide windows."""

import asyncio
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from cli.chat import render, render_journal, render_turn
from cli.chat.edit import HELP, InvalidPlanText, edit_in_review, editable, read_plan
from cli.chat.effects import SendMessage, ShowText
from cli.chat.local_commands import run_local
from cli.chat.state import ChatView
from cli.talk.tail import Printer
from cli.text import print_visible, short, visible
from parley.client import Parley
from parley.events import EVENTS, Event, facts, parse_event
from parley.events.values import ActionSpec, ModelCall, Step
from parley.protocol import client as m
from parley.protocol import server as s
from parley.protocol.journal import ActionEntry
from parley.protocol.views import CodeView, PlanView
from shared.domain.kernel import commands as c
from shared.story import finish_action
from tests.logs.recorded import load, load_random, names
from tests.unit.test_cli_chat_view import ChatScenario, coded, delta, greeting

AT = datetime(2030, 1, 1, 12, tzinfo=UTC)
ENVELOPE = {"id": "s1:x", "session_id": "s1", "version": 1, "at": AT, "actor": "user:ann"}
STEP = Step(text="Look it up", tool="search", arguments={"q": "x"})
PLAN = PlanView(
    version=3,
    number=1,
    kind="text",
    goal="Count words",
    steps=(Step(text="Read\nthe file"), STEP),
    notes="Fast.",
    text="Goal: Count words",
    hash="h",
    status="pending_approval",
    by="planner",
)


def code_view(code: str) -> CodeView:
    fields = {"explanation": "", "hash": "h", "status": "review", "by": "generator", "plan_version": 3}
    return CodeView.model_validate({"version": 5, "number": 1, "code": code, **fields})


def view_with(**sections: object) -> ChatView:
    """The view of a new session, with these sections replaced."""
    initial = ChatScenario().does(c.Say(text="Count")).sections
    assert initial
    return ChatView(session_id="s1", sections=initial.model_copy(update=sections))


texts = st.text(st.characters(categories=("L", "N", "Zs"), exclude_characters="\x85\u2028\u2029"), min_size=1).map(
    lambda text: " ".join(text.split())
)
step_texts = texts.filter(lambda text: text and not text[0].isdigit())


@given(step_texts, st.lists(step_texts, min_size=1, max_size=8), st.one_of(st.just(""), step_texts))
def test_an_unchanged_plan_is_parsed_to_the_same_plan(goal: str, steps: list[str], notes: str) -> None:
    plan = tuple(Step(text=step) for step in steps)
    assert read_plan(f"{editable(goal, plan, notes)}\n{HELP}", plan) == (goal, plan, notes)


def test_steps_of_several_lines_and_steps_with_tools_survive_an_edit_of_others() -> None:
    text = editable(PLAN.goal, PLAN.steps, PLAN.notes).replace("2. Look it up", "2. Look it up\n3. Count")
    assert read_plan(text, PLAN.steps) == ("Count words", (*PLAN.steps, "Count"), "Fast.")


@pytest.mark.parametrize("text", ["", "1. Read", "Goal: x\n\nNotes: no steps", "Goal:\n1. Read"])
def test_text_that_is_not_a_plan_is_refused(text: str) -> None:
    with pytest.raises(InvalidPlanText):
        read_plan(text)


async def _cancel_edit(text: str, suffix: str) -> str | None:
    return None


def test_only_a_changed_text_is_sent() -> None:
    view = view_with(plan=PLAN)

    async def change_nothing(text: str, suffix: str) -> str | None:
        return text

    async def change_goal_and_notes(text: str, suffix: str) -> str | None:
        assert suffix == ".md"
        return text.replace("Count words", "Count letters").replace("Fast.", "")

    async def write_no_plan(text: str, suffix: str) -> str | None:
        return "nothing of it"

    assert (
        asyncio.run(edit_in_review(view, _cancel_edit))
        == asyncio.run(edit_in_review(view, change_nothing))
        == ShowText("Nothing was changed.")
    )
    assert asyncio.run(edit_in_review(view, change_goal_and_notes)) == SendMessage(
        m.Edit(type="edit", target="plan", version=3, goal="Count letters", steps=PLAN.steps, notes="")
    )
    assert isinstance(asyncio.run(edit_in_review(view, write_no_plan)), ShowText)
    assert isinstance(asyncio.run(edit_in_review(ChatView(), change_goal_and_notes)), ShowText)


def test_code_is_edited_as_code() -> None:
    async def add_line(text: str, suffix: str) -> str | None:
        assert suffix == ".py"
        return f"{text}print(2)\n"

    view = view_with(plan=PLAN, code=code_view("print(1)\n"))
    expected = m.Edit(type="edit", target="code", version=5, content="print(1)\nprint(2)\n")
    assert asyncio.run(edit_in_review(view, add_line)) == SendMessage(expected)


def test_control_characters_cannot_reach_the_terminal() -> None:
    """They are shown as code points: what the user approves contains nothing invisible."""
    assert visible("a\x1b[2Jb\x07\x9b31mc\rd\te\r\n") == "a<U+001B>[2Jb<U+0007><U+009B>31mc<U+000D>d\te\n"
    assert visible("\x1b]0;title\x07") == "<U+001B>]0;title<U+0007>"
    assert visible("pay \u202eecila\u202c\u200b\U000e006f") == "pay <U+202E>ecila<U+202C><U+200B><U+E006F>"
    assert visible("שלום می‌خواهم 👩‍💻") == "שלום می‌خواهم 👩‍💻"
    assert short("a\nb " * 50, 10) == "a b a b a…"


@pytest.mark.parametrize(("terminal", "written"), [(True, "a<U+001B>[2J\n"), (False, "a\x1b[2J\n")])
def test_a_file_gets_the_raw_text_and_a_terminal_the_visible_one(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, written: str
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stdout", out)
    print_visible("a\x1b[2J")
    assert out.getvalue() == written


CALL = ModelCall(
    model="m", role="planner", prompt_tokens=1, cached_tokens=0, completion_tokens=1, cost=0.1, latency=1, attempt=1
)


def test_tail_says_of_every_kind_of_event_what_happened_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs = (*load_random(), *map(load, names()))
    by_type = {message.subject.split(".", 3)[3]: message.data for log in logs for message in log.messages}
    for data in by_type.values():
        event = parse_event(data)
        Printer(as_json=False).print_event(event)
        (line,) = capsys.readouterr().out.splitlines()
        assert line.partition(event.actor)[2].strip(), event.type


@pytest.mark.parametrize("kind", [facts.SessionFailed, facts.UsageRecorded])
def test_tail_prints_the_usage_of_an_event_once(kind: type[Event], capsys: pytest.CaptureFixture[str]) -> None:
    fields = {"phase": "planning", "reason": "no"} if kind is facts.SessionFailed else {}
    event = EVENTS.validate_python(
        kind.model_validate(ENVELOPE | fields | {"usage": (CALL, CALL)}).model_dump(by_alias=True)
    )
    Printer(as_json=False).print_event(event)
    assert " ".join(capsys.readouterr().out.split()).count("2 tokens of m, $0.1000, 1.0 s") == 2


def test_an_export_to_another_format_is_refused_before_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "a.docx"
    said = asyncio.run(run_local(ChatView(session_id="s1"), Parley("http://127.0.0.1:9"), "export", str(file)))
    assert "does not end in .md, .json or .py" in str(said)
    assert not file.exists()


def render_text(renderable: object, *, width: int, terminal: bool = True) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
        highlight=False,
    )
    console.print(renderable, markup=False, crop=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 80])
def test_nothing_is_wider_than_the_window(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    scenario = ChatScenario()
    views = [scenario.view, coded(scenario)]
    error = s.Error(session_id="s1", code="x", message="no " * 60, hint="do " * 60)
    shown: list[object] = [render.render_request(view, {}) for view in views]
    shown += [
        render.render_live(view, elapsed=3, url="ws://127.0.0.1:8001/ws", rows=24, console=Console(width=width))
        for view in views
    ]
    shown += [render.render_message(error), render.render_commands(), render.render_greeting(greeting())]
    shown += [render_journal.render_event(event, scenario.view, mine=False) for event in scenario.events]
    shown += render_journal.journal_lines(scenario.view)
    rendered = [render_text(renderable, width=width) for renderable in shown if renderable is not None]
    lines = [line for text in rendered for line in text.splitlines()]
    assert lines
    assert max(map(_plain_length, lines)) <= width


def _plain_length(line: str) -> int:
    return len(line.replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[1;2m", ""))


def test_without_colour_there_are_no_escape_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    code = render.render_code(code_view("import os\n"))
    assert "\x1b[3" in render_text(code, width=80)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in render_text(code, width=80)


def test_in_a_pipe_code_is_written_unchanged() -> None:
    line = f"x = {'1 + ' * 60}1"
    out = render_text(render.render_code(code_view(f"{line}\n")), width=40, terminal=False)
    assert line in out.splitlines()
    assert "\x1b" not in out


def test_a_long_draft_shows_its_end() -> None:
    scenario = ChatScenario()
    scenario.does(c.Say(text="calc"))
    view = scenario.hears(delta(0, "\n".join(f"{n}. Step {n} of many" for n in range(1, 60))))
    live = render.render_live(view, elapsed=1, url="", rows=20, console=Console(width=80))
    out = render_text(live, width=80)
    assert "Step 59 of many" in out
    assert "Step 3 of many" not in out
    assert "Drafting a plan" in out
    assert len(out.splitlines()) <= 18


def test_output_and_errors_of_a_run_are_shown() -> None:
    result = {"stdout": "3\x1b[2J\n", "stderr": "careful", "exit_code": 1}
    scenario = ChatScenario()
    scenario.does(c.Say(text="calc", workflow="agentflow"))
    scenario.does(c.PlanTurn(sub_goal="Run it", actions=(ActionSpec(id="1.1", tool="run_code"),)), c.Start())
    scenario.does(finish_action(ok=False, result=result, error="exit 1"))
    action = scenario.screen.entry("action:1.1")
    assert isinstance(action, ActionEntry)
    out = render_text(render_turn.action_outcome(action), width=60, terminal=False)
    assert out.splitlines()[1:] == ["3<U+001B>[2J", "careful", "exit 1"]
