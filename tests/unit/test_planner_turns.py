"""Planning of turns: valid and rejected proposals, and the prompt."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from packs.retail.policy import RULES
from packs.retail.specs import SPECS
from parley.events.values import Knowledge, Recalled, SessionSettings
from parley.protocol.tools import CheckCalls, ListTools, ToolPage, ToolSpec
from parley.reply import Kind, QuestionDraft, WordsDraft
from services.planner import agentflow_prompt as turn_prompt
from services.planner.agentflow import MAX_PROPOSALS, MAX_SEARCHES, checked_by_packs, plan_turn
from services.planner.agentflow_prompt import MoreTools, NothingToDo, Planned, TurnDraft, TurnReply
from services.planner.examples import no_examples
from services.planner.flow import PathPlanner
from services.planner.handlers import Planner
from services.planner.proposals import STALLED_AFTER, TurnProposal, is_stalled, repetition_problem, validate
from services.planner.tool_client import MAX_SHOWN, SHOW_ALL_UP_TO, ToolClient
from shared.bus import BusUnavailable
from shared.domain import commands as c
from shared.domain.errors import Invalid
from shared.domain.memory import MAX_OUTCOME_SUMMARY, MAX_WHOLE_OUTCOMES, action_history
from shared.domain.messages import drafting_session
from shared.domain.session import Session, with_words
from shared.domain.state import AnsweredQuestion
from shared.llm import ScriptedModel
from shared.log import SessionAtPosition
from shared.settings import Settings
from shared.story import finish_action
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps
from tests.support.store import STORE, checked
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


def plans(number: int, tool: str, effect: str = "read", **args: Any) -> Any:
    return act(f"{number}.1", tool=tool, effect=effect, arguments=args or {"n": 1})


# --- what a proposal becomes


def test_calls_get_ids_of_their_turn_and_what_their_tools_say() -> None:
    session = given(*KNOWN).session
    reply = draft(CANCEL, LOOK.model_copy(update={"depends_on": [1, 1, 2, 3, 9, -1], "text": "t" * 9_000}))
    first, second = validate(session, reply, PAGE.tools).actions
    assert (first.id, first.effect, first.depends_on) == ("3.1", "write", ())
    assert (second.id, second.effect, second.depends_on, len(second.description)) == ("3.2", "read", ("3.1",), 2_000)


def test_a_circle_of_calls_is_left_to_the_domain_to_refuse() -> None:
    item, other = (Planned(tool="fetch", arguments={"n": n}, depends_on=[3 - n]) for n in (1, 2))
    actions = validate(given(*FLOW).session, draft(item, other), (FETCH,)).actions
    given(*FLOW).when(turn(*actions)).refused(Invalid, "wait for each other")


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
    ids=["unknown", "unknown and long", "missing", "no object", "twice", "no such reason", "somebody else's"],
)
async def test_what_cannot_be_taken_says_why(actions: list[Planned], why: str) -> None:
    user = ran(3, "get_user_details", json.dumps(USER), user_id=ORDER["user_id"])
    proposal = await validated(given(*KNOWN, *user).session, *actions)
    assert why in " ".join(proposal.problems)
    assert not proposal.is_stuck


async def validated(session: Session, *actions: Planned, page: ToolPage = PAGE) -> TurnProposal:
    """The proposal of these calls, checked by their packs."""
    return await checked_by_packs(session, validate(session, draft(*actions), page.tools), page, FixedTools(page))


async def test_the_store_s_rules_hold_for_its_tools_only() -> None:
    assert (await validated(given(*FLOW).session, CANCEL)).problems
    assert (await validated(given(*KNOWN).session, CANCEL)).problems == ()
    mail = Planned(tool="send", arguments={"user_id": "somebody"})
    page = ToolPage(tools=(*SPECS, SEND), total=17)
    assert (await validated(given(*FLOW).session, mail, page=page)).problems == ()
    assert all(spec.checked for spec in SPECS)


async def test_a_change_counts_as_made_for_the_calls_after_it() -> None:
    session = given(*KNOWN).session
    elsewhere = ORDER["address"] | {"order_id": ORDER["order_id"]}
    (why,) = (
        await validated(session, CANCEL, Planned(tool="modify_pending_order_address", arguments=elsewhere))
    ).problems
    assert "is cancelled, and this takes one that is pending" in why


async def test_no_pack_is_asked_about_calls_that_none_forbids() -> None:
    class Silent(FixedTools):
        async def check(self, ask: CheckCalls) -> tuple[str, ...]:
            raise AssertionError(ask)

    page = ToolPage(tools=(FETCH,), total=1)
    turned, _ = await planned(given(*FLOW).session, draft(Planned(tool="fetch")), tools=Silent(page))
    assert isinstance(turned, c.PlanTurn)


async def test_who_the_customer_is_is_known_in_the_next_request_but_what_they_ordered_is_read_again() -> None:
    session = given(*KNOWN, turn(nothing=True), c.GiveAnswer(text="x", confidence=1), say("and cancel it")).session
    session = drafting_session(session)
    assert (await validated(session, LOOK)).problems == ()
    (why,) = (await validated(session, CANCEL)).problems
    assert "read its details first" in why


# --- loops


@pytest.mark.parametrize(
    ("before", "call", "stuck"),
    [
        (ran(1, "fetch", "page"), plans(2, "fetch"), True),
        (ran(1, "fetch", "page"), plans(2, "fetch", n=2), False),
        (ran(1, "fetch", REFUSED, ok=False), plans(2, "fetch"), True),
        (ran(1, "fetch", "fetch did not answer within 30 seconds.", ok=False), plans(2, "fetch"), False),
        (ran(1, "fetch", "Stopped by the person.", ok=False), plans(2, "fetch"), False),
        ((*ran(1, "fetch", "page"), *ran(2, "send", "sent", effect="write", to="a")), plans(3, "fetch"), False),
        ((*ran(1, "fetch", "page"), *ran(2, "send", "no", ok=False, effect="write")), plans(3, "fetch"), True),
        (ran(1, "send", "sent", effect="write"), plans(2, "send", "write"), True),
        (ran(1, "send", "Error: no", ok=False, effect="write"), plans(2, "send", "write"), True),
    ],
    ids=[
        "the same look",
        "another look",
        "refused in so many words",
        "too slow",
        "stopped",
        "since a change",
        "since nothing changed",
        "the same change",
        "the same refused change",
    ],
)
def test_the_same_call_again_leads_nowhere_unless_something_changed(
    before: tuple[StoryLine, ...], call: Any, stuck: bool
) -> None:
    session = given(*FLOW, *before).session
    assert bool(repetition_problem([call], action_history(session.memory, session.turn))) is stuck


def test_of_several_calls_one_that_is_new_is_reason_enough() -> None:
    session = given(*FLOW, *ran(1, "fetch", "page")).session
    outcome = action_history(session.memory, session.turn)
    assert repetition_problem([plans(2, "fetch"), plans(2, "fetch", n=2)], outcome) == ""
    assert "(fetch)" in repetition_problem([plans(2, "fetch"), plans(2, "fetch")], outcome)


async def test_a_look_that_has_faded_may_be_taken_again() -> None:
    """Else a rule that wants an order read first, and a memory that has lost it, would be a dead end."""
    large = [result for n in range(3, 6) for result in ran(n, "fetch", "p" * (MAX_WHOLE_OUTCOMES // 2), n=n)]
    session = given(*KNOWN, *large).session
    faded = next(past for past in action_history(session.memory, session.turn) if past.tool == "get_order_details")
    assert len(faded.text) == MAX_OUTCOME_SUMMARY
    (why,) = (await validated(session, CANCEL)).problems
    assert "read its details first" in why
    assert (await validated(session, LOOK)).problems == ()


def test_what_broke_down_again_and_again_is_not_tried_for_ever() -> None:
    down = [result for n in range(1, STALLED_AFTER + 1) for result in ran(n, "fetch", "OSError: away", ok=False)]
    session = given(*FLOW, *down).session
    assert is_stalled(session)
    assert validate(session, draft(Planned(tool="fetch", arguments={"n": 1})), (FETCH,)).is_stuck
    once = given(*FLOW, *down[:4]).session
    assert not is_stalled(once)
    assert not validate(once, draft(Planned(tool="fetch", arguments={"n": 1})), (FETCH,)).is_stuck
    helped = given(*FLOW, *down, *ran(STALLED_AFTER + 1, "fetch", "there", n=7)).session
    assert not is_stalled(helped)


# --- planning as a whole


class FixedTools:
    """A tool lookup that returns fixed pages."""

    def __init__(self, *pages: ToolPage) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._pages = list(pages)

    async def check(self, ask: CheckCalls) -> tuple[str, ...]:
        return await checked(ask)

    async def matching(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
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
) -> tuple[c.PlanTurn | c.Ask | c.AnswerRemark, ScriptedModel]:
    log, model = InMemoryLog(), ScriptedModel(*replies)
    kit = WorkerDeps("planner", InMemoryStore(log), log, model, Drafts(None), Settings())
    context = WorkContext(kit, SessionAtPosition(session, 0), cause="s1:cause")
    return await plan_turn(context, tools or FixedTools(PAGE), recall, examples), model


async def test_a_remark_is_answered_in_words_or_becomes_a_turn_of_the_next_request() -> None:
    rested = given(*KNOWN, turn(nothing=True), c.GiveAnswer(text="It is #W1.", confidence=1), say("why that one?"))
    words, model = await planned(rested.session, WordsDraft(text="You named it."))
    assert words == c.AnswerRemark(text="You named it.")
    question = repr(model.prompts[0])
    assert r"<remark>\nwhy that one?\n</remark>" in question
    assert r"<review>\nIt is #W1.\n</review>" in question
    turned, _ = await planned(rested.session, draft(LOOK))
    assert isinstance(turned, c.PlanTurn)


async def test_an_unknown_workflow_fails_with_a_reason() -> None:
    log = InMemoryLog()
    kit = WorkerDeps("planner", InMemoryStore(log), log, ScriptedModel(), Drafts(None), Settings())
    context = WorkContext(kit, SessionAtPosition(given(request("dance")).session, 0), cause="s1:cause")
    planner = Planner(FixedTools(PAGE), nothing, cast(PathPlanner, SimpleNamespace(plan=None)), no_examples)
    failed = await planner.plan(context)
    assert isinstance(failed, c.Fail)
    assert (failed.retryable, "no workflow “dance”" in failed.reason) == (False, True)


async def test_a_good_reply_becomes_a_turn() -> None:
    reply = draft(LOOK, sub_goals=["look", " look ", "", "cancel"], required_skills=["reading"], final=True)
    turned, model = await planned(given(*KNOWN[:5]).session, reply)
    assert isinstance(turned, c.PlanTurn)
    assert (turned.sub_goal, turned.sub_goals, turned.final) == ("go on", ("look", "cancel"), True)
    assert (turned.selected_tool, turned.required_skills, turned.reasoning) == (LOOK.tool, ("reading",), "why")
    assert len(model.prompts) == 1


async def test_a_question_is_asked() -> None:
    question, _ = await planned(given(*FLOW).session, QuestionDraft(text=" Who are you? "))
    assert question == c.Ask(text="Who are you?")


async def test_where_nothing_is_left_to_do_the_reason_is_the_turn() -> None:
    turned, _ = await planned(given(*KNOWN).session, NothingToDo(reason="It is cancelled."))
    assert turned == c.PlanTurn(sub_goal="Nothing is left to do", actions=(), reasoning="It is cancelled.")


async def test_proposals_are_sent_back_a_bounded_number_of_times_and_then_the_person_is_asked() -> None:
    bad = draft(Planned(tool="nope"))
    question, model = await planned(given(*FLOW).session, *[bad] * (MAX_PROPOSALS + MAX_SEARCHES))
    assert isinstance(question, c.Ask)
    assert question.text.startswith("I cannot go on by myself. There is no tool “nope” here.")
    assert "There is no tool “nope” here." in model.prompts[1].text
    assert "<nudge>" not in model.prompts[0].messages[1]["content"]
    answered = with_words(given(*FLOW).session, dialogue=(AnsweredQuestion(question.text, "go on"),))
    again, _ = await planned(answered, *[bad] * (MAX_PROPOSALS + MAX_SEARCHES))
    assert isinstance(again, c.PlanTurn), "the same is not asked twice"
    assert "There is no tool “nope” here." in again.reasoning


async def test_other_tools_are_looked_for_in_the_model_s_words_but_not_for_ever() -> None:
    few = ToolPage(tools=(FETCH,), total=40)
    more = ToolPage(tools=(SEND, FETCH), total=40)
    shelf = FixedTools(few, more)
    query, send = MoreTools(words="send a mail"), draft(Planned(tool="send", arguments={"to": "a"}))
    turned, model = await planned(given(*FLOW).session, query, send, tools=shelf)
    assert isinstance(turned, c.PlanTurn)
    assert [words for words, _ in shelf.asked] == ["Cancel it", "send a mail"]
    assert "There are 39 other tools" in model.prompts[0].text
    assert "fit “send a mail”" in model.prompts[1].text
    last = NothingToDo(reason="There is no such tool.")
    ended, searched = await planned(given(*FLOW).session, *[query] * MAX_SEARCHES, last, tools=FixedTools(few))
    assert isinstance(ended, c.PlanTurn)
    assert [_kinds(prompt.reply)[2] for prompt in searched.prompts] == ["more_tools"] * MAX_SEARCHES + ["question"]


async def test_the_first_prompt_of_a_stalled_session_says_so() -> None:
    down = [result for n in range(1, STALLED_AFTER + 1) for result in ran(n, "fetch", "OSError", ok=False, n=n)]
    _, model = await planned(given(*FLOW, *down).session, QuestionDraft(text="What now?"))
    assert "Three turns came to nothing." in model.prompts[0].text


async def test_what_was_recalled_goes_with_the_first_turn_only() -> None:
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


async def test_a_task_needs_no_model_to_be_planned() -> None:
    session = given(say("Draft one", workflow="agentflow", settings=SessionSettings(task=True))).session
    turned, model = await planned(session)
    assert isinstance(turned, c.PlanTurn)
    assert (turned.actions, len(model.prompts)) == ((), 0)


# --- the prompt


def test_empty_sections_are_left_out_and_all_others_are_in_their_order() -> None:
    plain = turn_prompt.build_prompt(given(*FLOW).session, ToolPage(tools=(FETCH,), total=1), ())[1]["content"]
    assert _names(plain) == ["tools", "request", "turn"]
    story: tuple[StoryLine, ...] = (say("Cancel it", workflow="agentflow", knowledge=(Knowledge(name="n", text="t"),)),)
    story += (c.Ask(text="Which?"), say("#W1"), *ran(1, "fetch", "page"), turn(nothing=True))
    story += (c.GiveAnswer(text="Done", confidence=1), say("And this?"), c.Ask(text="Which now?"), say("#W2"))
    story += (*ran(3, "fetch", "x", n=3)[:-1], verdict("retry", "failure"))
    hint = (Recalled(session_id="s0", request="r", outcome="o"),)
    full = turn_prompt.build_prompt(
        given(*story).session, ToolPage(tools=(FETCH,), total=9, rules=("Be kind.",)), hint, "again"
    )[1]
    assert " ".join(_names(full["content"])) == (
        "rules tools more_tools previous recalled knowledge request dialogue turn sub_goals earlier executed verdicts "
        "problems nudge"
    )
    assert "Q: Which now?\nA: #W2" in full["content"]
    assert "#W1" not in full["content"], "the answer to an earlier request's question"
    assert "2 of 5" in full["content"]


def test_the_prompt_has_tools_without_internal_fields() -> None:
    body = turn_prompt.build_prompt(given(*FLOW).session, ToolPage(tools=(SEND,), total=1), ())[1]["content"]
    line = body.split("<tools>\n")[1].split("\n")[0]
    assert set(json.loads(line)) == {"name", "description", "effect", "parameters"}


@pytest.mark.parametrize(
    "empty",
    [
        {},
        {"kind": "question", "text": "  "},
        {"kind": "turn", "sub_goal": "x", "sub_goals": ["y"], "actions": []},
        {"kind": "nothing_to_do", "reason": ""},
    ],
)
def test_a_reply_that_says_nothing_is_none(empty: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TurnReply.model_validate({"reply": empty})


@pytest.mark.parametrize(
    ("partial", "text"),
    [
        ({"text": "Who?"}, "Who?"),
        (
            {"sub_goal": "Look", "actions": [{"tool": "fetch", "text": "a page"}, {"text": "?"}, None]},
            "Look\n- `fetch` a page",
        ),
        ({"reasoning": "Done."}, "Done."),
        ({}, ""),
    ],
)
def test_what_is_written_so_far_is_shown(partial: dict[str, Any], text: str) -> None:
    assert turn_prompt.render_partial(partial) == text


# --- the catalogue


class Executors:
    """Answers for the executor: away the first times, then with as many tools as it has."""

    def __init__(self, count: int, away: int = 0) -> None:
        self.asked: list[ListTools] = []
        self._away = away
        self._specs = tuple(SEND.model_copy(update={"name": f"tool_{n}"}) for n in range(count))

    async def request(self, _: str, data: bytes, **_more: Any) -> bytes:
        if self._away:
            self._away -= 1
            raise BusUnavailable("nobody answers")
        self.asked.append(ListTools.model_validate_json(data))
        limit = self.asked[-1].limit
        return ToolPage(tools=self._specs[:limit], total=len(self._specs)).model_dump_json().encode()


@pytest.mark.parametrize(
    ("count", "question", "message"), [(SHOW_ALL_UP_TO, 1, SHOW_ALL_UP_TO), (SHOW_ALL_UP_TO + 1, 2, MAX_SHOWN + 1)]
)
async def test_few_tools_are_all_listed_and_of_many_the_matching_ones(count: int, question: int, message: int) -> None:
    bus: Any = Executors(count)
    page = await ToolClient(bus).matching("w" * 9_000, ("tool_7",))
    assert (len(bus.asked), len(page.tools), page.total) == (question, message, count)
    if question > 1:
        assert (len(bus.asked[-1].query), bus.asked[-1].names) == (5_000, ("tool_7",))


async def test_the_planner_waits_for_an_executor_that_is_away() -> None:
    bus: Any = Executors(2, away=1)
    assert (await ToolClient(bus).matching("x")).total == 2


def _kinds(reply: type[Any]) -> list[str]:
    return [kind.model_fields["kind"].default for kind in reply.kinds()]


def _names(body: str) -> list[str]:
    return [line[1:-1] for line in body.split("\n") if line.startswith("<") and not line.startswith("</")]
