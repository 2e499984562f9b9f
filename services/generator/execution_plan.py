"""Plan and act: the answer tells of each step what came of it. No model is asked."""

from shared.domain import commands as c
from shared.domain.memory import text_of
from shared.domain.state import Action, Turn
from shared.worker import Desk

SHORT = 200  # characters of what a step gave that are told of; the whole of it is in the journal


async def write(desk: Desk) -> c.GiveAnswer:
    """Raises LookupError where no plan was carried out."""
    turn = desk.session.turn
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
    told = " ".join(text_of(action.result).split())
    return f"{what}: {told}" if 0 < len(told) <= SHORT and told[0] not in "{[" else what


def _shortened(text: str) -> str:
    told = " ".join(text.split())
    return told if len(told) <= SHORT else f"{told[: SHORT - 1]}…"
