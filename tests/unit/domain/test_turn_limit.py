"""The limit of turns: counted since the person's last word, and a question whether to go on once it is reached."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from services.planner.app import Planner
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.domain.kernel.errors import OutOfTurn
from shared.worker import WorkContext
from tests.unit.domain.spec import StoryLine, act, allow, answer, done, given, new_request, request, say, turn, verdict

ONE_TURN = (request("agentflow", max_turns=1), turn(), c.Start(), done(), verdict("continue"))
ASKED = (*ONE_TURN, c.Ask(about="turns", text="?"))


def test_the_planner_asks_whether_to_go_on_and_the_answer_leads_back_to_it() -> None:
    asked = given(*ONE_TURN).when(c.Ask(about="turns", text="?")).then("question.asked", options=wording.TURN_OPTIONS)
    asked.leaves("awaiting_input", "user", resume_phase="planning")
    for words in ("Go on", "only the belt, please"):
        given(*ASKED).when(say(words)).then("question.answered", text=words).leaves("planning", "planner")
    given(*ASKED).when(say("answer with what there is.")).then("question.answered", key="answer").leaves(
        "answering", "generator"
    )
    given(*ASKED, c.Stop()).when(c.Retry()).then("session.retried").leaves("planning", "planner")
    given(request("agentflow"), turn()).when(c.Ask(about="turns", text="?")).refused(OutOfTurn)


WRITE = turn(act("1.1", effect="write"))
DECLINED = (request("agentflow"), WRITE, c.Reject(action_id="1.1", reason="only the belt"), verdict("continue"))


@pytest.mark.parametrize(
    ("story", "before", "turns"),
    [
        (ASKED, 0, 1),
        ((*ASKED, say("Go on")), 1, 1),
        ((*ASKED, say("Go on"), turn(act("2.1")), c.Start(), done("2.1"), verdict("continue")), 1, 2),
        ((request("agentflow"), say("hurry"), turn()), 1, 1),
        ((request("agentflow"), WRITE, say("how much?"), c.AnswerRemark(text="3")), 1, 1),
        (DECLINED, 1, 1),
        ((*DECLINED, turn(act("2.1", effect="write")), allow("2.1")), 1, 2),
        ((request("agentflow"), turn(), c.Start(), c.Stop(), c.Retry()), 1, 1),
        ((request("agentflow"), turn(), c.Start(), done(), verdict(), answer(), new_request("next")), 1, 1),
    ],
    ids=["none", "go on", "after it", "discarded draft", "message", "refusal", "approval", "retry", "request"],
)
def test_turns_count_since_the_last_word_of_the_person(story: tuple[StoryLine, ...], before: int, turns: int) -> None:
    counts = given(*story).session.counts
    assert (counts.turns_before_words, counts.turns) == (before, turns)


async def test_the_planner_asks_without_a_model_once_the_limit_is_reached() -> None:
    story = (request("agentflow", max_turns=1), turn(sub_goals=("look", "cancel")), *ONE_TURN[2:])
    context = cast(WorkContext, SimpleNamespace(session=given(*story).session, answers_message=False))
    planner = Planner(*cast(tuple[Any, ...], (SimpleNamespace(plan=None),) * 4))
    asked = await planner.plan(context)
    assert isinstance(asked, c.Ask)
    assert (asked.about, "look; cancel" in asked.text) == ("turns", True)


def test_a_verdict_tells_which_sub_goals_are_done_that_changed_something() -> None:
    write, look = act("1.1", effect="write", sub_goal="cancel"), act("1.2", sub_goal="look")
    story = (request("agentflow", approval="never"), turn(write, look), c.Start(), done("1.1"), done("1.2"))
    judged = c.VerifyTurn(status="success", next_action="continue", reasoning="Fine.", rule="change-shown")
    entry = given(*story, judged).session.transcript[-1]
    assert (entry.by, entry.kind, entry.text) == ("verifier", "verdict", "Done: cancel.")
