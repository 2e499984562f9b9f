"""A session to take away: Markdown to read, JSON to process, the program to run. Pure."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from parley.events import SessionEvent, dump_event, facts
from services.gateway.trouble import Trouble
from services.gateway.views import messages
from shared.domain.session import Session

MEDIA = {"md": "text/markdown; charset=utf-8", "json": "application/json", "py": "text/x-python; charset=utf-8"}


class Export(NamedTuple):
    name: str
    media_type: str
    body: str


def export(session: Session, events: Sequence[SessionEvent], form: str) -> Export:
    """`form` is "md", "json" or "py". Raises Trouble(not_found) for a program that there is not."""
    body = {"md": _markdown, "json": _json, "py": _program}[form](session, events)
    return Export(f"{_slug(session.title)}-{session.id[:8]}.{form}", MEDIA[form], body)


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-") or "session"


def _json(session: Session, events: Sequence[SessionEvent]) -> str:
    snapshot = messages.snapshot(session).model_dump(mode="json", by_alias=True)
    journal = [json.loads(dump_event(event)) for event in events]
    return json.dumps({"session": snapshot, "journal": journal}, ensure_ascii=False, indent=2) + "\n"


def _program(session: Session, events: Sequence[SessionEvent]) -> str:
    """The approved code, or the newest there is."""
    if session.code is None:
        raise Trouble("not_found", "This session has no code yet.", "Approve the plan first: the code comes next.")
    return session.code.code.rstrip("\n") + "\n"


def _markdown(session: Session, events: Sequence[SessionEvent]) -> str:
    parts = [f"# {session.title}", f"Session `{session.id}`, version {session.version}.", "## Conversation"]
    parts += [line for event in events if (line := _line(event))]
    if session.plan:
        parts += [f"## Plan {session.plan.number} ({session.plan.status})", session.plan.text]
    if session.code:
        fence = _fence(session.code.code)
        body = session.code.code.rstrip("\n")
        parts += [f"## Code {session.code.number} ({session.code.status})", f"{fence}python\n{body}\n{fence}"]
    if session.answer.text:
        parts += ["## Answer", session.answer.text]
    return "\n\n".join(parts) + "\n"


def _fence(code: str) -> str:
    """One backtick more than any run of them in the code."""
    return "`" * max(3, 1 + max(map(len, re.findall(r"`+", code)), default=0))


def _line(event: SessionEvent) -> str:
    """What a reader of the conversation wants to know of this event; "" for the rest."""
    who = event.actor.removeprefix("user:")
    match event:
        case facts.MessageReceived() | facts.QuestionAnswered() | facts.AnswerGiven() | facts.RemarkAnswered():
            line = f"**{who}:** {event.text}"
        case facts.QuestionAsked():
            line = f"**Parley** asks: {event.text}"
        case facts.PlanDrafted() | facts.PlanEdited():
            line = f"**{who}** wrote a plan: {event.goal}"
        case facts.CodeDrafted() | facts.CodeEdited():
            line = f"**{who}** wrote code."
        case facts.SessionFailed():
            line = f"Failed while {event.phase}: {event.reason}"
        case facts.PlanApproved(turn=int()):
            line = f"**{who}:** plan approved, turn {event.turn} ({_tools(event)})"
        case facts.PlanApproved() | facts.CodeApproved() | facts.PlanRejected() | facts.CodeRejected():
            line = f"**{who}:** {event.type.replace('.', ' ')}"
        case _:
            line = _of_a_turn(event, who)
    return line


def _of_a_turn(event: SessionEvent, who: str) -> str:
    match event:
        case facts.TurnPlanned() | facts.TurnRequested():
            tools = f" ({_tools(event)})" if event.actions else ""
            line = f"**{who}** plans turn {event.turn}: {event.sub_goal}{tools}"
        case facts.TurnChanged() if event.reason:
            line = f"Not carried out as planned: {event.reason}."
        case facts.ActionsFinished():
            line = "\n\n".join(
                f"Action {one.action_id} is done." if one.ok else f"Action {one.action_id} failed: {one.error}"
                for one in event.outcomes
            )
        case facts.ApprovalGiven() | facts.ApprovalDenied():
            line = f"**{who}:** {'yes' if event.type == 'approval.given' else 'no'} to action {event.action_id}"
        case facts.TurnVerified():
            line = f"Turn {event.turn}: {event.status}, {event.next_action}. {event.reasoning}"
        case _:
            line = ""
    return line


def _tools(event: facts.PlanApproved | facts.TurnPlanned | facts.TurnRequested) -> str:
    return ", ".join(f"`{action.tool}`" for action in event.actions)
