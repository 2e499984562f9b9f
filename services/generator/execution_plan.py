"""Plan and act: the answer tells of each step what came of it. No model is asked."""

from itertools import accumulate

from pydantic import JsonValue

from shared.domain import commands as c
from shared.domain.memory import text_of
from shared.domain.state import Action, Turn
from shared.worker import WorkContext

FIELDS = 100  # characters of an object's fields
SHORT = 200  # characters of what a step gave that are told of; the whole of it is in the journal


async def write(context: WorkContext) -> c.GiveAnswer:
    """Raises LookupError where no plan was carried out."""
    turn = context.session.turn
    if turn is None:
        raise LookupError("There is no turn whose steps could be told of.")
    return report(turn)


def report(turn: Turn) -> c.GiveAnswer:
    verdict = turn.verdict
    well = verdict is not None and verdict.status != "failure"
    lines = [f"{number}. {_line(action)}" for number, action in enumerate(turn.actions, 1)]
    text = "\n".join([verdict.reasoning if verdict else "", "", *lines]).strip()
    evidence = tuple(action.spec.id for action in turn.actions if action.status == "finished")
    return c.GiveAnswer(text=text[:50_000], confidence=1 if well else 0, evidence=evidence)


def _line(action: Action) -> str:
    what = action.spec.description
    if action.given:
        return f"{what}: **not done**, you gave its output: {_shortened(text_of(action.result))}"
    if action.status != "finished":
        return f"{what}: **not done**, {action.explanation or 'as it was not begun'}"
    told = " ".join(_in_words(action.result).split())
    return f"{what}: {told}" if 0 < len(told) <= SHORT else what


def _shortened(text: str) -> str:
    told = " ".join(text.split())
    return told if len(told) <= SHORT else f"{told[: SHORT - 1]}…"


def _in_words(result: JsonValue) -> str:
    """A text as it is; of an object its first plain fields; of anything else nothing."""
    if not isinstance(result, dict):
        told = text_of(result)
        return "" if told[:1] in ("{", "[") else told
    plain = [f"{name.replace('_', ' ')} {text_of(one)}" for name, one in result.items() if isinstance(one, str | int)]
    lengths = accumulate(len(one) + 2 for one in plain)
    return ", ".join(one for one, length in zip(plain, lengths, strict=True) if length <= FIELDS)
