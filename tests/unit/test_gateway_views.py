"""Protocol 1 of the WebSocket: the messages about each event, and snapshots."""

from datetime import UTC, datetime

from parley.events.values import ActionSpec, Check, ModelCall, SessionSettings, Step
from parley.protocol.server import SERVER_MESSAGES, ServerMessage, dump
from services.gateway.views import protocol1, screen_messages
from services.gateway.views.protocol1 import messages_for
from services.gateway.views.summary import describe_answer, summarize
from shared.domain import commands as c
from shared.domain.commands import Work
from shared.domain.decide import AnyCommand, decide
from shared.story import Story, finish_action

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class SessionMessages(Story):
    """A session, and the messages about each of its events."""

    def does(self, command: AnyCommand) -> list[str]:
        return [type(message).__name__ for message in self.messages_after(command)]

    def messages_after(self, command: AnyCommand, work: Work | None = None) -> tuple[ServerMessage, ...]:
        if work:  # the outcome of work that a stop has ended
            self.apply(decide(self.session, command, self.meta(command)._replace(work=work)))
        else:
            self.apply(command)
        before, _, event, after = self.transitions[-1]
        outgoing = messages_for(before, event, after)
        for message in outgoing:
            assert (message.session_id, message.version is not None) == ("s1", True)
            SERVER_MESSAGES.validate_python(dump(message))
        snapshot = protocol1.snapshot(self.session)
        assert SERVER_MESSAGES.validate_python(dump(snapshot)) == snapshot
        return outgoing

    def to_code_review(self) -> None:
        self.does(c.Say(text="A calculator"))
        self.does(c.DraftPlan(goal="G", steps=(Step(text="One"),)))
        self.does(c.Approve(version=2))
        self.does(c.DraftCode(code="print(1)\n"))
        self.does(c.VerifyCode(checks=(Check(name="tests", ok=True),)))


SPEND = c.RecordUsage(
    calls=(
        ModelCall(
            model="m",
            role="planner",
            prompt_tokens=1,
            cached_tokens=0,
            completion_tokens=1,
            cost=0,
            latency=0,
            attempt=1,
        ),
    )
)


def test_the_messages_of_a_conversation() -> None:
    story = SessionMessages()
    assert story.does(c.Say(text="A calculator")) == ["EventMessage"]
    assert story.does(SPEND) == ["EventMessage", "Usage"]
    assert story.does(c.DraftPlan(goal="G", steps=(Step(text="One"),))) == ["EventMessage", "TextPlanReview"]
    assert story.does(SPEND) == ["EventMessage", "Usage"]
    assert story.does(c.Reject()) == ["EventMessage", "FeedbackRequest"]
    assert story.does(c.Rename(title="Mine")) == ["EventMessage"]
    assert story.does(c.Say(text="More")) == ["EventMessage"]
    assert story.does(c.Say(text="And more")) == ["EventMessage", "Log"]
    assert story.does(c.DraftPlan(goal="G", steps=(Step(text="One"),))) == ["EventMessage"]
    assert story.does(c.DraftPlan(goal="G", steps=(Step(text="Two"),))) == ["EventMessage", "TextPlanReview"]
    base = story.session.plan.version if story.session.plan else 0
    assert story.does(c.EditPlan(base=base, steps=(Step(text="Three"),))) == ["EventMessage", "TextPlanReview"]
    assert story.does(c.Approve(version=story.session.version)) == ["EventMessage"]
    assert story.does(c.DraftCode(code="print(1)\n")) == ["EventMessage"]
    assert story.does(c.VerifyCode(checks=(Check(name="tests", ok=True),))) == ["EventMessage", "CodeReview"]
    code = story.session.code.version if story.session.code else 0
    assert story.does(c.Approve(version=code)) == ["EventMessage", "Completion", "Continue"]
    assert story.does(c.Continue()) == ["EventMessage", "Question"]
    assert story.does(c.Complete()) == ["EventMessage", "Completed"]


def test_a_completion_contains_the_approved_plan_and_code() -> None:
    story = SessionMessages()
    story.to_code_review()
    assert story.session.code is not None
    assert protocol1.completion(story.session).final_code == ""
    story.does(c.Approve(version=story.session.code.version))
    done = protocol1.completion(story.session)
    assert (done.final_plan, done.final_code) == ("Goal: G\n\n1. One", "print(1)\n")


def test_a_run_is_completed_by_its_verdict() -> None:
    story = SessionMessages()
    story.to_code_review()
    assert story.session.code is not None
    story.does(c.Approve(version=story.session.code.version))
    assert story.does(c.Run()) == ["EventMessage"]
    story.does(c.Start())
    story.does(finish_action(action_id="1.1", ok=True, result={"stdout": "1"}))
    *_, completion, offer = story.messages_after(
        c.VerifyTurn(status="success", next_action="complete", reasoning="It printed 1.")
    )
    assert "It printed 1." in str(dump(completion)["message"])
    assert dump(offer)["type"] == "continue"


def test_the_messages_of_failures_pauses_and_stops() -> None:
    story = SessionMessages()
    story.does(c.Say(text="A calculator"))
    assert story.does(c.Pause()) == ["EventMessage", "Log"]
    assert story.does(c.Resume()) == ["EventMessage", "Log"]
    assert story.does(c.Ask(text="For whom?")) == ["EventMessage", "Question"]
    assert story.does(c.Answer(text="Me")) == ["EventMessage"]
    assert story.does(c.Fail(reason="no model", raw="?")) == ["EventMessage", "StageFailed"]
    assert story.does(c.Retry()) == ["EventMessage"]
    assert story.does(c.Stop()) == ["EventMessage", "Stopped"]
    assert story.does(c.Retry()) == ["EventMessage"]
    assert story.does(c.DraftPlan(goal="G", steps=(Step(text="One"),))) == ["EventMessage", "TextPlanReview"]
    assert story.does(c.CancelPlan()) == ["EventMessage", "Stopped"]


def test_approval_is_requested_until_all_actions_are_decided() -> None:
    story = SessionMessages()
    story.does(c.Say(text="Pay twice", workflow="agentflow"))
    actions = tuple(
        ActionSpec(id=f"1.{n}", tool="pay", arguments={"bill": n}, approval_reason="it spends money", effect="write")
        for n in (1, 2, 3)
    )
    assert story.does(c.PlanTurn(sub_goal="Pay", actions=actions)) == ["EventMessage", "ApprovalRequest"]
    assert story.does(c.Skip(action_id="1.3")) == ["EventMessage", "ApprovalRequest"]
    assert story.does(c.Approve(version=2, action_id="1.1")) == ["EventMessage", "ApprovalRequest"]
    assert story.does(c.Reject(action_id="1.2")) == ["EventMessage"]


def test_a_stop_reports_a_running_write_and_its_outcome() -> None:
    story = SessionMessages()
    story.does(c.Say(text="Pay twice", workflow="agentflow", settings=SessionSettings(approval="never")))
    pay = tuple(ActionSpec(id=f"1.{n}", tool=f"pay_{n}", effect="write", arguments={}) for n in (1, 2, 3))
    look = ActionSpec(id="1.4", tool="look")
    story.does(c.PlanTurn(sub_goal="Pay", actions=(*pay, look)))
    story.does(c.Start())
    work = story.session.work
    (_, stopped) = story.messages_after(c.Stop())
    assert dump(stopped)["message"] == "Stopped. pay_1, pay_2, pay_3 had begun and is not cut off."
    (_, done) = story.messages_after(finish_action(action_id="1.1", ok=True), work)
    assert dump(done)["content"] == "pay_1 took effect after the stop."
    (_, failed) = story.messages_after(finish_action(action_id="1.2", ok=False, error="no money"), work)
    assert dump(failed)["content"] == "pay_2 failed after the stop."
    (_, unknown) = story.messages_after(c.ReportUncertain(action_id="1.3", reason="no answer"), work)
    assert dump(unknown)["content"] == "Nobody can tell whether pay_3 took effect. Retry asks what happened."
    assert len(story.messages_after(finish_action(action_id="1.4", ok=True), work)) == 1


def test_summaries_show_program_output_and_table_names() -> None:
    assert summarize({"stdout": "3.5\n", "stderr": "", "exit_code": 0}) == "3.5"
    assert summarize({"stdout": "", "stderr": "careful\n", "exit_code": 1}) == "careful"
    assert summarize({"stdout": "", "stderr": "", "exit_code": 0}) == "No output"
    assert describe_answer('{"tables": ["orders", "users"]}') == "Use orders, users"
    assert describe_answer("yes, and {the users") == "yes, and {the users"


def test_the_rest_reason_is_shown_only_at_rest() -> None:
    """While a service works, replies, or a review waits, the reason of an earlier rest is not shown."""
    story = SessionMessages()

    def after(command: AnyCommand) -> str:
        story.does(command)
        snapshot = protocol1.snapshot(story.session)
        shown = "new" if story.session.reply else screen_messages.snapshot(story.session).view.reason
        assert shown == snapshot.reason
        return f"{snapshot.phase}: {snapshot.reason}"

    drafted = c.DraftPlan(goal="G", steps=(Step(text="One"),))
    assert after(c.Say(text="A calculator")) == "planning: new"
    assert after(c.Stop()) == "resting: stopped"
    assert after(c.Retry()) == "planning: new"
    assert after(drafted) == "awaiting_approval: new"
    assert after(c.CancelPlan()) == "resting: stopped"
    assert after(c.Complete()) == "resting: completed"
    story.does(c.Say(text="Roman numerals"))
    assert screen_messages.snapshot(story.session).view.reason == "completed", "what is said may be a question"
    assert protocol1.snapshot(story.session).reason == "new", "in version 1 a reply is work"
    assert after(drafted) == "awaiting_approval: new"
