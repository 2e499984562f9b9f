"""Decides the planner's turns, with the ids of their actions, and the verifier's verdicts."""

from collections.abc import Sequence

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid, OutOfTurn, require
from shared.domain.kernel.session import Session
from shared.domain.plan.policy import with_ruling
from shared.domain.rules.event_meta import event_meta
from shared.domain.transcript.memory import MAX_SUB_GOALS, key_of
from shared.domain.transcript.messages import begins_round, drafting_session
from shared.domain.transcript.sub_goals import TURN_SUB_GOALS, actions_by_sub_goal, sub_goals_of
from shared.domain.turn.action_ids import ActionId
from shared.domain.workflows import WORKFLOWS

MAX_ACTIONS = 50  # actions of a turn


def plan_turn(session: Session, command: c.PlanTurn, meta: CommandMeta) -> facts.TurnPlanned:
    """The turn with the domain's ruling of each action. Raises OutOfTurn, Invalid."""
    require(_plans_turns(session), "In a conversation only approved code is run, when the user asks for it.")
    if len(command.sub_goals) > MAX_SUB_GOALS:
        raise Invalid(f"A turn names at most {MAX_SUB_GOALS} sub-goals.")
    base = drafting_session(session)
    actions = tuple(with_ruling(base, spec) for spec in new_actions(base, command.actions))
    if len(sub_goals_of(command.sub_goal, actions)) > TURN_SUB_GOALS:
        raise Invalid(f"A turn works on at most {TURN_SUB_GOALS} sub-goals: leave the others to the next turn.")
    return facts.TurnPlanned(
        **event_meta(session, meta, facts.TurnPlanned),
        turn=session.counts.turns + 1,
        sub_goal=command.sub_goal,
        actions=actions,
        selected_tool=command.selected_tool,
        required_skills=command.required_skills,
        reasoning=command.reasoning,
        say=command.say,
        sub_goals=command.sub_goals,
        given_up=_given_up(session, (*command.sub_goals, *sub_goals_of(command.sub_goal, actions))),
        final=command.final,
        recalled=command.recalled,
        path=command.path,
        tells_subjects=command.tells_subjects,
        begins_round=begins_round(session),
    )


def _given_up(session: Session, goals: Sequence[str]) -> tuple[str, ...]:
    """The sub-goals of the last turn that were to be retried, and are not among these."""
    verdict = session.turn.verdict if session.turn else None
    if session.turn is None or verdict is None or verdict.next_action != "retry":
        return ()
    tried, known = actions_by_sub_goal(session.turn), session.memory.sub_goals
    pending = (sub_goal.goal for sub_goal in known if sub_goal.status == "pending" and sub_goal.goal in tried)
    return tuple(goal for goal in pending if goal not in goals)


def _plans_turns(session: Session) -> bool:
    own = WORKFLOWS.get(session.workflow)
    return own is None or ("turn.planned" in own.after and not own.turn.by_step)


def verify_turn(session: Session, command: c.VerifyTurn, meta: CommandMeta) -> SessionEvent:
    """The verdict. Raises OutOfTurn without a turn, Invalid for other sub-goals than the turn's."""
    if session.turn is None:
        raise OutOfTurn("There is no turn to verify now: the code is.")
    judged, sub_goals = [verdict.sub_goal for verdict in command.sub_goals], actions_by_sub_goal(session.turn)
    if judged and sorted(judged) != sorted(sub_goals):
        raise Invalid(f"Give one verdict on each sub-goal of the turn: {'; '.join(sub_goals)}.")
    return facts.TurnVerified(
        **event_meta(session, meta, facts.TurnVerified),
        turn=session.turn.number,
        status=command.status,
        next_action=command.next_action,
        execution_analysis=command.execution_analysis,
        memory_analysis=command.memory_analysis,
        reasoning=command.reasoning,
        rule=command.rule,
        sub_goals=command.sub_goals,
    )


def new_actions(session: Session, specs: tuple[ActionSpec, ...]) -> tuple[ActionSpec, ...]:
    """The actions of the next turn with ids that are unique in the session: `<turn>.<n>`.

    Raises Invalid for actions that could never all run.
    """
    _check(specs)
    ids = {spec.id: ActionId.of_turn(session.counts.turns + 1, number) for number, spec in enumerate(specs, 1)}
    return tuple(
        spec.model_copy(update={"id": ids[spec.id], "depends_on": tuple(ids[need] for need in spec.depends_on)})
        for spec in specs
    )


def _check(specs: tuple[ActionSpec, ...]) -> None:
    """Raises Invalid for too many actions, duplicate ids, unknown or circular dependencies, and duplicate changes."""
    if len(specs) > MAX_ACTIONS:
        raise Invalid(f"A turn has at most {MAX_ACTIONS} actions: plan the rest in the next one.")
    ids = {spec.id for spec in specs}
    if len(ids) < len(specs):
        raise Invalid("Two actions have the same id.")
    changes = [key_of(spec.tool, spec.arguments) for spec in specs if spec.effect != "read"]
    if len(set(changes)) < len(changes):
        raise Invalid("Two actions are the same call, and it changes something: once is enough.")
    if unknown := {need for spec in specs for need in spec.depends_on} - ids:
        raise Invalid(f"An action depends on {min(unknown)}, which is not in this turn.")
    done: set[str] = set()
    while ids - done:
        runnable = {spec.id for spec in specs if spec.id not in done and done.issuperset(spec.depends_on)}
        if not runnable:
            raise Invalid(f"The actions {', '.join(sorted(ids - done))} wait for each other.")
        done |= runnable
