"""A session to take away: Markdown to read, JSON to process, the program to run. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import JsonValue

from parley.events import SessionEvent, dump_event, facts
from parley.events.values import Step
from parley.protocol import journal as j
from parley.protocol.words import JOURNAL, STATES, WORKFLOWS
from services.gateway.trouble import Trouble
from services.gateway.views import messages
from services.gateway.views.entries import entries
from services.gateway.views.execution_plan import execution_plan, formatted
from services.gateway.views.record import Call, Decision, calls, decisions
from shared.domain import workflows
from shared.domain.session import Session
from shared.domain.state_names import state_name

LINE = 120  # characters
SHOWN = 5_000  # characters of a result in Markdown; JSON has it all
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
    """Where it stands, its calls and decisions, the plan of an execution plan with its steps, and every event."""
    told = _entries(events)
    whole = {
        "session": messages.snapshot(session).model_dump(mode="json", by_alias=True),
        "execution_plan": execution_plan(session).model_dump(mode="json") if _acts(session) else None,
        "calls": [call.model_dump(mode="json") for call in calls(told, events).values()],
        "decisions": [one.model_dump(mode="json", exclude_defaults=True) for one in decisions(events)],
        "journal": [json.loads(dump_event(event)) for event in events],
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _acts(session: Session) -> bool:
    """Its plan is one of steps that are carried out."""
    return bool(session.plan and session.plan.task and session.plan.task == session.task)


def _program(session: Session, events: Sequence[SessionEvent]) -> str:
    """The approved code, or the newest there is."""
    if session.code is None:
        own = workflows.WORKFLOWS.get(session.workflow)
        makes_code = own is not None and own.plans == "text"
        hint = (
            "Approve the plan first: the code comes next." if makes_code else "Export it with format=md or format=json."
        )
        raise Trouble("not_found", "This session has no code yet." if makes_code else "This session has no code.", hint)
    return session.code.code.rstrip("\n") + "\n"


def _markdown(session: Session, events: Sequence[SessionEvent]) -> str:
    parts = [f"# {session.title}", _head(session, events), "## Conversation", *_conversation(session.owner, events)]
    if plan := session.plan:
        steps = formatted(session).removeprefix("# ").rstrip("\n") if _acts(session) else plan.text
        parts += [f"## Plan {plan.number} ({plan.status})", steps]
    if session.code:
        parts += [f"## Code {session.code.number} ({session.code.status})", _fenced(session.code.code, "python")]
    if session.answer.text:
        parts += ["## Answer", session.answer.text]
    if decided := [_decided(one, session.owner) for one in decisions(events)]:
        parts += ["## Decisions", "\n".join(decided)]
    return "\n\n".join(parts) + "\n"


def _head(session: Session, events: Sequence[SessionEvent]) -> str:
    state = state_name(session)
    workflow = WORKFLOWS.get(session.workflow, session.workflow)
    begun = f" Begun {_time(events[0].at)}." if events else ""
    return f"Session `{session.id}`, version {session.version}: {workflow}, {STATES.get(state, state)}.{begun}"


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _fenced(text: str, language: str = "") -> str:
    """The fence is one backtick longer than any run of them in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip('\n')}\n{fence}"


def _inline(value: JsonValue) -> str:
    """A value as one line of code."""
    text = json.dumps(value, ensure_ascii=False)
    ticks = "`" * (1 + max(map(len, re.findall(r"`+", text)), default=0))
    space = " " if len(ticks) > 1 else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def _laid_out(value: JsonValue) -> str:
    """JSON on one line where it fits."""
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= LINE else json.dumps(value, ensure_ascii=False, indent=2)


def _entries(events: Sequence[SessionEvent]) -> list[j.AnyEntry]:
    """The journal as it came out."""
    kept: j.Kept = {}
    for event in events:
        j.keep(kept, entries(event))
    return [j.read(entry) for entry in kept.values()]


def _conversation(owner: str, events: Sequence[SessionEvent]) -> list[str]:
    """A paragraph an entry, with the steps of each plan, and the arguments and the result of each call."""
    told = _entries(events)
    made = calls(told, events)
    steps = {event.version: event.steps for event in events if isinstance(event, facts.PlanDrafted | facts.PlanEdited)}
    lines = (_told(entry, owner, made, steps.get(entry.version, ())) for entry in told)
    return [line for line in lines if line]


def _told(entry: j.AnyEntry, owner: str, made: Mapping[str, Call], steps: Sequence[Step]) -> str:
    """What a reader of the conversation wants to know; "" for the rest."""
    who = f"**{_name(entry.by, owner)}**"
    match entry:
        case j.SaidEntry() | j.ReplyEntry() | j.AnswerEntry():
            line = f"{who}: {entry.text}"
        case j.PlanEntry() | j.CodeEntry():
            wrote = JOURNAL["edited" if entry.by.startswith("user:") else "wrote"]
            goal = f": {entry.goal}" if isinstance(entry, j.PlanEntry) else "."
            line = f"{who} {wrote.format(what=f'{entry.title} ({entry.summary})')}{goal}"
            line = "\n\n".join([line, *(["\n".join(map(_step, range(1, 1 + len(steps)), steps))] if steps else [])])
        case j.QuestionEntry():
            answer = f"\n\n> {entry.answer}" if entry.answer else ""
            line = f"**{JOURNAL['asked'].format(by='Parley')}**: {entry.text}{answer}"
        case j.TurnEntry():
            line = _turn(entry)
        case j.ActionEntry() if entry.state != "dropped":
            word = "" if entry.state == "finished" or entry.word in entry.gist.casefold() else f"{entry.word}: "
            line = "\n".join([f"- `{entry.tool}`: {word}{entry.gist}", *_details(made[entry.action_id], owner)])
        case j.FailureEntry():
            line = f"{entry.title}: {entry.reason}"
        case j.NoteEntry() | j.PathChangeEntry() if entry.text:
            line = f"{who} {entry.text}." if entry.by else f"{entry.text}."
        case _:
            line = ""
    return line


def _step(number: int, step: Step) -> str:
    call = f" `{step.tool}`" + (f" {_inline(step.arguments)}" if step.arguments else "") if step.tool else ""
    return f"{number}. {step.text}{call}"


def _details(call: Call, owner: str) -> list[str]:
    """The lines below a call: what it ran with, who allowed it, and its result."""
    lines = [f"Arguments: {_inline(call.arguments)}"] if call.arguments else []
    if call.approved_at:
        lines.append(f"Approved by {_name(call.approved_by, owner)}, {_time(call.approved_at)}.")
    if call.result is not None:
        text = call.result if isinstance(call.result, str) else _laid_out(call.result)
        whole = f"; the whole is `{call.artefact.name}`, {call.artefact.size:,} bytes" if call.artefact else ""
        lines += [f"Result{whole}:", *_fenced(text[:SHOWN]).split("\n")]
        lines += [f"The first {SHOWN:,} characters of {len(text):,}."] if len(text) > SHOWN else []
    return [f"  {line}".rstrip() for line in lines]


def _decided(one: Decision, owner: str) -> str:
    what = f"{one.about} {one.number or ''}".strip() if one.about != "action" else f"`{one.tool}` ({one.action_id})"
    of = f" {_inline(one.arguments)}" if one.arguments else ""
    why = f": {one.reason}" if one.reason else ""
    who = f"**{_name(one.by, owner)}** " if one.decision != "expired" else ""
    return f"- {_time(one.at)}, {who}{one.decision} {what}{of}{why}"


def _turn(entry: j.TurnEntry) -> str:
    """With what became of it and of each of its sub-goals; its actions follow."""
    goal = f": {entry.sub_goal}" if entry.sub_goal else ""
    title = f"**Turn {entry.number}{goal}**"
    if (said := entry.verdict) is None:
        return title
    lines = [f"{title} ({said.word}, {said.next}) {said.text}".rstrip()]
    return "\n".join([*lines, *(f"- “{one.sub_goal}” ({one.word}) {one.text}".rstrip() for one in said.sub_goals)])


def _name(by: str, owner: str) -> str:
    """“You” for the session's owner."""
    return JOURNAL["you"] if by == f"user:{owner}" else by.removeprefix("user:").replace("_", " ")
