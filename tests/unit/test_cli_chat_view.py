"""The chat's reducer: messages in, what is asked next out; and choices out, messages in the other direction."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cli.chat.choices import Choice, choices, chosen, understand
from cli.chat.decisions import approve
from cli.chat.doing import Local, More, Say, Send, SendAll
from cli.chat.slash import COMMANDS, command
from cli.chat.state import View
from cli.chat.view import fold
from parley.client.screen import Screen
from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, Check, Step
from parley.protocol import client as m
from parley.protocol import server as s
from parley.protocol.screen import SCREEN_MESSAGES, ScreenDelta, ScreenEvent, ScreenSnapshot
from services.gateway.views import derive, screen
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand, decide
from shared.domain.evolve import evolve
from shared.domain.session import Session

AT = datetime(2030, 1, 1, tzinfo=UTC)
PLAN = c.DraftPlan(goal="A calculator", steps=(Step(text="Add"), Step(text="Test")))
LOOK = Step(text="Look", tool="look", id="s1", effect="read")
PAY = Step(text="Pay", tool="pay", id="s2", effect="write", arguments={"sum": "{{steps.s1.output}}"})
CALLS = c.DraftPlan(goal="Pay", steps=(LOOK, PAY), kind="execution")


class Told:
    """A session and a terminal that hears of it what the gateway would tell; `messages` are those of protocol 1."""

    def __init__(self) -> None:
        self.session = Session("s1")
        self.screen = Screen()
        self.view = fold(View(), greeting(), self.screen)
        self.messages: list[s.ServerMessage] = []
        self.events: list[ScreenEvent] = []

    def does(self, *commands: AnyCommand) -> View:
        for number, given in enumerate(commands):
            before = self.session
            by = (
                CommandMeta(before.work.service, AT, work=before.work)
                if before.work and _works(given)
                else _person(number, before)
            )
            event = decide(before, given, by)
            self._happens(before, event)
        return self.view

    def happens(self, event: SessionEvent) -> View:
        """An event that another service would have made."""
        self._happens(self.session, event)
        return self.view

    def _happens(self, before: Session, event: SessionEvent) -> None:
        self.session = evolve(before, event)
        self.messages += derive.told(before, event, self.session)
        message = screen.happened(before, event, self.session)
        self.hears(message)
        self.events.append(message)

    def hears(self, message: ScreenEvent | ScreenSnapshot | ScreenDelta) -> View:
        """A message, after its way over the wire."""
        read = SCREEN_MESSAGES.validate_json(message.model_dump_json(by_alias=True))
        assert isinstance(read, type(message))
        self.screen.take(read)
        self.view = fold(self.view, read, self.screen)
        return self.view


def _works(given: AnyCommand) -> bool:
    return not isinstance(given, c.Say | c.Stop)


def _person(number: int, session: Session) -> CommandMeta:
    return CommandMeta("user:ann", AT, f"c{session.version}-{number}")


def greeting() -> s.Greeting:
    return s.Greeting(
        session_id="s1",
        message="Hello",
        user="ann",
        rehearsal=True,
        model="m",
        workflows=("conversation",),
        can_run_code=True,
    )


def coded(told: Told) -> View:
    told.does(c.Say(text="calc"), PLAN)
    told.does(c.Approve(version=told.session.version))
    return told.does(c.DraftCode(code="print(1)"), c.VerifyCode(checks=(Check(name="tests", ok=True),)))


def sent(doing: object) -> m.ClientMessage:
    assert isinstance(doing, Send), doing
    return doing.message


def test_a_new_socket_asks_for_a_request_and_a_line_is_one() -> None:
    view = fold(View(), greeting(), Screen())
    assert view.session_id == "s1"
    assert view.ask
    assert view.ask.kind == "start"
    assert sent(understand(" A calculator ", view)) == m.UserMessage(type="user_message", content="A calculator")


def test_a_request_makes_the_planner_work_until_the_review_comes() -> None:
    told = Told()
    assert told.does(c.Say(text="calc")).working
    assert told.view.worker == "planner"
    view = told.does(PLAN)
    assert view.ask
    assert view.ask.kind == "plan"
    assert not view.working


def test_an_approval_names_the_version_and_the_hash_on_the_screen() -> None:
    told = Told()
    view = told.does(c.Say(text="calc"), PLAN)
    assert told.session.plan
    expected = m.Approval(type="approval", approved=True, version=2, hash=told.session.plan.hash)
    assert sent(understand("1", view)) == sent(understand("Approve", view)) == sent(approve(view)) == expected


def test_words_at_a_review_are_a_remark_and_never_approval() -> None:
    view = coded(Told())
    assert sent(understand("yes, but use floats", view)) == m.UserMessage(
        type="user_message", content="yes, but use floats"
    )
    assert isinstance(understand("7", view), Say)


def test_feedback_can_be_asked_for_and_given_up() -> None:
    view = coded(Told())
    more = understand("2", view)
    assert isinstance(more, More)
    assert more.ask.kind == "feedback"
    back = understand("", replace(view, own=more.ask))
    assert view.ask
    assert back == More(view.ask)


def test_replan_is_about_what_is_in_review() -> None:
    told = Told()
    view = told.does(c.Say(text="calc"), PLAN)
    assert sent(understand("4", view)) == m.Replan(type="replan", plan_type="text", version=2)
    told = Told()
    view = coded(told)
    assert told.session.code
    assert sent(understand("replan", view)) == m.Replan(
        type="replan", plan_type="code", version=told.session.code.version
    )


def test_feedback_on_code_sets_the_generator_to_work_feedback_on_a_plan_the_planner() -> None:
    told = Told()
    coded(told)
    assert told.does(c.Say(text="floats")).worker == "generator"
    told = Told()
    told.does(c.Say(text="calc"), PLAN)
    assert told.does(c.Say(text="shorter")).worker == "planner"


def test_a_question_offers_its_options_and_takes_other_words() -> None:
    told = Told()
    view = told.does(c.Say(text="calc"), c.Ask(text="Where?", options=("Terminal", "Window")))
    assert [choice.label for choice in choices(view)] == ["Terminal", "Window"]
    assert chosen("2", view) == " Window"
    assert told.session.question
    question = told.session.question.action_id
    assert sent(understand("2", view)) == m.AnswerReply(type="answer", content="Window", question_id=question)
    assert sent(understand("on paper", view)) == m.AnswerReply(type="answer", content="on paper", question_id=question)


def test_after_approved_code_come_the_options_of_continue() -> None:
    told = Told()
    coded(told)
    assert told.session.code
    view = told.does(c.Approve(version=told.session.code.version))
    assert view.ask
    assert view.ask.kind == "rest"
    labels = [choice.label for choice in choices(view)]
    assert sent(understand(str(labels.index("Run the code") + 1), view)) == m.ContinueChoice(
        type="continue", content="Run the code"
    )
    assert sent(understand("now a clock", view)) == m.UserMessage(type="user_message", content="now a clock")


def test_stopped_work_can_go_on() -> None:
    told = Told()
    told.does(c.Say(text="calc"))
    view = told.does(c.Stop())
    assert view.ask
    assert view.ask.kind == "stopped"
    assert sent(understand("1", view)) == m.Retry(type="retry")


@pytest.mark.parametrize("retryable", [True, False])
def test_a_failure_offers_retry_only_where_it_helps(*, retryable: bool) -> None:
    view = Told().does(c.Say(text="calc"), c.Fail(reason="no plan", retryable=retryable))
    words = [choice.word for choice in choices(view)]
    assert words == (["retry", "complete"] if retryable else ["complete"])


def test_actions_are_decided_one_by_one_and_words_are_no_yes() -> None:
    view = two_writes(Told())
    assert view.ask
    first, second = view.ask.actions
    yes = m.Approval(type="approval", approved=True, action_id="1.1", hash=first.hash)
    assert sent(understand("1", view)) == yes
    assert sent(understand("2", view)) == yes.model_copy(update={"remember": True})
    assert sent(understand("3", view)) == m.Approval(type="approval", approved=False, action_id="1.1")
    assert isinstance(understand("sure", view), Say)
    assert second.action_id == "1.2"


def test_all_actions_are_approved_as_they_are_shown() -> None:
    view = two_writes(Told())
    assert view.ask
    yes = [
        m.Approval(type="approval", approved=True, action_id=one.action_id, hash=one.hash) for one in view.ask.actions
    ]
    for line in ("all", "5"):
        assert understand(line, view) == SendAll(tuple(yes))
    assert command("/all", view) == SendAll(tuple(yes))
    assert isinstance(command("/all", Told().does(c.Say(text="calc"), PLAN)), Say)
    assert isinstance(command("/approve later", view), Say)


def test_a_plan_is_approved_for_later_or_with_steps_allowed_beforehand() -> None:
    view = Told().does(c.Say(text="Pay", workflow="execution_plan"), CALLS)
    assert view.plan
    yes = m.Approval(type="approval", approved=True, version=view.plan.version, hash=view.plan.hash)
    assert sent(command("/approve", view)) == yes
    assert sent(command("/approve later", view)) == yes.model_copy(update={"start": False})
    for step in ("2", "s2"):
        allowed = yes.model_copy(update={"preapprove": ("s2",)})
        assert sent(command(f"/approve {step}", view)) == allowed
        assert sent(command(f"/approve {step} later", view)) == allowed.model_copy(update={"start": False})
    assert isinstance(command("/approve s-2!", view), Say)


def test_a_plan_that_was_approved_for_later_is_started() -> None:
    told = Told()
    told.does(c.Say(text="Pay", workflow="execution_plan"), CALLS)
    view = told.does(c.Approve(version=2, start=False))
    assert choices(view)[0] == Choice("start", "Start")
    assert sent(understand("start", view)) == m.Retry(type="retry")


def test_only_what_parley_would_carry_out_is_offered() -> None:
    view = two_writes(Told())
    assert [choice.word for choice in choices(view)][-2:] == ["skip", "stop"]
    looks_on = replace(view, can=("fork",))
    assert choices(looks_on) == ()


def test_while_an_answer_is_on_its_way_nothing_is_asked() -> None:
    told = Told()
    view = replace(told.does(c.Say(text="calc"), PLAN), answering=True)
    assert view.ask is None
    assert view.working
    assert view.asked


def test_a_word_during_work_goes_to_whoever_works_but_a_stray_digit_does_not() -> None:
    view = Told().does(c.Say(text="calc"))
    doing = understand("use floats", view)
    assert doing == Send(m.UserMessage(type="user_message", content="use floats"), moves=False)
    assert isinstance(understand("1", view), Say)


def test_who_comes_later_is_asked_the_same() -> None:
    told = Told()
    for step in ("plan", "code", "rest"):
        if step == "plan":
            told.does(c.Say(text="calc"), PLAN)
        elif step == "code":
            told = Told()
            coded(told)
        else:
            assert told.session.code
            told.does(c.Approve(version=told.session.code.version))
        later = Screen()
        later.take(snapshot := screen.snapshot(told.session))
        view = fold(View(session_id="s1"), snapshot, later)
        assert view.ask is None  # before all is heard that led to it
        assert view.asked == told.view.asked
        for event in told.events:
            later.take(again := screen.told_again(event.event))
            view = fold(view, again, later)
        assert (view.ask, choices(view)) == (told.view.ask, choices(told.view)), step
        assert (view.events, view.plan) == (told.view.events, told.view.plan)


def test_spending_and_renaming_leave_the_review_open() -> None:
    told = Told()
    view = told.does(c.Say(text="calc"), PLAN)
    ask = view.ask
    view = told.does(c.Rename(title="Mine"))
    assert view.ask == ask
    assert view.stands
    assert view.stands.title == "Mine"


def delta(offset: int, text: str, draft: str = "d1", *, work: int = 1) -> ScreenDelta:
    return ScreenDelta(session_id="s1", draft_id=draft, kind="plan", offset=offset, text=text, work=work)


def test_deltas_are_joined_by_their_offsets() -> None:
    told = Told()
    told.does(c.Say(text="calc"))
    for message in (delta(0, "1. Re"), delta(5, "ad"), delta(5, "ad the")):
        view = told.hears(message)
    assert view.draft
    assert view.draft.text == "1. Read the"
    view = told.hears(delta(0, "2.", "d2"))
    assert view.draft
    assert (view.draft.text, view.draft.start) == ("2.", 0)


def test_a_draft_whose_beginning_was_missed_begins_later() -> None:
    told = Told()
    told.does(c.Say(text="calc"))
    for message in (delta(10, "read"), delta(14, " it")):
        view = told.hears(message)
    assert view.draft
    assert (view.draft.text, view.draft.start) == ("read it", 10)


def test_a_draft_is_over_with_its_plan_or_when_the_work_is_anothers() -> None:
    told = Told()
    told.does(c.Say(text="calc"))
    assert told.hears(delta(0, "1. ")).draft
    assert told.does(PLAN).draft is None
    told = Told()
    told.does(c.Say(text="calc"))
    assert told.hears(delta(0, "1. ")).draft
    assert told.does(c.Rename(title="Mine")).draft
    assert told.does(c.Stop()).draft is None


def test_one_action_less_is_asked_about_after_each_decision() -> None:
    told = Told()
    coded(told)
    assert told.session.code
    told.does(c.Approve(version=told.session.code.version))
    waiting = two_writes(told)
    assert waiting.ask
    assert [action.action_id for action in waiting.ask.actions] == ["1.1", "1.2"]
    view = told.does(c.Approve(version=told.session.version, action_id="1.1"))
    assert view.ask
    assert [action.action_id for action in view.ask.actions] == ["1.2"]
    assert told.does(c.Approve(version=told.session.version, action_id="1.2")).working


def two_writes(told: Told) -> View:
    """A turn that needs approval, as an agent's planner would plan it."""
    if not told.session.version:
        told.does(c.Say(text="Write", workflow="agentflow"))
    actions = tuple(ActionSpec(id=f"1.{n}", tool="write", effect="write", approval_reason="writes") for n in (1, 2))
    return told.happens(
        facts.TurnPlanned(
            id="x",
            session_id="s1",
            version=told.session.version + 1,
            at=AT,
            actor="planner",
            turn=1,
            sub_goal="write",
            actions=actions,
        )
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/rename My calc", m.Rename(type="rename", title="My calc")),
        ("/fork 3", m.Fork(type="fork", version=3)),
        ("/pause", m.Pause(type="pause")),
        ("/go", m.Unpause(type="unpause")),
        ("/run a 'b c'", m.Run(type="run", args=("a", "b c"))),
        ("/budget tokens 500", m.RaiseBudget(type="raise_budget", tokens=500)),
        ("/budget cost 1.5", m.RaiseBudget(type="raise_budget", cost=1.5)),
        ("/remember write never", m.Remember(type="remember", tool="write", policy="never")),
        ("/workflow flow", m.ChooseWorkflow(type="choose_workflow", workflow="flow")),
        ("/feedback use floats", m.Feedback(type="feedback", content="use floats")),
        ("/rep code", m.Replan(type="replan", plan_type="code", version=4)),
        ("/stop", m.Stop(type="stop")),
        ("/skip 1.2", m.Skip(type="skip", action_id="1.2")),
    ],
)
def test_slash_commands_become_messages(line: str, message: m.ClientMessage) -> None:
    assert sent(command(line, coded(Told()))) == message


@pytest.mark.parametrize(
    "line",
    ["/rename", "/fork x", "/budget tokens", "/budget gold 3", "/remember write often", "/workflow x", "/run 'a"],
)
def test_a_slash_command_that_is_wrong_tells_its_usage(line: str) -> None:
    doing = command(line, View(session_id="s1"))
    assert isinstance(doing, Say)
    assert doing.text.startswith(f"Usage: {line.split(maxsplit=1)[0]}")


def test_slash_commands_of_this_client_and_unknown_ones() -> None:
    view = View(session_id="s1")
    assert command("/export a b.md", view) == Local("export", "a b.md")
    assert command("/exit", view) == Local("quit")
    assert isinstance(command("/nonsense", view), Say)
    assert isinstance(command("/re", view), Say)  # rename, replan, retry, ...
    assert {
        "rename",
        "fork",
        "pause",
        "resume",
        "decline",
        "export",
        "plan",
        "code",
        "journal",
        "usage",
        "quit",
        "help",
    } <= set(COMMANDS)
