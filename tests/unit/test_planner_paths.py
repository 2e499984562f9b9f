"""Planning of paths: valid and rejected proposals, the full graph, the cache, the prompt."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from parley.events.values import NodeProposal, PathPlan, Planning, SessionSettings
from parley.protocol.flows import FlowPage, FlowSpec, ListFlows, NodeSpec
from parley.protocol.pages import LibraryEntry
from parley.reply import QuestionDraft
from services.planner.examples import MAX_EXAMPLES, similar_examples
from services.planner.flow import WHICH_FLOW, PathPlanner
from services.planner.flow_client import FlowClient
from services.planner.flow_prompt import FlowPath, NewNode, PathDraft, PathReply, build_prompt, render_partial
from services.planner.path_cache import PathCache
from shared.bus import BusUnavailable
from shared.domain import commands as c
from shared.domain.session import Session, with_words
from shared.domain.state import AnsweredQuestion
from shared.flows import chain_problems, full_path, group_by_flow, missing_inputs, path_problems
from shared.llm import ModelFailed, ModelUnreachable, ScriptedModel
from shared.log import SessionAtPosition
from shared.settings import Settings
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps
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
    """The flows there are, and a planner at its desk."""

    def __init__(self, page: FlowPage = ONE, *, cache: int = 4, examples: Sequence[LibraryEntry] = ()) -> None:
        async def similar(_: Session) -> Sequence[LibraryEntry]:
            return examples

        self.found = page
        self.known = PathCache(cache)
        self.planner = PathPlanner(self, similar, self.known)
        self.model = ScriptedModel()

    async def page(self, session_id: str) -> FlowPage:
        assert session_id == "s1"
        return self.found

    async def plan(self, session: Session, *replies: BaseModel | Exception) -> Any:
        self.model = ScriptedModel(*replies)
        log = InMemoryLog()
        kit = WorkerDeps("planner", InMemoryStore(log), log, self.model, Drafts(None), Settings())
        return await self.planner.plan(WorkContext(kit, SessionAtPosition(session, 0), cause="e1"))


def session_for(text: str = "tea please", *, confirm: Any = "nodes", **planning: Any) -> Session:
    settings = SessionSettings(confirm=confirm, planning=Planning(**planning))
    return given(c.Say(text=text, workflow="flow", settings=settings)).session


# --- what becomes of a proposal


async def test_a_path_becomes_a_turn_of_nodes_one_after_the_other() -> None:
    kitchen = PlannerBench()
    result = await kitchen.plan(session_for(), GOOD)
    assert isinstance(result, c.PlanTurn)
    assert result.path == PathPlan(nodes=WHOLE, attempts=1)
    assert [(a.id, a.tool, a.effect, a.depends_on) for a in result.actions] == [
        ("1.1", "tea.boil", "read", ()),
        ("1.2", "tea.brew", "read", ("1.1",)),
        ("1.3", "tea.tell", "read", ("1.2",)),
    ]
    assert (result.final, result.reasoning) == (True, "why")


async def test_a_path_to_be_seen_first_is_a_plan() -> None:
    plan = await PlannerBench().plan(session_for(confirm="path"), GOOD)
    assert isinstance(plan, c.DraftPlan)
    assert (plan.kind, [step.tool for step in plan.steps], plan.notes) == ("path", list(WHOLE), "why")
    assert plan.path == PathPlan(nodes=WHOLE, attempts=1)
    shown_ = given(*(c.Say(text="tea", workflow="flow"), plan)).session
    assert shown_.phase == "awaiting_approval"


async def test_what_cannot_be_walked_goes_back_with_the_reasons() -> None:
    kitchen = PlannerBench()
    result = await kitchen.plan(session_for(), BAD, GOOD)
    assert result.path.attempts == 2
    assert "tell needs tea, which nothing before it makes." in kitchen.model.prompts[1].text
    assert "<problems>\n" not in kitchen.model.prompts[0].text


@pytest.mark.parametrize("tries", [1, 3])
async def test_after_bad_plans_the_full_graph_is_walked(tries: int) -> None:
    result = await PlannerBench().plan(session_for(max_retries=tries), *[BAD] * tries)
    assert result.path.nodes == WHOLE
    assert result.path.fallback
    assert result.path.attempts == tries
    assert "tell needs tea" in result.path.fallback_reason


async def test_a_model_that_gives_no_path_at_all_is_a_bad_plan_too() -> None:
    result = await PlannerBench().plan(session_for(), ModelFailed("not JSON", raw="???"))
    assert result.path.fallback
    assert "did not give a path: not JSON" in result.path.fallback_reason


async def test_a_model_that_is_away_is_waited_for() -> None:
    with pytest.raises(ModelUnreachable):
        await PlannerBench().plan(session_for(), ModelUnreachable("nobody listens"))


async def test_without_a_fallback_it_fails_and_says_why() -> None:
    result = await PlannerBench().plan(session_for(fallback_enabled=False), BAD, BAD, BAD)
    assert isinstance(result, c.Fail)
    assert result.retryable
    assert "3 tries" in result.reason
    assert "tell needs tea" in result.reason


async def test_the_full_graph_is_walked_without_asking_the_model() -> None:
    kitchen = PlannerBench()
    result = await kitchen.plan(session_for(use_planning=False))
    assert (result.path.nodes, result.path.fallback, result.path.attempts) == (WHOLE, True, 0)
    assert kitchen.model.prompts == []


async def test_of_several_full_graphs_that_of_the_first_flow_is_walked_unless_another_is_named() -> None:
    kitchen = PlannerBench(BOTH)
    first = await kitchen.plan(session_for(use_planning=False))
    assert (first.path.nodes, first.path.fallback) == (WHOLE, True)
    named = await kitchen.plan(session_for(use_planning=False, flow="wash"))
    assert named.path.nodes == ("wash.scrub", "wash.dry")
    assert kitchen.model.prompts == []


async def test_of_several_flows_the_person_says_which_one_to_fall_back_to() -> None:
    question = await PlannerBench(BOTH).plan(session_for(), ModelFailed("not JSON", raw="?"))
    assert isinstance(question, c.Ask)
    assert question.options == ("tea", "wash")
    assert question.text.endswith(WHICH_FLOW)
    answered = given(c.Answer(text="wash"), begin=given(question, begin=session_for()).session).session
    second = await PlannerBench(BOTH).plan(answered, ModelFailed("not JSON", raw="?"))
    assert second.path.nodes == ("wash.scrub", "wash.dry")


async def test_a_bad_plan_still_says_which_flow_is_meant() -> None:
    result = await PlannerBench(BOTH).plan(session_for(), *[paths(("wash", ("dry",)))] * 3)
    assert result.path.fallback
    assert result.path.nodes == ("wash.scrub", "wash.dry")
    lost = await PlannerBench(BOTH).plan(session_for(), paths(("wash", ("dry",))), ModelFailed("not JSON", raw="?"))
    assert lost.path.nodes == ("wash.scrub", "wash.dry")
    unknown = await PlannerBench(BOTH).plan(session_for(), *[paths(("bath", ("x",)))] * 3)
    assert isinstance(unknown, c.Ask)
    answered = with_words(session_for(), dialogue=(AnsweredQuestion(unknown.text, "whatever"),))
    again = await PlannerBench(BOTH).plan(answered, *[paths(("bath", ("x",)))] * 3)
    assert isinstance(again, c.Fail), "it is not asked twice"
    assert "name one of tea, wash" in again.reason


async def test_the_model_asks_which_flow_is_meant() -> None:
    result = await PlannerBench(BOTH).plan(session_for(), QuestionDraft(text=" Tea or washing up? "))
    assert result == c.Ask(text="Tea or washing up?", options=("tea", "wash"))


async def test_a_named_flow_is_the_only_one() -> None:
    kitchen = PlannerBench(BOTH)
    result = await kitchen.plan(session_for(flow="wash"), paths(("tea", ("boil",))), paths(("wash", ("scrub", "dry"))))
    assert result.path.nodes == ("wash.scrub", "wash.dry")
    assert "There is no flow “tea”; the flows are wash." in kitchen.model.prompts[1].text
    missing = await kitchen.plan(session_for(flow="bath"))
    assert (missing.reason, missing.retryable) == ("There is no flow “bath”.", False)
    nothing = await PlannerBench(FlowPage(flows=(), troubles=("a.yaml: broken",))).plan(session_for())
    assert nothing.reason == "No flow is registered. a.yaml: broken"


async def test_a_request_may_go_through_two_flows() -> None:
    result = await PlannerBench(BOTH).plan(
        session_for(), paths(("tea", ("boil", "brew", "tell")), ("wash", ("scrub", "dry")))
    )
    assert result.path.nodes == (*WHOLE, "wash.scrub", "wash.dry")
    assert result.sub_goal == "Walk tea and wash"
    assert group_by_flow(result.path.nodes) == [("tea", ["boil", "brew", "tell"]), ("wash", ["scrub", "dry"])]


async def test_a_missing_node_is_kept_as_a_proposal_and_not_run() -> None:
    node = NewNode(flow="tea", name="milk", description="Adds milk", why="they asked for it")
    result = await PlannerBench().plan(session_for(), GOOD.model_copy(update={"new_node": node}))
    assert result.path.proposal == NodeProposal(
        flow="tea", name="milk", description="Adds milk", reason="they asked for it"
    )
    assert "tea.milk" not in [action.tool for action in result.actions]


async def test_accepted_paths_are_shown_as_examples() -> None:
    kitchen = PlannerBench(examples=(ENTRY,))
    result = await kitchen.plan(session_for(), GOOD)
    assert result.path.examples == 1
    assert json.dumps({"request": "tea?", "path": WHOLE}) in kitchen.model.prompts[0].text


@pytest.mark.parametrize(("expected", "temperature"), [({}, 0.3), ({"temperature": 1.5}, 1.5)])
async def test_the_model_is_asked_with_the_temperature_of_the_session(
    expected: dict[str, Any], temperature: float
) -> None:
    kitchen = PlannerBench()
    await kitchen.plan(session_for(**expected), GOOD)
    assert kitchen.model.prompts[0].temperature == temperature


# --- the cache


async def test_the_same_request_in_the_same_state_is_planned_once() -> None:
    kitchen = PlannerBench()
    first = await kitchen.plan(session_for(), GOOD)
    again = await kitchen.plan(session_for())
    assert kitchen.model.prompts == []
    assert again.path == PathPlan(nodes=WHOLE, cached=True)
    assert [a.tool for a in again.actions] == [a.tool for a in first.actions]


OTHER_STATE = ONE.model_copy(update={"states": {"tea": {"water": 1}}})
CHANGED: list[Callable[[PlannerBench], Session]] = [
    lambda _: session_for("other tea"),
    lambda _: session_for(cache=False),
    lambda kitchen: setattr(kitchen, "found", BOTH) or session_for(),  # type: ignore[func-returns-value]
    lambda kitchen: setattr(kitchen, "found", OTHER_STATE) or session_for(),  # type: ignore[func-returns-value]
]


@pytest.mark.parametrize("change", CHANGED, ids=["request", "switched off", "flows", "state"])
async def test_anything_else_is_planned_anew(change: Callable[[PlannerBench], Session]) -> None:
    kitchen = PlannerBench()
    await kitchen.plan(session_for(), GOOD)
    result = await kitchen.plan(change(kitchen), GOOD)
    assert not result.path.cached
    assert len(kitchen.model.prompts) == 1


async def test_another_path_is_not_the_one_that_was_refused() -> None:
    kitchen = PlannerBench()
    story = given(
        c.Say(text="tea please", workflow="flow", settings=SessionSettings(confirm="path")),
        await kitchen.plan(session_for(confirm="path"), GOOD),
    )
    refused = given(c.Reject(replan=True), begin=story.session).session
    again = await kitchen.plan(refused, GOOD)
    assert not again.path.cached
    assert f"<problems>\nThe person wants another path than {', '.join(WHOLE)}." in kitchen.model.prompts[0].text
    assert (await kitchen.plan(session_for(confirm="path"))).path.cached


async def test_paths_that_are_too_long_together_are_sent_back() -> None:
    brews = ("boil", "brew", "again")
    loop = TEA.nodes[1].model_copy(update={"name": "again", "possible_next_nodes": ("boil", "tell")})
    brew = TEA.nodes[1].model_copy(update={"possible_next_nodes": ("again",)})
    round_tea = TEA.model_copy(update={"nodes": (TEA.nodes[0], brew, loop, TEA.nodes[2])})
    kitchen = PlannerBench(FlowPage(flows=(round_tea,), states=ONE.states))
    long = ("tea", (*brews * 13, "tell"))
    result = await kitchen.plan(session_for(), paths(long, long), paths(("tea", (*brews, "tell"))))
    assert result.path.attempts == 2
    assert "It has 80 nodes; a path has 60 at most." in kitchen.model.prompts[1].text


async def test_the_cache_is_bounded_and_keeps_no_fallback_and_no_question() -> None:
    kitchen = PlannerBench(cache=2)
    for number in range(5):
        await kitchen.plan(session_for(f"tea {number}"), GOOD)
    assert len(kitchen.known) == 2
    assert (await kitchen.plan(session_for("tea 4"))).path.cached
    await kitchen.plan(session_for("odd tea"), BAD, BAD, BAD)
    assert not (await kitchen.plan(session_for("odd tea"), GOOD)).path.cached
    none = PlannerBench(cache=0)
    await none.plan(session_for(), GOOD)
    assert len(none.known) == 0


# --- what can be walked


@pytest.mark.parametrize(
    ("path", "have", "why"),
    [
        ((), ("request",), "The path has no nodes."),
        (("boil", "bake"), ("request",), "tea has no node “bake”; its nodes are boil, brew, tell."),
        (("brew", "tell"), ("request",), "brew needs water, which nothing before it makes."),
        (("boil", "brew"), ("request",), "The path ends at brew, which is no end: tell."),
        (("tell", "boil"), ("tea", "request"), "tell is not followed by boil; it is followed by nothing"),
    ],
)
def test_a_path_that_cannot_be_walked_says_why(path: tuple[str, ...], have: tuple[str, ...], why: str) -> None:
    assert why in " ".join(path_problems(TEA, path, have))


def test_a_path_begins_where_its_state_is_and_goes_on_after_a_node() -> None:
    assert path_problems(TEA, ("brew", "tell"), ("water",)) == ()
    assert path_problems(TEA, ("tell",), ("tea",), after="brew") == ()
    assert "tell is not followed by brew" in path_problems(TEA, ("brew", "tell"), ("water",), after="tell")[0]
    assert chain_problems(ONE, ()) == ("There is no path.",)
    assert chain_problems(ONE, (("bath", ("x",)),)) == ("There is no flow “bath”; the flows are tea.",)
    assert full_path(TEA) == ("boil", "brew", "tell")


def test_people_read_of_a_path_by_titles_and_programs_by_names() -> None:
    titled = TEA.model_copy(
        update={"nodes": tuple(node.model_copy(update={"title": node.description + " it"}) for node in TEA.nodes)}
    )
    path, have = ("tell", "brew"), ("old_tea",)
    assert path_problems(titled, path, have)[1].startswith("tell is not followed by brew; it is followed by nothing")
    assert path_problems(titled, path, have, titles=True) == (
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


def test_the_prompt_holds_flows_state_and_words_but_no_more_than_it_must() -> None:
    page = ONE.model_copy(update={"states": {"tea": {"request": "r" * 999, "rows": list(range(400)), "few": [1]}}})
    text = build_prompt(session_for(), page, ())[1]["content"]
    assert '"possible_next_nodes": ["brew", "tell"]' in text
    assert '"asks"' not in text, "what is not so is left out"
    assert '"(400 entries)"' in text
    assert '"few": [1]' in text
    assert "r" * 401 not in text
    assert "<examples>\n" not in text


def test_a_reply_says_something() -> None:
    no_nodes, none = {"paths": [{"flow": "tea", "nodes": []}]}, {"paths": list[Any]()}
    for empty in ({}, {"kind": "question", "text": " "}, {"kind": "path"} | no_nodes, {"kind": "path"} | none):
        with pytest.raises(ValidationError):
            PathReply.model_validate({"reply": empty})


def test_what_is_shown_while_it_is_written() -> None:
    assert render_partial({"text": "Which?"}) == "Which?"
    half = {"reasoning": "tea", "paths": [{"flow": "tea", "nodes": ["boil", "brew"]}, {"flow": "x"}, None]}
    assert render_partial(half) == "tea\n\ntea: boil → brew"
    assert render_partial({}) == ""


# --- requests to other services


async def test_the_executor_is_waited_for() -> None:
    answers = [BusUnavailable("nobody"), ONE.model_dump_json().encode()]

    class Bus:
        async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
            assert (subject, ListFlows.model_validate_json(data).session_id) == ("flows.list", "s1")
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            assert isinstance(answer, bytes)
            return answer

    assert await FlowClient(Bus()).page("s1") == ONE  # type: ignore[arg-type]


async def test_examples_are_a_help_and_never_in_the_way() -> None:
    class Store:
        def __init__(self, *items: LibraryEntry) -> None:
            self.items = [item.model_dump(mode="json") for item in items]

        async def ask(self, verb: str, **arguments: Any) -> Any:
            assert (verb, arguments["user"], arguments["limit"]) == ("library.similar", "ann", MAX_EXAMPLES)
            assert arguments["workflow"] == "flow"
            return {"items": self.items, "total": len(self.items)}

    without = ENTRY.model_copy(update={"flows": (), "path": ()})  # the accepted answer of another workflow
    assert await similar_examples(Store(ENTRY, without), session_for()) == (ENTRY,)
    assert await similar_examples(InMemoryStore(InMemoryLog()), session_for()) == ()
    forgetful = given(c.Say(text="tea please", workflow="flow", settings=SessionSettings(recall=False))).session
    assert await similar_examples(Store(ENTRY), forgetful) == ()
