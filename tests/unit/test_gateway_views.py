"""Which messages an event brings, and what a snapshot holds."""

from datetime import UTC, datetime

from parley.events.values import ActionSpec, Check, ModelCall, SessionSettings, Step
from parley.protocol.server import SERVER_MESSAGES, ServerMessage, dump
from services.gateway.views import messages, screen
from services.gateway.views.derive import told
from services.gateway.views.gist import chosen, gist
from shared.domain import commands as c
from shared.domain.commands import Work
from shared.domain.decide import AnyCommand, decide
from shared.story import Story, finish

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Told(Story):
    """A session, and what its clients were told by every event."""

    def does(self, command: AnyCommand) -> list[str]:
        return [type(message).__name__ for message in self.hears(command)]

    def hears(self, command: AnyCommand, work: Work | None = None) -> tuple[ServerMessage, ...]:
        if work:  # of a worker whose turn has passed
            self.apply(decide(self.session, command, self.by(command)._replace(work=work)))
        else:
            self.apply(command)
        before, _, event, after = self.transitions[-1]
        heard = told(before, event, after)
        for message in heard:
            assert (message.session_id, message.version is not None) == ("s1", True)
            SERVER_MESSAGES.validate_python(dump(message))
        snapshot = messages.snapshot(self.session)
        assert SERVER_MESSAGES.validate_python(dump(snapshot)) == snapshot
        return heard

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


def test_a_conversation() -> None:
    it = Told()
    assert it.does(c.Say(text="A calculator")) == ["Event"]
    assert it.does(SPEND) == ["Event", "Usage"]
    assert it.does(c.DraftPlan(goal="G", steps=(Step(text="One"),))) == ["Event", "TextPlanReview"]
    assert it.does(SPEND) == ["Event", "Usage"]
    assert it.does(c.Reject()) == ["Event", "FeedbackRequest"]
    assert it.does(c.Rename(title="Mine")) == ["Event"]
    assert it.does(c.Say(text="More")) == ["Event"]
    assert it.does(c.Say(text="And more")) == ["Event", "Log"]
    assert it.does(c.DraftPlan(goal="G", steps=(Step(text="One"),))) == ["Event"]
    assert it.does(c.DraftPlan(goal="G", steps=(Step(text="Two"),))) == ["Event", "TextPlanReview"]
    base = it.session.plan.version if it.session.plan else 0
    assert it.does(c.EditPlan(base=base, steps=(Step(text="Three"),))) == ["Event", "TextPlanReview"]
    assert it.does(c.Approve(version=it.session.version)) == ["Event"]
    assert it.does(c.DraftCode(code="print(1)\n")) == ["Event"]
    assert it.does(c.VerifyCode(checks=(Check(name="tests", ok=True),))) == ["Event", "CodeReview"]
    code = it.session.code.version if it.session.code else 0
    assert it.does(c.Approve(version=code)) == ["Event", "Completion", "Continue"]
    assert it.does(c.Continue()) == ["Event", "Question"]
    assert it.does(c.Complete()) == ["Event", "Completed"]


def test_what_was_approved_is_what_completion_carries() -> None:
    it = Told()
    it.to_code_review()
    assert it.session.code is not None
    assert messages.completion(it.session).final_code == ""
    it.does(c.Approve(version=it.session.code.version))
    done = messages.completion(it.session)
    assert (done.final_plan, done.final_code) == ("Goal: G\n\n1. One", "print(1)\n")


def test_a_run_is_completed_by_its_verdict() -> None:
    it = Told()
    it.to_code_review()
    assert it.session.code is not None
    it.does(c.Approve(version=it.session.code.version))
    assert it.does(c.Run()) == ["Event"]
    it.does(c.Start())
    it.does(finish(action_id="1.1", ok=True, result={"stdout": "1"}))
    *_, completion, offer = it.hears(c.VerifyTurn(status="success", next_action="complete", reasoning="It printed 1."))
    assert "It printed 1." in str(dump(completion)["message"])
    assert dump(offer)["type"] == "continue"


def test_trouble_and_pauses() -> None:
    it = Told()
    it.does(c.Say(text="A calculator"))
    assert it.does(c.Pause()) == ["Event", "Log"]
    assert it.does(c.Resume()) == ["Event", "Log"]
    assert it.does(c.Ask(text="For whom?")) == ["Event", "Question"]
    assert it.does(c.Answer(text="Me")) == ["Event"]
    assert it.does(c.Fail(reason="no model", raw="?")) == ["Event", "Failed"]
    assert it.does(c.Retry()) == ["Event"]
    assert it.does(c.Stop()) == ["Event", "Stopped"]
    assert it.does(c.Retry()) == ["Event"]
    assert it.does(c.DraftPlan(goal="G", steps=(Step(text="One"),))) == ["Event", "TextPlanReview"]
    assert it.does(c.CancelPlan()) == ["Event", "Stopped"]


def test_actions_are_asked_for_until_all_are_decided() -> None:
    it = Told()
    it.does(c.Say(text="Pay twice", workflow="agentflow"))
    actions = tuple(
        ActionSpec(id=f"1.{n}", tool="pay", arguments={"bill": n}, approval_reason="it spends money", effect="write")
        for n in (1, 2, 3)
    )
    assert it.does(c.PlanTurn(sub_goal="Pay", actions=actions)) == ["Event", "ApprovalRequest"]
    assert it.does(c.Skip(action_id="1.3")) == ["Event", "ApprovalRequest"]
    assert it.does(c.Approve(version=2, action_id="1.1")) == ["Event", "ApprovalRequest"]
    assert it.does(c.Reject(action_id="1.2")) == ["Event"]


def test_a_stop_tells_of_the_write_that_had_begun_and_of_what_came_of_it() -> None:
    it = Told()
    it.does(c.Say(text="Pay twice", workflow="agentflow", settings=SessionSettings(approval="never")))
    pay = tuple(ActionSpec(id=f"1.{n}", tool=f"pay_{n}", effect="write", arguments={}) for n in (1, 2, 3))
    look = ActionSpec(id="1.4", tool="look")
    it.does(c.PlanTurn(sub_goal="Pay", actions=(*pay, look)))
    it.does(c.Start())
    work = it.session.work
    (_, stopped) = it.hears(c.Stop())
    assert dump(stopped)["message"] == "Stopped. pay_1, pay_2, pay_3 had begun and is not cut off."
    (_, done) = it.hears(finish(action_id="1.1", ok=True), work)
    assert dump(done)["content"] == "pay_1 took effect after the stop."
    (_, failed) = it.hears(finish(action_id="1.2", ok=False, error="no money"), work)
    assert dump(failed)["content"] == "pay_2 failed after the stop."
    (_, unknown) = it.hears(c.Uncertain(action_id="1.3", reason="no answer"), work)
    assert dump(unknown)["content"] == "Nobody can tell whether pay_3 took effect. Retry asks what happened."
    assert len(it.hears(finish(action_id="1.4", ok=True), work)) == 1


def test_a_run_is_told_by_what_it_wrote_and_tables_by_their_names() -> None:
    assert gist({"stdout": "3.5\n", "stderr": "", "exit_code": 0}) == "3.5"
    assert gist({"stdout": "", "stderr": "careful\n", "exit_code": 1}) == "careful"
    assert gist({"stdout": "", "stderr": "", "exit_code": 0}) == "No output"
    assert chosen('{"tables": ["orders", "users"]}') == "Use orders, users"
    assert chosen("yes, and {the users") == "yes, and {the users"


def test_the_reason_for_which_it_rests_is_told_while_it_rests() -> None:
    """The request after one that was completed is not completed, nor is one that goes on after a stop stopped."""
    it = Told()

    def after(command: AnyCommand) -> str:
        it.does(command)
        assert screen.snapshot(it.session).view.reason == messages.snapshot(it.session).reason
        return f"{it.session.phase}: {messages.snapshot(it.session).reason}"

    drafted = c.DraftPlan(goal="G", steps=(Step(text="One"),))
    assert after(c.Say(text="A calculator")) == "planning: new"
    assert after(c.Stop()) == "resting: stopped"
    assert after(c.Retry()) == "planning: new"
    assert after(drafted) == "awaiting_approval: new"
    assert after(c.CancelPlan()) == "resting: stopped"
    assert after(c.Complete()) == "resting: completed"
    assert after(c.Say(text="Roman numerals")) == "planning: new"
    assert after(drafted) == "awaiting_approval: new"
