"""A rolling upgrade from release N to N+1, back to N, and to N+1 under load: nothing is lost."""

import asyncio
from pathlib import Path

import httpx2
import pytest

from chaos.process import ROOT
from parley.events import SessionEvent, envelope
from parley.events.envelope import FORMAT
from shared.domain.session import Session
from shared.log import SessionAtPosition, accept
from shared.store import PlanStoreClient
from shared.store_api import DEAD_LIST, HEALTH
from tests.support.inbox import api
from tests.support.releases import SERVICES, Person, Releases, next_release, releases

MAKERS_FIRST = ("planner", "generator", "gateway", "verifier", "plan_store")  # readers last: the worst order
SECONDS = 900


async def fold_session(parley: Releases, session_id: str) -> tuple[Session, list[SessionEvent], list[str]]:
    """The folded session, its events, and the reasons of quarantined messages."""
    state, events, quarantined = SessionAtPosition(Session(session_id), 0), [], []
    for raw in await parley.bus.log.read(session_id, leader=True):
        state, event, why = accept(state, raw)
        if event:
            events.append(event)
        else:
            quarantined.append(why)
    return state.session, events, quarantined


async def check_upgrade_needed(parley: Releases, session_id: str, key: str) -> None:
    """Checks that this release refuses a message to the session with a reason, and serves other sessions."""
    async with httpx2.AsyncClient(base_url=parley.url, timeout=30) as http:
        message = {"type": "approval", "id": key, "approved": True, "version": 2}
        refused = (await http.post(f"/api/sessions/{session_id}/messages", json=message)).json()
        assert refused["code"] == "upgrade_needed", refused
        assert "newer release" in refused["message"]
        assert (await http.get("/readyz")).json()["checks"]["upgrade"] != "ok"
    report = await PlanStoreClient(parley.bus).ask(HEALTH.name)
    assert report["waiting_for_upgrade"] > 0


@pytest.mark.long
@pytest.mark.timeout(SECONDS)
async def test_no_acknowledged_message_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = await asyncio.to_thread(next_release, tmp_path / "next")
    async with releases(tmp_path, ROOT) as parley, httpx2.AsyncClient(base_url=parley.url, timeout=30) as http:
        people = [Person(f"p{number}", parley.url) for number in range(3)]
        living = [asyncio.create_task(person.live()) for person in people]
        for service in MAKERS_FIRST:
            await parley.roll(service, newer)
        ann = Person("ann", parley.url)
        left = await ann.begin(http, "left")  # planned by N+1, not yet approved when N returns
        await ann.sees(http, left, "text_plan_approval")
        for service in SERVICES:
            await parley.roll(service, ROOT)
        await check_upgrade_needed(parley, left, "left-plan")
        await ann.run_session(http, "on-n")  # a session started by N reaches its code
        for person in people:
            person.leave()
        for service in MAKERS_FIRST:
            await parley.roll(service, newer)
        await ann.approve(http, left, "text_plan_approval", "left-plan")
        await ann.approve(http, left, "code_approval", "left-code")
        await asyncio.gather(*living)

        monkeypatch.setattr(envelope, "FORMAT", FORMAT + 1)
        needs: set[int] = set()
        for session_id in {session_id for person in (*people, ann) for session_id, _, _ in person.acknowledged}:
            session, events, quarantined = await fold_session(parley, session_id)
            needs.add(session.needs)
            assert quarantined == []
            assert session.code
            assert (session.phase, session.code.status) == ("resting", "approved")
            ids = {event.version: event.id for event in events}
            for of, key, version in (message for person in (*people, ann) for message in person.acknowledged):
                assert of != session_id or ids[version] == f"{of}:{key}"
        assert max(needs) == FORMAT + 1 > min(needs), "sessions of both releases"
        assert (await api(parley.bus, "STREAM.INFO.DEAD_LETTERS", {}))["state"]["messages"] == 0
        put_aside = await PlanStoreClient(parley.bus).ask(DEAD_LIST.name, limit=10, offset=0)
        assert (put_aside["dead_total"], put_aside["parked_total"]) == (0, 0)
        async with asyncio.timeout(60):
            while (await PlanStoreClient(parley.bus).ask(HEALTH.name))["waiting_for_upgrade"]:  # noqa: ASYNC110  asked by hand
                await asyncio.sleep(0.5)
