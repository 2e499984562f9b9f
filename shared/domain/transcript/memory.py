"""A session's bounded memory of its turns, so that the prompt of turn 50 is as long as that of turn 5.

The memory holds the newest outcomes of the current request in full and summaries of older ones; and likewise those of
earlier requests, which never count as done for the current one. The journal has everything.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from parley.events import facts
from parley.events.values import ActionSpec, Effect, NextAction, Recalled, Status, content_hash
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.state import DONE_STATUSES, Action, ActionStatus, Turn
from shared.domain.transcript.sub_goals import actions_by_sub_goal, sub_goals_of

MAX_WHOLE_OUTCOMES = 16_000  # characters of all outcomes that are kept in full
MAX_OUTCOME = 8_000  # characters of one outcome
MAX_OUTCOME_SUMMARY, MAX_OUTCOMES = 120, 20  # characters of an outcome's summary; number of outcomes
SubGoalStatus = Literal["pending", "completed", "failed"]
SUB_GOAL_STATUS_OF: dict[Status, SubGoalStatus] = {
    "success": "completed",
    "partial": "pending",
    "failure": "failed",
    "not_shown": "pending",
    "bad_input": "completed",
    "missing_here": "completed",
}
MAX_VERDICTS, MAX_REASONING, MAX_SUB_GOALS, MAX_CLOSING = 10, 400, 20, 4_000
WRITE_OUTCOMES: frozenset[ActionStatus] = frozenset({"finished", "denied", "uncertain"})
CHANGED: frozenset[ActionStatus] = frozenset({"finished", "uncertain"})


@dataclass(frozen=True)
class SubGoal:
    goal: str
    status: SubGoalStatus = "pending"


@dataclass(frozen=True)
class ActionRecord:
    """One action and its outcome; `text` is the result or the error, or its beginning.

    `key` identifies the call, also where `arguments` are shortened.
    """

    turn: int
    id: str
    key: str
    tool: str
    arguments: dict[str, JsonValue]
    effect: Effect
    status: ActionStatus
    text: str
    depends_on: tuple[str, ...] = ()

    @property
    def is_summary(self) -> bool:
        """Only a summary of the outcome is left."""
        return len(self.text) == MAX_OUTCOME_SUMMARY and self.text.endswith("…")


@dataclass(frozen=True)
class PastVerdict:
    turn: int
    sub_goal: str
    status: Status
    next_action: NextAction
    reasoning: str


@dataclass(frozen=True)
class Memory:
    """`planned` and `executed` count the actions of the current request.

    `deeds` holds its ended actions, `earlier` those of earlier requests. `settled` holds the outcomes of all its writes
    by key, also of those no longer in `deeds`. `closing` is the planner's reason for having nothing left to do.
    `recalled_for` is the subject for which the planner last recalled, "" for none.
    """

    sub_goals: tuple[SubGoal, ...] = ()
    deeds: tuple[ActionRecord, ...] = ()
    earlier: tuple[ActionRecord, ...] = ()
    verdicts: tuple[PastVerdict, ...] = ()
    recalled: tuple[Recalled, ...] = ()
    recalled_for: str = ""
    planned: int = 0
    executed: int = 0
    settled: dict[str, ActionStatus] = field(default_factory=dict)
    closing: str = ""


def records_of(turn: Turn | None) -> tuple[ActionRecord, ...]:
    """The actions of a turn that have ended or are uncertain."""
    return tuple(_record(turn.number, action) for action in turn.actions if _is_over(action)) if turn else ()


def action_history(memory: Memory, turn: Turn | None) -> tuple[ActionRecord, ...]:
    """The actions of the current request, including the current turn's, oldest first."""
    return _within_limits((*memory.deeds, *records_of(turn)))


def turn_planned(memory: Memory, event: facts.TurnPlanned) -> Memory:
    """The memory with the turn's sub-goals as the open ones; sub-goals with a result keep it."""
    goals = (*event.sub_goals, *sub_goals_of(event.sub_goal, event.actions))
    failed = (replace(each, status="failed") if each.goal in event.given_up else each for each in memory.sub_goals)
    return replace(
        _with_sub_goals(replace(memory, sub_goals=tuple(failed)), goals),
        recalled=event.recalled or memory.recalled,
        planned=memory.planned + len(event.actions),
        closing="" if event.actions else event.reasoning[:MAX_CLOSING],
    )


def turn_requested(memory: Memory, event: facts.TurnRequested) -> Memory:
    """The memory with the sub-goal of the user's own turn as the open one."""
    planned = memory.planned + len(event.actions)
    return replace(_with_sub_goals(memory, (event.sub_goal,)), planned=planned, closing="")


def _with_sub_goals(memory: Memory, sub_goals: Iterable[str]) -> Memory:
    known = {sub_goal.goal: sub_goal for sub_goal in memory.sub_goals}
    goals = dict.fromkeys(sub_goals)
    reached = [sub_goal for sub_goal in memory.sub_goals if sub_goal.status != "pending" and sub_goal.goal not in goals]
    return replace(memory, sub_goals=(*reached, *(known.get(goal, SubGoal(goal)) for goal in goals))[-MAX_SUB_GOALS:])


def turn_verified(memory: Memory, turn: Turn, event: facts.TurnVerified) -> Memory:
    """The memory with the verdict and the turn's sub-goals updated. A fulfilled request completes all sub-goals."""
    fulfilled = event.next_action == "complete" and event.status == "success"
    reached = dict.fromkeys(actions_by_sub_goal(turn), _status_after(event.status, event.next_action))
    for verdict in event.sub_goals:
        reached[verdict.sub_goal] = (
            "completed" if verdict.status == "success" else _status_after(verdict.status, event.next_action)
        )
    past = PastVerdict(turn.number, turn.sub_goal, event.status, event.next_action, event.reasoning[:MAX_REASONING])
    return replace(
        memory,
        verdicts=(*memory.verdicts, past)[-MAX_VERDICTS:],
        sub_goals=tuple(
            replace(sub_goal, status=_sub_goal_status(sub_goal, reached, fulfilled=fulfilled))
            for sub_goal in memory.sub_goals
        ),
    )


def _status_after(status: Status, next_action: NextAction) -> SubGoalStatus:
    """The status of a sub-goal after a verdict. It stays pending if the turn is to be retried."""
    return "pending" if next_action == "retry" else SUB_GOAL_STATUS_OF[status]


def _sub_goal_status(sub_goal: SubGoal, reached: Mapping[str, SubGoalStatus], *, fulfilled: bool) -> SubGoalStatus:
    status = reached.get(sub_goal.goal, sub_goal.status)
    return "completed" if fulfilled and sub_goal.status == "pending" and sub_goal.goal not in reached else status


def turn_left(memory: Memory, turn: Turn | None) -> Memory:
    """The memory with the turn's actions added, once the session leaves the turn."""
    records = records_of(turn)
    ran = sum(record.status in ("finished", "failed", "uncertain") for record in records)
    return _add_records(memory, records, ran)


def add_late_outcome(memory: Memory, action: Action) -> Memory:
    """The memory with the outcome of an action that ended after its turn."""
    return _add_records(memory, (_record(0, action),), 1)


def begin_request(memory: Memory) -> Memory:
    """An empty memory for a new request, with outcomes of earlier ones: packs judge calls by what was read before."""
    return Memory(earlier=_within_limits((*memory.earlier, *memory.deeds)))


def key_of(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    return content_hash(json.dumps([tool, arguments], sort_keys=True))[:32]


def outcome_of(memory: Memory, turn: Turn | None, spec: ActionSpec) -> ActionStatus | None:
    """How the same write last ended during the current request; None if it was not tried, or failed."""
    return _write_outcomes(memory, records_of(turn)).get(key_of(spec.tool, spec.arguments))


def older_reads(records: tuple[ActionRecord, ...]) -> Iterator[tuple[ActionRecord, list[ActionRecord]]]:
    """The reads that may not show what a later change did, each with those changes.

    Of the calls of one turn, only those that depend on the change are sure to be newer.
    """
    behind: dict[str, set[str]] = {}
    for place, record in enumerate(records):
        behind[record.id] = set(record.depends_on).union(*(behind.get(before, ()) for before in record.depends_on))
        rest = (other for other in records[place:] if other.turn != record.turn)
        beside = (other for other in records if other.turn == record.turn and other.id not in behind[record.id])
        changes = [other for other in (*beside, *rest) if other.effect != "read" and other.status in CHANGED]
        if record.effect == "read" and record.status == "finished" and changes:
            yield record, changes


def text_of(result: JsonValue) -> str:
    """The result as text, as prompts and pages quote it."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _is_over(action: Action) -> bool:
    return action.status in DONE_STATUSES or action.status == "uncertain"


def _record(turn: int, action: Action) -> ActionRecord:
    text = text_of(action.result) if action.status == "finished" else action.explanation
    spec = action.spec
    key, arguments = key_of(spec.tool, spec.arguments), _shortened(spec.arguments, MAX_OUTCOME)
    shown = beginning(text, MAX_OUTCOME)
    return ActionRecord(turn, spec.id, key, spec.tool, arguments, spec.effect, action.status, shown, spec.depends_on)


def _add_records(memory: Memory, records: tuple[ActionRecord, ...], ran: int) -> Memory:
    write_outcomes = _write_outcomes(memory, records)
    return replace(
        memory, deeds=_within_limits((*memory.deeds, *records)), executed=memory.executed + ran, settled=write_outcomes
    )


def _write_outcomes(memory: Memory, records: Iterable[ActionRecord]) -> dict[str, ActionStatus]:
    changes = {
        record.key: record.status for record in records if record.effect != "read" and record.status in WRITE_OUTCOMES
    }
    return {**memory.settled, **changes}


def _within_limits(records: tuple[ActionRecord, ...]) -> tuple[ActionRecord, ...]:
    """The newest records within the limits. A repeated read keeps its newest outcome only; writes outlast reads."""
    newest: dict[object, ActionRecord] = {}
    room = MAX_WHOLE_OUTCOMES
    for place, record in reversed(list(enumerate(records))):
        which: object = (record.key, record.status) if record.effect == "read" else place
        if which in newest:
            continue
        room -= len(record.text) + len(text_of(record.arguments))
        newest[which] = record if room >= 0 else _summary(record)
    for which in sorted(newest, key=lambda which: newest[which].effect == "read")[MAX_OUTCOMES:]:
        del newest[which]
    return tuple(reversed(newest.values()))


def _summary(record: ActionRecord) -> ActionRecord:
    return replace(
        record,
        text=beginning(record.text, MAX_OUTCOME_SUMMARY),
        arguments=_shortened(record.arguments, MAX_OUTCOME_SUMMARY),
    )


def _shortened(arguments: dict[str, JsonValue], limit: int) -> dict[str, JsonValue]:
    """The arguments as they are if short enough; else each is cut to an equal share of the limit."""
    if len(text_of(arguments)) <= limit:
        return arguments
    share = limit // len(arguments)
    texts = {name: text_of(value) for name, value in arguments.items()}
    return {
        name: value if len(texts[name]) <= share else beginning(texts[name], share) for name, value in arguments.items()
    }


def beginning(text: str, limit: int) -> str:
    """The text, or its beginning with “…” if it is longer than this many characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
