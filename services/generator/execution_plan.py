"""The workflow `execution_plan`: the answer lists the outcome of each step. Makes no model call."""

from collections.abc import Collection
from itertools import accumulate

from pydantic import JsonValue

from shared.domain.kernel import commands as c
from shared.domain.kernel.state import Action, Turn
from shared.domain.steps.plan_steps import is_in_doubt
from shared.domain.transcript.memory import beginning, text_of
from shared.domain.turn.action_ids import ActionId
from shared.worker import WorkContext

MAYBE = "; it was begun before, and nobody can tell whether it took effect"
MAX_FIELDS_TEXT = 400  # characters of an object's fields in a line
MAX_OUTPUT_TEXT = 400  # characters of a step's output in the answer; the journal has all of it


async def write(context: WorkContext) -> c.GiveAnswer:
    """The answer of the current turn. Raises LookupError if there is no turn."""
    turn = context.session.turn
    if turn is None:
        raise LookupError("There is no turn to report on.")
    plan = context.session.plan
    in_doubt = {action.spec.id for action in turn.actions if is_in_doubt(context.session, action.spec.id)}
    return plan_answer(turn, [step.id for step in plan.steps if step.id and step.for_each] if plan else (), in_doubt)


def plan_answer(turn: Turn, repeated: Collection[str] = (), in_doubt: Collection[str] = ()) -> c.GiveAnswer:
    """`repeated`: the ids of the steps that are done for each item of a list. `in_doubt`: the ids of actions that may
    have taken effect when they were begun before."""
    verdict = turn.verdict
    is_success = verdict is not None and verdict.status != "failure"
    unclear = {a.spec.id: MAYBE for a in turn.actions if a.status in ("denied", "skipped") and a.spec.id in in_doubt}
    lines = [
        f"{number}. {_line(action, repeated)}{unclear.get(action.spec.id, '')}"
        for number, action in enumerate(turn.actions, 1)
    ]
    text = "\n".join([verdict.reasoning if verdict else "", "", *lines]).strip()
    evidence = tuple(action.spec.id for action in turn.actions if action.status == "finished")
    return c.GiveAnswer(text=text[:50_000], confidence=1 if is_success else 0, evidence=evidence)


def _line(action: Action, repeated: Collection[str]) -> str:
    description = action.spec.description
    if action.given:
        given = beginning(" ".join(text_of(action.result).split()), MAX_OUTPUT_TEXT)
        return f"{description}: **not done**, you gave its output: {given}"
    if action.spec.decision == "skip":
        return f"{description}: done before"
    if action.status != "finished":
        return f"{description}: **not done**, {action.explanation or 'as it was not begun'}"
    if action.result == [] and ActionId.parse(action.spec.id).within in repeated:
        return f"{description}: nothing to do, as its list was empty"
    output = " ".join(_summary(action.result).split())
    return f"{description}: {output}" if 0 < len(output) <= MAX_OUTPUT_TEXT else description


def _summary(result: JsonValue) -> str:
    """A text as it is, the first plain fields of an object, "" for anything else."""
    if not isinstance(result, dict):
        text = text_of(result)
        return "" if text[:1] in ("{", "[") else text
    fields = [
        f"{name.replace('_', ' ')} {text_of(field)}" for name, field in result.items() if isinstance(field, str | int)
    ]
    lengths = accumulate(len(field) + 2 for field in fields)
    return ", ".join(field for field, length in zip(fields, lengths, strict=True) if length <= MAX_FIELDS_TEXT)
