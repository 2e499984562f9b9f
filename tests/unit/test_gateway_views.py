"""Protocol 1 of the WebSocket: the messages about each event, and snapshots."""

from parley.events.values import ActionSpec, Check, SessionSettings, Step
from parley.protocol.server import SERVER_MESSAGES, ServerMessage, dump
from services.gateway.views import protocol1
from services.gateway.views.protocol1 import messages_for
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import Work
from shared.domain.rules.decide import AnyCommand, decide
from shared.journal.summary import describe_answer, summarize
from shared.story import Story, finish_action


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


def test_what_was_said_with_a_draft_is_told_only_by_its_review() -> None:
    story = SessionMessages()
    story.does(c.Say(text="A calculator"))
    (_, review) = story.messages_after(c.DraftPlan(goal="G", say="For floats.", steps=(Step(text="One"),)))
    assert dump(review)["message"].startswith("For floats.\n\nVersion 1 of the plan.")
