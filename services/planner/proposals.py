"""Validates a proposed turn: its actions, or the reasons why it is rejected. Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from parley.events.values import ActionSpec
from parley.protocol.tools import ToolSpec
from services.planner.agentflow_prompt import Planned, TurnDraft
from shared.domain.memory import ActionRecord, action_history, key_of
from shared.domain.references import ITEM, malformed_references, referenced_calls, references
from shared.domain.session import Session
from shared.domain.sub_goals import TURN_SUB_GOALS, sub_goals_of
from shared.plan_checks.argument_kinds import reference_problems
from shared.plan_checks.calls import repair_arguments

REFUSAL_PREFIX = "Error"  # of a tool's error: with the same arguments the tool would refuse again
STALLED_AFTER = 3  # consecutive failed turns


type Arguments = dict[str, JsonValue]


class TurnProposal(NamedTuple):
    """The actions of a proposed turn.

    `problems` tell the model why the turn is rejected. `is_stuck`: it only repeats earlier calls.
    """

    actions: tuple[ActionSpec, ...]
    problems: tuple[str, ...] = ()
    is_stuck: bool = False


def validate(session: Session, planned_turn: TurnDraft, tools: Sequence[ToolSpec]) -> TurnProposal:
    """The turn's calls with repaired arguments, checked against the tools and the session's history."""
    known = {spec.name: spec for spec in tools}
    turn = session.counts.turns + 1
    actions: list[ActionSpec] = []
    problems: list[str] = []
    for number, planned in enumerate(planned_turn.actions, 1):
        spec = known.get(planned.tool)
        if spec is None:
            problems.append(f"There is no tool “{planned.tool[:80]}” here.")
            continue
        repaired = repair_arguments(planned.arguments if planned.arguments is not None else {}, spec)
        wrong = (*repaired.problems, *_reference_problems(repaired.arguments, spec, number, len(planned_turn.actions)))
        problems += [f"{planned.tool}: {problem}" for problem in wrong]
        actions.append(
            ActionSpec(
                id=f"{turn}.{number}",
                tool=spec.name,
                arguments=repaired.arguments,
                description=planned.text[:2000],
                effect=spec.effect,
                depends_on=_dependency_ids(planned, repaired.arguments, turn, number, len(planned_turn.actions)),
                approval_reason=_approval_reason(session, spec),
                policy=spec.policy,
                repairs=repaired.repairs,
                quiet=spec.quiet,
                sub_goal=planned.sub_goal.strip()[:500],
            )
        )
    sub_goals = sub_goals_of(planned_turn.sub_goal, actions)
    if len(sub_goals) > TURN_SUB_GOALS:
        problems.append(f"A turn works on at most {TURN_SUB_GOALS} sub-goals: leave the others to the next turn.")
    if problems:
        return TurnProposal((), tuple(problems))
    if len(sub_goals) == 1:  # it is the turn's own sub-goal, whatever its wording
        actions = [action.model_copy(update={"sub_goal": ""}) for action in actions]
    if duplicate := _duplicate_problem(actions):
        return TurnProposal((), (duplicate,))
    past_actions = action_history(session.memory, session.turn)
    if actions and (repetition := repetition_problem(actions, past_actions, allow_retry=not is_stalled(session))):
        return TurnProposal(tuple(actions), (repetition,), is_stuck=True)
    return TurnProposal(tuple(actions))


def _approval_reason(session: Session, spec: ToolSpec) -> str | None:
    """Why the user has to approve this call; None if they waived approvals for its tool."""
    is_needed = spec.is_confirmed(session.settings.confirm) and session.policies.get(spec.name) != "never"
    return spec.confirm if is_needed else None


def _reference_problems(arguments: Arguments, spec: ToolSpec, number: int, count: int) -> Iterator[str]:
    """Why what the call number `number` of `count` refers to cannot be filled in."""
    yield from reference_problems(arguments, spec.parameters)
    known = [f"{{{{calls.{other}.output}}}}" for other in range(1, count + 1) if other != number]
    for reference in references(arguments):
        call = int(reference.step) if reference.step.isdigit() else 0
        if reference.step != ITEM and (not 1 <= call <= count or call == number):
            yield f"{reference.text} is not the result of another call of this turn, such as {', '.join(known)}."
    yield from (
        f"{text[:80]} is no reference: write {{{{calls.1.output}}}}, or {{{{calls.1.output.orders[0]}}}} for a part."
        for text in malformed_references(arguments)
        if ".output" in text
    )


def _dependency_ids(planned: Planned, arguments: Arguments, turn: int, number: int, count: int) -> tuple[str, ...]:
    """The ids of the calls this one depends on or refers to, without itself and unknown numbers."""
    named = dict.fromkeys((*planned.depends_on, *referenced_calls(arguments)))
    return tuple(f"{turn}.{need}" for need in named if 1 <= need <= count and need != number)


def _duplicate_problem(actions: Sequence[ActionSpec]) -> str:
    """The problem of a write that the reply contains more than once; "" if there is none."""
    changes = [(action.tool, key_of(action.tool, action.arguments)) for action in actions if action.effect != "read"]
    names = ", ".join(dict.fromkeys(change[0] for change in changes if changes.count(change) > 1))
    return f"The same call twice, and it changes something ({names}): once is enough." if names else ""


def repetition_problem(
    actions: Sequence[ActionSpec], past_actions: Sequence[ActionRecord], *, allow_retry: bool = True
) -> str:
    """Why these calls are pointless: each was made before and nothing has changed since; "" if they are not.

    With `allow_retry`, a call that timed out, was stopped or found its server unavailable may be repeated; a refused
    call may not.
    """
    last_change = max(
        (at for at, past in enumerate(past_actions) if past.effect != "read" and _may_have_changed(past)), default=-1
    )
    for action in actions:
        candidates = past_actions if action.effect != "read" else past_actions[last_change + 1 :]
        key = key_of(action.tool, action.arguments)
        if not any(past.key == key and _is_settled(past, allow_retry) for past in candidates):
            return ""
    names = ", ".join(dict.fromkeys(action.tool for action in actions))
    return (
        f"These calls have been made with the same arguments already ({names}): their results are in the conversation."
    )


def _may_have_changed(past: ActionRecord) -> bool:
    return past.status in ("finished", "uncertain")


def _is_settled(past: ActionRecord, allow_retry: bool) -> bool:
    """Whether repeating this call is pointless. A read whose result has left the memory may be repeated."""
    if past.status == "failed":
        return not allow_retry or past.text.startswith(REFUSAL_PREFIX)
    return past.status == "denied" or (past.status == "finished" and not (past.is_summary and past.effect == "read"))


def is_stalled(session: Session) -> bool:
    """Whether the last STALLED_AFTER turns all failed."""
    last = session.memory.verdicts[-STALLED_AFTER:]
    return len(last) == STALLED_AFTER and all(verdict.status == "failure" for verdict in last)
