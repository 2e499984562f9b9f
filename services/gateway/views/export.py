"""Exports a session as Markdown, as JSON, or as its program. Pure."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import JsonValue

from parley.events import SessionEvent, dump_event
from parley.events.values import Step
from parley.protocol import journal as j
from parley.protocol.words import JOURNAL, STATES, WORKFLOWS
from services.gateway.api_errors import ApiError
from services.gateway.views import protocol1
from services.gateway.views.audit_trail import AuditTrail, DecisionRecord, audit_trail
from services.gateway.views.execution_plan import execution_plan, plan_markdown
from shared.domain import workflows
from shared.domain.kernel.session import Session
from shared.domain.kernel.state_names import shown_state
from shared.journal.lines import display_name, entry_line, state_text

LINE_WIDTH = 120  # characters
MAX_RESULT_CHARS = 5_000  # of a result in Markdown; JSON has all of it
MEDIA_TYPES = {"md": "text/markdown; charset=utf-8", "json": "application/json", "py": "text/x-python; charset=utf-8"}


class Export(NamedTuple):
    name: str
    media_type: str
    body: str


def export(session: Session, events: Sequence[SessionEvent], form: str) -> Export:
    """The file; `form` is "md", "json" or "py". Raises ApiError(not_found) if there is no program."""
    body = {"md": _markdown, "json": _json, "py": _program}[form](session, events)
    return Export(f"{_slug(session.title)}-{session.id[:8]}.{form}", MEDIA_TYPES[form], body)


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-") or "session"


def _json(session: Session, events: Sequence[SessionEvent]) -> str:
    """The snapshot, the execution plan, calls, decisions, and every event."""
    trail = audit_trail(events)
    whole = {
        "session": protocol1.snapshot(session).model_dump(mode="json", by_alias=True),
        "execution_plan": execution_plan(session).model_dump(mode="json") if _has_execution_plan(session) else None,
        "calls": trail.calls,
        "decisions": [decision.model_dump(mode="json", exclude_defaults=True) for decision in trail.decisions],
        "journal": [json.loads(dump_event(event)) for event in events],
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _has_execution_plan(session: Session) -> bool:
    """Whether the current plan is an execution plan."""
    return bool(session.plan and session.plan.task and session.plan.task == session.task)


def _program(session: Session, events: Sequence[SessionEvent]) -> str:
    """The approved code, or else the newest."""
    if session.code is None:
        workflow = workflows.WORKFLOWS.get(session.workflow)
        makes_code = workflow is not None and workflow.plans == "text"
        hint = (
            "Approve the plan first: the code comes next." if makes_code else "Export it with format=md or format=json."
        )
        raise ApiError(
            "not_found", "This session has no code yet." if makes_code else "This session has no code.", hint
        )
    return session.code.code.rstrip("\n") + "\n"


def _markdown(session: Session, events: Sequence[SessionEvent]) -> str:
    trail = audit_trail(events)
    parts = [f"# {session.title}", _head(session, events), "## Conversation", *_conversation(trail, session.owner)]
    if plan := session.plan:
        steps = plan_markdown(session).removeprefix("# ").rstrip("\n") if _has_execution_plan(session) else plan.text
        parts += [f"## Plan {plan.number} ({plan.status})", steps]
    if session.code:
        parts += [f"## Code {session.code.number} ({session.code.status})", _fenced(session.code.code, "python")]
    if session.answer.text:
        parts += ["## Answer", session.answer.text]
    if lines := [_decision_text(decision, session.owner) for decision in trail.decisions]:
        parts += ["## Decisions", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _head(session: Session, events: Sequence[SessionEvent]) -> str:
    state = shown_state(session)
    workflow = WORKFLOWS.get(session.workflow, session.workflow)
    start = f" Begun {_time(events[0].at)}." if events else ""
    return f"Session `{session.id}`, version {session.version}: {workflow}, {STATES.get(state, state)}.{start}"


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _fenced(text: str, language: str = "") -> str:
    """A fenced block; the fence is one backtick longer than any run of backticks in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip('\n')}\n{fence}"


def _inline(value: JsonValue) -> str:
    """A value as one line of code."""
    text = json.dumps(value, ensure_ascii=False)
    ticks = "`" * (1 + max(map(len, re.findall(r"`+", text)), default=0))
    space = " " if len(ticks) > 1 else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def _pretty_json(value: JsonValue) -> str:
    """JSON on one line if it fits, else indented."""
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= LINE_WIDTH else json.dumps(value, ensure_ascii=False, indent=2)


def _conversation(trail: AuditTrail, owner: str) -> list[str]:
    """One paragraph per entry, with the steps of plans, and the arguments and results of calls."""
    lines = (_entry_text(entry, owner) for entry in trail.entries)
    return [line for line in lines if line]


def _entry_text(entry: j.AnyEntry, owner: str) -> str:
    """The entry as Markdown; "" for entries that a reader does not need."""
    who = f"**{display_name(entry.by, owner)}**"
    match entry:
        case j.SaidEntry() | j.ReplyEntry() | j.AnswerEntry():
            line = f"{who}: {entry.text}"
        case j.PlanEntry():
            steps = [_step(number, step) for number, step in enumerate(entry.steps, 1)]
            line = "\n".join([f"{who} {entry_line(entry)}: {entry.goal}", "", *steps])
        case j.QuestionEntry():
            answer = f"\n\n> {entry.answer}" if entry.answer else ""
            line = f"**{JOURNAL['asked'].format(by='Parley')}**: {entry.text}{answer}"
        case j.TurnEntry():
            line = _turn(entry)
        case j.ActionEntry() if entry.state != "dropped":
            state = state_text(entry.word, entry.gist)
            line = "\n".join([f"- `{entry.tool}`: {state}", *_details(entry, owner)])
        case j.FailureEntry():
            line = entry_line(entry)
        case j.CodeEntry() | j.NoteEntry() | j.DecisionEntry() | j.PathChangeEntry() if text := entry_line(entry):
            line = f"{who} {text}." if entry.by else f"{text}."
        case _:
            line = ""
    return line


def _step(number: int, step: Step) -> str:
    call = f" `{step.tool}`" + (f" {_inline(step.arguments)}" if step.arguments else "") if step.tool else ""
    return f"{number}. {step.text}{call}"


def _details(call: j.ActionEntry, owner: str) -> list[str]:
    """The lines below a call: its arguments, who approved it, and its result."""
    lines = [f"Arguments: {_inline(call.arguments)}"] if call.arguments else []
    if call.approved_at:
        lines.append(f"Approved by {display_name(call.approved_by, owner)}, {_time(call.approved_at)}.")
    if call.result is not None:
        text = call.result if isinstance(call.result, str) else _pretty_json(call.result)
        whole = f"; the whole is `{call.artefact.name}`, {call.artefact.size:,} bytes" if call.artefact else ""
        lines += [f"Result{whole}:", *_fenced(text[:MAX_RESULT_CHARS]).split("\n")]
        lines += (
            [f"The first {MAX_RESULT_CHARS:,} characters of {len(text):,}."] if len(text) > MAX_RESULT_CHARS else []
        )
    return [f"  {line}".rstrip() for line in lines]


def _decision_text(decision: DecisionRecord, owner: str) -> str:
    what = (
        f"{decision.about} {decision.number or ''}".strip()
        if decision.about != "action"
        else f"`{decision.tool}` ({decision.action_id})"
    )
    of = f" {_inline(decision.arguments)}" if decision.arguments else ""
    why = f": {decision.reason}" if decision.reason else ""
    who = f"**{display_name(decision.by, owner)}** " if decision.decision != "expired" else ""
    return f"- {_time(decision.at)}, {who}{decision.decision} {what}{of}{why}"


def _turn(entry: j.TurnEntry) -> str:
    """A turn's heading with its verdict and those of its sub-goals; its actions follow."""
    goal = f": {entry.sub_goal}" if entry.sub_goal else ""
    title = f"**Turn {entry.number}{goal}**"
    if (verdict := entry.verdict) is None:
        return title
    lines = [f"{title} ({verdict.word}, {verdict.next}) {verdict.text}".rstrip()]
    return "\n".join(
        [
            *lines,
            *(f"- “{sub_goal.sub_goal}” ({sub_goal.word}) {sub_goal.text}".rstrip() for sub_goal in verdict.sub_goals),
        ]
    )
