"""What screens, clients and exports are told when a person steers a plan that runs."""

from parley.protocol import journal as j
from parley.protocol import server as s
from parley.protocol.client import Skip
from services.gateway.commands import to_commands
from services.gateway.views.can import accepted
from services.gateway.views.derive import told as messages_of
from services.gateway.views.entries import entries
from services.gateway.views.execution_plan import execution_plan, plan_status
from services.gateway.views.messages import snapshot
from services.gateway.views.record import decisions
from services.gateway.views.sections import changed, whole
from services.generator.execution_plan import report
from services.verifier.execution_plan import carried_out
from shared.domain import commands as c
from shared.domain.evolve import evolve
from shared.domain.session import Session
from tests.unit.domain.spec import StoryLine, approve, given, say
from tests.unit.domain.test_execution_plan import CANCEL, DRAFTED, LOOK, PAY, ended, plan
from tests.unit.domain.test_skipping import PRICE, STUCK, skip
from tests.unit.domain.test_steering import RUNS

GIVEN = (*DRAFTED, plan(LOOK, PAY), approve, skip("s1", output=PRICE))


def session(*lines: StoryLine) -> Session:
    return given(*lines).session


def updates(*lines: StoryLine, command: c.Skip) -> dict[str, dict[str, object]]:
    told = entries(given(*lines).when(command).then_event())
    return {one.key: dict(one.set) for one in told if isinstance(one, j.EntryUpdate)}


def test_a_given_output_is_marked_wherever_the_step_is_told_of() -> None:
    after = session(*GIVEN)
    first = execution_plan(after).steps[0]
    assert (first.status, first.given, first.output) == ("skipped", True, PRICE)
    assert plan_status(after).steps == {"s1": "skipped", "s4": "planned"}
    section = whole(after).steps["s1"]
    assert (section.given, section.word, section.used_by) == (True, "output given", ("s4",))
    (update,) = updates(*GIVEN[:-1], command=skip("s1", output=PRICE)).values()
    assert (update["state"], update["word"], update["gist"]) == (
        "skipped",
        "output given",
        "output given instead: price: 12",
    )
    assert update["result_in"] == after.version


def test_the_report_counts_what_was_done_only() -> None:
    turn = session(*DRAFTED, plan(LOOK, CANCEL), approve, skip("s1", output=PRICE), c.Start(), ended("s2")).turn
    assert turn
    verdict = carried_out(turn)
    assert verdict.reasoning == "1 of 2 steps were carried out. You gave the output of “Look the order up” instead."
    said = report(turn)
    assert '1. Look the order up: **not done**, you gave its output: {"price": 12}' in said.text
    assert said.evidence == ("t2.s2",)


def test_dependents_are_told_of_each_by_themselves() -> None:
    before, command = session(*STUCK), skip("s1", with_dependents=True)
    told = updates(*STUCK, command=command)
    assert {key: one["gist"] for key, one in told.items() if one["state"] == "skipped"} == {
        "action:t2.s1": "skipped by the person",
        "action:t2.s3": "skipped with the step whose output it uses",
        "action:t2.s5": "skipped with the step whose output it uses",
    }
    event = given(*STUCK).when(command).then_event()
    assert [(one.action_id, one.decision) for one in decisions([event])] == [
        (f"t2.{step}", "skipped") for step in ("s1", "s3", "s5")
    ]
    assert {"t2.s1", "t2.s3", "t2.s5"} <= changed(before, evolve(before, event))["actions"].keys()


def test_a_cancel_lists_what_was_done_what_runs_and_what_was_not() -> None:
    lines = (*DRAFTED, plan(LOOK, CANCEL, PAY), approve, c.Start(), ended("s1"), c.Skip(action_id="t2.s4"), c.Start())
    before = session(*lines)
    event = given(*lines).when(c.CancelPlan()).then_event()
    after = evolve(before, event)
    (stopped,) = [one for one in messages_of(before, event, after) if isinstance(one, s.Stopped)]
    assert stopped.message == (
        "The plan was cancelled. Done: 1. Look the order up. Still running: 2. Cancel it. Not done: 3. Pay it back."
    )
    progress = execution_plan(after).progress
    assert (progress.done, progress.running, progress.not_done) == (("s1",), ("s2",), ("s4",))
    resting = given(*STUCK).when(c.CancelPlan()).then_event()
    at_rest = messages_of(session(*STUCK), resting, evolve(session(*STUCK), resting))
    assert any(isinstance(one, s.Stopped) for one in at_rest)


def test_words_during_a_plan_are_said_to_be_answered_before_the_next_step() -> None:
    before = session(*RUNS)
    event = given(*RUNS).when(say("why?")).then_event()
    (log,) = [one for one in messages_of(before, event, evolve(before, event)) if isinstance(one, s.Log)]
    assert log.content == "Noted: it is answered before the next step of the plan begins."


def test_a_plan_that_runs_can_be_edited_and_clients_of_protocol_1_are_told_as_before() -> None:
    assert "edit" in accepted(session(*RUNS))
    assert "edit" not in snapshot(session(*RUNS)).can
    assert {"skip", "cancel"} <= set(accepted(session(*STUCK)))


def test_a_message_that_skips_is_the_command_that_skips() -> None:
    message = Skip(type="skip", action_id="t2.s1", output=[1], with_dependents=False)
    assert to_commands(message, session(*STUCK), None) == (c.Skip(action_id="t2.s1", output=[1]),)
