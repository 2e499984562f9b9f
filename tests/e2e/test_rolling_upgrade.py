"""A rolling upgrade from release N to N+1, back to N, and again to N+1, under load."""

import asyncio
from pathlib import Path

import pytest

from chaos.process import ROOT
from parley.events import SessionEvent, envelope
from parley.events.envelope import FORMAT
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition, accept
from shared.store import PlanStoreClient
from shared.store_api import DEAD_LIST, HEALTH
from tests.support.http_client import http_client
from tests.support.inbox import api
from tests.support.releases import SERVICES, Person, Releases, next_release, releases
from tests.support.timeouts import WAIT_TIMEOUT

# The worst order: services that write events of the new format first, the one that reads all of them last.
WRITERS_FIRST = ("planner", "generator", "gateway", "verifier", "plan_store")
SECONDS = 900


async def fold_session(parley: Releases, session_id: str) -> tuple[Session, list[SessionEvent], list[str]]:
    """The folded session, its events, and the reasons of quarantined messages."""
    state, events, quarantined = SessionAtPosition(Session(session_id), 0), [], []
    for raw in await parley.bus.log.read(session_id, leader=True):
        state, event, reason = accept(state, raw)
        if event:
            events.append(event)
        else:
            quarantined.append(reason)
    return state.session, events, quarantined


async def check_upgrade_needed(parley: Releases, session_id: str, key: str) -> None:
    """Checks that this release refuses a message to the session with a reason, and serves other sessions."""
    async with http_client(base_url=parley.url) as http:
        message = {"type": "approval", "id": key, "approved": True, "version": 2}
        refused = (await http.post(f"/api/sessions/{session_id}/messages", json=message)).json()
        assert refused["code"] == "upgrade_needed", refused
        assert "newer release" in refused["message"]
        assert (await http.get("/readyz")).json()["checks"]["upgrade"] != "ok"
    report = await PlanStoreClient(parley.bus).ask(HEALTH.name)
    assert report["waiting_for_upgrade"] > 0


@pytest.mark.long
@pytest.mark.timeout(SECONDS)
async def test_a_rolling_upgrade_loses_no_acknowledged_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = await asyncio.to_thread(next_release, tmp_path / "next")
    async with releases(tmp_path, ROOT) as parley, http_client(base_url=parley.url) as http:
        people = [Person(f"p{number}", parley.url) for number in range(3)]
        sessions = [asyncio.create_task(person.live()) for person in people]
        for service in WRITERS_FIRST:
            await parley.roll(service, newer)
        ann = Person("ann", parley.url)
        planned = await ann.begin(http, "left")  # N+1 plans it, and N returns before the approval
        await ann.sees(http, planned, "text_plan_approval")
        for service in SERVICES:
            await parley.roll(service, ROOT)
        await check_upgrade_needed(parley, planned, "left-plan")
        await ann.run_session(http, "on-n")  # N completes a session that it began
        for person in people:
            person.leave()
        for service in WRITERS_FIRST:
            await parley.roll(service, newer)
        await ann.approve(http, planned, "text_plan_approval", "left-plan")
        await ann.approve(http, planned, "code_approval", "left-code")
        await asyncio.gather(*sessions)

        monkeypatch.setattr(envelope, "FORMAT", FORMAT + 1)
        needs: set[int] = set()
        acknowledged = [message for person in (*people, ann) for message in person.acknowledged]
        for session_id in {session_id for session_id, _, _ in acknowledged}:
            session, events, quarantined = await fold_session(parley, session_id)
            needs.add(session.needs)
            assert quarantined == []
            assert session.code
            assert (session.phase, session.code.status) == ("resting", "approved")
            ids = {event.version: event.id for event in events}
            for message_session, key, version in acknowledged:
                assert message_session != session_id or ids[version] == f"{session_id}:{key}"
        assert max(needs) == FORMAT + 1 > min(needs), "both releases must have written sessions"
        assert (await api(parley.bus, "STREAM.INFO.DEAD_LETTERS", {}))["state"]["messages"] == 0
        dead = await PlanStoreClient(parley.bus).ask(DEAD_LIST.name, limit=10, offset=0)
        assert (dead["dead_total"], dead["parked_total"]) == (0, 0)
        async with asyncio.timeout(WAIT_TIMEOUT):
            while (await PlanStoreClient(parley.bus).ask(HEALTH.name))["waiting_for_upgrade"]:  # noqa: ASYNC110  no event shows it
                await asyncio.sleep(0.5)
