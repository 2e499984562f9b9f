"""The workflow with flows as the fake gateway plays it: the real graphs and their real conditions, canned nodes, and a
small SQLite database that the queries are really run on.

Words in a request: "list" (many rows), "month" (a line chart), "weather" (nothing in the data), "complaint" (the
other flow), "then" (both), "fallback" (no plan could be walked), "cached", "new node" (the planner misses one), "many"
(more tables than are seen at once), "wrong" (the first query does not run), "slow" (a node takes a second).
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException
from pydantic import JsonValue

from flows.flow import Flow
from flows.loading import Flows as AllFlows
from flows.text_to_sql.flow import CONFIRM, TextToSql
from services.executor.walking import elsewhere, state_of
from services.gateway.flow_models import FlowView
from shared.domain import commands as c
from shared.domain.commands import By, Work
from shared.domain.paths import OPEN, made
from shared.domain.session import Session
from shared.domain.state import Action
from shared.events.values import ActionSpec, NodeProposal, PathPlan, Step
from shared.flows import FlowPage, NodeSpec, full_path, split, tool_of
from sql.database import Database

if TYPE_CHECKING:
    from tests.e2e.fake_gateway import Kept
    from tests.e2e.fake_gateway import World as Gateway

SQL = "SELECT status, count(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC"
ANSWER = "Most orders are **delivered**."
REFUSAL = "The data cannot tell: no table knows the weather."
STATUSES = ("delivered", "delivered", "delivered", "pending", "pending", "cancelled")
PLANNED = (
    *("classify_prompt", "get_relevant_tables", "has_user_approved", "generate_sql", "validate_sql"),
    *("execute_sql", "format_final_response"),
)  # fmt: skip
TRIAGE = ("classify_complaint", "write_reply")
PROPOSAL = NodeProposal(
    flow="text_to_sql", name="explain_plan", description="Says how costly a query is before it runs.", why="It is slow."
)
OTHERS = ("addresses", "coupons", "items", "payments", "products", "returns", "reviews", "shops", "variants")
WHY = "it has the status"
COLUMNS: dict[str, list[JsonValue]] = {
    "orders": ["order_id TEXT key", "status TEXT", "user_id TEXT → users.user_id"],
    "users": ["user_id TEXT key"],
}
MONTHS = "SELECT month, count(*) AS orders, sum(total) AS revenue FROM orders GROUP BY month ORDER BY month"
MANY = "SELECT order_id, status, total, note FROM orders ORDER BY order_id"


async def _no_database() -> Database:
    raise LookupError("the nodes are canned: no database is opened")


async def _no_hints(_: str, __: str) -> list[tuple[str, str]]:
    return []


FLOWS = {flow.name: flow for flow in AllFlows([TextToSql(_no_database, _no_hints)]).all()}
PAGE = FlowPage(flows=tuple(flow.spec() for flow in FLOWS.values()))


def database() -> sqlite3.Connection:
    """120 orders; some of their notes look like formulas of a spreadsheet."""
    store = sqlite3.connect(":memory:", check_same_thread=False)
    store.execute("CREATE TABLE orders (order_id TEXT, status TEXT, total REAL, month TEXT, note TEXT)")
    for n in range(120):
        note = "=1+1" if n == 0 else 'said "no", twice' if n == 1 else None
        row = (f"#W{n:04}", STATUSES[n % 6], round(n * 37.5 % 900 - 20, 2), f"2025-{n % 12 + 1:02}", note)
        store.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", row)
    return store


class Flows:
    """Every service of the workflow in one place."""

    def __init__(self) -> None:
        self._store = database()

    def page(self, session: Session) -> FlowPage:
        return PAGE.model_copy(update={"states": {name: flow.opening(session) for name, flow in FLOWS.items()}})

    async def work(self, gateway: "Gateway", kept: "Kept", work: Work) -> None:
        async def report(command: Any) -> None:
            await gateway.do(kept, command, By(actor=work.service, at=datetime.now(UTC), work=work))

        session = kept.session
        match session.phase:
            case "planning":
                await asyncio.sleep(0.1)
                await report(spent(900, "planner"))
                await report(plan(session))
            case "executing":
                await self._step(session, report)
            case "verifying":
                await report(c.VerifyTurn(status="success", next_action="complete", reasoning="Walked.", rule="path"))
            case _:
                state = {name: value for flow in made(session.turn).values() for name, value in flow.items()}
                await report(c.GiveAnswer(text=str(state.get("answer", "There is no answer.")), confidence=1))

    async def _step(self, session: Session, report: Callable[[Any], Any]) -> None:
        """One thing at a time, as the executor: another way, the next node's inputs, its question, or the node."""
        assert session.turn is not None
        rest = tuple(action for action in session.turn.actions if action.status in OPEN)
        action = rest[0]
        flow_name, node_name = split(action.spec.tool)
        flow = FLOWS[flow_name]
        node = flow.node(node_name)
        assert node is not None
        asks = session.settings.confirm != "nothing"
        if other := elsewhere(flow, session, rest):
            await report(c.ChangePath(actions=other.rest, why=other.why))
        elif node_name == "execute_sql" and asks and not action.spec.approval:
            shown = {"sql": state_of(flow, session)["sql"]}
            first = ActionSpec(
                id="0", tool=action.spec.tool, text=node.spec.description, arguments=shown, approval=CONFIRM
            )
            await report(c.ChangePath(actions=(first, *(one.spec for one in rest[1:])), why="with what is known now"))
        elif node.spec.asks and (asks or not node.proposes) and action.result is None:
            await report(_question(action, session.request))
        else:
            await self._run(flow, node.spec, session, action, report)

    async def _run(
        self, flow: Flow, spec: NodeSpec, session: Session, action: Action, report: Callable[[Any], Any]
    ) -> None:
        await report(c.Start())
        await asyncio.sleep(1 if "slow" in session.request else 0.02)
        if spec.name not in ("execute_sql", "validate_sql"):
            await report(spent(310, "executor", action.spec.id))
        state = state_of(flow, session) | ({"answer": action.result} if isinstance(action.result, str) else {})
        outputs = self._outputs(spec.name, state, session.request)
        await report(c.Finish(action_id=action.spec.id, ok=True, result=outputs, seconds=0.42))

    def _outputs(self, node: str, state: dict[str, Any], request: str) -> JsonValue:
        if node == "execute_sql":
            return self._result(str(state["sql"]))
        if node == "generate_sql":
            sql = "SELECT stats FROM orders" if "wrong" in request and not state.get("problem") else _query(request)
            return {"sql": sql, "explanation": "Counts them.", "cannot": "", "repairs": int(bool(state.get("problem")))}
        if node == "format_final_response":
            chart = "none" if "list" in request else "line" if "month" in request else "bar"
            return {"answer": REFUSAL if "weather" in request else ANSWER, "chart": chart}
        lacks = "weather" in request
        canned: dict[str, JsonValue] = {
            "classify_prompt": {"kind": "unanswerable" if lacks else "data", "reason": REFUSAL if lacks else ""},
            "rewrite_prompt": {"question": request},
            "get_relevant_tables": {"tables": [{"name": "orders", "reason": WHY}], "missing": ""},
            "has_user_approved": {"approved_tables": _approved(str(state.get("answer", ""))), "feedback": ""},
            "trim_relevant_tables": {"columns": {"orders": ["status"]}},
            "validate_sql": {"valid": True, "problem": "", "sql_tables": ["orders"], "refused": False},
            "general_questions": {"answer": ANSWER},
            "classify_complaint": {"category": "late", "order_id": "#W1", "email": "", "zip": "", "urgent": False},
            "ask_for_order": {"details": state.get("answer", "")},
        }
        return canned.get(node, {"answer": f"We are sorry. ({state.get('findings', '')})"})

    def _result(self, sql: str) -> JsonValue:
        try:
            cursor = self._store.execute(sql)
        except sqlite3.Error as error:
            return {"result": None, "problem": str(error)}
        columns = [name for name, *_ in cursor.description]
        rows: list[JsonValue] = [list(row) for row in cursor.fetchall()]
        types: list[JsonValue] = ["TEXT"] * len(columns)
        table: JsonValue = {
            "columns": [*columns],
            "types": types,
            "rows": rows,
            "truncated": len(rows) > 100,
            "seconds": 0.01,
        }
        return {"result": table, "problem": ""}

    def router(self, gateway: "Gateway") -> APIRouter:
        """The REST of flows and of the library."""
        router = APIRouter(prefix="/api")

        @router.get("/planning/flows")
        async def flows() -> dict[str, Any]:
            return {"flows": [_view(name) for name in FLOWS], "troubles": []}

        @router.get("/planning/flows/{name}")
        async def flow(name: str) -> FlowView:
            if name not in FLOWS:
                raise HTTPException(404)
            return _view(name)

        @router.get("/planning/proposals")
        async def proposals() -> dict[str, Any]:
            events = [(kept, event) for kept in gateway.kept.values() for event in kept.events]
            items = [
                PROPOSAL.model_dump() | _of(kept)
                for kept, event in events
                if event.type == "turn.planned" and event.path and event.path.proposal
            ]
            return {"items": items, "total": len(items)}

        @router.get("/library")
        async def library(q: str = "", saved: bool | None = None) -> dict[str, Any]:
            items = [_entry(kept) for kept in gateway.kept.values() if kept.session.accepted]
            found = [one for one in items if q.lower() in one["request"].lower() and saved in (None, one["saved"])]
            return {"items": found, "total": len(found)}

        return router


def _view(name: str) -> FlowView:
    spec = FLOWS[name].spec()
    return FlowView(**spec.model_dump(), full_path=full_path(spec))


def _of(kept: "Kept") -> dict[str, Any]:
    session = kept.session
    at = kept.events[0].at.isoformat()
    return {"session_id": session.id, "version": session.version, "request": session.request, "at": at}


def _entry(kept: "Kept") -> dict[str, Any]:
    session = kept.session
    state = made(session.turn).get("text_to_sql", {})
    return _of(kept) | {
        "round": 1, "flows": ["text_to_sql"], "path": [], "question": session.request, "sql": state.get("sql", ""),
        "tables": ["orders"], "answer": session.answer, "accepted": session.accepted, "saved": session.saved,
    }  # fmt: skip


def spent(tokens: int, role: str, action_id: str = "") -> c.Spend:
    return c.Spend(
        model="canned", role=role, prompt_tokens=tokens, cached_tokens=0, completion_tokens=40, cost=0.0005,
        latency=0.3, attempts=1, action_id=action_id,
    )  # fmt: skip


def plan(session: Session) -> c.PlanTurn | c.DraftPlan:
    """The path as a turn, or as a plan to approve first."""
    said, planning = session.request.lower(), session.settings.planning
    name = "complaint_triage" if "complaint" in said and "then" not in said else planning.flow or "text_to_sql"
    full = not planning.use_planning or "fallback" in said
    nodes = full_path(FLOWS[name].spec()) if full else PLANNED if name == "text_to_sql" else TRIAGE
    tools = [tool_of(name, node) for node in nodes]
    if "then" in said:
        tools += [tool_of("complaint_triage", node) for node in TRIAGE]
    told: dict[str, Any] = {"attempts": 1, "examples": 2} if not full else {"fallback": True}
    if "fallback" in said:
        told |= {"attempts": 3, "why": "execute_sql needs sql, which nothing before it makes."}
    elif full:
        told |= {"why": "The full graph was asked for."}
    elif "cached" in said:
        told = {"cached": True}
    path = PathPlan(nodes=tuple(tools), proposal=PROPOSAL if "new node" in said else None, **told)
    steps = [Step(text=_text(tool), tool=tool) for tool in tools]
    reasoning = "The question is about orders: their table first, then the query."
    if session.settings.confirm == "path":
        return c.DraftPlan(goal=session.request, steps=tuple(steps), notes=reasoning, kind="path", path=path)
    turn = session.turns + 1
    actions = tuple(
        ActionSpec(id=f"{turn}.{n}", tool=tool, text=_text(tool), depends_on=(f"{turn}.{n - 1}",) if n > 1 else ())
        for n, tool in enumerate(tools, 1)
    )
    return c.PlanTurn(sub_goal=f"Walk {name}", actions=actions, reasoning=reasoning, final=True, path=path)


def _text(tool: str) -> str:
    flow, node = split(tool)
    spec = FLOWS[flow].spec().node(node)
    return spec.description if spec else node


def _query(request: str) -> str:
    return MANY if "list" in request else MONTHS if "month" in request else SQL


def _question(action: Action, request: str) -> c.Ask:
    if not action.spec.tool.endswith("has_user_approved"):
        return c.Ask(about="action", action_id=action.spec.id, text="Which order is it about?")
    names = ["orders", "users", *(OTHERS if "many" in request else ())]
    tables: list[JsonValue] = [
        {
            "name": name,
            "reason": WHY if name == "orders" else "",
            "chosen": name == "orders",
            "columns": [*COLUMNS.get(name, [f"{name[:-1]}_id TEXT key"])],
        }
        for name in sorted(names)
    ]
    form: dict[str, JsonValue] = {"kind": "tables", "tables": tables}
    return c.Ask(about="action", action_id=action.spec.id, text="May I use these tables?", form=form)


def _approved(answer: str) -> JsonValue:
    return json.loads(answer)["tables"] if answer.startswith("{") else ["orders"]
