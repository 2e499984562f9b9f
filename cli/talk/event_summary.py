"""Summarizes a stored event in one line. Pure and total."""

import json
from collections.abc import Sequence

from rich.text import Text

from cli.text import counted, short, visible
from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt, ModelCall, Outcome
from parley.protocol.words import NOTES
from shared.domain.actors import USER_PREFIX
from shared.domain.outcomes import OutcomeEvent

WIDTH = 160
_OfPlan = facts.PlanDrafted | facts.PlanEdited | facts.PlanApproved | facts.PlanRejected
_OfCode = facts.CodeDrafted | facts.CodeEdited | facts.CodeApproved | facts.CodeRejected


def _took(event: facts.PlanDrafted | facts.CodeDrafted) -> str:
    return f"{NOTES['offer_taken']}:" if event.offer else ""


def summary_line(event: SessionEvent) -> Text:
    """A styled line: the actor and the summary."""
    style = "bold" if event.actor.startswith(USER_PREFIX) else "cyan"
    return Text.assemble(
        ("· ", "dim"), (f"{visible(event.actor.removeprefix('user:'))} ", style), (summarize(event), "dim")
    )


def summarize(event: SessionEvent) -> str:
    """The event without actor and time, like "wrote plan 1 “Print the primes” (3 steps)"."""
    return f"{_what(event)}{f'; runs {", ".join(event.begins)}' if event.begins else ''}"


def _what(event: SessionEvent) -> str:  # noqa: C901, PLR0911, PLR0912  one case per event
    match event:
        case facts.MessageReceived():
            return short(event.text, WIDTH)
        case facts.PlanDrafted() | facts.PlanEdited():
            verb = _took(event) or "wrote" if isinstance(event, facts.PlanDrafted) else "edited"
            return f"{verb} {_item(event)} “{short(event.goal)}” ({counted(len(event.steps), 'step')})"
        case facts.PlanApproved():
            tools = ", ".join(action.tool for action in event.actions)
            return f"approved {_item(event)}{f': turn {event.turn} ({tools})' if tools else ''}"
        case facts.PlanRejected() | facts.CodeRejected():
            what = "plan" if isinstance(event, facts.PlanRejected) else "code"
            return NOTES[f"{what}_replanned"] if event.replan else f"declined {_item(event)}"
        case facts.CodeDrafted() | facts.CodeEdited():
            verb = _took(event) or "wrote" if isinstance(event, facts.CodeDrafted) else "edited"
            return f"{verb} {_item(event)} ({counted(len(event.code.splitlines()), 'line')})"
        case facts.CodeVerified():
            return "checked the code: " + (
                ", ".join(f"{c.name} {'ok' if c.ok else 'FAILED'}" for c in event.checks) or "–"
            )
        case facts.RemarkAnswered():
            return f"replied: {short(event.text, WIDTH)}"
        case facts.OfferMade():
            goal = getattr(event.draft, "goal", "") or getattr(event.draft, "sub_goal", "")
            return NOTES[f"offered_{event.draft.type}"].format(goal=short(goal))
        case facts.OfferKept():
            return NOTES["offer_kept"]
        case facts.CodeApproved():
            return f"approved {_item(event)}"
        case facts.QuestionAsked():
            return f"asks: {short(event.text, WIDTH)}"
        case facts.QuestionAnswered():
            return f"answered: {short(event.text, WIDTH)}"
        case facts.TurnPlanned() | facts.TurnRequested():
            tools = ", ".join(action.tool for action in event.actions)
            return f"turn {event.turn}: {short(event.sub_goal)} ({tools or 'the answer follows'})"
        case facts.TurnChanged():
            rest = ", ".join(action.tool for action in event.actions)
            overrides = f", with {', '.join(event.overrides)} set" if event.overrides else ""
            return f"changed what comes next: {short(rest, WIDTH) or 'it ends here'}{overrides}{_because(event.reason)}"
        case facts.ApprovalGiven():
            return NOTES["action_allowed"].format(action=event.action_id)
        case facts.ApprovalDenied():
            return f"{NOTES['action_declined'].format(action=event.action_id)}{_because(event.reason)}"
        case facts.ApprovalExpired():
            if event.unanswered:
                return f"no answer to {event.unanswered} in time"
            return f"no decision in time{f' about {", ".join(event.denied)}' if event.denied else ''}"
        case facts.ActionsWaiting():
            waits = (f"{action.action_id} until {action.until.isoformat()}" for action in event.actions)
            return f"waits: {', '.join(waits)}"
        case facts.ActionWaited(polls=0):
            return f"has waited: {event.action_id}"
        case facts.ActionWaited():
            return f"{event.action_id} checked {event.polls} times: {_polled_value(event)}"
        case facts.ActionsStarted():
            return f"runs {', '.join(map(_attempt, event.actions))}"
        case (
            facts.ActionsFinished()
            | facts.ActionSkipped()
            | facts.ActionUncertain()
            | facts.ResultStored()
            | facts.ResultLost()
        ):
            return _outcome(event)
        case facts.TurnVerified():
            return f"turn {event.turn}: {event.status}, {event.next_action}{_because(event.reasoning)}"
        case facts.AnswerGiven():
            return f"answer: {short(event.text, WIDTH)}"
        case facts.AnswerJudged():
            artefact = ", and keeps it" if event.saved else ""
            return f"{'accepted' if event.accepted else 'did not accept'} the answer{artefact}"
        case facts.UsageRecorded():
            return usage_summary(event.usage)
        case facts.BudgetRaised():
            more = f", {event.calls} calls, {event.seconds} s" if event.calls or event.seconds else ""
            return f"raised the budget by {event.tokens} tokens, ${event.cost:g}{more}"
        case facts.SessionStopped():
            return f"stopped{_because(event.reason)}"
        case facts.SessionFailed():
            return f"{event.phase} failed{_because(event.reason)}"
        case facts.SessionForked():
            return f"forked from {event.parent_id} at version {event.parent_version}"
        case facts.SessionRenamed():
            return f"named the session “{short(event.title)}”"
        case facts.SessionShared():
            return f"shared with {event.user} as {event.role}" if event.role else f"no longer shared with {event.user}"
        case facts.WorkflowChanged():
            return f"next: workflow {event.workflow}"
        case _:
            return event.describe()


def _item(event: _OfPlan | _OfCode) -> str:
    """ "plan 3"; "the plan" if the event does not say its number."""
    noun = "plan" if isinstance(event, _OfPlan) else "code"
    return f"{noun} {event.number}" if event.number else f"the {noun}"


def _polled_value(event: facts.ActionWaited) -> str:
    """The value that a polling step has seen, or its result."""
    if event.error:
        return short(event.error, WIDTH)
    value = short(json.dumps(event.value, ensure_ascii=False), WIDTH)
    return f"the condition is met, {value}" if event.end else value


def _outcome(event: OutcomeEvent) -> str:
    """The outcomes of actions."""
    match event:
        case facts.ActionsFinished():
            return "; ".join(map(_finished, event.outcomes))
        case facts.ActionSkipped():
            return f"{event.action_id} skipped{_because(event.reason)}"
        case facts.ActionUncertain():
            return f"unknown whether {event.action_id} took effect{_because(event.reason)}"
        case facts.ResultStored(artefact=artefact):
            return f"keeps all {artefact.size:,} bytes of {event.action_id} as {short(artefact.name, WIDTH)}"
        case facts.ResultLost():
            return f"could not keep the whole result of {event.action_id}{_because(event.reason)}"


def _finished(outcome: Outcome) -> str:
    ending = "finished" if outcome.ok else "failed"
    return f"{outcome.action_id} {ending} after {outcome.seconds:.1f} s{_because(outcome.error)}"


def _attempt(run: ActionAttempt) -> str:
    return run.action_id if run.attempt == 1 else f"{run.action_id} (attempt {run.attempt})"


def usage_summary(usage: Sequence[ModelCall]) -> str:
    """The cost of model calls, like "used 306 tokens of big, $0.0100, 1.2 s"."""
    return f"used {'; '.join(map(_call, usage))}"


def _call(call: ModelCall) -> str:
    tokens = counted(call.prompt_tokens + call.completion_tokens, "token")
    spent = f"{tokens} of {call.model}, ${call.cost:.4f}, {call.latency:.1f} s"
    return spent if call.outcome == "ok" else f"{spent} ({call.outcome})"


def _because(reason: str) -> str:
    return f": {short(reason, WIDTH)}" if reason else ""
