"""The words of the journal for the codes of the log. Nothing compares them."""

from collections.abc import Mapping

from parley.events.facts import Intent
from parley.events.values import EndReason, NextAction
from parley.protocol.journal import ActionState, Tone

INTENTS: Mapping[Intent, str] = {"feedback": "feedback", "guidance": "while it worked"}
PHASES: Mapping[str, str] = {
    "planning": "planning",
    "coding": "writing the code",
    "executing": "running",
    "verifying": "checking",
    "answering": "answering",
}
STATUSES: Mapping[ActionState, str] = {
    "planned": "waiting",
    "approved": "approved",
    "denied": "declined",
    "started": "running",
    "asked": "asks you",
    "finished": "done",
    "failed": "failed",
    "skipped": "skipped",
    "uncertain": "uncertain",
    "dropped": "left out",
}
TONES: Mapping[ActionState, Tone] = {
    "planned": "plain",
    "approved": "plain",
    "denied": "plain",
    "started": "work",
    "asked": "wait",
    "finished": "good",
    "failed": "bad",
    "skipped": "plain",
    "uncertain": "wait",
    "dropped": "plain",
}
NEXT_ACTIONS: Mapping[NextAction, str] = {
    "continue": "continues",
    "retry": "tries again",
    "escalate": "hands over to you",
    "complete": "done",
}
ENDED: Mapping[EndReason, str] = {
    "dependency_failed": "Skipped: something it depends on failed",
    "stopped": "Not run: stopped before it began",
    "cancelled": "Not run: the plan was discarded",
    "superseded": "Left out: something else was done instead",
}


def confidence_text(confidence: float) -> str:
    return f"Confidence {confidence:.0%}".replace("%", " %")
