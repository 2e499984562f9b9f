"""Planning of paths: valid and rejected proposals, the full graph, the cache, the prompt."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from parley.events.values import NodeProposal, PathPlan, Planning, SessionSettings
from parley.protocol.flows import FlowPage, FlowSpec, NodeSpec
from parley.protocol.pages import LibraryEntry
from parley.reply import QuestionDraft
from services.planner.flow import WHICH_FLOW, PathCache, PathPlanner
from services.planner.flow_prompt import FlowPath, NewNode, PathDraft, build_prompt
from services.planner.recall import MAX_EXAMPLES, SimilarExamples
from shared.domain import commands as c
from shared.domain.session import Session
from shared.flows import chain_problems, full_path, group_by_flow, missing_inputs, path_problems
from shared.llm import ModelFailed, ModelUnreachable, ScriptedModel
from shared.llm.sections import section
from shared.settings import Settings
from shared.testing import InMemoryLog, InMemoryStore
from tests.support.work import work_context
from tests.unit.domain.spec import given

TEA = FlowSpec(
    name="tea",
    description="Makes tea.",
    may_start=("water",),
    nodes=(
        NodeSpec(
            name="boil", description="Boil", inputs=("request",), outputs=("water",),
            possible_next_nodes=("brew", "tell"),
        ),
        NodeSpec(name="brew", description="Brew", inputs=("water",), outputs=("tea",), possible_next_nodes=("tell",)),
        NodeSpec(name="tell", description="Tell", inputs=("tea",), outputs=("answer",)),
    ),
)  # fmt: skip
WASH = FlowSpec(
    name="wash",
    description="Washes up.",
    may_start=("findings",),
    nodes=(
        NodeSpec(
            name="scrub", description="Scrub", inputs=("request",), optional=("findings",), outputs=("clean",),
            possible_next_nodes=("dry",), effect="write",
        ),
        NodeSpec(name="dry", description="Dry", inputs=("clean",), outputs=("answer",)),
    ),
)  # fmt: skip
BOTH = FlowPage(flows=(TEA, WASH), states={"tea": {"request": "tea please"}, "wash": {"request": "tea please"}})
ONE = FlowPage(flows=(TEA,), states={"tea": {"request": "tea please"}})
WHOLE = ("tea.boil", "tea.brew", "tea.tell")
ENTRY = LibraryEntry(
    session_id="s0", round=1, version=9, request="tea?", flows=("tea",), path=WHOLE, question="", sql="", tables=(),
    answer="here", accepted=True, saved=False, at=datetime(2030, 1, 1, tzinfo=UTC),
)  # fmt: skip


def paths(*chain: tuple[str, Sequence[str]], **more: Any) -> PathDraft:
    return PathDraft(paths=[FlowPath(flow=flow, nodes=list(nodes)) for flow, nodes in chain], reasoning="why", **more)


GOOD = paths(("tea", ("boil", "brew", "tell")))
BAD = paths(("tea", ("boil", "tell")))


class PlannerBench:
    """A path planner with these flows, this cache and these examples."""

    def __init__(self, page: FlowPage = ONE, *, cache: int = 4, examples: Sequence[LibraryEntry] = ()) -> None:
        async def similar(_: Session) -> Sequence[LibraryEntry]:
            return examples

        self.flow_page = page
        self.cache = PathCache(cache)
        self.planner = PathPlanner(self, similar, self.cache)
        self.model = ScriptedModel()

    async def page(self, session_id: str) -> FlowPage:
        assert session_id == "s1"
        return self.flow_page

    async def plan(self, session: Session, *replies: BaseModel | Exception) -> Any:
        self.model = ScriptedModel(*replies)
        return await self.planner.plan(work_context("planner", session, self.model))


def session_for(text: str = "tea please", *, confirm: Any = "nodes", **planning: Any) -> Session:
    settings = SessionSettings(confirm=confirm, planning=Planning(**planning))
    return given(c.Say(text=text, workflow="flow", settings=settings)).session


# --- proposals of the model


async def test_a_path_becomes_a_turn_whose_nodes_depend_on_each_other() -> None:
    bench = PlannerBench()
    result = await bench.plan(session_for(), GOOD.model_copy(update={"say": "It takes a minute."}))
    assert isinstance(result, c.PlanTurn)
    assert result.say == "It takes a minute."
    assert result.path == PathPlan(nodes=WHOLE, attempts=1)
    assert [(a.id, a.tool, a.effect, a.depends_on) for a in result.actions] == [
        ("1.1", "tea.boil", "read", ()),
        ("1.2", "tea.brew", "read", ("1.1",)),
        ("1.3", "tea.tell", "read", ("1.2",)),
    ]
    assert (result.final, result.reasoning) == (True, "why")


async def test_an_invalid_path_is_sent_back_with_the_reasons() -> None:
    bench = PlannerBench()
    result = await bench.plan(session_for(), BAD, GOOD)
    assert result.path.attempts == 2
    assert "tell needs tea, which nothing before it makes." in bench.model.prompts[1].text
    assert "<problems-" not in bench.model.prompts[0].text


@pytest.mark.parametrize("tries", [1, 3])
async def test_after_invalid_paths_the_planner_falls_back_to_the_full_graph(tries: int) -> None:
    result = await PlannerBench().plan(session_for(max_retries=tries), *[BAD] * tries)
    assert result.path.nodes == WHOLE
    assert result.path.fallback
    assert result.path.attempts == tries
    assert "tell needs tea" in result.path.fallback_reason


async def test_a_reply_without_a_path_counts_as_an_invalid_one() -> None:
    result = await PlannerBench().plan(session_for(), ModelFailed("not JSON", raw="???"))
    assert result.path.fallback
    assert "did not give a path: not JSON" in result.path.fallback_reason


async def test_an_unreachable_model_is_an_error_and_no_invalid_path() -> None:
    with pytest.raises(ModelUnreachable):
        await PlannerBench().plan(session_for(), ModelUnreachable("nobody listens"))


async def test_without_a_fallback_planning_fails_and_says_why() -> None:
    result = await PlannerBench().plan(session_for(fallback_enabled=False), BAD, BAD, BAD)
    assert isinstance(result, c.Fail)
    assert result.retryable
    assert "3 tries" in result.reason
    assert "tell needs tea" in result.reason


async def test_without_planning_the_full_graph_is_used_and_the_model_not_called() -> None:
    bench = PlannerBench()
    result = await bench.plan(session_for(use_planning=False))
    assert (result.path.nodes, result.path.fallback, result.path.attempts) == (WHOLE, True, 0)
    assert bench.model.prompts == []


async def test_without_planning_the_first_of_several_flows_is_used_unless_one_is_named() -> None:
    bench = PlannerBench(BOTH)
    first = await bench.plan(session_for(use_planning=False))
    assert (first.path.nodes, first.path.fallback) == (WHOLE, True)
    named = await bench.plan(session_for(use_planning=False, flow="wash"))
    assert named.path.nodes == ("wash.scrub", "wash.dry")
    assert bench.model.prompts == []


async def test_the_planner_asks_the_user_which_of_several_flows_to_fall_back_to() -> None:
    question = await PlannerBench(BOTH).plan(session_for(), ModelFailed("not JSON", raw="?"))
    assert isinstance(question, c.Ask)
    assert question.options == ("tea", "wash")
    assert question.text.endswith(WHICH_FLOW)
    answered = given(c.Answer(text="wash"), begin=given(question, begin=session_for()).session).session
    second = await PlannerBench(BOTH).plan(answered, ModelFailed("not JSON", raw="?"))
    assert second.path.nodes == ("wash.scrub", "wash.dry")


async def test_the_fallback_uses_the_flow_that_the_invalid_path_names() -> None:
    result = await PlannerBench(BOTH).plan(session_for(), *[paths(("wash", ("dry",)))] * 3)
    assert result.path.fallback
    assert result.path.nodes == ("wash.scrub", "wash.dry")
    after_failure = await PlannerBench(BOTH).plan(
        session_for(), paths(("wash", ("dry",))), ModelFailed("not JSON", raw="?")
    )
    assert after_failure.path.nodes == ("wash.scrub", "wash.dry")
    unknown = await PlannerBench(BOTH).plan(session_for(), *[paths(("bath", ("x",)))] * 3)
    assert isinstance(unknown, c.Ask)
    answered = given(unknown, c.Answer(text="whatever"), begin=session_for()).session
    again = await PlannerBench(BOTH).plan(answered, *[paths(("bath", ("x",)))] * 3)
    assert isinstance(again, c.Fail), "the planner does not ask twice"
    assert "name one of tea, wash" in again.reason


async def test_a_question_from_the_model_has_the_flows_as_options() -> None:
    result = await PlannerBench(BOTH).plan(session_for(), QuestionDraft(text=" Tea or washing up? "))
    assert result == c.Ask(text="Tea or washing up?", options=("tea", "wash"))
    other = await PlannerBench(BOTH).plan(session_for(), QuestionDraft(text="Which SQL is it?"))
    assert other == c.Ask(text="Which SQL is it?"), "flows are no answer to this"


async def test_a_path_must_use_the_flow_that_the_settings_name() -> None:
    bench = PlannerBench(BOTH)
    result = await bench.plan(session_for(flow="wash"), paths(("tea", ("boil",))), paths(("wash", ("scrub", "dry"))))
    assert result.path.nodes == ("wash.scrub", "wash.dry")
    assert "There is no flow “tea”; the flows are wash." in bench.model.prompts[1].text
    missing = await bench.plan(session_for(flow="bath"))
    assert (missing.reason, missing.retryable) == ("There is no flow “bath”.", False)
    nothing = await PlannerBench(FlowPage(flows=(), troubles=("a.yaml: broken",))).plan(session_for())
    assert nothing.reason == "No flow is registered. a.yaml: broken"


async def test_a_path_may_go_through_two_flows() -> None:
    result = await PlannerBench(BOTH).plan(
        session_for(), paths(("tea", ("boil", "brew", "tell")), ("wash", ("scrub", "dry")))
    )
    assert result.path.nodes == (*WHOLE, "wash.scrub", "wash.dry")
    assert result.sub_goal == "Walk tea and wash"
    assert group_by_flow(result.path.nodes) == [("tea", ["boil", "brew", "tell"]), ("wash", ["scrub", "dry"])]


async def test_a_proposed_new_node_is_recorded_and_not_run() -> None:
    node = NewNode(flow="tea", name="milk", description="Adds milk", why="they asked for it")
    result = await PlannerBench().plan(session_for(), GOOD.model_copy(update={"new_node": node}))
    assert result.path.proposal == NodeProposal(
        flow="tea", name="milk", description="Adds milk", reason="they asked for it"
    )
    assert "tea.milk" not in [action.tool for action in result.actions]


async def test_accepted_paths_are_shown_as_examples() -> None:
    bench = PlannerBench(examples=(ENTRY,))
    result = await bench.plan(session_for(), GOOD)
    assert result.path.examples == 1
    assert json.dumps({"request": "tea?", "path": WHOLE}) in bench.model.prompts[0].text


@pytest.mark.parametrize(("planning", "temperature"), [({}, 0.3), ({"temperature": 1.5}, 1.5)])
async def test_the_model_is_called_with_the_temperature_of_the_session(
    planning: dict[str, Any], temperature: float
) -> None:
    bench = PlannerBench()
    await bench.plan(session_for(**planning), GOOD)
    assert bench.model.prompts[0].temperature == temperature


# --- the cache


async def test_the_same_request_in_the_same_state_is_planned_once() -> None:
    bench = PlannerBench()
    first = await bench.plan(session_for(), GOOD)
    again = await bench.plan(session_for())
    assert bench.model.prompts == []
    assert again.path == PathPlan(nodes=WHOLE, cached=True)
    assert [a.tool for a in again.actions] == [a.tool for a in first.actions]


OTHER_STATE = ONE.model_copy(update={"states": {"tea": {"water": 1}}})
CHANGED: list[Callable[[PlannerBench], Session]] = [
    lambda _: session_for("other tea"),
    lambda _: session_for(cache=False),
    lambda bench: setattr(bench, "flow_page", BOTH) or session_for(),  # type: ignore[func-returns-value]
    lambda bench: setattr(bench, "flow_page", OTHER_STATE) or session_for(),  # type: ignore[func-returns-value]
]


@pytest.mark.parametrize("change", CHANGED, ids=["request", "switched off", "flows", "state"])
async def test_a_different_request_flow_or_state_is_planned_again(change: Callable[[PlannerBench], Session]) -> None:
    bench = PlannerBench()
    await bench.plan(session_for(), GOOD)
    result = await bench.plan(change(bench), GOOD)
    assert not result.path.cached
    assert len(bench.model.prompts) == 1


async def test_a_rejected_path_is_not_taken_from_the_cache_for_the_next_plan() -> None:
    bench = PlannerBench()
    story = given(
        c.Say(text="tea please", workflow="flow", settings=SessionSettings(confirm="path")),
        await bench.plan(session_for(confirm="path"), GOOD),
    )
    refused = given(c.Reject(replan=True), begin=story.session).session
    again = await bench.plan(refused, GOOD)
    assert not again.path.cached
    assert section("problems", f"The person wants another path than {', '.join(WHOLE)}.") in bench.model.prompts[0].text
    assert (await bench.plan(session_for(confirm="path"))).path.cached


async def test_paths_that_are_too_long_together_are_sent_back() -> None:
    brews = ("boil", "brew", "again")
    loop = TEA.nodes[1].model_copy(update={"name": "again", "possible_next_nodes": ("boil", "tell")})
    brew = TEA.nodes[1].model_copy(update={"possible_next_nodes": ("again",)})
    round_tea = TEA.model_copy(update={"nodes": (TEA.nodes[0], brew, loop, TEA.nodes[2])})
    bench = PlannerBench(FlowPage(flows=(round_tea,), states=ONE.states))
    long = ("tea", (*brews * 13, "tell"))
    result = await bench.plan(session_for(), paths(long, long), paths(("tea", (*brews, "tell"))))
    assert result.path.attempts == 2
    assert "It has 80 nodes; a path has 60 at most." in bench.model.prompts[1].text


async def test_the_cache_is_bounded_and_keeps_no_fallbacks() -> None:
    bench = PlannerBench(cache=2)
    for number in range(5):
        await bench.plan(session_for(f"tea {number}"), GOOD)
    assert len(bench.cache) == 2
    assert (await bench.plan(session_for("tea 4"))).path.cached
    await bench.plan(session_for("odd tea"), BAD, BAD, BAD)
    assert not (await bench.plan(session_for("odd tea"), GOOD)).path.cached
    without_cache = PlannerBench(cache=0)
    await without_cache.plan(session_for(), GOOD)
    assert len(without_cache.cache) == 0


# --- valid and invalid paths


@pytest.mark.parametrize(
    ("path", "available", "why"),
    [
        ((), ("request",), "The path has no nodes."),
        (("boil", "bake"), ("request",), "tea has no node “bake”; its nodes are boil, brew, tell."),
        (("brew", "tell"), ("request",), "brew needs water, which nothing before it makes."),
        (("boil", "brew"), ("request",), "The path ends at brew, which is no end: tell."),
        (("tell", "boil"), ("tea", "request"), "tell is not followed by boil; it is followed by nothing"),
    ],
)
def test_an_invalid_path_has_reasons(path: tuple[str, ...], available: tuple[str, ...], why: str) -> None:
    assert why in " ".join(path_problems(TEA, path, available))


def test_a_path_may_begin_within_the_flow_if_its_inputs_are_available() -> None:
    assert path_problems(TEA, ("brew", "tell"), ("water",)) == ()
    assert path_problems(TEA, ("tell",), ("tea",), after="brew") == ()
    assert "tell is not followed by brew" in path_problems(TEA, ("brew", "tell"), ("water",), after="tell")[0]
    assert chain_problems(ONE, ()) == ("There is no path.",)
    assert chain_problems(ONE, (("bath", ("x",)),)) == ("There is no flow “bath”; the flows are tea.",)
    assert full_path(TEA) == ("boil", "brew", "tell")


def test_problems_of_a_path_have_titles_for_people_and_names_for_programs() -> None:
    titled = TEA.model_copy(
        update={"nodes": tuple(node.model_copy(update={"title": node.description + " it"}) for node in TEA.nodes)}
    )
    path, available = ("tell", "brew"), ("old_tea",)
    assert path_problems(titled, path, available)[1].startswith(
        "tell is not followed by brew; it is followed by nothing"
    )
    assert path_problems(titled, path, available, titles=True) == (
        "Tell it needs tea, which nothing before it makes.",
        "Tell it is not followed by Brew it; it is followed by nothing: the flow ends there.",
        "Brew it needs water, which nothing before it makes.",
        "The path ends at Brew it, which is no end: Tell it.",
    )
    assert path_problems(TEA, ("bake_it",), (), titles=True) == (
        "tea has no node “bake_it”; its nodes are boil, brew, tell.",
    )
    assert missing_inputs(TEA, ("brew", "tell", "bake"), ()) == ("water",)
    assert missing_inputs(TEA, ("tell", "brew"), ("request",)) == ("tea", "water")
    assert missing_inputs(TEA, ("boil", "brew", "tell"), ("request",)) == ()


# --- prompt and replies


def test_the_prompt_has_the_flows_and_a_shortened_state() -> None:
    page = ONE.model_copy(update={"states": {"tea": {"request": "r" * 999, "rows": list(range(400)), "few": [1]}}})
    system, told = build_prompt(session_for(), Settings(), page, ())
    assert '"possible_next_nodes": ["brew", "tell"]' in system["content"]
    text = system["content"] + told["content"]
    assert '"asks"' not in text, "fields with their default are left out"
    assert '"(400 entries)"' in text
    assert '"few": [1]' in text
    assert "r" * 401 not in text
    assert "<examples-" not in text


# --- requests to other services


async def test_examples_have_a_path_and_none_are_used_without_recall_or_a_store() -> None:
    class Store:
        def __init__(self, *items: LibraryEntry) -> None:
            self.items = [item.model_dump(mode="json") for item in items]

        async def ask(self, verb: str, **arguments: Any) -> Any:
            assert (verb, arguments["user"], arguments["limit"]) == ("library.similar", "ann", MAX_EXAMPLES)
            assert arguments["workflow"] == "flow"
            return {"items": self.items, "total": len(self.items)}

    without_path = ENTRY.model_copy(update={"flows": (), "path": ()})  # the accepted answer of another workflow
    assert await SimilarExamples(Store(ENTRY, without_path)).find(session_for()) == (ENTRY,)
    assert await SimilarExamples(InMemoryStore(InMemoryLog())).find(session_for()) == ()
    without_recall = given(c.Say(text="tea please", workflow="flow", settings=SessionSettings(recall=False))).session
    assert await SimilarExamples(Store(ENTRY)).find(without_recall) == ()
