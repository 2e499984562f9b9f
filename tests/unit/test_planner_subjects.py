"""Planners state whether tools tell whom a call is about, and share examples and paths only within a subject."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parley.protocol.flows import FlowPage
from parley.protocol.tools import ToolPage
from parley.reply import Kind
from services.planner.agentflow import MAX_PROPOSALS, MAX_SEARCHES
from services.planner.agentflow_prompt import NothingToDo, Planned, TurnDraft
from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from services.planner.flow import PathCache
from services.planner.plan_generators import PlanGenerators
from services.planner.recall import SimilarExamples, no_examples
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.llm import ScriptedModel
from shared.settings import MODEL
from tests.support.outside import installed
from tests.support.work import work_context
from tests.unit.domain.spec import given, request
from tests.unit.test_planner_paths import GOOD, ONE, PlannerBench, session_for
from tests.unit.test_planner_turns import FLOW, PAGE, FixedTools, planned

BAD = TurnDraft(sub_goal="x", actions=[Planned(tool="none_such")])
GENERATOR = """
    from parley.events.values import Step
    from parley.plan_generator import Draft, PlanGenerator

    class Own(PlanGenerator):
        async def generate(self, request, tools, context):
            return Draft("Look", [Step(id="s1", tool="get_order_details", text="Look", arguments={"order_id": "#W1"})])
"""
LOOK = StepDraft(id="s1", tool="get_order_details", text="Look", arguments={"order_id": "#W1"})


def about(session: Session, subject: str, **changes: Any) -> Session:
    return replace(session, subject=subject, subjects="possible", **changes)


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("replies", [(NothingToDo(reason="no"),), [BAD] * (MAX_PROPOSALS + MAX_SEARCHES)])
async def test_a_turn_states_whether_tools_tell(replies: list[Kind], tells: bool) -> None:
    tools = FixedTools(PAGE.model_copy(update={"tells_subjects": tells}))
    session = given(*FLOW).session
    asked = with_questions(session) if len(replies) > 1 else session
    command, _ = await planned(asked, *replies, tools=tools)
    assert isinstance(command, c.PlanTurn)
    assert command.tells_subjects is tells


def with_questions(session: Session) -> Session:
    """The session after as many questions as a request may have, so that a planner without a turn gives up."""
    for number in range(3):
        session = given(c.Ask(text=f"Which {number}?"), c.Answer(text="This one"), begin=session).session
    return session


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("name", [MODEL, "own"])
async def test_a_drafted_plan_states_whether_tools_tell(
    name: str, tells: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, monkeypatch, {"own_plans": GENERATOR}, {"parley.plan_generators": {"own": "own_plans:Own"}})
    tools = FixedTools(PAGE.model_copy(update={"tells_subjects": tells}))

    async def every(_: tuple[str, ...]) -> ToolPage:
        return await tools.listed("")

    model = ScriptedModel(StepsDraft(goal="Look", steps=[LOOK]))
    context = work_context("planner", given(request("execution_plan")).session, model)
    command = await PlanGenerators([name], every).draft(context, tools, no_examples)
    assert isinstance(command, c.DraftPlan), command
    assert command.tells_subjects is tells


@pytest.mark.parametrize("confirm", ["nodes", "path"])
@pytest.mark.parametrize("tells", [True, False])
async def test_a_path_states_whether_its_flow_calls_tools_that_tell(tells: bool, confirm: str) -> None:
    (tea,) = ONE.flows
    other = tea.model_copy(update={"name": "other", "tells_subjects": not tells})
    page = ONE.model_copy(update={"flows": (tea.model_copy(update={"tells_subjects": tells}), other)})
    command = await PlannerBench(page).plan(session_for(confirm=confirm), GOOD)
    assert command.tells_subjects is tells


async def test_examples_are_asked_for_the_subject() -> None:
    asked: list[str] = []

    class Store:
        async def ask(self, verb: str, **arguments: Any) -> Any:
            asked.append(arguments["subject"])
            return {"items": [], "total": 0}

    session = session_for()
    for each in (session, about(session, "retail:ann"), replace(about(session, "retail:ann"), subjects="several")):
        await SimilarExamples(Store()).find(each)
    assert asked == ["", "retail:ann", ""]


def test_sessions_share_cached_paths_only_within_a_subject() -> None:
    session, page = session_for(), FlowPage(flows=())
    ann, unknown = about(session, "retail:ann"), about(session, "")

    def key(session: Session, session_id: str = "s1") -> str:
        return PathCache(1).key(replace(session, id=session_id), page)

    assert len({key(each) for each in (session, ann, about(session, "retail:bob"), unknown)}) == 4
    assert [key(each) == key(each, "s2") for each in (session, ann, unknown)] == [True, True, False]
