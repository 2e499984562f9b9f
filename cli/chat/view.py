"""Updates the view after each message of the gateway. Pure."""

from dataclasses import replace
from typing import Literal

from cli.chat.state import ChatView, InputRequest
from parley.client.connection import Received
from parley.client.screen import Screen
from parley.protocol.screen import ScreenDelta, ScreenEvent, ScreenSnapshot, ScreenView
from parley.protocol.server import Greeting
from parley.protocol.words import REVIEW


def fold(view: ChatView, message: Received, screen: Screen) -> ChatView:
    """The view after this message, which `screen` has processed already."""
    match message:
        case Greeting() if view.session_id:
            return replace(view, greeting=message)
        case Greeting():
            return replace(view, greeting=message, session_id=message.session_id, gateway_request=InputRequest("start"))
        case ScreenDelta():
            return replace(view, draft=screen.draft)
        case ScreenEvent(event=event):
            return _with_sections(replace(view, version=event.version, events=(*view.events, event)), screen)
        case ScreenSnapshot():
            return _with_sections(view, screen)
    return view


def _with_sections(view: ChatView, screen: Screen) -> ChatView:
    request = request_in(screen.view) if screen.version else InputRequest("start")
    return replace(
        view,
        newest_version=screen.version,
        sections=screen.view,
        allowed=screen.can,
        draft=screen.draft,
        screen=screen,
        gateway_request=request,
        local_request=view.local_request if request == view.gateway_request else None,
    )


def request_in(sections: ScreenView) -> InputRequest | None:  # noqa: C901, PLR0911  one case per section
    """The request in the sections; None while a service is at work, also on a message about the request.

    An offer comes first: it can be decided on while reads go on.
    """
    if sections.reply:
        return None
    if offer := sections.offer:
        return InputRequest("offer", REVIEW[f"offer_{offer.draft.type}"], version=offer.version, offer=offer)
    if sections.work:
        return None
    if sections.failure:
        return InputRequest("failed", sections.failure.reason)
    if review := sections.review:
        return InputRequest(review.target, review.message, version=review.version)
    if feedback := sections.feedback_request:
        return InputRequest("feedback", feedback.message)
    if question := sections.question:
        return InputRequest("question", question.content, options=question.options, question=question)
    if waiting := sections.approval_request:
        return InputRequest(
            "actions", waiting.message, actions=tuple(sections.actions[name] for name in waiting.actions)
        )
    if sections.escalation:
        return InputRequest("escalated", sections.escalation.message)
    if sections.next:
        kind: Literal["stopped", "rest"] = "stopped" if sections.reason == "stopped" else "rest"
        return InputRequest(kind, sections.next.message, options=sections.next.options)
    return InputRequest("completed") if sections.phase == "resting" else None
