"""A stored event in one line of plain words. Pure and total."""

import json
from collections.abc import Sequence
from typing import assert_never

from rich.text import Text

from cli.chat.text import short
from cli.visible import visible
from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt, ModelCall
from parley.protocol.words import NOTES
from shared.domain.outcomes import OutcomeEvent

WIDTH = 160
_OfPlan = facts.PlanDrafted | facts.PlanEdited | facts.PlanApproved | facts.PlanRejected
_OfCode = facts.CodeDrafted | facts.CodeEdited | facts.CodeApproved | facts.CodeRejected


def line(event: SessionEvent) -> Text:
    """Who, and what."""
    style = "bold" if event.actor.startswith("user:") else "cyan"
    return Text.assemble(("· ", "dim"), (f"{visible(event.actor.removeprefix('user:'))} ", style), (gist(event), "dim"))


def gist(event: SessionEvent) -> str:
    """What happened, without who and when: "plan: Print the primes (3 steps)"."""
    return f"{_what(event)}{f'; runs {", ".join(event.begins)}' if event.begins else ''}"


def _what(event: SessionEvent) -> str:  # noqa: C901, PLR0911, PLR0912  one line a fact
    match event:
        case facts.MessageReceived():
            return short(event.text, WIDTH)
        case facts.PlanDrafted() | facts.PlanEdited():
            verb = "wrote" if isinstance(event, facts.PlanDrafted) else "edited"
            return f"{verb} {_item(event)} “{short(event.goal)}” ({_count(len(event.steps), 'step')})"
        case facts.PlanApproved():
            tools = ", ".join(action.tool for action in event.actions)
            return f"approved {_item(event)}{f': turn {event.turn} ({tools})' if tools else ''}"
        case facts.PlanRejected() | facts.CodeRejected():
            what = "plan" if isinstance(event, facts.PlanRejected) else "code"
            return NOTES[f"{what}_replanned"] if event.replan else f"declined {_item(event)}"
        case facts.PlanCancelled():
            return NOTES["plan_discarded"]
        case facts.PlanDeleted():
            return NOTES["plan_deleted"]
        case facts.CodeDrafted() | facts.CodeEdited():
            verb = "wrote" if isinstance(event, facts.CodeDrafted) else "edited"
            return f"{verb} {_item(event)} ({_count(len(event.code.splitlines()), 'line')})"
        case facts.CodeVerified():
            return "checked the code: " + (
                ", ".join(f"{c.name} {'ok' if c.ok else 'FAILED'}" for c in event.checks) or "–"
            )
        case facts.RemarkAnswered():
            return f"replied: {short(event.text, WIDTH)}"
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
                return f"nobody answered {event.unanswered} in time"
            return f"nobody decided in time{f' about {", ".join(event.denied)}' if event.denied else ''}"
        case facts.ActionsWaiting():
            return f"waits: {', '.join(f'{one.action_id} until {one.until.isoformat()}' for one in event.actions)}"
        case facts.ActionsWoken():
            return f"has waited: {', '.join(event.actions)}"
        case facts.ActionPolled():
            return f"{event.action_id} checked {event.looks} times: {_seen(event)}"
        case facts.ActionsStarted():
            return f"runs {', '.join(map(_attempt, event.actions))}"
        case (
            facts.ActionsFinished()
            | facts.ActionSkipped()
            | facts.ActionUncertain()
            | facts.ResultStored()
            | facts.ResultLost()
        ):
            return _came(event)
        case facts.TurnVerified():
            return f"turn {event.turn}: {event.status}, {event.next_action}{_because(event.reasoning)}"
        case facts.AnswerGiven():
            return f"answer: {short(event.text, WIDTH)}"
        case facts.AnswerJudged():
            kept = ", and keeps it" if event.saved else ""
            return f"{'accepted' if event.accepted else 'did not accept'} the answer{kept}"
        case facts.UsageRecorded():
            return cost(event.usage)
        case facts.BudgetRaised():
            more = f", {event.calls} calls, {event.seconds} s" if event.calls or event.seconds else ""
            return f"raised the budget by {event.tokens} tokens, ${event.cost:g}{more}"
        case facts.PolicySet():
            return NOTES["policy"].format(tool=event.tool, policy=event.policy)
        case facts.SessionStopped():
            return f"stopped{_because(event.reason)}"
        case facts.SessionPaused():
            return NOTES["paused"]
        case facts.SessionResumed():
            return NOTES["resumed"]
        case facts.SessionFailed():
            return f"{event.phase} failed{_because(event.reason)}"
        case facts.SessionRetried():
            return NOTES["retried"]
        case facts.SessionCompleted():
            return NOTES["completed"]
        case facts.SessionForked():
            return f"forked from {event.parent_id} at version {event.parent_version}"
        case facts.SessionRenamed():
            return f"named the session “{short(event.title)}”"
        case facts.SessionShared():
            return f"shared with {event.user} as {event.role}" if event.role else f"no longer shared with {event.user}"
        case facts.WorkflowChanged():
            return f"next: workflow {event.workflow}"
    assert_never(event)


def _item(event: _OfPlan | _OfCode) -> str:
    """ "plan 3"; where an older release has not told its number, "the plan"."""
    noun = "plan" if isinstance(event, _OfPlan) else "code"
    return f"{noun} {event.number}" if event.number else f"the {noun}"


def _seen(event: facts.ActionPolled) -> str:
    """What a step saw that polls, or what it came to."""
    if event.error:
        return short(event.error, WIDTH)
    seen = short(json.dumps(event.value, ensure_ascii=False), WIDTH)
    return f"the condition is met, {seen}" if event.end else seen


def _came(event: OutcomeEvent) -> str:
    """What came of actions."""
    match event:
        case facts.ActionsFinished():
            return "; ".join(
                f"{one.action_id} {'finished' if one.ok else 'failed'} after {one.seconds:.1f} s{_because(one.error)}"
                for one in event.outcomes
            )
        case facts.ActionSkipped():
            return f"{event.action_id} skipped{_because(event.reason)}"
        case facts.ActionUncertain():
            return f"nobody knows what became of {event.action_id}{_because(event.reason)}"
        case facts.ResultStored(artefact=kept):
            return f"keeps all {kept.size:,} bytes of {event.action_id} as {short(kept.name, WIDTH)}"
        case facts.ResultLost():
            return f"could not keep the whole result of {event.action_id}{_because(event.reason)}"


def _attempt(run: ActionAttempt) -> str:
    return run.action_id if run.attempt == 1 else f"{run.action_id} (attempt {run.attempt})"


def cost(usage: Sequence[ModelCall]) -> str:
    """What these model calls cost: "used 306 tokens of big, $0.0100, 1.2 s"."""
    return f"used {'; '.join(map(_call, usage))}"


def _call(call: ModelCall) -> str:
    tokens = _count(call.prompt_tokens + call.completion_tokens, "token")
    spent = f"{tokens} of {call.model}, ${call.cost:.4f}, {call.latency:.1f} s"
    return spent if call.outcome == "ok" else f"{spent} ({call.outcome})"


def _because(reason: str) -> str:
    return f": {short(reason, WIDTH)}" if reason else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
