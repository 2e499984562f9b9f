"""What the screen knows after each message of Parley. Pure."""

from dataclasses import replace
from typing import Literal

from cli.chat.state import Ask, View
from parley.client.connection import Received
from parley.client.screen import Screen
from parley.protocol.screen import ScreenDelta, ScreenEvent, ScreenSnapshot, ScreenView
from parley.protocol.server import Greeting


def fold(view: View, message: Received, screen: Screen) -> View:
    """The view after this message, which `screen` has taken already."""
    match message:
        case Greeting() if view.session_id:
            return replace(view, greeting=message)
        case Greeting():
            return replace(view, greeting=message, session_id=message.session_id, asked=Ask("start"))
        case ScreenDelta():
            return replace(view, draft=screen.draft)
        case ScreenEvent(event=event):
            return _stands(replace(view, version=event.version, events=(*view.events, event)), screen)
        case ScreenSnapshot():
            return _stands(view, screen)
    return view


def _stands(view: View, screen: Screen) -> View:
    stands = screen.view
    asked = what_is_asked(stands) if screen.version else Ask("start")
    return replace(
        view,
        known=screen.version,
        stands=stands,
        can=screen.can,
        draft=screen.draft,
        screen=screen,
        asked=asked,
        own=view.own if asked == view.asked else None,
    )


def what_is_asked(stands: ScreenView) -> Ask | None:  # noqa: PLR0911  one line a section
    """The section that waits for a person; None while Parley is at work, as on a remark about it."""
    if stands.work:
        return None
    if stands.failure:
        return Ask("failed", stands.failure.reason)
    if review := stands.review:
        return Ask(review.target, review.message, version=review.version)
    if feedback := stands.feedback_request:
        return Ask("feedback", feedback.message)
    if question := stands.question:
        return Ask("question", question.content, options=question.options, question=question)
    if waiting := stands.approval_request:
        return Ask("actions", waiting.message, actions=tuple(stands.actions[name] for name in waiting.actions))
    if stands.escalation:
        return Ask("escalated", stands.escalation.message)
    if stands.next:
        kind: Literal["stopped", "rest"] = "stopped" if stands.reason == "stopped" else "rest"
        return Ask(kind, stands.next.message, options=stands.next.options)
    return Ask("completed") if stands.phase == "resting" else None
