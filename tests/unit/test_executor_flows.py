"""The executor runs the paths of a test flow: approvals, conditions, questions, edits and failures."""

from pathlib import Path
from typing import Any

import pytest

from parley.events import facts
from parley.events.values import ActionSpec
from parley.flow import Flow, NodeResult, NodeRun, Outputs, node
from parley.protocol.tools import ListTools, PreviewCall, ToolPage
from services.executor.sources import nodes
from services.executor.tools import ToolInvocation, ToolResult
from shared.domain.kernel import commands as c
from shared.llm import ModelFailed
from tests.support.flow_walk import Walk, last, tool, waiting, walked
from tests.support.prompt_sections import sections_of

KITCHEN = """
name: kitchen
description: Cooks what somebody feels like.
nodes:
  read_wish:
    description: Reads the wish.
    inputs: [request]
    optional: [feedback]
    prompt: What do they want?
    outputs: {dish: text, known: boolean}
    next: [find_recipe, refuse, ask_dish]
    conditions: {refuse: "known is False", ask_dish: not dish}
  ask_dish:
    description: Asks which dish.
    ask: Which dish?
    outputs: {dish: text}
    next: [find_recipe]
  find_recipe:
    description: Finds the recipe.
    inputs: [dish]
    tool: cookbook
    arguments: {name: $dish}
    outputs: {recipe: any}
    next: [taste, cook]
  taste:
    description: Has somebody taste.
    ask: Is it good?
    otherwise: "yes"
    outputs: {opinion: text}
    next: [cook]
  cook:
    description: Cooks it.
    inputs: [recipe]
    tool: stove
    arguments: {minutes: $recipe.minutes}
    outputs: {meal: any}
    effect: write
    next: [serve]
  refuse:
    description: Says no.
    set: {meal: nothing}
    next: [serve]
  serve:
    description: Serves.
    inputs: [meal]
    confirm: somebody should look at the plate
    prompt: Say it nicely.
    outputs: {answer: text}
"""
PATH = ("kitchen.read_wish", "kitchen.find_recipe", "kitchen.cook", "kitchen.serve")
SOUP: dict[str, Any] = {
    "kitchen__read_wish": {"outputs": {"dish": "soup", "known": True}},
    "kitchen__serve": {"outputs": {"answer": "Here is your soup."}},
}


class Stove:
    """A tool that records the key and arguments of each call."""

    def __init__(self, answer: Any = "hot soup") -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answer = answer

    def __call__(self, call: ToolInvocation) -> Any:
        self.calls.append((call.key, dict(call.arguments)))
        return self._answer


def kitchen(folder: Path, stove: Any = "hot soup", *flows: Flow, **replies: Any) -> Walk:
    (folder / "kitchen.yaml").write_text(KITCHEN)
    tools = (tool("cookbook", '{"minutes": 20}'), tool("stove", stove, "write", keyed=True))
    return Walk(*flows, tools=tools, folder=folder, **(SOUP | replies))


# --- the planned path


async def test_each_node_of_a_path_runs_as_one_action(tmp_path: Path) -> None:
    stove = Stove()
    walk = kitchen(tmp_path, stove)
    session = await walk.begins("I feel like soup", *PATH, approval="never", confirm="nothing")
    assert walked(session) == ["read_wish", "find_recipe", "cook", "serve"]
    assert last(session).result == {"answer": "Here is your soup."}
    assert stove.calls == [("s/1/1.5/1", {"minutes": 20})]
    assert session.phase == "verifying"
    assert session.turn
    assert [action.tokens for action in session.turn.actions] == [14, 0, 0, 14]
    [first, second] = walk.model.prompts
    assert "Role: executor\nTask: kitchen.read_wish" in first.text
    assert sections_of(second.data)["meal"] == "hot soup"


@pytest.mark.parametrize(
    ("settings", "stops"), [({"confirm": "nodes"}, True), ({"confirm": "path"}, True), ({"confirm": "nothing"}, False)]
)
async def test_a_node_with_confirm_waits_for_approval_unless_the_session_confirms_nothing(
    tmp_path: Path, settings: dict[str, Any], stops: bool
) -> None:
    walk = kitchen(tmp_path)
    session = await walk.begins("I feel like soup", *PATH, approval="never", **settings)
    assert (session.phase == "awaiting_approval") is stops
    if stops:
        spec = waiting(session).spec
        assert (spec.approval_reason, spec.arguments) == ("somebody should look at the plate", {"meal": "hot soup"})
        session = await walk.allows()
    assert last(session).result == {"answer": "Here is your soup."}


# --- leaving the path


async def test_a_condition_can_lead_away_from_the_planned_path(tmp_path: Path) -> None:
    walk = kitchen(tmp_path, kitchen__read_wish={"outputs": {"dish": "dragon", "known": False}})
    session = await walk.begins("Dragon, please", *PATH, confirm="nothing")
    assert walked(session) == ["read_wish", "refuse", "serve"]
    changes = [event for event in walk.events if isinstance(event, facts.TurnChanged)]
    assert [event.reason for event in changes if event.reason] == ["read_wish: known is False"]
    assert [spec.tool for spec in changes[0].actions] == ["kitchen.refuse", "kitchen.serve"]


async def test_a_condition_can_insert_a_node_before_the_planned_ones(tmp_path: Path) -> None:
    walk = kitchen(tmp_path, kitchen__read_wish={"outputs": {"dish": "", "known": True}})
    path = ("kitchen.read_wish", "kitchen.find_recipe", "kitchen.taste", "kitchen.cook", "kitchen.serve")
    paused = await walk.begins("Something", *path, approval="never", confirm="nothing")
    assert paused.question
    assert paused.question.text == "Which dish?"
    session = await walk.answers("stew")
    assert walked(session) == ["read_wish", "ask_dish", "find_recipe", "taste", "cook", "serve"]


class Rounds(Flow):
    name = "rounds"
    description = "Goes round, or where its node says."

    @node("Begins.", outputs=("n",), possible_next_nodes=("end", "begin", "much"), conditions={"begin": "request"})
    async def begin(self, run: NodeRun) -> Outputs:
        return {"n": 1}

    @node("Chooses.", outputs=("n",), possible_next_nodes=("end", "other"))
    async def chooses(self, run: NodeRun) -> NodeResult:
        return NodeResult({"n": 2}, next="other")

    @node("Another.", outputs=("answer",), optional=("n",), possible_next_nodes=("end",))
    async def other(self, run: NodeRun) -> Outputs:
        return {"answer": f"{run.text('n')}, {'next' in run.state}"}

    @node("Ends.", optional=("answer",), possible_next_nodes=())
    async def end(self, run: NodeRun) -> Outputs:
        return {}

    @node("Makes too much.", outputs=("n",), possible_next_nodes=("chooses", "strange", "astray"))
    async def much(self, run: NodeRun) -> Outputs:
        return {"n": "x" * 200_001}

    @node("Makes what it does not say.", possible_next_nodes=("end", "begin"))
    async def strange(self, run: NodeRun) -> Outputs:
        return {"surprise": 1}

    @node("Leads nowhere.", possible_next_nodes=("end",))
    async def astray(self, run: NodeRun) -> NodeResult:
        return NodeResult({}, next="nowhere")


async def test_a_path_that_loops_ends_with_a_failure() -> None:
    walk = Walk(Rounds())
    ended = await walk.begins("Go", "rounds.begin", "rounds.end")
    assert ended.failure
    assert "round in circles. Tried again it would be the same: say" in ended.failure.reason
    assert not ended.failure.retryable
    assert len([event for event in walk.events if isinstance(event, facts.ActionsFinished)]) >= 29


async def test_a_node_can_choose_the_next_node() -> None:
    session = await Walk(Rounds()).begins("Go", "rounds.chooses", "rounds.end")
    assert walked(session) == ["chooses", "other", "end"]
    assert session.turn
    assert session.turn.actions[1].result == {"answer": "2, False"}


@pytest.mark.parametrize(
    ("name", "why"),
    [("much", "200009 bytes; 200000 are allowed"), ("strange", "made surprise"), ("astray", "leads to “nowhere”")],
)
async def test_an_invalid_result_fails_the_node(name: str, why: str) -> None:
    session = await Walk(Rounds()).begins("Go", f"rounds.{name}", "rounds.end")
    assert last(session).status == "failed"
    assert why in last(session).error


async def test_a_node_fails_when_all_outputs_of_the_path_exceed_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "MAX_PATH_OUTPUTS", 30)
    session = await Walk(Rounds()).begins("Go", "rounds.other", "rounds.other", "rounds.end")
    assert "have made 30 bytes already: begin a new request" in last(session).error
    assert walked(session) == ["other"]


# --- questions


async def test_a_question_node_uses_its_default_when_the_session_confirms_nothing(tmp_path: Path) -> None:
    walk = kitchen(tmp_path)
    path = ("kitchen.read_wish", "kitchen.find_recipe", "kitchen.taste", "kitchen.cook", "kitchen.serve")
    session = await walk.begins("Soup", *path, approval="never", confirm="nothing")
    assert session.turn
    assert session.turn.actions[2].result == {"opinion": "yes"}


# --- the user changes the request or the path


async def test_replanning_does_not_repeat_a_finished_write_and_keeps_its_output(tmp_path: Path) -> None:
    walk = kitchen(tmp_path, stove := Stove())
    session = await walk.begins("Soup", *PATH, approval="never")
    assert waiting(session).spec.tool == "kitchen.serve"
    await walk.commit(c.Say(text="on a blue plate"))
    await walk.plans(*PATH)  # it is offered
    await walk.commit(c.TakeOffer())
    again = await walk.goes()
    assert walked(again) == ["read_wish", "find_recipe"]
    assert waiting(again).spec.arguments == {"meal": "hot soup"}
    assert len(stove.calls) == 1


class Crossing(Flow):
    name = "crossing"
    description = "Left by its condition, or right."

    @node("Comes.", outputs=("way",), possible_next_nodes=("left", "right"), conditions={"left": "way"})
    async def come(self, run: NodeRun) -> Outputs:
        return {"way": "left"}

    @node("Goes left.", inputs=("way",), outputs=("answer",), confirm="left is steep")
    async def left(self, run: NodeRun) -> Outputs:
        return {"answer": "left"}

    @node("Goes right.", inputs=("way",), outputs=("answer",), confirm="right is far")
    async def right(self, run: NodeRun) -> Outputs:
        return {"answer": "right"}


async def test_a_condition_does_not_override_the_user_s_choice_of_node() -> None:
    """When the node gets its arguments, the path changes once more; the user's choice holds then too."""
    walk = Walk(Crossing())
    paused = await walk.begins("Go", "crossing.come", "crossing.left")
    assert waiting(paused).spec.tool == "crossing.left"
    await walk.commit(c.EditPath(actions=(ActionSpec(id="0", tool="crossing.right"),), after="1.1"))
    again = await walk.goes()
    assert (waiting(again).spec.tool, waiting(again).spec.arguments) == ("crossing.right", {"way": "left"})
    session = await walk.allows()
    assert last(session).result == {"answer": "right"}


# --- two flows


class Shop(Flow):
    name = "shop"
    description = "Buys."
    may_start = ("findings",)

    @node("Buys.", inputs=("request",), optional=("findings",), outputs=("answer",))
    async def buy(self, run: NodeRun) -> Outputs:
        return {"answer": f"{run.text('request')}: {run.state['findings']}"}


async def test_the_second_flow_gets_the_outputs_of_the_first(tmp_path: Path) -> None:
    walk = kitchen(tmp_path, "hot soup", Shop())
    session = await walk.begins("Soup", *PATH, "shop.buy", approval="never", confirm="nothing")
    assert last(session).spec.tool == "shop.buy"
    recipe = {"dish": "soup", "known": True, "recipe": {"minutes": 20}}
    findings = {**recipe, "meal": "hot soup", "answer": "Here is your soup."}
    assert last(session).result == {"answer": f"Soup: {findings}"}


# --- failures


async def test_a_model_failure_is_raised_and_the_node_runs_again_later(tmp_path: Path) -> None:
    replies = [ModelFailed("too many requests"), SOUP["kitchen__read_wish"]]
    walk = kitchen(tmp_path, kitchen__read_wish=replies)
    with pytest.raises(ModelFailed):
        await walk.begins("Soup", *PATH, confirm="nothing")
    assert walk.events[-1].type == "actions.started"
    session = await walk.goes()
    assert (session.phase, walked(session)) == ("awaiting_approval", ["read_wish", "find_recipe"])


REFUSED = {
    "No gas.": ToolResult(ok=False, error="No gas."),
    "in a turn or a plan": ToolResult(ok=True, files={"menu": None}),
}


@pytest.mark.parametrize(("words", "result"), REFUSED.items())
async def test_a_failed_write_fails_its_node(tmp_path: Path, words: str, result: ToolResult) -> None:
    session = await kitchen(tmp_path, result).begins("Soup", *PATH, approval="never", confirm="nothing")
    assert (last(session).status, words in last(session).error, session.files) == ("failed", True, {})


async def test_a_write_with_an_unknown_outcome_is_uncertain(tmp_path: Path) -> None:
    walk = kitchen(tmp_path, OSError("cut"))
    session = await walk.begins("Soup", *PATH, approval="never")
    assert (session.phase, walk.events[-1].type) == ("awaiting_input", "action.uncertain")


async def test_a_write_node_without_its_inputs_fails_before_the_tool_runs(tmp_path: Path) -> None:
    stove = Stove()
    walk = kitchen(tmp_path, stove)
    session = await walk.begins("Soup", "kitchen.cook", "kitchen.serve", approval="never")
    assert (last(session).status, stove.calls) == ("failed", [])
    assert "cook needs recipe, which nothing before it has made" in last(session).error


async def test_a_node_cannot_call_a_tool_with_a_greater_effect_than_its_own(tmp_path: Path) -> None:
    (tmp_path / "kitchen.yaml").write_text(KITCHEN)
    stove = Stove()
    walk = Walk(tools=(tool("cookbook", stove, "write"),), folder=tmp_path, **SOUP)
    session = await walk.begins("Soup", *PATH)
    assert "“cookbook” has the effect write, its node find_recipe says read" in last(session).error
    assert stove.calls == []


async def test_a_node_cannot_call_a_denied_tool(tmp_path: Path) -> None:
    (tmp_path / "kitchen.yaml").write_text(KITCHEN)
    stove = Stove('{"minutes": 1}')
    walk = Walk(tools=(tool("cookbook", stove, policy="deny"),), folder=tmp_path, **SOUP)
    session = await walk.begins("Soup", *PATH)
    assert (last(session).status, stove.calls) == ("denied", [])


async def test_nodes_are_not_listed_as_tools_but_can_be_previewed(tmp_path: Path) -> None:
    walk = kitchen(tmp_path)
    page = ToolPage.model_validate_json(await walk.requests.list("", ListTools().model_dump_json().encode()))
    assert [tool.name for tool in page.tools] == ["cookbook", "stove"]
    assert walk.registry.find("kitchen.cook")
    preview = PreviewCall(session_id="s", tool="kitchen.cook", arguments={})
    assert b'"known":false' in await walk.requests.preview("", preview.model_dump_json().encode())


# --- listings


async def test_flows_are_listed_with_their_initial_states(tmp_path: Path) -> None:
    walk = kitchen(tmp_path)
    (tmp_path / "broken.yaml").write_text("x: [")
    await walk.commit(c.Say(text="Soup", workflow="flow"))
    page = await walk.page("s")
    assert [flow.name for flow in page.flows] == ["complaint_triage", "kitchen"]
    assert page.states["kitchen"] == {"request": "Soup"}
    assert (await walk.page()).states == {}
    assert (await kitchen(tmp_path).page()).troubles[0].startswith(str(tmp_path / "broken.yaml"))
