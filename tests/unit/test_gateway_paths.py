"""Paths in views and REST responses."""

from parley.events.values import ActionSpec, NodeProposal, PathPlan
from parley.protocol import server as s
from services.gateway.rest.flow_models import ChatMessage, ChatRequest
from services.gateway.rest.flows import MAX_HISTORY_CHARS, first_message
from services.gateway.views.allowed_messages import allowed_messages
from services.gateway.views.flow_replies import chat_reply
from services.gateway.views.sections import path_view
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.story import finish_action
from tests.support.flow_services import OUTPUTS
from tests.unit.test_gateway_views import SessionMessages

NODES = ("generate_sql", "execute_sql", "format_final_response")
TOOLS = tuple(f"text_to_sql.{node}" for node in NODES)
PROPOSAL = NodeProposal(flow="text_to_sql", name="forecast", description="Looks ahead.")
PATH = PathPlan(nodes=TOOLS, fallback=True, fallback_reason="Nonsense.", attempts=3, examples=2, proposal=PROPOSAL)
ACTIONS = tuple(
    ActionSpec(id=f"1.{n}", tool=tool, depends_on=(f"1.{n - 1}",) if n > 1 else ()) for n, tool in enumerate(TOOLS, 1)
)


def _running_path() -> SessionMessages:
    scenario = SessionMessages()
    scenario.does(c.Say(text="How many?", workflow="flow"))
    scenario.does(c.PlanTurn(sub_goal="Walk", actions=ACTIONS, final=True, path=PATH))
    return scenario


def _view(session: Session) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    path = path_view(session)
    assert path
    assert path.planned_execution_path == TOOLS
    return path.walked, path.remaining, path.current_path_index


def test_the_current_index_is_that_of_the_running_or_next_node() -> None:
    scenario = _running_path()
    assert _view(scenario.session) == ((), TOOLS, 0)
    scenario.does(c.Start())
    assert _view(scenario.session) == (TOOLS[:1], TOOLS[1:], 0)
    scenario.does(finish_action(action_id="1.1", ok=True, result=OUTPUTS["generate_sql"]))
    assert _view(scenario.session) == (TOOLS[:1], TOOLS[1:], 1)
    scenario.does(c.Ask(text="Sure?", about="action", action_id="1.2"))
    assert _view(scenario.session) == (TOOLS[:1], TOOLS[1:], 1)
    scenario.does(c.Stop())
    assert _view(scenario.session) == (TOOLS[:1], (), 0)


def test_values_given_by_a_user_do_not_count_as_nodes() -> None:
    scenario = _running_path()
    scenario.does(c.EditPath(actions=ACTIONS[1:], given={"sql": "SELECT 1"}))
    assert _view(scenario.session) == ((), TOOLS[1:], 0)
    assert chat_reply(scenario.session).sql == "SELECT 1"


def test_the_reply_has_the_sql_that_ran() -> None:
    action = ACTIONS[1].model_copy(update={"arguments": {"sql": "SELECT 2"}})
    scenario = _running_path()
    scenario.does(c.ChangeTurn(actions=(action,)))
    assert chat_reply(scenario.session).sql == "SELECT 2"


def test_the_reply_says_how_the_path_was_planned() -> None:
    path = path_view(_running_path().session)
    assert path
    assert (path.flows, path.fallback, path.why, path.cached) == (("text_to_sql",), True, "Nonsense.", False)
    assert (path.attempts, path.examples, path.proposal) == (3, 2, s.NodeProposalView.model_validate(PROPOSAL))


def test_a_changed_path_asks_for_approval_only_where_an_action_needs_it() -> None:
    scenario = _running_path()
    action = ACTIONS[1].model_copy(update={"arguments": {"sql": "SELECT 1"}, "approval_reason": "it is shown first"})
    messages = scenario.messages_after(c.ChangeTurn(actions=(action, ACTIONS[2]), reason="generate_sql: sql is known"))
    assert [type(message).__name__ for message in messages] == ["EventMessage", "ApprovalRequest"]
    reply = chat_reply(scenario.session)
    assert reply.approval
    assert reply.approval.actions[0].arguments == {"sql": "SELECT 1"}
    after_edit = scenario.messages_after(c.EditPath(actions=(ACTIONS[2],)))
    assert [type(message).__name__ for message in after_edit] == ["EventMessage"]


def test_allowed_messages_about_a_path_and_its_answer() -> None:
    scenario = _running_path()
    assert "edit_path" in allowed_messages(scenario.session)
    for number, node in enumerate(NODES, 1):
        scenario.does(c.Start())
        scenario.does(finish_action(action_id=f"1.{number}", ok=True, result=OUTPUTS[node]))
    scenario.does(c.VerifyTurn(status="success", next_action="complete"))
    scenario.does(c.GiveAnswer(text="163.", confidence=1))
    assert {"judge", "save_to_library"} <= set(allowed_messages(scenario.session))
    assert "edit_path" not in allowed_messages(scenario.session)
    assert scenario.does(c.Judge(accepted=True, saved=True)) == ["EventMessage", "Log"]
    assert scenario.does(c.Judge(accepted=False)) == ["EventMessage"]
    assert chat_reply(scenario.session).result == OUTPUTS["execute_sql"]["result"]


def test_earlier_messages_are_truncated() -> None:
    long = ChatMessage(role="assistant", content="x" * 30_000)
    chat_request = ChatRequest(messages=(long, long, ChatMessage(role="user", content="And now?")))
    message = first_message(chat_request, "And now?", chat_request.messages[:-1], confirm="nothing")
    assert len(message.knowledge[0].text) == MAX_HISTORY_CHARS
    assert message.settings
    assert message.settings.planning.max_retries == 3
