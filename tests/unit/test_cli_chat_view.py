"""The chat's reducer: from messages to the open request, and from choices to messages."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cli.chat.choices import Choice, choice_label, choices, interpret
from cli.chat.effects import AskFurther, RunLocally, SendMessage, SendMessages, ShowText, approve
from cli.chat.slash import COMMANDS, slash_command
from cli.chat.state import ChatView, fold
from parley.client.screen import Screen
from parley.events import SessionEvent
from parley.events.values import ActionSpec, Check, Step
from parley.protocol import client as m
from parley.protocol import server as s
from parley.protocol.screen import SCREEN_MESSAGES, ScreenDelta, ScreenEvent, ScreenSnapshot
from services.gateway.views import protocol1, screen_messages
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand, decide
from shared.domain.rules.user_commands import UserCommand

AT = datetime(2030, 1, 1, tzinfo=UTC)
PLAN = c.DraftPlan(goal="A calculator", steps=(Step(text="Add"), Step(text="Test")))
LOOK = Step(text="Look", tool="look", id="s1", effect="read")
PAY = Step(text="Pay", tool="pay", id="s2", effect="write", arguments={"sum": "{{steps.s1.output}}"})
CALLS = c.DraftPlan(goal="Pay", steps=(LOOK, PAY), kind="execution")


class ChatScenario:
    """A session and a chat that receives the gateway's messages about it; `messages` are those of protocol 1."""

    def __init__(self) -> None:
        self.session = Session("s1")
        self.screen = Screen()
        self.view = fold(ChatView(), greeting(), self.screen)
        self.messages: list[s.ServerMessage] = []
        self.stored: list[SessionEvent] = []
        self.events: list[ScreenEvent] = []

    def does(self, *commands: AnyCommand) -> ChatView:
        """Decide each command, by the service that is due or else by the user, and show its event in the chat."""
        for number, command in enumerate(commands):
            before = self.session
            work = None if isinstance(command, UserCommand) else before.reply or before.work
            meta = CommandMeta(work.service, AT, work=work) if work else _user_meta(number, before)
            event = decide(before, command, meta)
            self._show(before, event)
        return self.view

    def _show(self, before: Session, event: SessionEvent) -> None:
        self.session = evolve(before, event)
        self.messages += protocol1.messages_for(before, event, self.session)
        message = screen_messages.event_message(before, event, self.session)
        self.hears(message)
        self.stored.append(event)
        self.events.append(message)

    def hears(self, message: ScreenEvent | ScreenSnapshot | ScreenDelta) -> ChatView:
        """Apply a message after serialization."""
        read = SCREEN_MESSAGES.validate_json(message.model_dump_json(by_alias=True))
        assert isinstance(read, type(message))
        self.screen.take(read)
        self.view = fold(self.view, read, self.screen)
        return self.view


def _user_meta(number: int, session: Session) -> CommandMeta:
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


def coded(chat: ChatScenario) -> ChatView:
    """The chat with verified code in review."""
    chat.does(c.Say(text="calc"), PLAN)
    chat.does(c.Approve(version=chat.session.version))
    return chat.does(c.DraftCode(code="print(1)"), c.VerifyCode(checks=(Check(name="tests", ok=True),)))


def sent(effect: object) -> m.ClientMessage:
    assert isinstance(effect, SendMessage), effect
    return effect.message


def test_a_new_session_takes_a_line_as_its_request() -> None:
    view = fold(ChatView(), greeting(), Screen())
    assert view.session_id == "s1"
    assert view.request
    assert view.request.kind == "start"
    assert sent(interpret(" A calculator ", view)) == m.UserMessage(type="user_message", content="A calculator")


def test_an_approval_names_the_version_and_the_hash_on_the_screen() -> None:
    chat = ChatScenario()
    view = chat.does(c.Say(text="calc"), PLAN)
    assert chat.session.plan
    expected = m.Approval(type="approval", approved=True, version=2, hash=chat.session.plan.hash)
    assert sent(interpret("1", view)) == sent(interpret("Approve", view)) == sent(approve(view)) == expected


def test_text_during_a_review_is_a_remark_and_never_an_approval() -> None:
    view = coded(ChatScenario())
    assert sent(interpret("yes, but use floats", view)) == m.UserMessage(
        type="user_message", content="yes, but use floats"
    )
    assert isinstance(interpret("7", view), ShowText)


def test_feedback_can_be_started_and_cancelled() -> None:
    view = coded(ChatScenario())
    effect = interpret("2", view)
    assert isinstance(effect, AskFurther)
    assert effect.request.kind == "feedback"
    cancelled = interpret("", replace(view, local_request=effect.request))
    assert view.request
    assert cancelled == AskFurther(view.request)


def test_replan_names_the_plan_or_code_in_review() -> None:
    chat = ChatScenario()
    view = chat.does(c.Say(text="calc"), PLAN)
    assert sent(interpret("4", view)) == m.Replan(type="replan", plan_type="text", version=2)
    chat = ChatScenario()
    view = coded(chat)
    assert chat.session.code
    assert sent(interpret("replan", view)) == m.Replan(
        type="replan", plan_type="code", version=chat.session.code.version
    )


def test_a_question_offers_its_options_and_accepts_other_text() -> None:
    chat = ChatScenario()
    view = chat.does(c.Say(text="calc"), c.Ask(text="Where?", options=("Terminal", "Window")))
    assert [choice.label for choice in choices(view)] == ["Terminal", "Window"]
    assert choice_label("2", view) == " Window"
    assert chat.session.question
    question = chat.session.question.action_id
    assert sent(interpret("2", view)) == m.AnswerReply(type="answer", content="Window", question_id=question)
    assert sent(interpret("on paper", view)) == m.AnswerReply(type="answer", content="on paper", question_id=question)


def test_after_code_is_approved_the_user_can_continue_or_send_a_new_request() -> None:
    chat = ChatScenario()
    coded(chat)
    assert chat.session.code
    view = chat.does(c.Approve(version=chat.session.code.version))
    assert view.request
    assert view.request.kind == "rest"
    labels = [choice.label for choice in choices(view)]
    assert sent(interpret(str(labels.index("Run the code") + 1), view)) == m.ContinueChoice(
        type="continue", content="Run the code"
    )
    assert sent(interpret("now a clock", view)) == m.UserMessage(type="user_message", content="now a clock")


def test_stopped_work_can_be_resumed() -> None:
    chat = ChatScenario()
    chat.does(c.Say(text="calc"))
    view = chat.does(c.Stop())
    assert view.request
    assert view.request.kind == "stopped"
    assert sent(interpret("1", view)) == m.Retry(type="retry")


@pytest.mark.parametrize("retryable", [True, False])
def test_a_failure_offers_retry_only_where_it_helps(*, retryable: bool) -> None:
    view = ChatScenario().does(c.Say(text="calc"), c.Fail(reason="no plan", retryable=retryable))
    words = [choice.word for choice in choices(view)]
    assert words == (["retry", "complete"] if retryable else ["complete"])


def test_all_actions_are_approved_with_the_arguments_shown() -> None:
    view = two_writes(ChatScenario())
    assert view.request
    approvals = [
        m.Approval(type="approval", approved=True, action_id=item.action_id, hash=item.hash)
        for item in view.request.actions
    ]
    for line in ("all", "5"):
        assert interpret(line, view) == SendMessages(tuple(approvals))
    assert slash_command("/all", view) == SendMessages(tuple(approvals))
    assert isinstance(slash_command("/all", ChatScenario().does(c.Say(text="calc"), PLAN)), ShowText)
    assert isinstance(slash_command("/approve later", view), ShowText)


def test_a_plan_is_approved_to_start_later_or_with_preapproved_steps() -> None:
    view = ChatScenario().does(c.Say(text="Pay", workflow="execution_plan"), CALLS)
    assert view.plan
    approval = m.Approval(type="approval", approved=True, version=view.plan.version, hash=view.plan.hash)
    assert sent(slash_command("/approve", view)) == approval
    assert sent(slash_command("/approve later", view)) == approval.model_copy(update={"start": False})
    for step in ("2", "s2"):
        preapproved = approval.model_copy(update={"preapprove": ("s2",)})
        assert sent(slash_command(f"/approve {step}", view)) == preapproved
        assert sent(slash_command(f"/approve {step} later", view)) == preapproved.model_copy(update={"start": False})
    assert isinstance(slash_command("/approve s-2!", view), ShowText)


def test_a_plan_approved_for_later_can_be_started() -> None:
    chat = ChatScenario()
    chat.does(c.Say(text="Pay", workflow="execution_plan"), CALLS)
    view = chat.does(c.Approve(version=2, start=False))
    assert choices(view)[0] == Choice("start", "Start")
    assert sent(interpret("start", view)) == m.Retry(type="retry")


def test_only_choices_that_the_session_accepts_are_offered() -> None:
    view = two_writes(ChatScenario())
    assert [choice.word for choice in choices(view)][-2:] == ["skip", "stop"]
    viewer = replace(view, allowed=("fork",))
    assert choices(viewer) == ()


def test_while_an_answer_is_on_its_way_there_is_no_request() -> None:
    chat = ChatScenario()
    view = replace(chat.does(c.Say(text="calc"), PLAN), is_answering=True)
    assert view.request is None
    assert view.is_working
    assert view.gateway_request


def test_text_during_work_is_sent_but_a_stray_digit_is_not() -> None:
    view = ChatScenario().does(c.Say(text="calc"))
    effect = interpret("use floats", view)
    assert effect == SendMessage(m.UserMessage(type="user_message", content="use floats"), is_answer=False)
    assert isinstance(interpret("1", view), ShowText)


def test_a_client_that_joins_later_gets_the_same_request() -> None:
    chat = ChatScenario()
    for step in ("plan", "code", "rest"):
        if step == "plan":
            chat.does(c.Say(text="calc"), PLAN)
        elif step == "code":
            chat = ChatScenario()
            coded(chat)
        else:
            assert chat.session.code
            chat.does(c.Approve(version=chat.session.code.version))
        late_screen = Screen()
        late_screen.take(snapshot := screen_messages.snapshot(chat.session))
        view = fold(ChatView(session_id="s1"), snapshot, late_screen)
        assert view.request is None  # until all events before it have arrived
        assert view.gateway_request == chat.view.gateway_request
        for event in chat.stored:
            late_screen.take(message := screen_messages.history_message(event))
            view = fold(view, message, late_screen)
        assert (view.request, choices(view)) == (chat.view.request, choices(chat.view)), step
        assert (late_screen.journal, view.plan) == (chat.screen.journal, chat.view.plan)


def delta(offset: int, text: str, draft: str = "d1", *, work: int = 1) -> ScreenDelta:
    return ScreenDelta(session_id="s1", draft_id=draft, kind="plan", offset=offset, text=text, work=work)


def test_deltas_are_joined_by_their_offsets() -> None:
    chat = ChatScenario()
    chat.does(c.Say(text="calc"))
    for message in (delta(0, "1. Re"), delta(5, "ad"), delta(5, "ad the")):
        view = chat.hears(message)
    assert view.draft
    assert view.draft.text == "1. Read the"
    view = chat.hears(delta(0, "2.", "d2"))
    assert view.draft
    assert (view.draft.text, view.draft.start) == ("2.", 0)


def test_a_draft_whose_beginning_was_missed_starts_at_the_first_received_offset() -> None:
    chat = ChatScenario()
    chat.does(c.Say(text="calc"))
    for message in (delta(10, "read"), delta(14, " it")):
        view = chat.hears(message)
    assert view.draft
    assert (view.draft.text, view.draft.start) == ("read it", 10)


def test_a_draft_ends_with_its_plan_or_when_another_service_works() -> None:
    chat = ChatScenario()
    chat.does(c.Say(text="calc"))
    assert chat.hears(delta(0, "1. ")).draft
    assert chat.does(PLAN).draft is None
    chat = ChatScenario()
    chat.does(c.Say(text="calc"))
    assert chat.hears(delta(0, "1. ")).draft
    assert chat.does(c.Rename(title="Mine")).draft
    assert chat.does(c.Stop()).draft is None


def two_writes(chat: ChatScenario) -> ChatView:
    """The chat with a planned turn of two writes, which need approval."""
    chat.does(c.Say(text="Write", workflow="agentflow"))
    actions = tuple(ActionSpec(id=f"1.{n}", tool="write", effect="write", arguments={"n": n}) for n in (1, 2))
    return chat.does(c.PlanTurn(sub_goal="write", actions=actions))


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
    assert sent(slash_command(line, coded(ChatScenario()))) == message


@pytest.mark.parametrize(
    "line",
    ["/rename", "/fork x", "/budget tokens", "/budget gold 3", "/remember write often", "/workflow x", "/run 'a"],
)
def test_a_wrong_slash_command_shows_its_usage(line: str) -> None:
    effect = slash_command(line, ChatView(session_id="s1"))
    assert isinstance(effect, ShowText)
    assert effect.text.startswith(f"Usage: {line.split(maxsplit=1)[0]}")


def test_local_and_unknown_slash_commands() -> None:
    view = ChatView(session_id="s1")
    assert slash_command("/export a b.md", view) == RunLocally("export", "a b.md")
    assert slash_command("/exit", view) == RunLocally("quit")
    assert isinstance(slash_command("/nonsense", view), ShowText)
    assert isinstance(slash_command("/re", view), ShowText)  # rename, replan, retry, ...
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
