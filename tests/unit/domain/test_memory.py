"""What a session remembers: enough to go on, never more than prompts can hold, and nothing of another request."""

from typing import Any

import pytest

from parley.events.values import ActionSpec, Recalled
from shared.domain import commands as c
from shared.domain import memory
from shared.domain.errors import Invalid
from shared.domain.memory import DEED, EARLIER, GIST, GISTS, SUB_GOALS, VERDICTS, WHOLE, Deed, history, text_of
from shared.domain.session import Session
from shared.story import finish
from tests.unit.domain.spec import (
    LEAVE,
    Given,
    StoryLine,
    act,
    allow,
    anew,
    answer,
    given,
    request,
    say,
    story,
    turn,
    verdict,
)

FLOW = (request("agentflow", max_turns=100, approval="never"),)
ASKING = (request("agentflow"),)


def looked(number: int, result: Any = "seen", *, ok: bool = True, **more: Any) -> tuple[StoryLine, ...]:
    """A turn of one call, its result and the verdict that goes on."""
    spec = act(f"{number}.1", **more)
    ended = finish(action_id=spec.id, ok=ok, result=result if ok else None, error="" if ok else str(result))
    return (turn(spec), c.Start(), ended, verdict("continue"))


def texts(session: Session) -> list[str]:
    return [deed.text for deed in history(session.memory, session.turn)]


# --- what was done


def test_what_was_done_is_told_oldest_first_with_the_turn_at_hand() -> None:
    session = given(*FLOW, *looked(1, "a"), *looked(2, "b", ok=False), *looked(3, {"c": "ü"})).session
    assert texts(session) == ["a", "b", '{"c": "ü"}']
    assert [deed.status for deed in history(session.memory, session.turn)] == ["finished", "failed", "finished"]
    assert [deed.id for deed in session.memory.deeds] == ["1.1", "2.1"]
    assert (session.memory.planned, session.memory.executed) == (3, 2)


def test_a_read_made_again_is_known_by_its_newest_outcome_and_a_change_by_each() -> None:
    same: dict[str, Any] = {"arguments": {"id": "#W1"}}
    reads = given(*FLOW, *looked(1, "old", **same), *looked(2, "new", **same), *looked(3, "no", ok=False, **same))
    assert texts(reads.session) == ["new", "no"]
    writes = given(*FLOW, *looked(1, "x", ok=False, effect="write", **same), *looked(2, "y", effect="write", **same))
    assert texts(writes.session) == ["x", "y"]


def test_the_newest_outcomes_are_whole_and_older_ones_fade() -> None:
    story = [told for number in range(1, 9) for told in looked(number, str(number) * 4_000)]
    known = history(*_of(given(*FLOW, *story)))
    assert [deed.faded for deed in known] == [True] * 5 + [False] * 3
    assert [len(deed.text) for deed in known] == [GIST] * 5 + [4_000] * 3
    assert known[0].text == "1" * (GIST - 1) + "…"


def test_a_single_outcome_is_cut() -> None:
    (deed,) = history(*_of(given(*FLOW, *looked(1, "z" * (DEED + 1)))))
    assert (len(deed.text), deed.text[-1], deed.faded) == (DEED, "…", False)


def test_long_arguments_are_kept_by_their_beginnings_and_still_told_apart() -> None:
    """A file's text in a call's arguments must not be in every later prompt, nor make two calls the same."""
    files = [{"path": "a.txt", "text": "x" * 60_000 + end} for end in "12"]
    first, second = (looked(n, "written", effect="write", arguments=file) for n, file in enumerate(files, 1))
    session = given(*FLOW, *first, *second).session
    known = history(session.memory, session.turn)
    assert known[0].arguments["path"] == "a.txt"
    assert known[0].key != known[1].key
    assert sum(len(text_of(deed.arguments)) for deed in known) <= DEED + GIST + 50
    assert len(session.memory.settled) == 1
    again = given(begin=session).when(turn(act("3.1", effect="write", arguments=files[0]))).then("turn.planned")
    assert _rulings(again.session) == ["skip"]


def test_memory_is_bounded_and_changes_outlast_reads() -> None:
    changes = [told for number in range(1, 4) for told in looked(number, f"changed {number}", effect="write")]
    reads = [told for number in range(4, 60) for told in looked(number, "r" * 700)]
    session = given(*FLOW, *changes, *reads).session
    known = history(session.memory, session.turn)
    assert len(known) == GISTS
    assert [deed.text for deed in known[:3]] == ["changed 1", "changed 2", "changed 3"]
    assert sum(len(deed.text) for deed in known) <= WHOLE + GISTS * GIST
    assert len(session.memory.verdicts) == VERDICTS


def test_what_was_done_long_ago_is_not_done_again() -> None:
    """Also a change that no prompt tells of any more counts as done for the request."""
    mine = act("1.1", effect="write", arguments={"order": 1})
    many = [told for number in range(2, GISTS + 10) for told in looked(number, "done", effect="write")]
    far = given(*FLOW, *looked(1, "done", effect="write", arguments={"order": 1}), *many)
    assert mine.arguments not in [deed.arguments for deed in history(*_of(far))]
    again = mine.model_copy(update={"id": "90.1"})
    told = far.when(turn(again)).then("turn.planned").leaves("verifying", "verifier")
    assert _rulings(told.session) == ["skip"]


def test_a_change_that_is_planned_twice_in_one_turn_is_refused() -> None:
    pair = [act(f"1.{n}", effect="write", arguments={"order": 1}) for n in (1, 2)]
    given(*FLOW).when(turn(*pair)).refused(Invalid, "once is enough")
    reads = [act(f"1.{n}", arguments={"order": 1}) for n in (1, 2)]
    given(*FLOW).when(turn(*reads)).then("turn.planned").leaves("executing", "executor")


# --- the next request


def test_a_new_request_begins_with_an_empty_page() -> None:
    story = (*FLOW, *looked(1, "x" * 500, effect="write"), turn(nothing=True), answer(), anew("and now?"))
    session = given(*story).session
    assert session.memory.deeds == ()
    assert session.memory.settled == {}
    assert [(deed.id, deed.status, len(deed.text)) for deed in session.memory.earlier] == [("1.1", "finished", GIST)]
    assert (session.memory.planned, session.memory.executed, session.memory.closing) == (0, 0, "")
    again = given(begin=session).when(turn(act("3.1", effect="write", arguments={"id": "1.1"}))).then("turn.planned")
    assert _rulings(again.session) == ["proceed"]
    assert again.session.counts.turns == 3


def test_of_earlier_requests_what_is_short_is_kept_first() -> None:
    story: list[StoryLine] = [*FLOW, *looked(1, "mia_li_3668")]
    story += [told for number in range(2, 12) for told in looked(number, "d" * 900)]
    session = given(*story, anew("else"), c.Stop(), anew("next")).session
    assert len(session.memory.earlier) == EARLIER
    assert session.memory.earlier[0].text == "mia_li_3668"
    assert [deed.turn for deed in session.memory.earlier] == sorted(deed.turn for deed in session.memory.earlier)


def test_words_that_a_turn_took_in_do_not_leak_into_the_next_request() -> None:
    """The answer to a question of the last request says nothing about this one."""
    asked = (*FLOW, c.Ask(text="Which order?"), say("#W1"))
    assert given(*asked, *looked(1)).session.words.feedback == ("#W1",)
    told = given(*asked, *looked(1), c.Stop(), anew("What is my balance?"))
    assert (told.session.words.feedback, told.session.words.dialogue) == ((), ())
    unheard = given(*asked, c.Stop(), anew("What is my balance?"))
    assert unheard.session.words.feedback == ("#W1",)


def test_words_said_after_the_last_turn_go_on_to_the_next_request() -> None:
    story = (*FLOW, say("first"), turn(act("1.1")), *looked(2), say("second"), c.Stop(), anew("else"))
    session = given(*story).session
    assert session.words.feedback == ("second",)


# --- outcomes that come late


def test_an_outcome_that_comes_late_is_remembered_and_counts_as_done() -> None:
    write = act("1.1", effect="write", arguments={"order": 1})
    going = given(*FLOW, turn(write), c.Start())
    work = going.session.work
    left = given(c.Stop(), anew("and my invoice?"), begin=going.session)
    late = left.when(finish(action_id="1.1", ok=True, result="cancelled"), "executor", work=work)
    told = late.then("actions.finished").leaves("planning", "nobody", left_running=())
    assert [(deed.turn, deed.text) for deed in told.session.memory.deeds] == [(0, "cancelled")]
    assert told.session.memory.executed == 1
    again = told.given.when(turn(act("2.1", effect="write", arguments={"order": 1}))).then("turn.planned")
    assert _rulings(again.session) == ["skip"]


def test_what_still_runs_is_not_begun_again_unasked() -> None:
    write = act("1.1", effect="write", arguments={"order": 1})
    left = given(*FLOW, turn(write), c.Start(), c.Stop(), anew("again"))
    told = left.when(turn(act("2.1", effect="write", arguments={"order": 1}))).then("turn.planned")
    told.leaves("awaiting_approval", "user")
    assert told.session.turn is not None
    assert (
        told.session.turn.actions[0].spec.approval_reason
        == "it may have been done already: nobody knows what became of it"
    )


def test_a_doubt_that_the_person_left_stays_a_doubt() -> None:
    """Nobody says that it was skipped: it was started. What needs it is not run, and the truth may still come."""
    write, after = act("1.1", effect="write", ask="a write"), act("1.2", "1.1")
    doubt = c.Uncertain(action_id="1.1", reason="the executor was ended while it ran")
    told = given(*FLOW, turn(write, after), allow("1.1"), c.Start(), doubt).when(say(LEAVE)).then("question.answered")
    told.leaves("verifying", "verifier")
    known = history(told.session.memory, told.session.turn)
    assert [(deed.status, deed.text) for deed in known] == [
        ("uncertain", "the executor was ended while it ran"),
        ("skipped", "an action it depends on did not finish"),
    ]
    truth = told.given.when(finish(action_id="1.1", ok=True, result="done"), "executor").then("actions.finished")
    assert texts(truth.session)[0] == "done"
    again = given(verdict("continue"), begin=told.session).when(
        turn(act("2.1", effect="write", arguments={"id": "1.1"}))
    )
    assert _rulings(again.then("turn.planned").session) == ["require_approval"]


# --- the way to the end


def test_sub_goals_are_open_until_a_verdict_reaches_them() -> None:
    way = ("find the order", "cancel it", "find the order")
    plan = c.PlanTurn(sub_goal="find the order", sub_goals=way[:2], actions=(act("1.1"),))
    story = (*FLOW, plan, c.Start(), finish(action_id="1.1", ok=True))
    assert _goals(given(*story)) == [("find the order", "pending"), ("cancel it", "pending")]
    assert _goals(given(*story, verdict("continue"))) == [("find the order", "completed"), ("cancel it", "pending")]
    assert _goals(given(*story, verdict("continue", "failure")))[0] == ("find the order", "failed")
    assert _goals(given(*story, verdict("retry", "failure")))[0] == ("find the order", "pending")
    other = c.PlanTurn(sub_goal="return it", sub_goals=("return it",), actions=(act("2.1"),))
    changed = _goals(given(*story, verdict("continue"), other))
    assert changed == [("find the order", "completed"), ("return it", "pending")]


def test_sub_goals_are_bounded() -> None:
    story: list[StoryLine] = [*FLOW]
    for number in range(1, SUB_GOALS + 10):
        story += (c.PlanTurn(sub_goal=f"goal {number}", actions=(act(f"{number}.1"),)), c.Start())
        story += (finish(action_id=f"{number}.1", ok=True), verdict("continue"))
    goals = _goals(given(*story))
    assert len(goals) == SUB_GOALS
    assert goals[-1] == (f"goal {SUB_GOALS + 9}", "completed")


def test_an_empty_turn_says_why_and_is_no_goal() -> None:
    told = given(*FLOW, *looked(1)).when(turn(nothing=True)).then("turn.planned", actions=())
    told.leaves("answering", "generator", turn=None, turns=2)
    assert told.session.memory.closing == "Nothing is left to do."
    assert _goals(told.given) == [("look at the order", "completed")]
    assert [deed.id for deed in told.session.memory.deeds] == ["1.1"]


def test_what_was_recalled_stays_for_the_request() -> None:
    hint = Recalled(session_id="s0", request="cancel", outcome="answered: done")
    first = turn(act("1.1"), recalled=(hint,))
    session = given(*FLOW, first, c.Start(), finish(action_id="1.1", ok=True), verdict("continue"), turn(act("2.1")))
    assert session.session.memory.recalled == (hint,)
    assert given(anew("x"), c.Stop(), anew("new"), begin=session.session).session.memory.recalled == ()


def test_a_problem_is_told_until_the_next_turn_takes_it_in() -> None:
    retried = (*FLOW, turn(), c.Start(), finish(action_id="1.1", ok=False, error="no"), verdict("retry", "failure"))
    assert given(*retried).session.next_draft.problems == ("seen",)
    mended = given(*retried, say("hurry"), turn(act("2.1")))
    assert mended.session.next_draft.problems == ("seen",), (
        "planned again for the word: the problem is still to be mended"
    )
    story = (*retried, turn(act("2.1")), c.Start(), say("hurry"), finish(action_id="2.1", ok=True), verdict())
    assert given(*story).session.next_draft.problems == ()


# --- forks


def test_a_fork_in_the_middle_carries_words_but_neither_deeds_nor_licences() -> None:
    """The fork has a store of its own, or the same one that others change: what it knows it looks up again."""
    write = act("2.1", effect="write", arguments={"order": 1})
    before = (*ASKING, *looked(1), c.Remember(tool="orders", policy="never"), say("hurry"), turn(), turn(write))
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
    assert (child.words.request, child.words.feedback, child.phase) == (parent.words.request, ("hurry",), "resting")
    child = story(child).apply(anew("go on"))
    told = given(begin=child).when(turn(write.model_copy(update={"id": "1.1"}))).then("turn.planned")
    told.leaves("awaiting_approval", "user")


# --- a person


def test_a_person_s_turn_is_remembered_like_any_other() -> None:
    story = (*FLOW, *looked(1)[:-1], verdict("escalate"))
    mine = c.TakeOver(sub_goal="by hand", actions=(act("2.1", effect="write", arguments={"order": 1}),))
    after = given(*story, mine, c.Start(), finish(action_id="2.1", ok=True, result="done"), verdict("complete"))
    assert (after.session.phase, after.session.memory.verdicts[-1].sub_goal) == ("escalated", "by hand")
    back = given(say("tell them"), begin=after.session)
    told = back.when(turn(act("3.1", effect="write", arguments={"order": 1}))).then("turn.planned")
    assert _rulings(told.session) == ["skip"]


@pytest.mark.parametrize("result", [None, 0, "", [], {"a": None}])
def test_any_result_has_a_text(result: Any) -> None:
    (deed,) = history(*_of(given(*FLOW, *looked(1, result))))
    assert isinstance(deed, Deed)
    assert deed.text == text_of(result)


def _of(told: Given) -> tuple[memory.Memory, Any]:
    return told.session.memory, told.session.turn


def _goals(told: Given) -> list[tuple[str, str]]:
    return [(goal.goal, goal.status) for goal in told.session.memory.sub_goals]


def _rulings(session: Session) -> list[str]:
    specs: list[ActionSpec] = [action.spec for action in session.turn.actions] if session.turn else []
    return [spec.decision for spec in specs]
