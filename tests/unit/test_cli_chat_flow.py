"""How paths, tables and rows look in the terminal, and what typed words about them mean."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from cli.chat import flow
from cli.chat.choices import choices, hint, understand
from cli.chat.doing import Say, Send
from cli.chat.forms import picked, tables
from cli.chat.paths import last_result, shown
from cli.chat.render import asked
from cli.chat.slash import command
from cli.chat.spreadsheet import as_csv
from cli.chat.state import Ask, View
from parley.events.values import ActionSpec, NodeProposal, PathPlan
from parley.protocol import client as m
from parley.protocol.screen import QuestionSection
from parley.protocol.words import HINTS
from shared.domain import commands as c
from shared.story import finish
from tests.support.walks import FORM, OUTPUTS
from tests.unit.test_cli_chat_trace import drawn
from tests.unit.test_cli_chat_view import Told, sent

NODES = ("get_relevant_tables", "generate_sql", "execute_sql", "format_final_response")
WIDE: dict[str, JsonValue] = {
    "columns": [f"c{n}" for n in range(14)],
    "rows": [[n, None, "x" * 80, *range(11)] for n in range(30)],
    "truncated": True,
}


def _walked(*more: c.Command, confirm: bool = False) -> Told:
    """A path whose first node has run."""
    told = Told()
    actions = tuple(
        ActionSpec(
            id=f"1.{n}",
            tool=f"text_to_sql.{node}",
            depends_on=(f"1.{n - 1}",) if n > 1 else (),
            arguments={"sql": "SELECT 1"} if confirm and n == 2 else {},
            approval_reason="it is shown first" if confirm and n == 2 else None,
        )
        for n, node in enumerate(NODES, 1)
    )
    proposal = NodeProposal(flow="text_to_sql", name="forecast", description="Looks ahead.")
    path = PathPlan(
        nodes=tuple(a.tool for a in actions), fallback=True, fallback_reason="Nonsense.", attempts=3, proposal=proposal
    )
    told.does(c.Say(text="How many?", workflow="flow"), c.PlanTurn(sub_goal="Walk", actions=actions, path=path))
    told.does(c.Start(), finish(action_id="1.1", ok=True, result=OUTPUTS[NODES[0]], seconds=1.25), *more)  # type: ignore[arg-type]
    return told


def asks_for_tables(form: dict[str, JsonValue] | None = FORM) -> Ask:
    question = QuestionSection(question_id="1.2", about="action", content="?", options=(), form=form)
    return Ask("question", question=question)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("", ["orders"]),
        ("yes", ["orders"]),
        ("1 2", ["orders", "users"]),
        ("2,1,2", ["users", "orders"]),
        ("Users", ["users"]),
    ],
)
def test_tables_are_picked_by_number_name_or_as_proposed(line: str, answer: list[str]) -> None:
    view = View(session_id="s", asked=asks_for_tables())
    message = sent(understand(line, view))
    assert isinstance(message, m.AnswerReply)
    assert json.loads(message.content) == {"tables": answer}
    assert message.question_id == "1.2"
    assert choices(view) == ()


def test_a_form_is_answered_by_its_fields_which_are_shown_with_what_they_take() -> None:
    form: dict[str, JsonValue] = {
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string", "description": "Where to"}, "carrier": {"enum": ["UPS", "DHL"]}},
    }
    view = View(session_id="s", asked=asks_for_tables(form))
    for line, answer in (
        ('city="New York" carrier=UPS', {"city": "New York", "carrier": "UPS"}),
        ("city=", {"city": ""}),
    ):
        message = sent(understand(line, view))
        assert isinstance(message, m.AnswerReply)
        assert (json.loads(message.content), message.question_id) == (answer, "1.2")
    plain = sent(understand("Oslo", view))
    assert isinstance(plain, m.AnswerReply)
    assert plain.content == "Oslo"
    assert hint(view.ask) == HINTS["form"]
    told = " ".join(drawn(asked(view, {}) or "").split())
    assert "city Where to carrier UPS or DHL · optional" in told


def test_other_words_about_tables_go_as_they_are() -> None:
    assert picked("3", tables(None)) == "3"
    assert picked("orders and their items", tables(asks_for_tables())) == "orders and their items"
    assert tables(asks_for_tables(None)) == ()


def test_the_line_of_a_path_marks_where_it_stands() -> None:
    view = _walked().view
    assert view.stands
    assert view.stands.turn
    assert view.stands.path
    assert (
        flow.line(view.actions).plain
        == "text_to_sql: ✓ get_relevant_tables › ▶ generate_sql › execute_sql › " + NODES[3]
    )
    text = drawn(flow.whole(view.stands.turn, view.stands.path, view.actions), width=140)
    assert "No planned path would work, so the full one is used: Nonsense." in text
    assert "3 tries" in text
    assert "forecast" in text
    assert "1.2" in text


def test_the_rest_of_a_path_is_sent_with_what_was_seen_last() -> None:
    told = _walked()
    message = sent(command("/path generate_sql, complaint_triage.write_reply", told.view))
    nodes = ("text_to_sql.generate_sql", "complaint_triage.write_reply")
    assert message == m.EditPath(type="edit_path", after="1.1", nodes=nodes)
    assert isinstance(command("/path x", View(session_id="s")), Say)


def test_what_a_node_shows_can_be_changed_and_is_whole() -> None:
    view = _walked(confirm=True).view
    assert view.ask
    assert view.ask.kind == "actions"
    assert [choice.word for choice in choices(view)][-1] == "edit"
    value = shown(view.ask.actions[0])
    assert value == ("sql", "SELECT 1")
    assert isinstance(understand("run it please", view), Say)


def test_what_a_person_says_of_the_answer() -> None:
    view = View(session_id="s")
    assert command("/accept", view) == Send(m.Judge(type="judge", accepted=True), moves=False)
    assert command("/save", view) == Send(m.Judge(type="judge", accepted=True, saved=True), moves=False)


def test_many_rows_are_cut_on_the_screen_and_whole_in_the_file() -> None:
    text = drawn(flow.rows(WIDE), width=200)
    assert "30 rows and more · 10 of them not shown · 2 columns not shown" in text
    assert "∅" in text
    assert "…" in text
    lines = as_csv(WIDE).splitlines()
    assert len(lines) == 31
    assert lines[1].startswith("0,," + "x" * 80)
    assert drawn(flow.rows({"columns": ["n"], "rows": []})).count("0 rows") == 1


CELLS: list[tuple[JsonValue, str]] = json.loads((Path(__file__).parents[1] / "support" / "csv_cells.json").read_text())


@pytest.mark.parametrize(("value", "written"), CELLS)
def test_no_cell_is_one_that_a_spreadsheet_would_run(value: JsonValue, written: str) -> None:
    """The same cells as the page's."""
    assert as_csv({"columns": ["x"], "rows": [[value]]}) == f"x\r\n{written}\r\n"
    assert as_csv({"columns": [value], "rows": []}) == f"{written}\r\n"


def test_the_newest_rows_are_those_of_the_path() -> None:
    told = _walked()
    assert last_result(told.view) is None
    told.does(c.Start(), finish(action_id="1.2", ok=True, result=OUTPUTS["generate_sql"]), c.Start())
    told.does(finish(action_id="1.3", ok=True, result=OUTPUTS["execute_sql"]))
    result = last_result(told.view)
    assert result
    assert result["rows"] == [[163]]
