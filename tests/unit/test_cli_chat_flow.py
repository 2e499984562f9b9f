"""How paths, tables and rows look in the terminal, and what typed lines about them mean."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from cli.chat import render_flow
from cli.chat.choices import choices, hint, interpret
from cli.chat.edit import editable_value, last_result
from cli.chat.effects import SendMessage, ShowText
from cli.chat.forms import table_options, tables_answer
from cli.chat.local_commands import as_csv
from cli.chat.render import render_request
from cli.chat.slash import slash_command
from cli.chat.state import ChatView, InputRequest
from parley.events.values import ActionSpec, NodeProposal, PathPlan
from parley.protocol import client as m
from parley.protocol.screen import QuestionSection
from parley.protocol.words import HINTS
from shared.domain.kernel import commands as c
from shared.story import finish_action
from tests.support.flow_services import FORM, OUTPUTS
from tests.unit.test_cli_chat_turns import rendered
from tests.unit.test_cli_chat_view import ChatScenario, sent

NODES = ("get_relevant_tables", "generate_sql", "execute_sql", "format_final_response")
WIDE: dict[str, JsonValue] = {
    "columns": [f"c{n}" for n in range(14)],
    "rows": [[n, None, "x" * 80, *range(11)] for n in range(30)],
    "truncated": True,
}


def _path_scenario(*commands: c.Command, confirm: bool = False) -> ChatScenario:
    """A session and its chat after the first node of a path. `confirm`: the second node waits for an approval."""
    scenario = ChatScenario()
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
    scenario.does(c.Say(text="How many?", workflow="flow"), c.PlanTurn(sub_goal="Walk", actions=actions, path=path))
    scenario.does(c.Start(), finish_action(action_id="1.1", ok=True, result=OUTPUTS[NODES[0]], seconds=1.25), *commands)  # type: ignore[arg-type]
    return scenario


def table_request(form: dict[str, JsonValue] | None = FORM) -> InputRequest:
    question = QuestionSection(
        question_id="1.2", about="action", content="?", options=(), form=form, several=False, further=()
    )
    return InputRequest("question", question=question)


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
def test_tables_are_chosen_by_number_by_name_or_as_proposed(line: str, answer: list[str]) -> None:
    view = ChatView(session_id="s", gateway_request=table_request())
    message = sent(interpret(line, view))
    assert isinstance(message, m.AnswerReply)
    assert json.loads(message.content) == {"tables": answer}
    assert message.question_id == "1.2"
    assert choices(view) == ()


def test_a_form_shows_its_fields_and_accepts_field_values_or_text() -> None:
    form: dict[str, JsonValue] = {
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string", "description": "Where to"}, "carrier": {"enum": ["UPS", "DHL"]}},
    }
    view = ChatView(session_id="s", gateway_request=table_request(form))
    for line, answer in (
        ('city="New York" carrier=UPS', {"city": "New York", "carrier": "UPS"}),
        ("city=", {"city": ""}),
    ):
        message = sent(interpret(line, view))
        assert isinstance(message, m.AnswerReply)
        assert (json.loads(message.content), message.question_id) == (answer, "1.2")
    for line in ("Oslo", "street=1", 'city="open', '{"city": "Oslo"}'):
        plain = sent(interpret(line, view))
        assert isinstance(plain, m.AnswerReply)
        assert plain.content == line
    assert view.request
    assert hint(view.request) == HINTS["form"]
    text = " ".join(rendered(render_request(view, {}) or "").split())
    assert "city Where to carrier UPS or DHL · optional" in text


def test_other_text_about_tables_is_sent_unchanged() -> None:
    assert tables_answer("3", table_options(None)) == "3"
    assert tables_answer("orders and their items", table_options(table_request())) == "orders and their items"
    assert table_options(table_request(None)) == ()


def test_the_path_line_marks_the_current_node() -> None:
    view = _path_scenario().view
    assert view.sections
    assert view.sections.turn
    assert view.sections.path
    assert (
        render_flow.path_line(view.actions).plain
        == "text_to_sql: ✓ get_relevant_tables › ▶ generate_sql › execute_sql › " + NODES[3]
    )
    text = rendered(render_flow.path_details(view.sections.turn, view.sections.path, view.actions), width=140)
    assert "No planned path would work, so the full one is used: Nonsense." in text
    assert "3 tries" in text
    assert "forecast" in text
    assert "1.2" in text


def test_a_changed_path_is_sent_with_the_last_action_seen() -> None:
    scenario = _path_scenario()
    message = sent(slash_command("/path generate_sql, complaint_triage.write_reply", scenario.view))
    nodes = ("text_to_sql.generate_sql", "complaint_triage.write_reply")
    assert message == m.EditPath(type="edit_path", after="1.1", nodes=nodes)
    assert isinstance(slash_command("/path x", ChatView(session_id="s")), ShowText)


def test_a_nodes_value_is_shown_in_full_and_can_be_edited() -> None:
    view = _path_scenario(confirm=True).view
    assert view.request
    assert view.request.kind == "actions"
    assert [choice.word for choice in choices(view)][-1] == "edit"
    value = editable_value(view.request.actions[0])
    assert value == ("sql", "SELECT 1")
    assert isinstance(interpret("run it please", view), ShowText)


def test_an_answer_can_be_accepted_and_saved() -> None:
    view = ChatView(session_id="s")
    assert slash_command("/accept", view) == SendMessage(m.Judge(type="judge", accepted=True), is_answer=False)
    assert slash_command("/save", view) == SendMessage(
        m.Judge(type="judge", accepted=True, saved=True), is_answer=False
    )


def test_many_rows_are_cut_on_the_screen_and_complete_in_the_file() -> None:
    text = rendered(render_flow.result_table(WIDE), width=200)
    assert "30 rows and more · 10 of them not shown · 2 columns not shown" in text
    assert "∅" in text
    assert "…" in text
    lines = as_csv(WIDE).splitlines()
    assert len(lines) == 31
    assert lines[1].startswith("0,," + "x" * 80)
    assert rendered(render_flow.result_table({"columns": ["n"], "rows": []})).count("0 rows") == 1


CELLS: list[tuple[JsonValue, str]] = json.loads((Path(__file__).parents[1] / "support" / "csv_cells.json").read_text())


@pytest.mark.parametrize(("value", "written"), CELLS)
def test_csv_cells_never_start_a_formula(value: JsonValue, written: str) -> None:
    """The cases are shared with the page's test."""
    assert as_csv({"columns": ["x"], "rows": [[value]]}) == f"\ufeffx\r\n{written}\r\n"
    assert as_csv({"columns": [value], "rows": []}) == f"\ufeff{written}\r\n"


def test_the_last_result_is_the_newest_of_the_path() -> None:
    scenario = _path_scenario()
    assert last_result(scenario.view) is None
    scenario.does(c.Start(), finish_action(action_id="1.2", ok=True, result=OUTPUTS["generate_sql"]), c.Start())
    scenario.does(finish_action(action_id="1.3", ok=True, result=OUTPUTS["execute_sql"]))
    result = last_result(scenario.view)
    assert result
    assert result["rows"] == [[163]]
