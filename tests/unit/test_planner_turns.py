"""Planning of turns: valid and rejected proposals, and the prompt."""

import json
from typing import Any

import pytest

from packs.retail.policy import RULES
from packs.retail.specs import SPECS
from parley.events.values import Recalled, SessionSettings
from parley.protocol.tools import CheckCalls, ToolPage, ToolSpec
from parley.reply import Kind, QuestionDraft, WordsDraft
from services.planner import agentflow
from services.planner import agentflow_prompt as turn_prompt
from services.planner.agentflow import (
    TurnProposal,
    checked_by_packs,
    is_stalled,
    plan_turn,
    repetition_problem,
    validate,
)
from services.planner.agentflow_prompt import MoreTools, NothingToDo, Planned, TurnDraft, turn_reply
from services.planner.recall import no_examples
from services.planner.tools import ToolChoice
from shared.domain import commands as c
from shared.domain.memory import MAX_OUTCOME_SUMMARY, MAX_WHOLE_OUTCOMES, action_history
from shared.domain.messages import drafting_session
from shared.domain.session import Session
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.story import finish_action
from tests.support.prompt_sections import sections_of
from tests.support.store import STORE, checked
from tests.support.work import work_context
from tests.unit.domain.spec import StoryLine, act, given, request, say, turn, verdict

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
USER: Any = STORE["users"][ORDER["user_id"]]
ID = {"order_id": ORDER["order_id"]}
LOOK = Planned(tool="get_order_details", arguments=dict(ID))
CANCEL = Planned(tool="cancel_pending_order", arguments={**ID, "reason": "no longer needed"})
FLOW = (request("agentflow", "Cancel it", max_turns=60, approval="never"),)
PAGE = ToolPage(tools=SPECS, total=len(SPECS), rules=RULES)
SEND = ToolSpec(name="send", description="Send a mail", parameters={"type": "object"}, effect="write", origin="mail")
FETCH = ToolSpec(name="fetch", description="Fetch a page", parameters={"type": "object"}, effect="read", origin="mail")
REFUSED = "Error: order not found"


def ran(
    number: int, tool: str, result: str, *, ok: bool = True, effect: str = "read", **args: Any
) -> tuple[StoryLine, ...]:
    """A turn of one call, with its outcome."""
    spec = act(f"{number}.1", tool=tool, effect=effect, arguments=args or {"n": 1})
    ended = finish_action(action_id=spec.id, ok=ok, result=result if ok else None, error="" if ok else result)
    return (turn(spec), c.Start(), ended, verdict("continue", "success" if ok else "failure"))


KNOWN = (
    *FLOW,
    *ran(1, "find_user_id_by_email", ORDER["user_id"], email=USER["email"]),
    *ran(2, "get_order_details", json.dumps(ORDER), **ID),
)


def draft(*actions: Planned, **more: Any) -> TurnDraft:
    return TurnDraft(sub_goal="go on", actions=list(actions), reasoning="why", **more)


def planned_call(number: int, tool: str, effect: str = "read", **args: Any) -> Any:
    return act(f"{number}.1", tool=tool, effect=effect, arguments=args or {"n": 1})


# --- validation of a proposal


def test_validated_calls_get_ids_and_the_effects_of_their_tools() -> None:
    session = given(*KNOWN).session
    reply = draft(CANCEL, LOOK.model_copy(update={"depends_on": [1, 1, 2, 3, 9, -1], "text": "t" * 9_000}))
    first, second = validate(session, reply, PAGE.tools).actions
    assert (first.id, first.effect, first.depends_on) == ("3.1", "write", ())
    assert (second.id, second.effect, second.depends_on, len(second.description)) == ("3.2", "read", ("3.1",), 2_000)


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        ([Planned(tool="delete_everything")], "There is no tool “delete_everything” here."),
        ([Planned(tool="x" * 500)], f"There is no tool “{'x' * 80}” here."),
        ([Planned(tool="get_order_details", arguments={})], "get_order_details: "),
        ([Planned(tool="get_order_details", arguments="not an object")], "get_order_details: "),
        ([CANCEL, CANCEL], "once is enough"),
        ([Planned(tool="cancel_pending_order", arguments={**ID, "reason": "I hate it"})], "reason"),
        ([Planned(tool="get_order_details", arguments={"order_id": "#W0"})], "get_order_details"),
    ],
    ids=["unknown", "unknown and long", "missing", "no object", "twice", "no such reason", "another user's"],
)
async def test_a_rejected_proposal_says_why(actions: list[Planned], why: str) -> None:
    user = ran(3, "get_user_details", json.dumps(USER), user_id=ORDER["user_id"])
    proposal = await validated(given(*KNOWN, *user).session, *actions)
    assert why in " ".join(proposal.problems)
    assert not proposal.is_stuck


async def validated(session: Session, *actions: Planned, page: ToolPage = PAGE) -> TurnProposal:
    """The proposal of these calls, checked by their packs."""
    return await checked_by_packs(session, validate(session, draft(*actions), page.tools), page, FixedTools(page))


async def test_the_retail_pack_s_rules_apply_to_its_own_tools_only() -> None:
    assert (await validated(given(*FLOW).session, CANCEL)).problems
    assert (await validated(given(*KNOWN).session, CANCEL)).problems == ()
    mail = Planned(tool="send", arguments={"user_id": "somebody"})
    page = ToolPage(tools=(*SPECS, SEND), total=17)
    assert (await validated(given(*FLOW).session, mail, page=page)).problems == ()
    assert all(spec.checked for spec in SPECS)


async def test_a_check_assumes_that_the_earlier_calls_of_the_turn_have_run() -> None:
    session = given(*KNOWN).session
    elsewhere = ORDER["address"] | {"order_id": ORDER["order_id"]}
    (why,) = (
        await validated(session, CANCEL, Planned(tool="modify_pending_order_address", arguments=elsewhere))
    ).problems
    assert "is cancelled, and this takes one that is pending" in why


async def test_the_planner_sends_no_check_for_tools_without_rules() -> None:
    class Silent(FixedTools):
        async def check(self, ask: CheckCalls) -> tuple[str, ...]:
            raise AssertionError(ask)

    page = ToolPage(tools=(FETCH,), total=1)
    command, _ = await planned(given(*FLOW).session, draft(Planned(tool="fetch")), tools=Silent(page))
    assert isinstance(command, c.PlanTurn)


async def test_the_next_request_knows_what_the_conversation_has_read() -> None:
    session = given(*KNOWN, turn(nothing=True), c.GiveAnswer(text="x", confidence=1), say("and cancel it")).session
    session = drafting_session(session)
    for call in (LOOK, CANCEL):
        assert (await validated(session, call)).problems == ()
    other = CANCEL.model_copy(update={"arguments": {**CANCEL.arguments, "order_id": "#W7773354"}})  # type: ignore[dict-item]
    assert (await validated(session, other)).problems


# --- repeated calls


@pytest.mark.parametrize(
    ("before", "call", "stuck"),
    [
        (ran(1, "fetch", "page"), planned_call(2, "fetch"), True),
        (ran(1, "fetch", "page"), planned_call(2, "fetch", n=2), False),
        (ran(1, "fetch", REFUSED, ok=False), planned_call(2, "fetch"), True),
        (ran(1, "fetch", "fetch did not answer within 30 seconds.", ok=False), planned_call(2, "fetch"), False),
        (ran(1, "fetch", "Stopped by the person.", ok=False), planned_call(2, "fetch"), False),
        ((*ran(1, "fetch", "page"), *ran(2, "send", "sent", effect="write", to="a")), planned_call(3, "fetch"), False),
        ((*ran(1, "fetch", "page"), *ran(2, "send", "no", ok=False, effect="write")), planned_call(3, "fetch"), True),
        (ran(1, "send", "sent", effect="write"), planned_call(2, "send", "write"), True),
        (ran(1, "send", "Error: no", ok=False, effect="write"), planned_call(2, "send", "write"), True),
    ],
    ids=[
        "the same read",
        "other arguments",
        "a refused read",
        "a timeout",
        "stopped",
        "after a write",
        "after a failed write",
        "the same write",
        "the same refused write",
    ],
)
def test_a_repeated_call_is_a_problem_unless_something_changed(
    before: tuple[StoryLine, ...], call: Any, stuck: bool
) -> None:
    session = given(*FLOW, *before).session
    assert bool(repetition_problem([call], action_history(session.memory, session.turn))) is stuck


def test_repeated_calls_are_allowed_beside_a_new_one() -> None:
    session = given(*FLOW, *ran(1, "fetch", "page")).session
    history = action_history(session.memory, session.turn)
    assert repetition_problem([planned_call(2, "fetch"), planned_call(2, "fetch", n=2)], history) == ""
    assert "(fetch)" in repetition_problem([planned_call(2, "fetch"), planned_call(2, "fetch")], history)


async def test_a_read_may_be_repeated_when_memory_has_shortened_its_result() -> None:
    """Otherwise a write that requires the order's details could never be planned again."""
    large_results = [result for n in range(3, 6) for result in ran(n, "fetch", "p" * (MAX_WHOLE_OUTCOMES // 2), n=n)]
    session = given(*KNOWN, *large_results).session
    shortened = next(past for past in action_history(session.memory, session.turn) if past.tool == "get_order_details")
    assert len(shortened.text) == MAX_OUTCOME_SUMMARY
    (why,) = (await validated(session, CANCEL)).problems
    assert "read its details first" in why
    assert (await validated(session, LOOK)).problems == ()


def test_a_session_is_stalled_after_several_failures_in_a_row() -> None:
    failures = [
        result for n in range(1, agentflow.STALLED_AFTER + 1) for result in ran(n, "fetch", "OSError: away", ok=False)
    ]
    session = given(*FLOW, *failures).session
    assert is_stalled(session)
    assert validate(session, draft(Planned(tool="fetch", arguments={"n": 1})), (FETCH,)).is_stuck
    failed_once = given(*FLOW, *failures[:4]).session
    assert not is_stalled(failed_once)
    assert not validate(failed_once, draft(Planned(tool="fetch", arguments={"n": 1})), (FETCH,)).is_stuck
    recovered = given(*FLOW, *failures, *ran(agentflow.STALLED_AFTER + 1, "fetch", "there", n=7)).session
    assert not is_stalled(recovered)


# --- planning as a whole


class FixedTools:
    """A tool lookup that returns fixed pages."""

    def __init__(self, *pages: ToolPage) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._pages = list(pages)

    async def check(self, ask: CheckCalls) -> tuple[str, ...]:
        return await checked(ask)

    async def listed(self, words: str, only: tuple[str, ...] = ()) -> ToolPage:
        return await self.search(words, (), only)

    async def search(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
        self.asked.append((words, used))
        return self._pages.pop(0) if len(self._pages) > 1 else self._pages[0]


async def nothing(_: Session) -> tuple[Recalled, ...]:
    return ()


async def planned(
    session: Session,
    *replies: Kind,
    tools: FixedTools | None = None,
    recall: Any = nothing,
    examples: Any = no_examples,
) -> tuple[c.PlanTurn | c.NoDraft, ScriptedModel]:
    model = ScriptedModel(*replies)
    context = work_context("planner", session, model)
    return await plan_turn(context, tools or FixedTools(PAGE), recall, examples), model


async def test_a_remark_is_answered_in_words_or_becomes_a_turn_of_the_next_request() -> None:
    answered = given(*KNOWN, turn(nothing=True), c.GiveAnswer(text="It is #W1.", confidence=1), say("why that one?"))
    answer, model = await planned(answered.session, WordsDraft(text="You named it."))
    assert answer == c.AnswerRemark(text="You named it.")
    prompt = model.prompts[0]
    assert sections_of(prompt.data)["message"] == "why that one?"
    assert json.loads(prompt.messages[-2]["content"].rpartition("\n")[2]) == {
        "reply": {"kind": "answer", "text": "It is #W1."}
    }
    command, _ = await planned(answered.session, draft(LOOK))
    assert isinstance(command, c.PlanTurn)


async def test_a_good_reply_becomes_a_turn() -> None:
    reply = draft(LOOK, sub_goals=["look", " look ", "", "cancel"], required_skills=["reading"], final=True)
    command, model = await planned(given(*KNOWN[:5]).session, reply)
    assert isinstance(command, c.PlanTurn)
    assert (command.sub_goal, command.sub_goals, command.final) == ("go on", ("look", "cancel"), True)
    assert (command.selected_tool, command.required_skills, command.reasoning) == (LOOK.tool, ("reading",), "why")
    assert len(model.prompts) == 1


async def test_after_several_rejected_proposals_the_planner_asks_the_user() -> None:
    bad = draft(Planned(tool="nope"))
    question, model = await planned(given(*FLOW).session, *[bad] * (agentflow.MAX_PROPOSALS + agentflow.MAX_SEARCHES))
    assert isinstance(question, c.Ask)
    assert question.text.startswith("I cannot go on by myself. There is no tool “nope” here.")
    assert "There is no tool “nope” here." in model.prompts[1].text
    (told,) = model.prompts[1].sections("problems")
    assert 'You proposed: {"reasoning":"why","sub_goal":"go on","actions":[{"tool":"nope"}]}' in told
    assert "problems" not in sections_of(model.prompts[0].text)
    answered = given(*FLOW, question, c.Answer(text="go on")).session
    again, _ = await planned(answered, *[bad] * (agentflow.MAX_PROPOSALS + agentflow.MAX_SEARCHES))
    assert isinstance(again, c.PlanTurn), "the planner does not ask the same question twice"
    assert "There is no tool “nope” here." in again.reasoning


async def test_the_model_may_search_for_tools_a_limited_number_of_times() -> None:
    first_page = ToolPage(tools=(FETCH,), total=40, others=("send", "post"), rules=("Fetch once.",))
    found_page = ToolPage(tools=(SEND, FETCH), total=40, rules=("Fetch once.", "Send nothing twice."))
    tools = FixedTools(first_page, found_page)
    search, send_draft = MoreTools(words="send a mail"), draft(Planned(tool="send", arguments={"to": "a"}))
    command, model = await planned(given(*FLOW).session, search, send_draft, tools=tools)
    assert isinstance(command, c.PlanTurn)
    assert [words for words, _ in tools.asked] == ["Cancel it", "send a mail"]
    assert model.prompts[0].sections("more_tools") == ["send, post, and 37 others"]
    assert model.prompts[1].sections("rules") == ["Fetch once.", "Send nothing twice."]
    assert "fit “send a mail”" in model.prompts[1].text
    last = NothingToDo(reason="There is no such tool.")
    ended, second_model = await planned(
        given(*FLOW).session, *[search] * agentflow.MAX_SEARCHES, last, tools=FixedTools(first_page)
    )
    assert isinstance(ended, c.PlanTurn)
    assert [_kinds(prompt.reply)[2] for prompt in second_model.prompts] == ["more_tools"] * agentflow.MAX_SEARCHES + [
        "question"
    ]


async def test_the_first_prompt_of_a_stalled_session_says_so() -> None:
    failures = [result for n in (1, 2, 3) for result in ran(n, "fetch", "OSError", ok=False, n=n)]
    _, model = await planned(given(*FLOW, *failures).session, QuestionDraft(text="What now?"))
    assert "Three turns came to nothing." in model.prompts[0].text


async def test_recalled_outcomes_are_in_the_first_turn_only() -> None:
    hint = Recalled(session_id="s0", request="Cancel mine", outcome="answered: done", lesson="ask for the e-mail")

    async def recall(_: Session) -> tuple[Recalled, ...]:
        return (hint,)

    first, model = await planned(given(*FLOW).session, NothingToDo(reason="no"), recall=recall)
    assert isinstance(first, c.PlanTurn)
    assert first.recalled == (hint,)
    assert "- Cancel mine (answered: done) ask for the e-mail" in model.prompts[0].text
    later, _ = await planned(given(*KNOWN).session, NothingToDo(reason="no"), recall=recall)
    assert isinstance(later, c.PlanTurn)
    assert later.recalled == ()


async def test_a_task_is_planned_without_a_model() -> None:
    session = given(say("Draft one", workflow="agentflow", settings=SessionSettings(task=True))).session
    command, model = await planned(session)
    assert isinstance(command, c.PlanTurn)
    assert (command.actions, len(model.prompts)) == ((), 0)


# --- the prompt

ONE_TOOL = ToolChoice(ToolPage(tools=(FETCH,), total=1))


def prompt_text(session: Session, tools: ToolChoice = ONE_TOOL, **more: Any) -> str:
    return "\n".join(message["content"] for message in turn_prompt.build_prompt(session, Settings(), tools, **more))


def test_a_tool_is_described_once_without_its_schema_which_the_reply_has() -> None:
    for tools in (ToolChoice(ToolPage(tools=(SEND,), total=1)), ToolChoice(ToolPage(tools=(), total=1), (SEND,))):
        text = prompt_text(given(*FLOW).session, tools)
        assert [line for line in text.splitlines() if "Send a mail" in line] == ["send (write): Send a mail"]
    schema = json.dumps(turn_reply(ToolPage(tools=SPECS, total=len(SPECS)), searchable=False).model_json_schema())
    assert "The order's id, like #W0000000." in schema


def _kinds(reply: type[Any]) -> list[str]:
    return [kind.model_fields["kind"].default for kind in reply.kinds()]
