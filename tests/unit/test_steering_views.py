"""Views and exports of a running plan after the user skips a step, edits the plan or cancels it."""

from parley.protocol import journal as j
from parley.protocol import server as s
from parley.protocol.client import Skip
from services.gateway.messages.commands import to_commands
from services.gateway.views.audit_trail import audit_trail
from services.gateway.views.execution_plan import execution_plan, plan_markdown, plan_status
from services.gateway.views.protocol1 import messages_for as messages_of
from services.gateway.views.sections import changed_sections, full_view
from services.generator.execution_plan import plan_answer
from services.verifier.execution_plan import plan_verdict
from shared.domain.kernel import commands as c
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.journal.entries import entries
from shared.story import finish_action
from tests.unit.domain import test_for_each as each
from tests.unit.domain.spec import StoryLine, approve, given, say, verdict
from tests.unit.domain.test_execution_plan import CANCEL, DRAFTED, LOOK, NOTE, PAY, finish_step, plan
from tests.unit.domain.test_skipping import PRICE, STUCK, skip

OUTPUT_GIVEN = (*DRAFTED, plan(LOOK, PAY), approve, skip("s1", output=PRICE))


def session(*lines: StoryLine) -> Session:
    return given(*lines).session


def updates(*lines: StoryLine, command: c.Skip) -> dict[str, dict[str, object]]:
    new_entries = entries(given(*lines).when(command).then_event())
    return {entry.key: dict(entry.set) for entry in new_entries if isinstance(entry, j.EntryUpdate)}


def test_a_given_output_is_marked_in_every_view() -> None:
    after = session(*OUTPUT_GIVEN)
    first = execution_plan(after).steps[0]
    assert (first.status, first.given, first.output) == ("skipped", True, PRICE)
    assert plan_status(after).steps == {"s1": "skipped", "s4": "planned"}
    section = full_view(after).steps["s1"]
    assert (section.given, section.word, section.used_by) == (True, "output given", ("s4",))
    (update,) = updates(*OUTPUT_GIVEN[:-1], command=skip("s1", output=PRICE)).values()
    assert (update["state"], update["word"], update["gist"]) == (
        "skipped",
        "output given",
        "output given instead: price: 12",
    )
    assert (update["result"], update["given"]) == (PRICE, True)


def test_the_text_of_a_plan_has_json_and_references_in_words() -> None:
    note = NOTE.model_copy(update={"arguments": {"text": "It cost {{steps.s1.output.price}}.", "loud": True}})
    listed = each.LIST.model_copy(update={"id": "s5"})
    cancel = each.CANCEL.model_copy(update={"id": "s6", "for_each": "{{steps.s5.output.orders}}"})
    steps = plan_markdown(session(*DRAFTED, plan(LOOK, PAY, note, listed, cancel))).splitlines()
    assert [line.strip() for line in steps if line.startswith("   `")] == [
        '`get_order(order="#W1")`',
        "`pay(sum=price of step 1)`",
        '`note(text="It cost {price of step 1}.", loud=true)`',
        "`list()`",
        "`cancel(order=id of each item)`",
    ]
    assert "5. [planned] Cancel each for each of orders of step 4" in steps


def test_a_finished_step_says_why_its_output_is_missing() -> None:
    why = "The result cannot be kept: it has a number that is not finite"
    finished = finish_action(action_id="t2.s1", ok=True, result=None, error=why)
    step = execution_plan(session(*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finished)).steps[0]
    assert (step.status, step.output, step.error) == ("finished", None, why)


def test_the_progress_counts_only_finished_steps() -> None:
    turn = session(*DRAFTED, plan(LOOK, CANCEL), approve, skip("s1", output=PRICE), c.Start(), finish_step("s2")).turn
    assert turn
    verdict = plan_verdict(turn)
    assert verdict.reasoning == "1 of 2 steps were carried out. You gave the output of “Look the order up” instead."
    answer = plan_answer(turn)
    assert '1. Look the order up: **not done**, you gave its output: {"price": 12}' in answer.text
    assert answer.evidence == ("t2.s2",)


def test_a_step_is_one_whatever_its_items_and_what_an_earlier_version_did_is_done() -> None:
    items, steps = each.expand("s2", "#1", "#2"), (each.LIST, each.LOOK)
    ended = (c.Start(), each.finish_step("s2[0]"), each.finish_step("s2[1]", ok=False), verdict(status="failure"))
    told = c.GiveAnswer(text="No.", confidence=0)
    again = c.DraftPlan(goal="All orders again", steps=steps, kind="execution")
    rests = session(*each.approved_plan(*steps), items, *ended, told, say("try again"), again, approve)
    second = finish_action(action_id="t2.s2[1]", ok=True, attempt=2)
    gathered = finish_action(action_id="t2.s2", ok=True, result=["x", "x"])
    done = given(items, c.Start(), second, c.Start(), gathered, begin=rests).session
    assert done.turn
    assert plan_verdict(done.turn).reasoning == "All 2 steps were carried out."
    assert "Look at each: done before" in plan_answer(done.turn).text


def test_each_skipped_dependent_is_reported() -> None:
    before, command = session(*STUCK), skip("s1", with_dependents=True)
    changes = updates(*STUCK, command=command)
    assert {key: change["gist"] for key, change in changes.items() if change["state"] == "skipped"} == {
        "action:t2.s1": "skipped by the person",
        "action:t2.s3": "skipped with the step whose output it uses",
        "action:t2.s5": "skipped with the step whose output it uses",
    }
    event = given(*STUCK).when(command).then_event()
    assert [(change.action_id, change.decision) for change in audit_trail([event]).decisions] == [
        (f"t2.{step}", "skipped") for step in ("s1", "s3", "s5")
    ]
    assert {"t2.s1", "t2.s3", "t2.s5"} <= changed_sections(before, evolve(before, event))["actions"].keys()


def test_a_cancel_lists_done_running_and_pending_steps() -> None:
    lines = (
        *DRAFTED,
        plan(LOOK, CANCEL, PAY),
        approve,
        c.Start(),
        finish_step("s1"),
        c.Skip(action_id="t2.s4"),
        c.Start(),
    )
    before = session(*lines)
    event = given(*lines).when(c.CancelPlan()).then_event()
    after = evolve(before, event)
    (stopped,) = [message for message in messages_of(before, event, after) if isinstance(message, s.Stopped)]
    assert stopped.message == (
        "The plan was cancelled. Done: 1. Look the order up. Still running: 2. Cancel it. Not done: 3. Pay it back."
    )
    progress = execution_plan(after).progress
    assert (progress.done, progress.running, progress.not_done) == (("s1",), ("s2",), ("s4",))
    resting = given(*STUCK).when(c.CancelPlan()).then_event()
    at_rest = messages_of(session(*STUCK), resting, evolve(session(*STUCK), resting))
    assert any(isinstance(message, s.Stopped) for message in at_rest)


def test_a_skip_message_becomes_a_skip_command() -> None:
    message = Skip(type="skip", action_id="t2.s1", output=[1], with_dependents=False)
    assert to_commands(message, session(*STUCK), None) == (c.Skip(action_id="t2.s1", output=[1]),)
