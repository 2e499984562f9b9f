"""A session's memory: its limits, and that it covers only one request."""

from typing import Any

import pytest

from parley.events.values import ActionSpec, Recalled
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.session import Session
from shared.domain.transcript import memory
from shared.domain.transcript.memory import (
    MAX_OUTCOME,
    MAX_OUTCOME_SUMMARY,
    MAX_OUTCOMES,
    MAX_SUB_GOALS,
    MAX_VERDICTS,
    MAX_WHOLE_OUTCOMES,
    ActionRecord,
    action_history,
    older_reads,
    text_of,
)
from shared.story import finish_action
from tests.unit.domain.spec import (
    LEAVE,
    Given,
    StoryLine,
    act,
    allow,
    answer,
    done,
    given,
    new_request,
    request,
    say,
    story,
    turn,
    unread,
    verdict,
)

AGENTFLOW = (request("agentflow", max_turns=100, approval="never"),)
WITH_APPROVALS = (request("agentflow"),)


def one_turn(number: int, result: Any = "seen", *, ok: bool = True, **fields: Any) -> tuple[StoryLine, ...]:
    """A turn with one call, its outcome, and a verdict that continues."""
    spec = act(f"{number}.1", **fields)
    ended = finish_action(action_id=spec.id, ok=ok, result=result if ok else None, error="" if ok else str(result))
    return (turn(spec), c.Start(), ended, verdict("continue"))


def texts(session: Session) -> list[str]:
    return [deed.text for deed in action_history(session.memory, session.turn)]


# --- reads that are older than a change


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ((("r1.1",), ("w2.1",)), {"1.1": ["2.1"]}),
        ((("w1.1",), ("r2.1",)), {}),
        ((("r1.1",), ("w2.1",), ("w3.1",)), {"1.1": ["2.1", "3.1"]}),
        ((("w1.1", "r1.2"),), {"1.2": ["1.1"]}),
        ((("w1.1", "r1.2<1.1", "r1.3<1.2"),), {}),
        ((("r1.1", "w1.2<1.1"),), {"1.1": ["1.2"]}),
    ],
    ids=["before", "after", "before two", "beside", "depends on it", "the change depends on it"],
)
def test_a_read_is_older_than_later_changes(turns: tuple[tuple[str, ...], ...], expected: dict[str, list[str]]) -> None:
    lines: list[StoryLine] = []
    for calls in turns:
        named = [(call[0], *call[1:].split("<")) for call in calls]
        lines.append(
            turn(*(act(name, *after, effect="read" if kind == "r" else "write") for kind, name, *after in named))
        )
        for place, (_, name, *after) in enumerate(named):
            lines += [c.Start(), done(name)] if after or not place else [done(name)]
        lines.append(verdict("continue"))
    session = given(*AGENTFLOW, *lines).session
    older = older_reads(action_history(session.memory, session.turn))
    assert {read.id: [change.id for change in changes] for read, changes in older} == expected


def test_a_failed_change_makes_no_read_older() -> None:
    session = given(*AGENTFLOW, *one_turn(1), *one_turn(2, "no", ok=False, effect="write")).session
    assert not list(older_reads(action_history(session.memory, session.turn)))


# --- outcomes


def test_the_action_history_is_oldest_first_and_includes_the_current_turn() -> None:
    session = given(*AGENTFLOW, *one_turn(1, "a"), *one_turn(2, "b", ok=False), *one_turn(3, {"c": "ü"})).session
    assert texts(session) == ["a", "b", '{"c": "ü"}']
    assert [deed.status for deed in action_history(session.memory, session.turn)] == ["finished", "failed", "finished"]
    assert [deed.id for deed in session.memory.deeds] == ["1.1", "2.1"]
    assert (session.memory.planned, session.memory.executed) == (3, 2)


def test_repeated_reads_keep_the_newest_outcome_and_writes_keep_all() -> None:
    same: dict[str, Any] = {"arguments": {"id": "#W1"}}
    reads = given(
        *AGENTFLOW, *one_turn(1, "old", **same), *one_turn(2, "new", **same), *one_turn(3, "no", ok=False, **same)
    )
    assert texts(reads.session) == ["new", "no"]
    writes = given(
        *AGENTFLOW, *one_turn(1, "x", ok=False, effect="write", **same), *one_turn(2, "y", effect="write", **same)
    )
    assert texts(writes.session) == ["x", "y"]


def test_the_newest_outcomes_are_kept_in_full_and_older_ones_as_summaries() -> None:
    story = [result for number in range(1, 9) for result in one_turn(number, str(number) * 4_000)]
    known = action_history(*_of(given(*AGENTFLOW, *story)))
    assert [deed.is_summary for deed in known] == [True] * 5 + [False] * 3
    assert [len(deed.text) for deed in known] == [MAX_OUTCOME_SUMMARY] * 5 + [4_000] * 3
    assert known[0].text == "1" * (MAX_OUTCOME_SUMMARY - 1) + "…"


def test_a_long_outcome_is_cut() -> None:
    (deed,) = action_history(*_of(given(*AGENTFLOW, *one_turn(1, "z" * (MAX_OUTCOME + 1)))))
    assert (len(deed.text), deed.text[-1], deed.is_summary) == (MAX_OUTCOME, "…", False)


def test_long_arguments_are_shortened_but_calls_stay_distinct() -> None:
    """Prompts must not contain whole files, and two different calls must not count as the same."""
    files = [{"path": "a.txt", "text": "x" * 60_000 + end} for end in "12"]
    first, second = (one_turn(n, "written", effect="write", arguments=file) for n, file in enumerate(files, 1))
    session = given(*AGENTFLOW, *first, *second).session
    known = action_history(session.memory, session.turn)
    assert known[0].arguments["path"] == "a.txt"
    assert known[0].key != known[1].key
    assert sum(len(text_of(deed.arguments)) for deed in known) <= MAX_OUTCOME + MAX_OUTCOME_SUMMARY + 50
    assert len(session.memory.settled) == 1
    again = given(begin=session).when(turn(act("3.1", effect="write", arguments=files[0]))).then("turn.planned")
    assert _rulings(again.session) == ["skip"]


def test_the_history_is_limited_and_keeps_writes_longer_than_reads() -> None:
    changes = [result for number in range(1, 4) for result in one_turn(number, f"changed {number}", effect="write")]
    reads = [result for number in range(4, 60) for result in one_turn(number, "r" * 700)]
    session = given(*AGENTFLOW, *changes, *reads).session
    known = action_history(session.memory, session.turn)
    assert len(known) == MAX_OUTCOMES
    assert [deed.text for deed in known[:3]] == ["changed 1", "changed 2", "changed 3"]
    assert sum(len(deed.text) for deed in known) <= MAX_WHOLE_OUTCOMES + MAX_OUTCOMES * MAX_OUTCOME_SUMMARY
    assert len(session.memory.verdicts) == MAX_VERDICTS


def test_a_write_that_left_the_history_is_not_repeated() -> None:
    """It still counts as done for the request, although no prompt shows it."""
    mine = act("1.1", effect="write", arguments={"order": 1})
    later_writes = [
        result for number in range(2, MAX_OUTCOMES + 10) for result in one_turn(number, "done", effect="write")
    ]
    after_many = given(*AGENTFLOW, *one_turn(1, "done", effect="write", arguments={"order": 1}), *later_writes)
    assert mine.arguments not in [deed.arguments for deed in action_history(*_of(after_many))]
    again = mine.model_copy(update={"id": "90.1"})
    result = after_many.when(turn(again)).then("turn.planned").leaves("verifying", "verifier")
    assert _rulings(result.session) == ["skip"]


def test_the_same_write_twice_in_one_turn_is_refused() -> None:
    pair = [act(f"1.{n}", effect="write", arguments={"order": 1}) for n in (1, 2)]
    given(*AGENTFLOW).when(turn(*pair)).refused(Invalid, "once is enough")
    reads = [act(f"1.{n}", arguments={"order": 1}) for n in (1, 2)]
    given(*AGENTFLOW).when(turn(*reads)).then("turn.planned").leaves("executing", "executor")


# --- the next request


def test_a_new_request_starts_with_an_empty_memory() -> None:
    story = (*AGENTFLOW, *one_turn(1, "x" * 500, effect="write"), turn(nothing=True), answer(), new_request("and now?"))
    session = given(*story).session
    assert session.memory.deeds == ()
    assert session.memory.settled == {}
    assert [(deed.id, deed.status, len(deed.text)) for deed in session.memory.earlier] == [("1.1", "finished", 500)]
    assert (session.memory.planned, session.memory.executed, session.memory.closing) == (0, 0, "")
    again = given(begin=session).when(turn(act("3.1", effect="write", arguments={"id": "1.1"}))).then("turn.planned")
    assert _rulings(again.session) == ["proceed"]
    assert again.session.counts.turns == 3


def test_outcomes_of_earlier_requests_are_kept_whole_within_the_limits() -> None:
    story: list[StoryLine] = [*AGENTFLOW, *one_turn(1, "mia_li_3668")]
    story += [result for number in range(2, 12) for result in one_turn(number, "d" * 2_000)]
    session = given(*story, new_request("else"), c.Stop(), new_request("next")).session
    first, *others = session.memory.earlier
    assert (first.text, len(others)) == ("mia_li_3668", 10)
    lengths = [len(deed.text) for deed in others]
    assert (lengths[0], lengths[-1]) == (MAX_OUTCOME_SUMMARY, 2_000)
    assert [deed.turn for deed in session.memory.earlier] == sorted(deed.turn for deed in session.memory.earlier)


def test_messages_of_an_earlier_request_are_no_part_of_the_next_one() -> None:
    """They stand in the transcript. An answer to an earlier request does not apply to the next one."""
    asked = (*AGENTFLOW, c.Ask(text="Which order?"), say("#W1"))
    assert unread(given(*asked).session) == ("#W1",)
    for lines in (one_turn(1), (), (*one_turn(1), say("hurry"))):
        session = given(*asked, *lines, c.Stop(), new_request("What is my balance?")).session
        assert (session.words.request, session.words.unread) == ("What is my balance?", ())
        assert [entry.text for entry in session.transcript if entry.kind == "answered"] == ["#W1"]


# --- late and unknown outcomes


def test_a_late_outcome_is_remembered_and_counts_as_done() -> None:
    write = act("1.1", effect="write", arguments={"order": 1})
    started = given(*AGENTFLOW, turn(write), c.Start())
    work = started.session.work
    stopped = given(c.Stop(), new_request("and my invoice?"), begin=started.session)
    late = stopped.when(finish_action(action_id="1.1", ok=True, result="cancelled"), "executor", work=work)
    result = late.then("actions.finished").leaves("planning", "nobody", left_running=())
    assert [(deed.turn, deed.text) for deed in result.session.memory.deeds] == [(0, "cancelled")]
    assert result.session.memory.executed == 1
    again = result.given.when(turn(act("2.1", effect="write", arguments={"order": 1}))).then("turn.planned")
    assert _rulings(again.session) == ["skip"]


def test_a_call_that_still_runs_is_not_repeated_without_approval() -> None:
    write = act("1.1", effect="write", arguments={"order": 1})
    stopped = given(*AGENTFLOW, turn(write), c.Start(), c.Stop(), new_request("again"))
    result = stopped.when(turn(act("2.1", effect="write", arguments={"order": 1}))).then("turn.planned")
    result.leaves("awaiting_approval", "user")
    assert result.session.turn is not None
    assert (
        result.session.turn.actions[0].spec.approval_reason
        == "it may have been done already: nobody knows what became of it"
    )


def test_an_action_left_uncertain_stays_uncertain() -> None:
    """It is not skipped, since it was started. Its dependents do not run, and a late outcome still counts."""
    write, after = act("1.1", effect="write", ask="a write"), act("1.2", "1.1")
    uncertain = c.ReportUncertain(action_id="1.1", reason="the executor was ended while it ran")
    result = (
        given(*AGENTFLOW, turn(write, after), allow("1.1"), c.Start(), uncertain)
        .when(say(LEAVE))
        .then("question.answered")
    )
    result.leaves("verifying", "verifier")
    known = action_history(result.session.memory, result.session.turn)
    assert [(deed.status, deed.text) for deed in known] == [
        ("uncertain", "the executor was ended while it ran"),
        ("skipped", "an action it depends on did not finish"),
    ]
    late_outcome = result.given.when(finish_action(action_id="1.1", ok=True, result="done"), "executor").then(
        "actions.finished"
    )
    assert texts(late_outcome.session)[0] == "done"
    again = given(verdict("continue"), begin=result.session).when(
        turn(act("2.1", effect="write", arguments={"id": "1.1"}))
    )
    assert _rulings(again.then("turn.planned").session) == ["require_approval"]


# --- sub-goals and turns


def test_sub_goals_are_pending_until_a_verdict() -> None:
    sub_goals_in_order = ("find the order", "cancel it", "find the order")
    plan = c.PlanTurn(sub_goal="find the order", sub_goals=sub_goals_in_order[:2], actions=(act("1.1"),))
    story = (*AGENTFLOW, plan, c.Start(), finish_action(action_id="1.1", ok=True))
    assert _goals(given(*story)) == [("find the order", "pending"), ("cancel it", "pending")]
    assert _goals(given(*story, verdict("continue"))) == [("find the order", "completed"), ("cancel it", "pending")]
    assert _goals(given(*story, verdict("continue", "failure")))[0] == ("find the order", "failed")
    assert _goals(given(*story, verdict("retry", "failure")))[0] == ("find the order", "pending")
    other = c.PlanTurn(sub_goal="return it", sub_goals=("return it",), actions=(act("2.1"),))
    changed = _goals(given(*story, verdict("continue"), other))
    assert changed == [("find the order", "completed"), ("return it", "pending")]


def test_a_failed_sub_goal_stays_when_the_next_turn_leaves_it() -> None:
    plan = c.PlanTurn(sub_goal="find it", sub_goals=("find it", "cancel it"), actions=(act("1.1"),))
    story = (*AGENTFLOW, plan, c.Start(), finish_action(action_id="1.1", ok=False, error="away"))
    retried = (*story, verdict("retry", "failure"))
    assert _goals(given(*retried)) == [("find it", "pending"), ("cancel it", "pending")]
    same = c.PlanTurn(sub_goal="find it", sub_goals=("find it",), actions=(act("2.1"),))
    assert _goals(given(*retried, same)) == [("find it", "pending")]
    done = (c.Start(), finish_action(action_id="2.1", ok=True), verdict("continue"))
    assert _goals(given(*retried, same, *done)) == [("find it", "completed")]
    other = c.PlanTurn(sub_goal="ask", sub_goals=(), actions=(act("2.1"),))
    assert _goals(given(*retried, other)) == [("find it", "failed"), ("ask", "pending")]
    assert _goals(given(*retried, other, *done)) == [("find it", "failed"), ("ask", "completed")]
    assert _goals(given(*retried, turn(nothing=True))) == [("find it", "failed")]
    assert _goals(given(*story, verdict("continue", "failure"), other))[0] == ("find it", "failed")


def test_the_number_of_sub_goals_is_limited() -> None:
    story: list[StoryLine] = [*AGENTFLOW]
    for number in range(1, MAX_SUB_GOALS + 10):
        story += (c.PlanTurn(sub_goal=f"goal {number}", actions=(act(f"{number}.1"),)), c.Start())
        story += (finish_action(action_id=f"{number}.1", ok=True), verdict("continue"))
    goals = _goals(given(*story))
    assert len(goals) == MAX_SUB_GOALS
    assert goals[-1] == (f"goal {MAX_SUB_GOALS + 9}", "completed")


def test_an_empty_turn_records_its_reason_and_no_sub_goal() -> None:
    result = given(*AGENTFLOW, *one_turn(1)).when(turn(nothing=True)).then("turn.planned", actions=())
    result.leaves("answering", "generator", turn=None, turns=2)
    assert result.session.memory.closing == "Nothing is left to do."
    assert _goals(result.given) == [("look at the order", "completed")]
    assert [deed.id for deed in result.session.memory.deeds] == ["1.1"]


def test_recalled_outcomes_are_kept_until_the_next_request() -> None:
    hint = Recalled(session_id="s0", request="cancel", outcome="answered: done")
    first = turn(act("1.1"), recalled=(hint,))
    session = given(
        *AGENTFLOW, first, c.Start(), finish_action(action_id="1.1", ok=True), verdict("continue"), turn(act("2.1"))
    )
    assert session.session.memory.recalled == (hint,)
    assert given(new_request("x"), c.Stop(), new_request("new"), begin=session.session).session.memory.recalled == ()


def test_a_problem_is_kept_until_the_next_turn_handles_it() -> None:
    retried = (
        *AGENTFLOW,
        turn(),
        c.Start(),
        finish_action(action_id="1.1", ok=False, error="no"),
        verdict("retry", "failure"),
    )
    assert given(*retried).session.next_draft.problems == ("seen",)
    planned_again = given(*retried, say("hurry"), turn(act("2.1")))
    assert planned_again.session.next_draft.problems == ("seen",), (
        "the planner plans again because of the message: the problem is still open"
    )
    story = (*retried, turn(act("2.1")), c.Start(), say("hurry"), finish_action(action_id="2.1", ok=True), verdict())
    assert given(*story).session.next_draft.problems == ()


# --- forks


def test_a_fork_copies_messages_but_no_outcomes_or_policies() -> None:
    """A fork must look again: its store may be another one, or others may have changed a shared one."""
    write = act("2.1", effect="write", arguments={"order": 1})
    before = (
        *WITH_APPROVALS,
        *one_turn(1),
        c.Remember(tool="orders", policy="never"),
        say("hurry"),
        turn(),
        turn(write),
    )
    parent = given(*before).session
    assert parent.turn is not None
    assert parent.turn.actions[0].spec.decision == "proceed"
    child = story(parent).fork("s2").session
    assert (child.memory, child.turn, child.counts.turns, child.left_running, child.policies) == (
        memory.Memory(),
        None,
        0,
        (),
        {},
    )
    assert (child.words.request, child.words.unread, child.phase) == (parent.words.request, (), "resting")
    assert [entry.text for entry in child.transcript if entry.kind == "message"] == ["hurry"]
    child = story(child).apply(new_request("go on"))
    result = given(begin=child).when(turn(write.model_copy(update={"id": "1.1"}))).then("turn.planned")
    result.leaves("awaiting_approval", "user")


# --- turns by the user


def test_a_users_turn_is_remembered_like_any_other() -> None:
    story = (*AGENTFLOW, *one_turn(1)[:-1], verdict("escalate"))
    mine = c.TakeOver(sub_goal="by hand", actions=(act("2.1", effect="write", arguments={"order": 1}),))
    after = given(*story, mine, c.Start(), finish_action(action_id="2.1", ok=True, result="done"), verdict("complete"))
    assert (after.session.phase, after.session.memory.verdicts[-1].sub_goal) == ("escalated", "by hand")
    back = given(say("tell them"), begin=after.session)
    result = back.when(turn(act("3.1", effect="write", arguments={"order": 1}))).then("turn.planned")
    assert _rulings(result.session) == ["skip"]


@pytest.mark.parametrize("result", [None, 0, "", [], {"a": None}])
def test_any_result_has_a_text(result: Any) -> None:
    (deed,) = action_history(*_of(given(*AGENTFLOW, *one_turn(1, result))))
    assert isinstance(deed, ActionRecord)
    assert deed.text == text_of(result)


def _of(result: Given) -> tuple[memory.Memory, Any]:
    return result.session.memory, result.session.turn


def _goals(result: Given) -> list[tuple[str, str]]:
    return [(goal.goal, goal.status) for goal in result.session.memory.sub_goals]


def _rulings(session: Session) -> list[str]:
    specs: list[ActionSpec] = [action.spec for action in session.turn.actions] if session.turn else []
    return [spec.decision for spec in specs]
