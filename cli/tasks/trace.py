"""What a finished run of the loop comes to, read from its journal: turns, calls, verdicts, the answer and the price."""

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
class Made:
    """One call that was carried out, in the order in which outcomes came."""

    tool: str
    arguments: dict[str, JsonValue]
    effect: str
    ok: bool
    result: str


@dataclass(frozen=True)
class Trace:
    """`seconds` from the first event to the last; `tokens` of prompts and replies together."""

    session: Session
    events: tuple[SessionEvent, ...]
    made: tuple[Made, ...]
    planned: int
    seconds: float
    model_calls: int
    tokens: int

    @property
    def answered(self) -> bool:
        return (
            self.session.phase == "resting"
            and self.session.rest_reason == "answered"
            and bool(self.session.answer.text)
        )

    @property
    def complete(self) -> bool:
        """Did it come to its own end, and not only to the last of its turns?"""
        turns = [event for event in self.events if isinstance(event, Planned | facts.TurnVerified)]
        return any(
            event.next_action == "complete" if isinstance(event, facts.TurnVerified) else not event.actions
            for event in turns[-1:]
        )

    @property
    def writes(self) -> tuple[Made, ...]:
        """Those that changed something."""
        return tuple(one for one in self.made if one.effect != "read" and one.ok)

    @property
    def ended(self) -> str:
        """How it ended, in a word or two and, where there is one, the reason."""
        session = self.session
        if self.answered:
            return "answered"
        if session.failure is not None and session.phase == "failed":
            return f"failed: {session.failure.reason}"
        return {"awaiting_input": "asked", "awaiting_approval": "waits for approval"}.get(session.phase, session.phase)

    def metadata(self) -> dict[str, Any]:
        """As it goes beside a task."""
        verdicts = [event for event in self.events if isinstance(event, facts.TurnVerified)]
        return {
            "turns": self.session.counts.turns,
            "sub_goals": [{"goal": one.goal, "status": one.status} for one in self.session.memory.sub_goals],
            "planned_actions_count": self.planned,
            "executed_actions_count": len(self.made),
            "verifications": [
                {
                    "turn": one.turn,
                    "status": one.status,
                    "next_action": one.next_action,
                    "reasoning": one.reasoning or one.execution_analysis,
                }
                | ({"sub_goals": [goal.model_dump(mode="json") for goal in one.sub_goals]} if one.sub_goals else {})
                for one in verdicts
            ],
            "confidence": self.session.answer.confidence,
            "ended": self.ended,
            "session_id": self.session.id,
            **self.price(),
        }

    def price(self) -> dict[str, Any]:
        return {"seconds": round(self.seconds, 3), "model_calls": self.model_calls, "tokens": self.tokens}


def trace(session_id: str, events: Sequence[SessionEvent]) -> Trace:
    """All of it, from the whole journal of a session that was not forked."""
    calls = [call for event in events for call in event.usage]
    return Trace(
        session=fold(Session(id=session_id), events),
        events=tuple(events),
        made=tuple(_made(events)),
        planned=sum(len(event.actions) for event in events if isinstance(event, Planned)),
        seconds=(events[-1].at - events[0].at).total_seconds() if events else 0.0,
        model_calls=len(calls),
        tokens=sum(call.prompt_tokens + call.completion_tokens for call in calls),
    )


def _made(events: Iterable[SessionEvent]) -> Iterable[Made]:
    specs: dict[str, ActionSpec] = {}
    for event in events:
        if isinstance(event, Planned | facts.PlanApproved | facts.TurnChanged):
            specs |= {spec.id: spec for spec in event.actions}
        elif isinstance(event, facts.ActionsFinished):
            for one in (one for one in event.outcomes if one.action_id in specs):
                spec, text = specs[one.action_id], text_of(one.result) if one.ok else one.error
                yield Made(spec.tool, spec.arguments, spec.effect, one.ok and not text.startswith(REFUSED), text)
