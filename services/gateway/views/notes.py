"""What people and services did, in one line each, to be read after their name. Pure of the event alone."""

from parley.events import SessionEvent, facts
from parley.protocol import journal as j
from services.gateway.views.outcomes import base


def note(event: SessionEvent) -> j.NoteEntry | None:
    """The line, or None for what the journal shows otherwise."""
    text, tone = _line(event)
    if not text:
        return None
    entry = j.NoteEntry(**base(event, f"note:{event.version}"), tone=tone, text=text)
    return entry.model_copy(update={"by": ""}) if isinstance(event, facts.ApprovalExpired) else entry


def _line(event: SessionEvent) -> tuple[str, j.Tone]:  # noqa: PLR0911  one line a fact
    match event:
        case facts.PlanApproved() | facts.CodeApproved() | facts.PlanRejected() | facts.CodeRejected():
            return _decision(event)
        case facts.SessionStopped():
            return f"stopped{f': {event.reason}' if event.reason else ''}", "bad"
        case facts.PlanCancelled():
            return "discarded the plan", "bad"
        case facts.PlanDeleted():
            return "deleted the plan", "bad"
        case facts.ApprovalExpired():
            return "Nobody decided in time", "bad"
        case facts.SessionCompleted():
            return "marked this as done", "good"
        case facts.AnswerJudged():
            return _judgement(event), "good" if event.accepted else "bad"
        case _:
            return _settings(event), "plain"


def _decision(
    event: facts.PlanApproved | facts.CodeApproved | facts.PlanRejected | facts.CodeRejected,
) -> tuple[str, j.Tone]:
    noun = "plan" if isinstance(event, facts.PlanApproved | facts.PlanRejected) else "code"
    which = f"{noun} {event.number}" if event.number else f"the {noun}"
    if isinstance(event, facts.PlanApproved | facts.CodeApproved):
        return f"approved {which}", "good"
    different = {"plan": "a different plan", "code": "different code"}[noun]
    return (f"asked for {different}" if event.replan else f"declined {which}"), "plain"


def _judgement(event: facts.AnswerJudged) -> str:
    said = "said that this answer is correct" if event.accepted else "said that this answer is not correct"
    return f"{said}, and saved it to the library" if event.saved else said


def _settings(event: SessionEvent) -> str:
    """What changes how the session goes on; "" for the rest."""
    match event:
        case facts.BudgetRaised():
            more = [f"{event.tokens:,} tokens"] * bool(event.tokens) + [f"${event.cost:g}"] * bool(event.cost)
            line = f"raised the budget by {' and '.join(more)}"
        case facts.PolicySet():
            line = f"set the approval for {event.tool} from now on: {event.policy}"
        case facts.SessionPaused():
            line = "paused"
        case facts.SessionResumed():
            line = "resumed"
        case facts.SessionRetried():
            line = "retried"
        case facts.SessionForked():
            line = "began this session as a fork"
        case facts.SessionRenamed():
            line = f"renamed this to “{event.title}”"
        case facts.SessionShared():
            line = (
                f"shared this with {event.user} ({event.role})"
                if event.role
                else f"stopped sharing this with {event.user}"
            )
        case facts.WorkflowChanged():
            line = f"chose the workflow {event.workflow}"
        case _:
            line = ""
    return line
