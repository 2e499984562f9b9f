"""What a person's word on an answer, and a planner's wish for a node, change in the library's rows. Pure."""

import json
from collections.abc import Iterator

from sqlalchemy import and_

from parley.events import SessionEvent, facts
from parley.events.values import Step
from services.plan_store import tables as t
from services.plan_store.change import Change, Put, Remove, Values
from services.plan_store.words import words
from shared.domain import paths
from shared.domain.memory import history
from shared.domain.said import programmed
from shared.domain.session import Session
from shared.domain.state import Plan, Turn
from shared.domain.workflows import of_plan, of_work
from shared.domain.workflows.flow import path_of, proposal

LONGEST = 2_000  # characters of a request, and of a question
ANSWER = 500
SQL = 20_000  # half a statement is none: a longer one is left out
STEPS = 4_000  # characters; half a plan is none
NAMES = 50  # tables of an entry
NAME = 200  # characters of a table's, a flow's or a node's name: these can be part of a key


def judged(event: SessionEvent, after: Session, position: int) -> Iterator[Change]:
    """The entry of the request at hand, while its answer is accepted. What it came to is in the folded session.

    No two requests that were answered in turns have the same number of them before; a fork begins with none. An
    approved program takes no turn: it goes by its plan.
    """
    if not isinstance(event, facts.AnswerJudged):
        return
    program = None if after.answer.text else programmed(after)
    turn = -program.version if program else after.counts.turns
    if not event.accepted:
        mine = and_(t.library.c.session_id == after.id, t.library.c.turn == turn)
        yield Remove(t.library, mine)
        return
    request, made = after.words.request[:LONGEST], _made(after.turn)
    searched = f"{request}\n{made['question']}"
    row: Values = {
        "session_id": after.id,
        "turn": turn,
        "version": event.version,
        "position": position,
        "request": request,
        "answer": (program.text if program else after.answer.text)[:ANSWER],
        "workflow": of_plan(after, program.kind).name if program else of_work(after).name,
        "steps": _steps(after, program),
        "saved": event.saved,
        "search_text": f"{searched}\n{made['sql']}".casefold(),
        "search_words": " ".join(dict.fromkeys(words(searched))),
        "at": event.at,
    }
    yield Put(t.library, row | made)


def proposed(event: SessionEvent, after: Session) -> Iterator[Change]:
    """One row a node that a session's planner misses, however often it says so: the newest time."""
    if (wanted := proposal(event)) is None:
        return
    row: Values = {
        "session_id": after.id,
        "flow": wanted.flow[:NAME],
        "name": wanted.name[:NAME],
        "version": event.version,
        "description": wanted.description,
        "reason": wanted.reason,
        "request": after.words.request[:LONGEST],
        "at": event.at,
    }
    yield Put(t.proposals, row)


def _made(turn: Turn | None) -> Values:
    """The walked path, and what it found of the values that entries tell; empty where it made none."""
    walked = [action for action in turn.actions if action.status == "finished"] if turn and path_of(turn) else []
    path = [action.spec.tool for action in walked if paths.split(action.spec.tool)[1] != paths.PERSON]
    state: paths.State = {}
    for action in walked:  # a statement that the person wrote is no node's output, but what the node was run with
        state.update(action.spec.arguments)
    for made in paths.made(turn).values():
        state.update(made)
    sql = _text(state.get("sql"))
    return {
        "flows": list(dict.fromkeys(paths.split(tool)[0] for tool in path)),
        "path": path,
        "question": _text(state.get("question"))[:LONGEST],
        "sql": sql if len(sql) <= SQL else "",
        "tables": _tables(state),
    }


def _steps(session: Session, program: Plan | None) -> list[Values]:
    """Of a plan that was approved as a whole its steps, else the calls that were made; none where they are too long."""
    turn, plan = session.turn, program or session.plan
    if path_of(turn):
        return []
    if plan and (program or (turn and turn.rules.by_step)):
        steps = [
            Step(text=one.text, tool=one.tool, arguments=one.arguments, id=one.id, after=one.after)
            for one in plan.steps
        ]
    else:
        done = [deed for deed in history(session.memory, turn) if deed.status == "finished"]
        steps = [Step(text=deed.tool, tool=deed.tool, arguments=deed.arguments) for deed in done]
    told = [step.model_dump(mode="json", exclude_defaults=True) for step in steps]
    return told if len(json.dumps(told)) <= STEPS else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _tables(state: paths.State) -> list[str]:
    """Those of the statement; before there is one, those that were agreed on, or found."""
    for name in ("sql_tables", "approved_tables", "tables"):
        found = state.get(name)
        if isinstance(found, list) and found:
            named = (one.get("name") if isinstance(one, dict) else one for one in found)
            return [one[:NAME] for one in named if isinstance(one, str)][:NAMES]
    return []
