"""A finished run of the agent loop, from its journal: turns, calls, verdicts, answer and cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from packs.retail.tasks.replay import REFUSAL_PREFIXES
from packs.retail.tasks.task import ExpectedCall
from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec
from shared.domain.kernel.evolve import fold
from shared.domain.kernel.session import Session
from shared.domain.transcript.memory import text_of

Planned = facts.TurnPlanned | facts.TurnRequested


@dataclass(frozen=True)
class RunTrace:
    """The run of a session that is no fork, from all its events."""

    session_id: str
    events: Sequence[SessionEvent]

    @cached_property
    def session(self) -> Session:
        return fold(Session(id=self.session_id), self.events)

    @property
    def is_answered(self) -> bool:
        session = self.session
        return session.phase == "resting" and session.rest_reason == "answered" and bool(session.answer.text)

    @property
    def is_complete(self) -> bool:
        """Whether the run ended by itself, rather than by its limit of turns."""
        turns = [event for event in self.events if isinstance(event, Planned | facts.TurnVerified)]
        return any(
            event.next_action == "complete" if isinstance(event, facts.TurnVerified) else not event.actions
            for event in turns[-1:]
        )

    @cached_property
    def executed(self) -> tuple[tuple[ActionSpec, bool], ...]:
        """The executed calls in order of their outcomes, and whether each succeeded."""
        return tuple(self._executed())

    @property
    def writes(self) -> tuple[ExpectedCall, ...]:
        """The successful calls that changed data."""
        done = [spec for spec, ok in self.executed if ok and spec.effect != "read"]
        return tuple(ExpectedCall(name=spec.tool, arguments=spec.arguments) for spec in done)

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
            "planned_actions_count": sum(len(event.actions) for event in self.events if isinstance(event, Planned)),
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
            "session_id": self.session_id,
            **price([self]),
        }

    def _executed(self) -> Iterator[tuple[ActionSpec, bool]]:
        specs: dict[str, ActionSpec] = {}
        for event in self.events:
            if isinstance(event, Planned | facts.PlanApproved | facts.TurnChanged):
                specs |= {spec.id: spec for spec in event.actions}
            elif isinstance(event, facts.ActionsFinished):
                for item in (item for item in event.outcomes if item.action_id in specs):
                    is_refused = item.ok and text_of(item.result).startswith(REFUSAL_PREFIXES)
                    yield specs[item.action_id], item.ok and not is_refused


def price(traces: Sequence[RunTrace]) -> dict[str, Any]:
    """What the runs cost together. `seconds` are from first to last event of each."""
    seconds = [(trace.events[-1].at - trace.events[0].at).total_seconds() for trace in traces if trace.events]
    usage = [call for trace in traces for event in trace.events for call in event.usage]
    return {
        "seconds": round(sum(seconds), 3),
        "model_calls": len(usage),
        "tokens": sum(call.prompt_tokens + call.completion_tokens for call in usage),
    }
