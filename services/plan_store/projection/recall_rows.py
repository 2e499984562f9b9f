"""The row changes of memories and of the library: what later requests of the same user recall. Pure."""

import json
from collections.abc import Iterator

from sqlalchemy import and_, bindparam, func, select, update

from parley.events import SessionEvent, facts
from parley.events.values import Step
from services.plan_store import tables as t
from services.plan_store.database import Delete, RowChange, RowUpdate, Upsert, Values
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Failure, Plan, Turn
from shared.domain.kernel.subjects import memory_subject
from shared.domain.transcript.memory import Memory, action_history
from shared.domain.transcript.messages import programmed_plan
from shared.domain.turn import flow_paths
from shared.domain.workflows import workflow_of_plan, workflow_of_work
from shared.domain.workflows.flow import path_of, proposal
from shared.text import tokenize

MAX_TEXT = 2_000  # characters of a request, and of its outcome
MAX_LESSON = 500
_MINE = t.memories.c.session_id == bindparam("of_session")
_NEWEST = select(func.max(t.memories.c.position)).where(_MINE).scalar_subquery()
_END = update(t.memories).where(_MINE, t.memories.c.position == _NEWEST)
_OF_NOBODY = tuple(
    update(table).where(table.c.session_id == bindparam("of_session")) for table in (t.memories, t.library)
)
MAX_REQUEST = 2_000  # characters of a request, and of a question
MAX_ANSWER = 500
MAX_SQL = 20_000  # characters: a longer statement is left out, as half of one is useless
MAX_STEPS = 4_000  # characters of JSON: a longer plan is left out, as half of one is useless
MAX_TABLES = 50  # tables of an entry
MAX_NAME = 200  # characters of a table's, flow's or node's name, which can be part of a key


def memory_changes(before: Session, event: SessionEvent, after: Session, position: int) -> Iterator[RowChange]:
    """Insert a row when a request begins, and update its outcome whenever the session comes to rest.

    A fork inserts none for its parent's requests. A session that has turned recall off is not recalled by others.
    Once a session turns out to be about several subjects, no row of it is recalled for one of them any more.
    """
    if after.subjects == "several" != before.subjects:
        for statement in _OF_NOBODY:
            yield RowUpdate(statement, {"subject": None, "of_session": after.id})
    if not after.settings.recall:
        return
    has_ended = after.phase in ("resting", "failed") and not _awaits_next_request(before)
    if begins_request(before, event):
        yield Upsert(t.memories, _new_memory(event, after, position))
        return
    if (subject := memory_subject(after)) != memory_subject(before):
        yield RowUpdate(_END, {"subject": subject, "of_session": after.id})
    if has_ended and _outcome(before) != (outcome := _outcome(after)):
        yield _outcome_update(event, after, outcome)


def begins_request(before: Session, event: SessionEvent) -> bool:
    """Whether the event begins a request."""
    if isinstance(event, facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned):
        return event.begins_round
    is_request = isinstance(event, facts.MessageReceived) and event.intent == "request"
    return is_request or (isinstance(event, facts.QuestionAnswered) and _awaits_next_request(before))


def _awaits_next_request(session: Session) -> bool:
    """Whether one request has ended and the next has not begun: the user was asked how to continue."""
    return session.question is not None and session.question.about == "continue"


def _new_memory(event: SessionEvent, after: Session, position: int) -> dict[str, object]:
    return {
        "position": position,
        "session_id": after.id,
        "version": event.version,
        "owner": after.owner,
        "request": after.words.request[:MAX_TEXT],
        "outcome": "",
        "lesson": "",
        "search_words": "",
        "at": event.at,
        "subject": memory_subject(after),
    }


def _outcome_update(event: SessionEvent, after: Session, outcome: str) -> RowChange:
    request, outcome, lesson = after.words.request[:MAX_TEXT], outcome[:MAX_TEXT], _lesson(after.memory)
    columns = {"outcome": outcome, "lesson": lesson, "at": event.at}
    search_words = " ".join(tokenize(f"{request}\n{outcome}\n{lesson}"))
    return RowUpdate(_END, columns | {"search_words": search_words, "of_session": after.id})


def _outcome(session: Session) -> str:
    """The outcome of the current request in words; "" while it is under way."""
    match session.phase:
        case "failed":
            failure = session.failure or Failure("", "", retryable=False)
            return f"failed: {failure.reason}"
        case "resting" if session.rest_reason == "approved":
            return ""
        case "resting" if session.answer.text:
            return f"answered: {session.answer.text}"
        case "resting" if session.plan and session.rest_reason != "stopped":
            has_code = session.code and session.code.status == "approved"
            return f"{'code approved for the plan' if has_code else f'plan {session.plan.status}'}: {session.plan.goal}"
        case "resting" if session.rest_reason != "new":
            return session.rest_reason
        case _:
            return ""


def _lesson(memory: Memory) -> str:
    """The last verdict that was a failure, or asked for a retry or an escalation."""
    bad = [
        verdict
        for verdict in memory.verdicts
        if verdict.status == "failure" or verdict.next_action in ("retry", "escalate")
    ]
    return f"{bad[-1].sub_goal}: {bad[-1].reasoning}"[:MAX_LESSON] if bad else ""


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
