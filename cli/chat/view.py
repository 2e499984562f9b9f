"""What the screen knows: one message of the gateway after the other, folded in. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from cli.chat.events import happened
from cli.chat.state import Ask, Code, Draft, Kind, Plan, View
from parley.events.values import Service
from parley.protocol import server as s
from shared.domain.session import SERVICE_OF


def fold(view: View, message: s.AnyServerMessage) -> View:  # noqa: C901, PLR0911, PLR0912  one line a message
    """The view after this message. What is of another session changes nothing."""
    if isinstance(message, s.Greeting):
        return _greeted(view, message)
    if message.session_id != view.session_id:
        return view
    if isinstance(message, s.Event):
        return happened(view, message.event)
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
        workflow=message.workflow,
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
    "node": "executor",
}
_AT_WORK: Mapping[str, Service] = dict(SERVICE_OF.items())
