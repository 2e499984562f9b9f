"""What the planner makes of a proposed turn: actions that can be decided about, or why it cannot be taken. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from parley.events.values import ActionSpec
from parley.protocol.tools import ToolSpec
from services.planner.agentflow_prompt import Planned, TurnDraft
from services.planner.calls import without_nulls
from shared.domain.memory import Deed, history, key_of
from shared.domain.session import Session
from shared.domain.sub_goals import TURN_SUB_GOALS, sub_goals_of
from shared.repair import repair

REFUSED = "Error"  # how a refusal begins: with the same arguments the tool would refuse again
FAILURES = 3  # turns in a row that came to nothing


class Proposal(NamedTuple):
    """`problems`: why it is not taken, in words for the model; `stuck`: it goes round in circles."""

    actions: tuple[ActionSpec, ...]
    problems: tuple[str, ...] = ()
    stuck: bool = False


def weigh(session: Session, planned_turn: TurnDraft, tools: Sequence[ToolSpec]) -> Proposal:
    """The turn's calls with their arguments put right, held against tools and history."""
    known = {spec.name: spec for spec in tools}
    turn = session.counts.turns + 1
    actions: list[ActionSpec] = []
    problems: list[str] = []
    for number, planned in enumerate(planned_turn.actions, 1):
        spec = known.get(planned.tool)
        if spec is None:
            problems.append(f"There is no tool “{planned.tool[:80]}” here.")
            continue
        repaired = repair(
            without_nulls(planned.arguments if planned.arguments is not None else {}, spec), spec.parameters
        )
        problems += [f"{planned.tool}: {problem}" for problem in repaired.problems]
        actions.append(
            ActionSpec(
                id=f"{turn}.{number}",
                tool=spec.name,
                arguments=repaired.arguments,
                description=planned.text[:2000],
                effect=spec.effect,
                depends_on=_names(planned, turn, number, len(planned_turn.actions)),
                approval_reason=_confirmed(session, spec),
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
        return Proposal((), tuple(problems))
    if len(sub_goals) == 1:  # which is the turn's, under whatever name
        actions = [action.model_copy(update={"sub_goal": ""}) for action in actions]
    if twice := _twice(actions):
        return Proposal((), (twice,))
    done = history(session.memory, session.turn)
    if actions and (again := repeated(actions, done, patient=not standstill(session))):
        return Proposal(tuple(actions), (again,), stuck=True)
    return Proposal(tuple(actions))


def _confirmed(session: Session, spec: ToolSpec) -> str | None:
    """Why a person looks at this call, unless they said for this tool that they need not."""
    wanted = spec.is_confirmed(session.settings.confirm) and session.policies.get(spec.name) != "never"
    return spec.confirm if wanted else None


def _names(planned: Planned, turn: int, number: int, count: int) -> tuple[str, ...]:
    """A call cannot wait for itself, nor for one that is not there: such numbers are left out."""
    needs = [need for need in dict.fromkeys(planned.depends_on) if 1 <= need <= count and need != number]
    return tuple(f"{turn}.{need}" for need in needs)


def _twice(actions: Sequence[ActionSpec]) -> str:
    """A change that the reply holds more than once."""
    changes = [(action.tool, key_of(action.tool, action.arguments)) for action in actions if action.effect != "read"]
    names = ", ".join(dict.fromkeys(change[0] for change in changes if changes.count(change) > 1))
    return f"The same call twice, and it changes something ({names}): once is enough." if names else ""


def repeated(actions: Sequence[ActionSpec], done: Sequence[Deed], *, patient: bool = True) -> str:
    """Why these calls lead nowhere: every one was made before, and nothing has changed since; "" if they may.

    With patience, a call that broke down (too slow, stopped, away) is worth another try, one that was refused is not.
    """
    last_change = max(
        (at for at, deed in enumerate(done) if deed.effect != "read" and _may_have_changed(deed)), default=-1
    )
    for action in actions:
        made = done if action.effect != "read" else done[last_change + 1 :]
        key = key_of(action.tool, action.arguments)
        if not any(deed.key == key and _tried(deed, patient) for deed in made):
            return ""
    names = ", ".join(dict.fromkeys(action.tool for action in actions))
    return (
        f"These calls have been made with the same arguments already ({names}): what came of them is under <executed>."
    )


def _may_have_changed(deed: Deed) -> bool:
    return deed.status in ("finished", "uncertain")


def _tried(deed: Deed, patient: bool) -> bool:
    """Of what has faded from memory the result is no longer there: it may be looked up again."""
    if deed.status == "failed":
        return not patient or deed.text.startswith(REFUSED)
    return deed.status == "denied" or (deed.status == "finished" and not (deed.faded and deed.effect == "read"))


def standstill(session: Session) -> bool:
    """The last turns all came to nothing."""
    last = session.memory.verdicts[-FAILURES:]
    return len(last) == FAILURES and all(verdict.status == "failure" for verdict in last)
