"""A gateway for looking at the page without the services: one process, sessions in memory, canned drafts.

    python -m tests.e2e.fake_gateway [port]      serves the built page on 127.0.0.1 (default 8099)

Protocol, domain and views are the real ones. Words in a message play the rare cases: "fail" (the planner fails),
"ask" (it asks back), "slow" (it takes its time), "broken" (the code does not pass its tests); fake_agentflow.py has
those of the workflow with tools, whose tools are the real ones over the project's own store, and fake_flows.py those
of the workflow with flows.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvicorn
from fastapi import FastAPI, HTTPException, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import FileResponse
from pydantic import ValidationError

from retail.specs import SPECS
from services.gateway import derive, views
from services.gateway.commands import orders
from services.gateway.trouble import Trouble
from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.decide import AnyCommand, decide
from shared.domain.errors import Refused
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.events import SessionEvent
from shared.events.values import Check
from shared.protocol import client as m
from shared.protocol import server as s
from shared.protocol.names import state_name
from tests.e2e.fake_agentflow import Store
from tests.e2e.fake_drafts import CODE, SPENT, TESTS, plan_for
from tests.e2e.fake_flows import Flows

PAGE = Path(__file__).parents[2] / "services" / "gateway" / "page"
USER = "ada"
PIECE, PAUSE = 14, 0.02  # characters and seconds of a streamed piece


@dataclass
class Kept:
    """One session: its state, its journal, who looks at it, and the text being drafted."""

    session: Session
    events: list[SessionEvent] = field(default_factory=list)
    sockets: set[WebSocket] = field(default_factory=set)
    draft: s.Delta | None = None
    working: asyncio.Task[None] | None = None


class World:
    """All sessions, and the one worker that plays every service."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}
        self.store = Store()
        self.flows = Flows()

    def of(self, session_id: str) -> Kept:
        return self.kept.setdefault(session_id, Kept(Session(session_id)))

    async def do(self, kept: Kept, command: AnyCommand, by: By) -> None:
        before = kept.session
        event = decide(before, command, by)
        await self.record(kept, before, event)

    async def record(self, kept: Kept, before: Session, event: SessionEvent) -> None:
        kept.session = evolve(before, event)
        kept.events.append(event)
        for message in derive.told(before, event, kept.session):
            await tell(kept, message)
        if kept.working and not kept.session.work:
            kept.working.cancel()
        if kept.session.work and kept.session.work.version == kept.session.version:
            kept.working = asyncio.create_task(self.work(kept))

    async def work(self, kept: Kept) -> None:
        session = kept.session
        work, phase = session.work, session.phase
        assert work is not None
        if session.workflow == "agentflow":
            await self.store.work(self, kept, work)
            return
        if session.workflow == "flow":
            await self.flows.work(self, kept, work)
            return
        said = " ".join((session.request, *session.feedback)).lower()
        slow = 6 if "slow" in said else 1

        async def report(command: AnyCommand) -> None:
            await self.do(kept, command, By(actor=work.service, at=datetime.now(UTC), work=work))

        if phase == "planning":
            await asyncio.sleep(0.4 * slow)
            plan = plan_for(session)
            await self.stream(
                kept, "plan", "\n".join(f"{n}. {step.text}" for n, step in enumerate(plan.steps, 1)), slow
            )
            await report(SPENT.model_copy(update={"role": "planner"}))
            if "fail" in said and not any(e.type == "session.retried" for e in kept.events):
                await report(c.Fail(reason="The model's reply was no plan, twice.", raw="Sorry, I would rather not."))
            elif "ask" in said and not any(e.type == "question.answered" for e in kept.events):
                await report(c.Ask(text="Which **interface** do you want?", options=("Terminal", "Window", "Web page")))
            else:
                await report(plan)
        elif phase == "coding":
            await asyncio.sleep(0.4 * slow)
            code = CODE if not session.code else CODE.replace("> ", ">>> ").replace("float:", "float:\n    # revised")
            await self.stream(kept, "code", code, slow)
            await report(SPENT)
            await report(c.DraftCode(code=code, explanation="Reads `a op b` lines and prints each value."))
        elif phase == "executing":
            await report(c.Start())
            await asyncio.sleep(1)
            action = session.turn.actions[0] if session.turn else None
            assert action is not None
            stdin = str(action.spec.arguments.get("stdin", ""))
            lines = "".join(f"> {line}\n" for line in stdin.splitlines()) + "> 3.0\n"
            result = {
                "exit_code": 0,
                "stdout": lines,
                "stderr": "",
                "duration": 0.12,
                "ended": "exited",
                "truncated": False,
            }
            await report(c.Finish(action_id=action.spec.id, ok=True, result=result, seconds=0.12))
        elif session.turn:
            await asyncio.sleep(0.5)
            await report(c.VerifyTurn(status="success", next_action="complete", reasoning="It ran and printed 3.0."))
        else:
            await self.stream(kept, "tests", TESTS, slow)
            bad = "broken" in said
            detail = "FAILED test_adds: assert 2.0 == 3" if bad else "1 passed"
            checks = (
                Check(name="parses", ok=True),
                Check(name="lints", ok=True),
                Check(name="tests", ok=not bad, detail=detail),
            )
            await report(c.VerifyCode(checks=checks, tests=TESTS))

    async def stream(self, kept: Kept, kind: Any, text: str, slow: int) -> None:
        draft_id = uuid4().hex[:8]
        for offset in range(0, len(text), PIECE):
            piece = text[offset : offset + PIECE]
            kept.draft = s.Delta(
                session_id=kept.session.id, draft_id=draft_id, kind=kind, offset=0, text=text[: offset + PIECE]
            )
            await tell(kept, kept.draft.model_copy(update={"offset": offset, "text": piece}))
            await asyncio.sleep(PAUSE * slow)
        kept.draft = None


async def tell(kept: Kept, message: s.ServerMessage) -> None:
    for socket in tuple(kept.sockets):
        try:
            await socket.send_json(s.dump(message))
        except (RuntimeError, WebSocketDisconnect):
            kept.sockets.discard(socket)


async def handle(world: World, socket: WebSocket, message: Any, here: str) -> None:
    kept = world.of(message.session_id or here)
    kept.sockets.add(socket)
    if isinstance(message, m.Resume):
        await socket.send_json(s.dump(views.snapshot(kept.session, kept.draft)))
        for event in kept.events[message.after :]:
            await socket.send_json(s.dump(s.Event(session_id=kept.session.id, version=event.version, event=event)))
        return
    by = By(actor=f"user:{USER}", at=datetime.now(UTC), id=message.id or uuid4().hex)
    if isinstance(message, m.Fork):
        child = world.of(uuid4().hex[:12])
        event = decide(child.session, c.Fork(parent=kept.session.id, parent_version=kept.session.version), by)
        child.events.append(event)
        child.session = evolve(kept.session, event)
        await socket.send_json(s.dump(s.Forked(session_id=kept.session.id, fork_id=child.session.id)))
        return
    tools, flows = {spec.name: spec for spec in SPECS}, world.flows.page(kept.session)
    for number, command in enumerate(orders(message, kept.session, None, tools, flows)):
        await world.do(kept, command, by._replace(id=f"{by.id}.{number}") if number else by)


async def refuse(socket: WebSocket, session_id: str, message: Any, code: str, why: str) -> None:
    error = s.Error(session_id=session_id, code=code, message=why, content=why, reply_to=getattr(message, "id", None))
    await socket.send_json(s.dump(error))


def summary(kept: Kept) -> dict[str, Any]:
    session, times = kept.session, [event.at.isoformat() for event in kept.events]
    return {
        "id": session.id, "title": session.title, "state": state_name(session), "phase": session.phase,
        "workflow": session.workflow, "owner": session.owner, "version": session.version,
        "created_at": times[0], "updated_at": times[-1],
    }  # fmt: skip


def build(*, rehearsal: bool = True, can_run: bool = True) -> FastAPI:  # noqa: C901
    """The app. `can_run` False: a machine without a sandbox."""
    app, world = FastAPI(), World()

    @app.websocket("/ws")
    async def ws(socket: WebSocket) -> None:
        await socket.accept()
        here = uuid4().hex[:12]
        greeting = s.Greeting(
            session_id=here, message="What shall we plan?", user=USER, rehearsal=rehearsal, model="rehearsal",
            workflows=("conversation", "agentflow", "flow"), can_run_code=can_run,
        )  # fmt: skip
        await socket.send_json(s.dump(greeting))
        async for text in incoming(socket):
            message: Any = None
            try:
                message = m.CLIENT_MESSAGES.validate_json(text)
                if isinstance(message, m.Close):
                    break
                await handle(world, socket, message, here)
            except ValidationError as error:
                await refuse(socket, here, message, "bad_message", str(error.errors(include_url=False)))
            except (Refused, Trouble) as error:
                await refuse(socket, message.session_id or here, message, error.code, str(error))
        for kept in world.kept.values():
            kept.sockets.discard(socket)

    @app.get("/api/me")
    async def me() -> dict[str, Any]:
        return {"user": USER, "auth": "none", "rehearsal": rehearsal}

    @app.get("/api/sessions")
    async def sessions(q: str = "", limit: int = 50) -> dict[str, Any]:
        found = [
            summary(kept) for kept in world.kept.values() if kept.events and q.lower() in kept.session.title.lower()
        ]
        found.sort(key=lambda one: str(one["updated_at"]), reverse=True)
        return {"sessions": found[:limit], "total": len(found)}

    @app.get("/api/sessions/{session_id}")
    async def snapshot(session_id: str) -> s.Snapshot:
        return views.snapshot(world.of(session_id).session)

    @app.get("/api/sessions/{session_id}/journal")
    async def journal(session_id: str) -> dict[str, Any]:
        events = world.of(session_id).events
        return {"events": [event.model_dump(mode="json") for event in events], "total": len(events)}

    @app.get("/api/sessions/{session_id}/export")
    async def export(session_id: str, format: str = "md") -> Response:  # noqa: A002
        code = world.of(session_id).session.code
        return Response(code.code if code and format == "py" else f"# {session_id}\n", media_type="text/plain")

    app.include_router(world.store.router(world))
    app.include_router(world.flows.router(world))

    @app.get("/{path:path}")
    async def page(path: str) -> FileResponse:
        if path.startswith("api/"):
            raise HTTPException(404)
        file = PAGE / path
        return FileResponse(file if path and file.is_file() else PAGE / "index.html")

    return app


async def incoming(socket: WebSocket) -> AsyncIterator[str]:
    try:
        while True:
            yield await socket.receive_text()
    except WebSocketDisconnect:
        return


if __name__ == "__main__":
    flags = set(sys.argv[1:])
    port = next((int(flag) for flag in flags if flag.isdigit()), 8099)
    app_ = build(rehearsal="--real" not in flags, can_run="--no-sandbox" not in flags)
    uvicorn.run(app_, host="127.0.0.1", port=port, log_level="warning")
