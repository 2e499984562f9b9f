"""The library's row changes: an accepted or rejected answer, and a node that a planner proposes. Pure."""

import json
from collections.abc import Iterator

from sqlalchemy import and_

from parley.events import SessionEvent, facts
from parley.events.values import Step
from services.plan_store import tables as t
from services.plan_store.projection.row_changes import Delete, RowChange, Upsert, Values
from shared.domain import flow_paths
from shared.domain.memory import action_history
from shared.domain.messages import programmed_plan
from shared.domain.session import Session
from shared.domain.state import Plan, Turn
from shared.domain.subjects import memory_subject
from shared.domain.workflows import workflow_of_plan, workflow_of_work
from shared.domain.workflows.flow import path_of, proposal
from shared.text import tokenize

MAX_REQUEST = 2_000  # characters of a request, and of a question
MAX_ANSWER = 500
MAX_SQL = 20_000  # characters: a longer statement is left out, as half of one is useless
MAX_STEPS = 4_000  # characters of JSON: a longer plan is left out, as half of one is useless
MAX_TABLES = 50  # tables of an entry
MAX_NAME = 200  # characters of a table's, flow's or node's name, which can be part of a key


def library_changes(event: SessionEvent, after: Session, position: int) -> Iterator[RowChange]:
    """Add the library entry of the current request when its answer is accepted; delete it when it no longer is.

    The key is the number of turns so far, which differs for any two requests answered in turns; a fork begins at
    zero. An approved program takes no turn: its key is the plan's version, negated.
    """
    if not isinstance(event, facts.AnswerJudged):
        return
    program = None if after.answer.text else programmed_plan(after)
    turn = -program.version if program else after.counts.turns
    if not event.accepted:
        entry = and_(t.library.c.session_id == after.id, t.library.c.turn == turn)
        yield Delete(t.library, entry)
        return
    request, columns = after.words.request[:MAX_REQUEST], _path_columns(after.turn)
    text = f"{request}\n{columns['question']}"
    row: Values = {
        "session_id": after.id,
        "turn": turn,
        "version": event.version,
        "position": position,
        "request": request,
        "answer": (program.text if program else after.answer.text)[:MAX_ANSWER],
        "workflow": workflow_of_plan(after, program.kind).name if program else workflow_of_work(after).name,
        "steps": _steps(after, program),
        "saved": event.saved,
        "subject": memory_subject(after),
        "search_text": f"{text}\n{columns['sql']}".casefold(),
        "search_words": " ".join(dict.fromkeys(tokenize(text))),
        "at": event.at,
    }
    yield Upsert(t.library, row | columns)


def proposal_changes(event: SessionEvent, after: Session) -> Iterator[RowChange]:
    """Record a node that the planner proposes. One row per session and node: a repeat overwrites it."""
    if (node := proposal(event)) is None:
        return
    row: Values = {
        "session_id": after.id,
        "flow": node.flow[:MAX_NAME],
        "name": node.name[:MAX_NAME],
        "version": event.version,
        "description": node.description,
        "reason": node.reason,
        "request": after.words.request[:MAX_REQUEST],
        "at": event.at,
    }
    yield Upsert(t.proposals, row)


def _path_columns(turn: Turn | None) -> Values:
    """The path that ran, and its question, SQL and tables; empty values for what it did not produce."""
    finished = [action for action in turn.actions if action.status == "finished"] if turn and path_of(turn) else []
    path = [
        action.spec.tool
        for action in finished
        if flow_paths.split_tool_name(action.spec.tool)[1] != flow_paths.PERSON_NODE
    ]
    state: flow_paths.State = {}
    for action in finished:  # SQL that the user edited is in a node's arguments, not in any output
        state.update(action.spec.arguments)
    for output in flow_paths.outputs(turn).values():
        state.update(output)
    sql = _text(state.get("sql"))
    return {
        "flows": list(dict.fromkeys(flow_paths.split_tool_name(tool)[0] for tool in path)),
        "path": path,
        "question": _text(state.get("question"))[:MAX_REQUEST],
        "sql": sql if len(sql) <= MAX_SQL else "",
        "tables": _tables(state),
    }


def _steps(session: Session, program: Plan | None) -> list[Values]:
    """The steps of an approved plan, or the finished calls of the turn. Empty if longer than `MAX_STEPS`."""
    turn, plan = session.turn, program or session.plan
    if path_of(turn):
        return []
    if plan and (program or (turn and turn.rules.by_step)):
        steps = [
            Step(text=step.text, tool=step.tool, arguments=step.arguments, id=step.id, after=step.after)
            for step in plan.steps
        ]
    else:
        calls = [call for call in action_history(session.memory, turn) if call.status == "finished"]
        steps = [Step(text=call.tool, tool=call.tool, arguments=call.arguments) for call in calls]
    dumped = [step.model_dump(mode="json", exclude_defaults=True) for step in steps]
    return dumped if len(json.dumps(dumped)) <= MAX_STEPS else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _tables(state: flow_paths.State) -> list[str]:
    """The tables of the SQL statement, or else those that the user approved, or those that were found."""
    for key in ("sql_tables", "approved_tables", "tables"):
        tables = state.get(key)
        if isinstance(tables, list) and tables:
            names = (table.get("name") if isinstance(table, dict) else table for table in tables)
            return [name[:MAX_NAME] for name in names if isinstance(name, str)][:MAX_TABLES]
    return []
