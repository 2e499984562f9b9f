"""A path as clients see it, what REST answers about it, and how many may wait for one."""

from parley.events.values import ActionSpec, NodeProposal, PathPlan, Step
from parley.protocol import server as s
from services.gateway.rest.flow_models import ChatMessage, ChatRequest
from services.gateway.rest.flow_replies import chat_reply, flow_view, path_reply
from services.gateway.rest.flow_requests import REMEMBERED, first
from services.gateway.views.can import accepted
from services.gateway.views.parts import path_view
from shared.domain import commands as c
from shared.domain.session import Session
from shared.story import finish
from tests.support.walks import OUTPUTS, TEXT_TO_SQL
from tests.unit.test_gateway_views import Told

NODES = ("generate_sql", "execute_sql", "format_final_response")
TOOLS = tuple(f"text_to_sql.{node}" for node in NODES)
PROPOSAL = NodeProposal(flow="text_to_sql", name="forecast", description="Looks ahead.")
PATH = PathPlan(nodes=TOOLS, fallback=True, fallback_reason="Nonsense.", attempts=3, examples=2, proposal=PROPOSAL)
ACTIONS = tuple(
    ActionSpec(id=f"1.{n}", tool=tool, depends_on=(f"1.{n - 1}",) if n > 1 else ()) for n, tool in enumerate(TOOLS, 1)
)


def _begun() -> Told:
    it = Told()
    it.does(c.Say(text="How many?", workflow="flow"))
    it.does(c.PlanTurn(sub_goal="Walk", actions=ACTIONS, final=True, path=PATH))
    return it


def _view(session: Session) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    path = path_view(session)
    assert path
    assert path.planned_execution_path == TOOLS
    return path.walked, path.remaining, path.current_path_index


def test_the_position_is_that_of_the_node_which_runs_or_comes_next() -> None:
    it = _begun()
    assert _view(it.session) == ((), TOOLS, 0)
    it.does(c.Start())
    assert _view(it.session) == (TOOLS[:1], TOOLS[1:], 0)
    it.does(finish(action_id="1.1", ok=True, result=OUTPUTS["generate_sql"]))
    assert _view(it.session) == (TOOLS[:1], TOOLS[1:], 1)
    it.does(c.Ask(text="Sure?", about="action", action_id="1.2"))
    assert _view(it.session) == (TOOLS[:1], TOOLS[1:], 1)
    it.does(c.Stop())
    assert _view(it.session) == (TOOLS[:1], (), 0)


def test_values_that_a_person_sets_are_no_node() -> None:
    it = _begun()
    it.does(c.EditPath(actions=ACTIONS[1:], given={"sql": "SELECT 1"}))
    assert _view(it.session) == ((), TOOLS[1:], 0)
    assert chat_reply(it.session).sql == "SELECT 1"


def test_the_sql_is_what_ran_wherever_it_came_from() -> None:
    ran = ACTIONS[1].model_copy(update={"arguments": {"sql": "SELECT 2"}})
    it = _begun()
    it.does(c.ChangeTurn(actions=(ran,)))
    assert chat_reply(it.session).sql == "SELECT 2"


def test_how_the_path_was_found_is_told() -> None:
    path = path_view(_begun().session)
    assert path
    assert (path.flows, path.fallback, path.why, path.cached) == (("text_to_sql",), True, "Nonsense.", False)
    assert (path.attempts, path.examples, path.proposal) == (3, 2, s.NodeProposalView.model_validate(PROPOSAL))


def test_a_path_that_was_left_says_so_and_asks_anew() -> None:
    it = _begun()
    shown = ACTIONS[1].model_copy(update={"arguments": {"sql": "SELECT 1"}, "approval_reason": "it is shown first"})
    messages = it.hears(c.ChangeTurn(actions=(shown, ACTIONS[2]), reason="generate_sql: sql is known"))
    assert [type(message).__name__ for message in messages] == ["Event", "ApprovalRequest"]
    reply = chat_reply(it.session)
    assert reply.approval
    assert reply.approval.actions[0].arguments == {"sql": "SELECT 1"}
    again = it.hears(c.EditPath(actions=(ACTIONS[2],)))
    assert [type(message).__name__ for message in again] == ["Event"]


def test_a_path_in_review_is_what_a_yes_names() -> None:
    it = Told()
    it.does(c.Say(text="How many?", workflow="flow"))
    steps = tuple(Step(text=tool, tool=tool) for tool in TOOLS)
    (_, review) = it.hears(c.DraftPlan(goal="Walk", steps=steps, notes="So.", kind="path", path=PATH))
    assert isinstance(review, s.TextPlanReview)
    assert review.path == s.PlannedPathView.model_validate(PATH)
    assert review.path.why == "Nonsense."
    reply = path_reply(it.session)
    assert (reply.version, reply.hash) == (review.version, review.hash)
    assert (reply.path, reply.reasoning, reply.proposal) == (TOOLS, "So.", review.path.proposal)
    assert reply.paths[0].nodes == NODES
    it.does(c.CancelPlan())
    assert path_view(it.session) is None
    assert path_reply(it.session).path == ()


def test_what_can_be_done_about_a_path_and_its_answer() -> None:
    it = _begun()
    assert "edit_path" in accepted(it.session)
    for number, node in enumerate(NODES, 1):
        it.does(c.Start())
        it.does(finish(action_id=f"1.{number}", ok=True, result=OUTPUTS[node]))
    it.does(c.VerifyTurn(status="success", next_action="complete"))
    it.does(c.GiveAnswer(text="163.", confidence=1))
    assert {"judge", "save_to_library"} <= set(accepted(it.session))
    assert "edit_path" not in accepted(it.session)
    assert it.does(c.Judge(accepted=True, saved=True)) == ["Event", "Log"]
    assert it.does(c.Judge(accepted=False)) == ["Event"]
    assert chat_reply(it.session).result == OUTPUTS["execute_sql"]["result"]


def test_a_flow_is_told_with_its_ordinary_way() -> None:
    assert flow_view(TEXT_TO_SQL).full_path[-1] == "format_final_response"


def test_what_was_said_before_is_kept_from_its_end() -> None:
    long = ChatMessage(role="assistant", content="x" * 30_000)
    asked = ChatRequest(messages=(long, long, ChatMessage(role="user", content="And now?")))
    message = first(asked, "And now?", asked.messages[:-1], confirm="nothing")
    assert len(message.knowledge[0].text) == REMEMBERED
    assert message.settings
    assert message.settings.planning.max_retries == 3
