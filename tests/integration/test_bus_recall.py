"""The planner's recall over a real bus: plan_store returns the outcomes of earlier sessions."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from services.plan_store.app import PlanStore
from services.planner.recall import recall
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.session import Session, with_words
from shared.llm.embeddings import Embeddings
from shared.log import SessionAtPosition, commit
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.conftest import person
from tests.support.timeouts import WAIT_TIMEOUT


async def answered_session(bus: Bus, session_id: str, request: str, answer: str) -> Session:
    loaded = SessionAtPosition(Session(session_id), 0)
    loaded, _ = await commit(bus.log, loaded, c.Say(text=request, workflow="agentflow"), person())
    for command in (c.PlanTurn(sub_goal="answer", actions=()), c.GiveAnswer(text=answer, confidence=1)):
        work = loaded.session.work
        assert work is not None
        loaded, _ = await commit(bus.log, loaded, command, CommandMeta(work.service, datetime.now(UTC), work=work))
    return loaded.session


async def test_a_planner_recalls_an_earlier_session(settings: Settings, bus: Bus) -> None:
    service = PlanStore(settings)
    await service.start()
    store, off = PlanStoreClient(bus), Embeddings(settings)
    earlier = await answered_session(bus, "earlier", "Return my hiking boots", "They go back to your card.")
    await answered_session(bus, "other", "Which desk lamps are there?", "Three.")
    for session_id in ("earlier", "other"):
        await store.ask("session.get", session_id=session_id)  # plan_store has projected it once it answers
    current = replace(with_words(Session("now"), request="I'd like to return hiking boots, too"), owner=earlier.owner)
    recalled = await recall(store, off, current)
    assert [(memory.session_id, memory.request, memory.outcome) for memory in recalled] == [
        ("earlier", "Return my hiking boots", "answered: They go back to your card.")
    ]
    assert await recall(store, off, replace(current, owner="eve")) == ()
    await service.stop()
    impatient = PlanStoreClient(bus, wait=0.5)
    assert await asyncio.wait_for(recall(impatient, off, current), WAIT_TIMEOUT) == (), (
        "recall gets no answer, and the plan is made without it"
    )
