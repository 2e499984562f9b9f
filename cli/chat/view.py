"""What the screen knows: one message of the gateway after the other, folded in. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from shared.domain.session import SERVICE_OF
from shared.events import SessionEvent, facts
from shared.events.values import Service, Step
from shared.protocol import server as s

Kind = Literal[
    "start", "plan", "code", "feedback", "question", "actions", "rest", "stopped", "failed", "escalated", "completed"
]


@dataclass(frozen=True)
class Ask:
    """What a person is asked for. `at`: the newest version when it was asked; `back`: where an empty line leads."""

    kind: Kind
    at: int = 0
    message: s.ServerMessage | None = None
    options: tuple[str, ...] = ()
    actions: tuple[s.ActionView, ...] = ()
    back: "Ask | None" = None


@dataclass(frozen=True)
class Plan:
    version: int
    number: int
    goal: str
    steps: tuple[Step, ...]
    notes: str
    text: str
    hash: str


@dataclass(frozen=True)
class Code:
    version: int
    number: int
    code: str
    hash: str
    explanation: str = ""


@dataclass(frozen=True)
class Draft:
    """What is being written at this moment."""

    id: str
    kind: str
    text: str
    start: int = 0  # characters before `text` that were missed


@dataclass(frozen=True)
class View:
    """`version` is that of the last event seen, `known` of the newest that the gateway spoke of."""

    session_id: str = ""
    version: int = 0
    known: int = 0
    title: str = ""
    greeting: s.Greeting | None = None
    ask: Ask | None = None
    paused: bool = False
    online: bool = True
    plan: Plan | None = None
    code: Code | None = None
    draft: Draft | None = None
    reviewed: Kind = "plan"  # what was in review last: feedback is about that
    worker: Service | None = None  # who is probably at work, for the progress line
    usage: s.Usage | None = None
    can: tuple[str, ...] = ()
    events: tuple[SessionEvent, ...] = field(default=(), repr=False)

    @property
    def working(self) -> bool:
        """Something goes on, and a person is not asked."""
        return self.ask is None and not self.paused


def fold(view: View, message: s.AnyServerMessage) -> View:  # noqa: C901, PLR0911, PLR0912  one line a message
    """The view after this message. What is of another session changes nothing."""
    if isinstance(message, s.Greeting):
        return _greeted(view, message)
    if message.session_id != view.session_id:
        return view
    if isinstance(message, s.Event):
        return _happened(view, message.event)
    view = replace(view, known=max(view.known, message.version or 0))
    match message:
        case s.Snapshot():
            return _snapshot(view, message)
        case s.TextPlanReview():
            return _asked(replace(view, plan=_plan(message)), "plan", message)
        case s.CodeReview():
            return _asked(replace(view, code=_code(message)), "code", message)
        case s.FeedbackRequest():
            return _asked(view, "feedback", message)
        case s.Question():
            return _asked(view, "question", message, options=message.options)
        case s.ApprovalRequest():
            return _asked(view, "actions", message, actions=message.actions)
        case s.Continue():
            kind: Kind = "stopped" if view.ask and view.ask.kind == "stopped" else "rest"
            return _asked(view, kind, message, options=message.content.options)
        case s.Stopped():
            return _asked(view, "stopped", message, options=_rest_options(view))
        case s.Failed():
            return _asked(view, "failed", message)
        case s.Completed():
            return _asked(view, "completed", message)
        case s.Delta():
            return replace(view, draft=_written(view.draft, message), worker=_WRITER.get(message.kind, view.worker))
        case s.Usage():
            return replace(view, usage=message)
        case _:
            return view


def _greeted(view: View, message: s.Greeting) -> View:
    if view.session_id:
        return replace(view, greeting=message)
    return replace(view, greeting=message, session_id=message.session_id, ask=Ask("start"))


def _asked(
    view: View,
    kind: Kind,
    message: s.ServerMessage,
    *,
    options: tuple[str, ...] = (),
    actions: tuple[s.ActionView, ...] = (),
) -> View:
    ask = Ask(kind, max(view.version, view.known), message, options, actions)
    reviewed = kind if kind in ("plan", "code") else view.reviewed
    return replace(view, ask=ask, draft=None, worker=None, reviewed=reviewed)


def _rest_options(view: View) -> tuple[str, ...]:
    return view.ask.options if view.ask and view.ask.kind in ("rest", "stopped") else ()


def _snapshot(view: View, message: s.Snapshot) -> View:  # noqa: PLR0911  one way out for each thing that may be asked
    """Everything at once: it replaces what was asked, and a draft that is half written."""
    view = replace(
        view,
        ask=None,
        title=message.title,
        paused=message.paused,
        usage=message.usage,
        can=message.can,
        plan=_plan(message.plan) if message.plan else None,
        code=_code(message.code) if message.code else None,
        draft=None,
        worker=_AT_WORK.get(message.phase),
    )
    if not message.version:
        return replace(view, ask=Ask("start"))
    if message.failure:
        told = s.Failed(session_id=message.session_id, failure=message.failure, message=message.failure.reason)
        return fold(view, told)
    if message.state == "stopped":
        view = fold(view, s.Stopped(session_id=message.session_id, message="Stopped."))
    for pending in (message.review, message.feedback_request, message.question, message.approval_request):
        if pending:
            return fold(view, pending)
    if message.continue_:
        return fold(view, message.continue_)
    if message.state == "escalated":
        return replace(view, ask=Ask("escalated", view.known))
    if message.phase == "resting" and not view.ask:
        return replace(view, ask=Ask("completed", view.known))
    return fold(view, message.draft) if message.draft else view


def _happened(view: View, event: SessionEvent) -> View:  # noqa: C901, PLR0911  one line a fact
    """An event that is new; one that was seen already changes nothing."""
    if event.version <= view.version:
        return view
    old = event.version <= view.known  # the snapshot before it was made with it
    view = replace(view, version=event.version, events=(*view.events, event))
    if old:
        return view
    view = replace(view, known=event.version)
    match event:
        case facts.UsageSpent() | facts.SessionShared() | facts.PolicyRemembered() | facts.WorkflowChosen():
            return view
        case facts.SessionRenamed():
            return replace(view, title=event.title)
        case facts.SessionPaused():
            return replace(view, paused=True)
        case facts.SessionResumed():
            return replace(view, paused=False)
        case facts.ApprovalGiven() | facts.ApprovalDenied() | facts.ActionSkipped():
            return _decided(view, event.action_id)
        case facts.ActionsStarted() | facts.ActionFinished() | facts.ActionUncertain():
            return view  # outcomes are recorded after a stop, too, and ask for nothing new
        case facts.BudgetRaised():
            about_it = isinstance(view.ask and view.ask.message, s.Question)
            return replace(view, ask=None) if about_it else view
        case facts.SessionEscalated():
            return replace(view, ask=Ask("escalated", event.version), draft=None, worker=None)
        case facts.PlanDrafted() | facts.CodeDrafted() | facts.CodeVerified() | facts.AnswerGiven():
            view = replace(view, draft=None)
    if isinstance(event, facts.MessageReceived) and event.intent == "steer":
        return view
    return replace(view, ask=None, worker=_next(view, event))


def _decided(view: View, action_id: str) -> View:
    """One action less to decide about; after the last one the executor goes on."""
    if not view.ask or view.ask.kind != "actions":
        return view
    left = tuple(action for action in view.ask.actions if action.action_id != action_id)
    return replace(view, ask=replace(view.ask, actions=left) if left else None, worker="executor")


def _next(view: View, event: SessionEvent) -> Service | None:  # noqa: PLR0911  one line a fact
    """Who is probably at work after this event."""
    match event:
        case facts.MessageReceived() if event.intent == "feedback":
            return "generator" if view.reviewed == "code" else "planner"
        case facts.MessageReceived() | facts.QuestionAnswered():
            return "planner"
        case facts.PlanApproved():
            return "generator"
        case facts.PlanRejected() if event.replan:
            return "planner"
        case facts.CodeRejected() if event.replan:
            return "generator"
        case facts.CodeDrafted() | facts.CodeEdited():
            return "verifier"
        case facts.CodeVerified() if any(not check.ok for check in event.checks):
            return "generator"
        case facts.TurnPlanned():
            return "executor"
        case _:
            return None


def _written(draft: Draft | None, delta: s.Delta) -> Draft:
    """The draft with this piece; where what came before it was missed, the draft begins with it."""
    if draft and draft.id == delta.draft_id and draft.start <= delta.offset <= draft.start + len(draft.text):
        return replace(draft, text=draft.text[: delta.offset - draft.start] + delta.text)
    return Draft(delta.draft_id, delta.kind, delta.text, delta.offset)


def _plan(seen: s.TextPlanReview | s.PlanView) -> Plan:
    text = seen.plan if isinstance(seen, s.TextPlanReview) else seen.text
    return Plan(seen.version or 1, seen.number, seen.goal, seen.steps, seen.notes, text, seen.hash)


def _code(seen: s.CodeReview | s.CodeView) -> Code:
    return Code(seen.version or 1, seen.number, seen.code, seen.hash, seen.explanation)


_WRITER: Mapping[str, Service] = {
    "plan": "planner",
    "code": "generator",
    "tests": "verifier",
    "verdict": "verifier",
    "answer": "generator",
}
_AT_WORK: Mapping[str, Service] = dict(SERVICE_OF.items())
