"""What a session remembers of its turns: bounded, so that the prompt of turn 50 is as long as that of turn 5.

The journal has all of it. Of the request at hand the newest outcomes are kept whole, older ones by their beginning;
of earlier requests only a few beginnings are left, which never count as done for this one.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from parley.events import facts
from parley.events.values import ActionSpec, Effect, NextAction, Recalled, Status, content_hash
from shared.domain.changing import replace
from shared.domain.state import DONE, Action, ActionStatus, Turn
from shared.domain.sub_goals import of_turn, sub_goals_of

WHOLE = 16_000  # characters of outcomes that are kept whole
DEED = 8_000  # characters of one outcome
GIST, GISTS = 120, 20  # characters of an older outcome, and how many outcomes there are at most
EARLIER = 6  # outcomes of earlier requests
Standing = Literal["pending", "completed", "failed"]
BECOMES: dict[Status, Standing] = {"success": "completed", "partial": "pending", "failure": "failed"}
VERDICTS, REASONS, SUB_GOALS, CLOSING = 10, 400, 20, 4_000
SETTLED: frozenset[ActionStatus] = frozenset({"finished", "denied", "uncertain"})


@dataclass(frozen=True)
class SubGoal:
    goal: str
    status: Standing = "pending"


@dataclass(frozen=True)
class Deed:
    """One action and what came of it; `text` is its result or its error, or the beginning of it.

    `key` tells this very call from others, also where long arguments are kept by their beginnings.
    """

    turn: int
    id: str
    key: str
    tool: str
    arguments: dict[str, JsonValue]
    effect: Effect
    status: ActionStatus
    text: str

    @property
    def faded(self) -> bool:
        """Only the gist of what was known is left."""
        return len(self.text) == GIST and self.text.endswith("…")


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

    `settled`: how its changes ended, by key, also those that are no longer among the deeds. `heard`: what was said
    since the request, as far as a turn was planned with it. `closing`: why the planner found nothing left to do.
    """

    sub_goals: tuple[SubGoal, ...] = ()
    deeds: tuple[Deed, ...] = ()
    earlier: tuple[Deed, ...] = ()
    verdicts: tuple[Judged, ...] = ()
    recalled: tuple[Recalled, ...] = ()
    planned: int = 0
    executed: int = 0
    settled: dict[str, ActionStatus] = field(default_factory=dict)
    heard: tuple[str, ...] = ()
    closing: str = ""


def deeds_of(turn: Turn | None) -> tuple[Deed, ...]:
    """The actions of a turn that have come to an end, or to a doubt."""
    return tuple(_deed(turn.number, action) for action in turn.actions if _over(action)) if turn else ()


def history(memory: Memory, turn: Turn | None) -> tuple[Deed, ...]:
    """All that was done for the request at hand, the turn at hand among it; oldest first."""
    return _kept((*memory.deeds, *deeds_of(turn)))


def planned(memory: Memory, event: facts.TurnPlanned, heard: tuple[str, ...]) -> Memory:
    """The way to the end as it is seen now; what was reached stays reached."""
    goals = (*event.sub_goals, *sub_goals_of(event.sub_goal, event.actions))
    return replace(
        _towards(memory, goals),
        recalled=event.recalled or memory.recalled,
        planned=memory.planned + len(event.actions),
        heard=heard,
        closing="" if event.actions else event.reasoning[:CLOSING],
    )


def requested(memory: Memory, event: facts.TurnRequested) -> Memory:
    """A person's own turn is the way to the end now."""
    planned = memory.planned + len(event.actions)
    return replace(_towards(memory, (event.sub_goal,)), planned=planned, closing="")


def _towards(memory: Memory, sub_goals: Iterable[str]) -> Memory:
    known = {sub_goal.goal: sub_goal for sub_goal in memory.sub_goals}
    goals = dict.fromkeys(sub_goals)
    reached = [sub_goal for sub_goal in memory.sub_goals if sub_goal.status != "pending" and sub_goal.goal not in goals]
    return replace(memory, sub_goals=(*reached, *(known.get(goal, SubGoal(goal)) for goal in goals))[-SUB_GOALS:])


def judged(memory: Memory, turn: Turn, event: facts.TurnVerified) -> Memory:
    """What became of the turn's sub-goals; a request that is fulfilled has reached all of them."""
    fulfilled = event.next_action == "complete" and event.status == "success"
    reached = dict.fromkeys(of_turn(turn), _becomes(event.status, event.next_action))
    for one in event.sub_goals:
        reached[one.sub_goal] = "completed" if one.status == "success" else _becomes(one.status, event.next_action)
    verdict = Judged(turn.number, turn.sub_goal, event.status, event.next_action, event.reasoning[:REASONS])
    return replace(
        memory,
        verdicts=(*memory.verdicts, verdict)[-VERDICTS:],
        sub_goals=tuple(
            replace(sub_goal, status=_standing(sub_goal, reached, fulfilled=fulfilled)) for sub_goal in memory.sub_goals
        ),
    )


def _becomes(status: Status, next_action: NextAction) -> Standing:
    """What is to be tried again is still open."""
    return "pending" if next_action == "retry" else BECOMES[status]


def _standing(sub_goal: SubGoal, reached: Mapping[str, Standing], *, fulfilled: bool) -> Standing:
    status = reached.get(sub_goal.goal, sub_goal.status)
    return "completed" if fulfilled and sub_goal.status == "pending" and sub_goal.goal not in reached else status


def left(memory: Memory, turn: Turn | None) -> Memory:
    """The turn is over: what it did is remembered."""
    done = deeds_of(turn)
    ran = sum(deed.status in ("finished", "failed", "uncertain") for deed in done)
    return _with(memory, done, ran)


def came_late(memory: Memory, action: Action) -> Memory:
    """The outcome of an action that outlived its turn."""
    return _with(memory, (_deed(0, action),), 1)


def next_request(memory: Memory) -> Memory:
    """A new question begins with an empty page; of what was seen before only a few gists are left.

    What is so short that its gist is all of it goes first: who the customer is, for one.
    """
    before = (*memory.earlier, *(_gist(deed) for deed in memory.deeds))
    places = sorted(range(len(before)), key=lambda place: (before[place].faded, -place))[:EARLIER]
    return Memory(earlier=tuple(before[place] for place in sorted(places)))


def key_of(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    return content_hash(json.dumps([tool, arguments], sort_keys=True))[:32]


def standing(memory: Memory, turn: Turn | None, spec: ActionSpec) -> ActionStatus | None:
    """How this very change ended when it was last to be made for the request at hand; None: it was not, or failed."""
    return _settled(memory, deeds_of(turn)).get(key_of(spec.tool, spec.arguments))


def text_of(result: JsonValue) -> str:
    """A result as prompts and pages quote it."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _over(action: Action) -> bool:
    return action.status in DONE or action.status == "uncertain"


def _deed(turn: int, action: Action) -> Deed:
    text = text_of(action.result) if action.status == "finished" else action.explanation
    spec = action.spec
    key, arguments = key_of(spec.tool, spec.arguments), _shortened(spec.arguments, DEED)
    return Deed(turn, spec.id, key, spec.tool, arguments, spec.effect, action.status, _cut(text, DEED))


def _with(memory: Memory, done: tuple[Deed, ...], ran: int) -> Memory:
    settled = _settled(memory, done)
    return replace(memory, deeds=_kept((*memory.deeds, *done)), executed=memory.executed + ran, settled=settled)


def _settled(memory: Memory, done: Iterable[Deed]) -> dict[str, ActionStatus]:
    changes = {deed.key: deed.status for deed in done if deed.effect != "read" and deed.status in SETTLED}
    return {**memory.settled, **changes}


def _kept(deeds: tuple[Deed, ...]) -> tuple[Deed, ...]:
    """A read that was made again is known by its newest outcome only; reads make room for changes."""
    kept: dict[object, Deed] = {}
    room = WHOLE
    for place, deed in reversed(list(enumerate(deeds))):
        which: object = (deed.key, deed.status) if deed.effect == "read" else place
        if which in kept:
            continue
        room -= len(deed.text) + len(text_of(deed.arguments))
        kept[which] = deed if room >= 0 else _gist(deed)
    for which in sorted(kept, key=lambda which: kept[which].effect == "read")[GISTS:]:
        del kept[which]
    return tuple(reversed(kept.values()))


def _gist(deed: Deed) -> Deed:
    return replace(deed, text=_cut(deed.text, GIST), arguments=_shortened(deed.arguments, GIST))


def _shortened(arguments: dict[str, JsonValue], limit: int) -> dict[str, JsonValue]:
    """Short arguments as they are; of long ones each has its share of the room."""
    if len(text_of(arguments)) <= limit:
        return arguments
    share = limit // len(arguments)
    texts = {name: text_of(value) for name, value in arguments.items()}
    return {name: value if len(texts[name]) <= share else _cut(texts[name], share) for name, value in arguments.items()}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
