"""References between calls of a turn: filled in before the user is asked, and only in turns of tools."""

from parley.events.values import PathPlan
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import undecided_actions
from tests.unit.domain.spec import act, allow, done, given, request, say, turn, verdict

TEXT = {"note": "customer wrote {{calls.1.output}}"}
WRITE = act("1.2", "1.1", effect="write", arguments=TEXT)
READ = (request("agentflow"), turn(act("1.1"), WRITE), c.Start(), done("1.1"))


def test_a_change_asks_once_the_values_of_its_references_are_filled_in() -> None:
    ended = given(*READ)
    assert (ended.session.phase, undecided_actions(ended.session.turn)) == ("executing", ())
    ended.when(c.Start()).refused(OutOfTurn, "before the values of its references are known")
    ended.when(allow("1.2")).refused(OutOfTurn, "No action 1.2 waits")
    filled = WRITE.model_copy(update={"arguments": {"note": "customer wrote hello"}})
    asked = ended.when(c.ChangeTurn(actions=(filled,))).then("turn.changed").leaves("awaiting_approval", "user")
    assert [a.spec.arguments for a in undecided_actions(asked.session.turn)] == [filled.arguments]
    asked.given.when(allow("1.2")).then("approval.given").leaves("executing", "executor")


def test_calls_with_and_without_references_are_asked_about_together() -> None:
    other = act("1.3", "1.1", effect="write")
    ended = given(request("agentflow"), turn(act("1.1"), WRITE, other), c.Start(), done("1.1"))
    assert ended.session.phase == "executing"
    filled = WRITE.model_copy(update={"arguments": {"note": "customer wrote hello"}})
    asked = ended.when(c.ChangeTurn(actions=(filled,))).then("turn.changed").leaves("awaiting_approval", "user")
    assert [action.spec.id for action in undecided_actions(asked.session.turn)] == ["1.2", "1.3"]


def test_a_text_of_a_path_that_looks_like_a_reference_stays_text() -> None:
    path = (request("flow"), turn(act("1.1", tool="sql.look"), WRITE, path=PathPlan(nodes=("sql.look", "orders"))))
    asked = given(*path, c.Start()).when(done("1.1")).then("actions.finished").leaves("awaiting_approval", "user")
    assert [a.spec.id for a in undecided_actions(asked.session.turn)] == ["1.2"]


def test_the_question_at_the_limit_gives_way_to_a_message_that_has_just_come() -> None:
    once = (request("agentflow", max_turns=1), turn(), c.Start(), done(), verdict("continue"))
    asked = given(*once, say("only the belt")).when(c.Ask(about="turns", text="?")).then("question.asked")
    asked.leaves("planning", "planner", question=None)
