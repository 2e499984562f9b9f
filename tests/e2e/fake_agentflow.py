"""The workflow with tools as the fake gateway plays it: canned turns, and the real tools over the project's own store.

Words in a request: "one" (one change instead of two), "delivered" (a change that the store refuses), "escalate" (a
person must take over), "big" (a result that is kept apart), "slow" (every action takes two seconds, and the
second one waits for the first), "recall" (an earlier session is told to the planner).
"""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Response
from pydantic import JsonValue

from retail.generate import generate
from retail.specs import SPECS
from retail.store import World, Worlds
from services.gateway.models import Call
from shared.domain import commands as c
from shared.domain.commands import By, Work
from shared.domain.errors import Refused
from shared.domain.memory import history
from shared.domain.people import GIVE_UP, RAISE
from shared.domain.session import ASKING, Session
from shared.domain.state import Action
from shared.domain.waves import find, ready
from shared.events.values import ActionSpec, Artefact, Recalled
from shared.protocol.names import state_name
from shared.tools import Preview, ToolPage

if TYPE_CHECKING:
    from tests.e2e.fake_gateway import Kept
    from tests.e2e.fake_gateway import World as Gateway

DATA = generate()
EFFECTS = {spec.name: spec.effect for spec in SPECS}
BIG = "\n".join(f"product {number}: one of very many" for number in range(40_000))
SPENT = c.Spend(
    model="canned", role="planner", prompt_tokens=900, cached_tokens=400, completion_tokens=90, cost=0.001, latency=0.4,
    attempts=1,
)  # fmt: skip
EARLIER = Recalled(
    session_id="earlier", request="Where is my order?", outcome="answered: on its way", lesson="Ask who it is first."
)
GOALS = ("Find out who the customer is", "Look at the orders", "Cancel what is no longer needed")


def _orders(user: dict[str, Any], status: str) -> list[str]:
    return [order for order in user["orders"] if DATA["orders"][order]["status"] == status]


USER_ID, USER = next(
    (name, user)
    for name, user in DATA["users"].items()
    if len(_orders(user, "pending")) > 1 and _orders(user, "delivered")
)
PENDING, DELIVERED = _orders(USER, "pending"), _orders(USER, "delivered")


def act(number: str, tool: str, text: str, repairs: tuple[str, ...] = (), **arguments: JsonValue) -> ActionSpec:
    return ActionSpec(id=number, tool=tool, arguments=arguments, text=text, effect=EFFECTS[tool], repairs=repairs)


def turn_for(session: Session) -> c.PlanTurn:
    """The next turn: who it is, which orders, what to change; then nothing is left."""
    number, nth = session.turns + 1, session.turns - session.turns_before
    said = session.request.lower()
    if "big" in said:
        reads = (act(f"{number}.1", "list_all_product_types", "List everything there is"),)
        return _turn("List everything", reads, final=True) if nth == 0 else _nothing()
    match nth:
        case 0:
            read = act(f"{number}.2", "get_user_details", "Read the customer's details", user_id=USER_ID)
            needs = (f"{number}.1",) if "slow" in said else ()
            actions = (
                act(f"{number}.1", "find_user_id_by_email", "Find the customer", email=USER["email"]),
                read.model_copy(update={"depends_on": needs}),
            )
            told = (EARLIER,) if "recall" in said and session.settings.recall else ()
            return _turn(GOALS[0], actions, recalled=told)
        case 1:
            orders = PENDING[:2]
            return _turn(
                GOALS[1],
                tuple(
                    act(f"{number}.{n}", "get_order_details", f"Read order {order}", order_id=order)
                    for n, order in enumerate(orders, 1)
                ),
            )
        case 2:
            wanted = DELIVERED[:1] if "delivered" in said else PENDING[:1] if "one" in said else PENDING[:2]
            repairs = ("order_id: the missing # was put before it",)
            writes = tuple(
                act(
                    f"{number}.{n}",
                    "cancel_pending_order",
                    f"Cancel order {order}",
                    repairs if n == 1 else (),
                    order_id=order,
                    reason="no longer needed",
                )
                for n, order in enumerate(wanted, 1)
            )
            return _turn(GOALS[2], writes, final=True)
    return _nothing()


def _turn(goal: str, actions: tuple[ActionSpec, ...], **more: Any) -> c.PlanTurn:
    return c.PlanTurn(
        sub_goal=goal, actions=actions, sub_goals=GOALS if goal in GOALS else (goal,), selected_tool=actions[0].tool,
        required_skills=("order handling", "careful reading"), reasoning=f"{goal}: that comes first.", **more,
    )  # fmt: skip


def _nothing() -> c.PlanTurn:
    return c.PlanTurn(sub_goal="Nothing is left to do", actions=(), reasoning="All that was asked for has been done.")


class Store:
    """Every service of the workflow in one place, over worlds in memory."""

    def __init__(self) -> None:
        self._worlds = Worlds("sqlite+aiosqlite://", lambda: DATA)
        self._opened: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def world(self, session: Session) -> World:
        """A copy of the store for every session, whatever it chose: each begins with the same orders."""
        self._opened = self._opened or asyncio.create_task(self._worlds.open())
        await self._opened
        return self._worlds.world(session.id)

    async def work(self, gateway: "Gateway", kept: "Kept", work: Work) -> None:
        async def report(command: Any) -> None:
            await gateway.do(kept, command, By(actor=work.service, at=datetime.now(UTC), work=work))

        session = kept.session
        match session.phase:
            case "planning":
                await self._plan(gateway, kept, report)
            case "executing":
                wave = ready(session.turn)
                await report(c.Start())
                task = asyncio.create_task(self._execute(session, wave, report))  # outlives a stop
                self._running.add(task)
                task.add_done_callback(self._running.discard)
            case "verifying":
                await asyncio.sleep(0.3)
                await report(_verdict(session))
            case _:
                await gateway.stream(kept, "answer", _answer(session).text, 1)
                await report(_answer(session))

    async def _plan(self, gateway: "Gateway", kept: "Kept", report: Callable[[Any], Any]) -> None:
        if kept.session.over_budget:
            await report(c.Ask(text="The budget of tokens is spent. Go on?", options=(RAISE, GIVE_UP), about="budget"))
            return
        turn = turn_for(kept.session)
        lines = [turn.sub_goal, *(f"- `{action.tool}` {action.text}" for action in turn.actions)]
        await gateway.stream(kept, "plan", "\n".join(lines), 1)
        await report(SPENT)
        await report(turn)

    async def _execute(self, session: Session, wave: tuple[Action, ...], report: Callable[[Any], Any]) -> None:
        slow = 2.0 if "slow" in session.request.lower() else 0.05
        for action in wave:
            await asyncio.sleep(slow)
            finished = await self._outcome(session, action)
            try:
                await report(finished)
            except Refused:
                return

    async def _outcome(self, session: Session, action: Action) -> c.Finish:
        spec = action.spec
        world = await self.world(session)
        result = await world.call(spec.tool, spec.arguments, key=f"{session.id}/{spec.id}")
        if "big" in session.request.lower():
            kept = Artefact(name=f"{session.id}/{session.turns}/{spec.id}", size=len(BIG), sha256="0" * 64)
            return c.Finish(action_id=spec.id, ok=True, result=BIG[:2_000], seconds=0.4, artefact=kept)
        bad = result.startswith("Error")
        told = {"error": result} if bad else {"result": result}
        return c.Finish(action_id=spec.id, ok=not bad, seconds=0.12, **told)

    def router(self, gateway: "Gateway") -> APIRouter:
        """The REST of the tools."""
        router = APIRouter(prefix="/api")

        @router.get("/tools")
        async def tools(q: str = "", limit: int = 500) -> ToolPage:
            words = q.lower().split()
            found = [spec for spec in SPECS if all(word in f"{spec.name} {spec.description}".lower() for word in words)]
            return ToolPage(tools=tuple(found[:limit]), total=len(SPECS))

        @router.get("/inbox")
        async def inbox() -> dict[str, Any]:
            waits = [kept for kept in gateway.kept.values() if kept.session.phase in (*ASKING, "failed")]
            return {"sessions": [row(kept) for kept in waits], "total": len(waits)}

        @router.get("/sessions/{session_id}/actions/{action_id}/preview")
        async def preview(session_id: str, action_id: str) -> Preview:
            session = gateway.of(session_id).session
            action = find(session, action_id)
            if action is None:
                raise HTTPException(404)
            return await (await self.world(session)).preview(action.spec.tool, action.spec.arguments)

        @router.post("/sessions/{session_id}/preview")
        async def preview_call(session_id: str, call: Call) -> Preview:
            return await (await self.world(gateway.of(session_id).session)).preview(call.tool, call.arguments)

        @router.get("/sessions/{session_id}/artefacts/{turn}/{action_id}")
        async def artefact(session_id: str, turn: int, action_id: str) -> Response:
            name = f"{session_id}-{turn}-{action_id}.txt"
            return Response(
                BIG, media_type="text/plain", headers={"Content-Disposition": f'attachment; filename="{name}"'}
            )

        return router


def row(kept: "Kept") -> dict[str, Any]:
    session = kept.session
    return {
        "id": session.id, "title": session.title, "state": state_name(session), "phase": session.phase,
        "workflow": session.workflow, "owner": session.owner, "version": session.version,
        "created_at": kept.events[0].at.isoformat(), "updated_at": kept.events[-1].at.isoformat(),
    }  # fmt: skip


def _verdict(session: Session) -> c.VerifyTurn:
    turn = session.turn
    assert turn is not None
    if turn.taken_over:
        return c.VerifyTurn(
            status="success", next_action="continue", reasoning="A person did this turn by hand.", rule="taken-over"
        )
    if "escalate" in session.request.lower() and not session.feedback:
        why = "The payment method is not the customer's: a person must decide."
        return c.VerifyTurn(
            status="failure",
            next_action="escalate",
            reasoning=why,
            execution_analysis="Both calls were answered.",
            memory_analysis="No such payment method was seen before.",
        )
    if any(action.status == "failed" for action in turn.actions):
        why = "; ".join(action.error for action in turn.actions if action.error)
        return c.VerifyTurn(status="failure", next_action="complete", reasoning=why, rule="tool-error")
    if all(action.status in ("denied", "skipped") for action in turn.actions):
        return c.VerifyTurn(status="failure", next_action="complete", reasoning="Nothing was run.", rule="refused")
    writes = any(action.spec.effect != "read" for action in turn.actions)
    rule, why = (
        ("change-shown", "The results show the changes that were wanted.")
        if writes
        else ("reads-answered", "Every call was answered.")
    )
    return c.VerifyTurn(
        status="success", next_action="complete" if turn.final else "continue", reasoning=why, rule=rule
    )


def _answer(session: Session) -> c.GiveAnswer:
    deeds = history(session.memory, session.turn)
    done = [deed for deed in deeds if deed.effect != "read" and deed.status == "finished"]
    totals = [
        json.loads(deed.text)["payment_history"][-1]["amount"] for deed in done if deed.tool == "cancel_pending_order"
    ]
    told = ", ".join(str(deed.arguments["order_id"]) for deed in done if "order_id" in deed.arguments)
    text = (
        f"I cancelled **{told}**; ${sum(totals):.2f} goes back to you."
        if told
        else "I looked, and **nothing was changed**."
    )
    shown = done or [deed for deed in deeds if deed.status == "finished"][:3]
    return c.GiveAnswer(text=text, confidence=0.93 if told else 0.62, evidence=tuple(deed.id for deed in shown))
