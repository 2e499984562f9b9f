"""A finished run of the agent loop, from its journal: turns, calls, verdicts, answer and cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec
from shared.domain.evolve import fold
from shared.domain.memory import text_of
from shared.domain.session import Session

Planned = facts.TurnPlanned | facts.TurnRequested
REFUSED = ("Error: ", "Unknown action ")


@dataclass(frozen=True)
class ExecutedCall:
    """One executed call."""

    tool: str
    arguments: dict[str, JsonValue]
    effect: str
    ok: bool
    result: str


@dataclass(frozen=True)
class RunTrace:
    """`executed` is in order of the outcomes. `seconds` is from first to last event; `tokens` is the total."""

    session: Session
    events: tuple[SessionEvent, ...]
    executed: tuple[ExecutedCall, ...]
    planned_count: int
    seconds: float
    model_calls: int
    tokens: int

    @property
    def is_answered(self) -> bool:
        return (
            self.session.phase == "resting"
            and self.session.rest_reason == "answered"
            and bool(self.session.answer.text)
        )

    @property
    def is_complete(self) -> bool:
        """Whether the run ended by itself, rather than by its limit of turns."""
        turns = [event for event in self.events if isinstance(event, Planned | facts.TurnVerified)]
        return any(
            event.next_action == "complete" if isinstance(event, facts.TurnVerified) else not event.actions
            for event in turns[-1:]
        )

    @property
    def writes(self) -> tuple[ExecutedCall, ...]:
        """The successful calls that changed data."""
        return tuple(item for item in self.executed if item.effect != "read" and item.ok)

    @property
    def end_description(self) -> str:
        """How the run ended, in a few words, with the reason if there is one."""
        session = self.session
        if self.is_answered:
            return "answered"
        if session.failure is not None and session.phase == "failed":
            return f"failed: {session.failure.reason}"
        return {"awaiting_input": "asked", "awaiting_approval": "waits for approval"}.get(session.phase, session.phase)

    def metadata(self) -> dict[str, Any]:
        """The metadata stored beside a task."""
        verdicts = [event for event in self.events if isinstance(event, facts.TurnVerified)]
        return {
            "turns": self.session.counts.turns,
            "sub_goals": [{"goal": item.goal, "status": item.status} for item in self.session.memory.sub_goals],
            "planned_actions_count": self.planned_count,
            "executed_actions_count": len(self.executed),
            "verifications": [
                {
                    "turn": item.turn,
                    "status": item.status,
                    "next_action": item.next_action,
                    "reasoning": item.reasoning or item.execution_analysis,
                }
                | ({"sub_goals": [goal.model_dump(mode="json") for goal in item.sub_goals]} if item.sub_goals else {})
                for item in verdicts
            ],
            "confidence": self.session.answer.confidence,
            "ended": self.end_description,
            "session_id": self.session.id,
            **self.price(),
        }

    def price(self) -> dict[str, Any]:
        return {"seconds": round(self.seconds, 3), "model_calls": self.model_calls, "tokens": self.tokens}


def run_trace(session_id: str, events: Sequence[SessionEvent]) -> RunTrace:
    """The trace of a session, from its complete journal. The session must not be a fork."""
    calls = [call for event in events for call in event.usage]
    return RunTrace(
        session=fold(Session(id=session_id), events),
        events=tuple(events),
        executed=tuple(_executed_calls(events)),
        planned_count=sum(len(event.actions) for event in events if isinstance(event, Planned)),
        seconds=(events[-1].at - events[0].at).total_seconds() if events else 0.0,
        model_calls=len(calls),
        tokens=sum(call.prompt_tokens + call.completion_tokens for call in calls),
    )


def _executed_calls(events: Iterable[SessionEvent]) -> Iterable[ExecutedCall]:
    specs: dict[str, ActionSpec] = {}
    for event in events:
        if isinstance(event, Planned | facts.PlanApproved | facts.TurnChanged):
            specs |= {spec.id: spec for spec in event.actions}
        elif isinstance(event, facts.ActionsFinished):
            for item in (item for item in event.outcomes if item.action_id in specs):
                spec, text = specs[item.action_id], text_of(item.result) if item.ok else item.error
                yield ExecutedCall(
                    spec.tool, spec.arguments, spec.effect, item.ok and not text.startswith(REFUSED), text
                )
