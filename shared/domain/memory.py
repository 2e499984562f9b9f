"""What a session remembers of its turns: bounded, so that the prompt of turn 50 is as long as that of turn 5.

The journal has all of it. Of the request at hand the newest outcomes are kept whole, older ones by their beginning;
of earlier requests only a few beginnings are left, which never count as done for this one.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import JsonValue

from shared.domain.state import DONE, Action, ActionStatus, Turn
from shared.events import facts
from shared.events.values import Effect, NextAction, Recalled, Status

WHOLE = 24_000  # characters of outcomes that are kept whole
DEED = 8_000  # characters of one outcome
GIST, GISTS = 300, 30  # characters of an older outcome, and how many outcomes there are at most
EARLIER = 8
Standing = Literal["pending", "completed", "failed"]
BECOMES: dict[Status, Standing] = {"success": "completed", "partial": "pending", "failure": "failed"}
VERDICTS, REASONS, SUB_GOALS, CLOSING = 10, 400, 20, 4_000


@dataclass(frozen=True)
class SubGoal:
    goal: str
    status: Standing = "pending"


@dataclass(frozen=True)
class Deed:
    """One action and what came of it; `text` is its result or its error, or the beginning of it."""

    turn: int
    id: str
    tool: str
    arguments: dict[str, JsonValue]
    effect: Effect
    status: ActionStatus
    text: str


@dataclass(frozen=True)
class Judged:
    turn: int
    sub_goal: str
    status: Status
    next_action: NextAction
    reasoning: str


@dataclass(frozen=True)
class Memory:
    """`planned` and `executed` count the actions of the request at hand.

    `closing`: why the planner found nothing left to do.
    """

    sub_goals: tuple[SubGoal, ...] = ()
    deeds: tuple[Deed, ...] = ()
    earlier: tuple[Deed, ...] = ()
    verdicts: tuple[Judged, ...] = ()
    recalled: tuple[Recalled, ...] = ()
    planned: int = 0
    executed: int = 0
    closing: str = ""


def deeds_of(turn: Turn | None) -> tuple[Deed, ...]:
    """The actions of a turn that have come to an end, or to a doubt."""
    return tuple(_deed(turn.number, action) for action in turn.actions if _over(action)) if turn else ()


def history(memory: Memory, turn: Turn | None) -> tuple[Deed, ...]:
    """All that was done for the request at hand, the turn at hand among it; oldest first."""
    return _kept((*memory.deeds, *deeds_of(turn)))


def planned(memory: Memory, event: facts.TurnPlanned) -> Memory:
    """The way to the end as it is seen now; what was reached stays reached."""
    known = {sub_goal.goal: sub_goal for sub_goal in memory.sub_goals}
    goals = dict.fromkeys((*event.sub_goals, event.sub_goal) if event.actions else event.sub_goals)
    reached = [sub_goal for sub_goal in memory.sub_goals if sub_goal.status != "pending" and sub_goal.goal not in goals]
    sub_goals = (*reached, *(known.get(goal, SubGoal(goal)) for goal in goals))
    return replace(
        memory,
        sub_goals=sub_goals[-SUB_GOALS:],
        recalled=event.recalled or memory.recalled,
        planned=memory.planned + len(event.actions),
        closing="" if event.actions else event.reasoning[:CLOSING],
    )


def judged(memory: Memory, turn: Turn, event: facts.TurnVerified) -> Memory:
    status = "pending" if event.next_action == "retry" else BECOMES[event.status]
    verdict = Judged(turn.number, turn.sub_goal, event.status, event.next_action, event.reasoning[:REASONS])
    return replace(
        memory,
        verdicts=(*memory.verdicts, verdict)[-VERDICTS:],
        sub_goals=tuple(
            replace(sub_goal, status=status) if sub_goal.goal == turn.sub_goal else sub_goal
            for sub_goal in memory.sub_goals
        ),
    )


def left(memory: Memory, turn: Turn | None) -> Memory:
    """The turn is over: what it did is remembered."""
    done = deeds_of(turn)
    ran = sum(deed.status in ("finished", "failed", "uncertain") for deed in done)
    return replace(memory, deeds=_kept((*memory.deeds, *done)), executed=memory.executed + ran)


def came_late(memory: Memory, action: Action) -> Memory:
    """The outcome of an action that outlived its turn."""
    return replace(memory, deeds=_kept((*memory.deeds, _deed(0, action))), executed=memory.executed + 1)


def next_request(memory: Memory) -> Memory:
    """A new question begins with an empty page; of what was seen before only the gist is left."""
    before = (*memory.earlier, *(_gist(deed) for deed in memory.deeds))
    return Memory(earlier=before[-EARLIER:])


def same_call(tool: str, arguments: Mapping[str, JsonValue], deeds: Iterable[Deed], *statuses: str) -> Deed | None:
    """The newest deed that was this very call and ended so."""
    found = [deed for deed in deeds if deed.tool == tool and deed.arguments == arguments and deed.status in statuses]
    return found[-1] if found else None


def text_of(result: JsonValue) -> str:
    """A result as prompts and pages quote it."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _over(action: Action) -> bool:
    return action.status in DONE or action.status == "uncertain"


def _deed(turn: int, action: Action) -> Deed:
    text = text_of(action.result) if action.status == "finished" else action.error
    spec = action.spec
    return Deed(turn, spec.id, spec.tool, spec.arguments, spec.effect, action.status, _cut(text, DEED))


def _kept(deeds: tuple[Deed, ...]) -> tuple[Deed, ...]:
    """A read that was made again is known by its newest outcome only."""
    kept: list[Deed] = []
    room = WHOLE
    for deed in reversed(deeds):
        if deed.effect == "read" and same_call(deed.tool, deed.arguments, kept, deed.status):
            continue
        room -= len(deed.text)
        kept.append(deed if room >= 0 else _gist(deed))
    return tuple(reversed(kept[:GISTS]))


def _gist(deed: Deed) -> Deed:
    return replace(deed, text=_cut(deed.text, GIST))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
