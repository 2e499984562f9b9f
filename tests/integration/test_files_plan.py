"""File tools end to end, with a real executor and object store: approval, order of writes, a kill, a fork."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
import pytest

from parley.events import facts
from parley.events.values import Service
from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from shared.bus import Bus
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.turn.files import object_name
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.support.executors import executor
from tests.support.http_client import http_client
from tests.support.stack import Person, running_plan_store, serving_gateway, working
from tests.support.timeouts import WAIT_TIMEOUT

WRITE = StepDraft(id="s1", tool="write_file", arguments={"name": "notes/tea.md", "text": "Green"}, text="Note the tea")
NAME = "{{steps.s1.output.name}}"


def read() -> StepDraft:
    return StepDraft(id="s2", tool="read_file", arguments={"name": NAME}, text="Read the note")


def delete(**more: Any) -> StepDraft:
    return StepDraft(id="s3", tool="delete_file", arguments={"name": NAME}, text="Delete it", **more)


def append(number: int, *after: str) -> StepDraft:
    arguments = {"name": "log", "text": f"{number}" * 30_000, "append": True}
    return StepDraft(id=f"s{number}", tool="write_file", arguments=arguments, text=f"Note {number}", after=list(after))


@asynccontextmanager
async def session_with_plan(
    settings: Settings, bus: Bus, session_id: str, *steps: StepDraft, with_executor: bool = True
) -> AsyncIterator[Person]:
    """A user whose session drafts this plan. Without `with_executor` the caller runs an executor."""
    plan = StepsDraft(goal="Keep notes", steps=list(steps))
    services: tuple[Service, ...] = ("planner", "verifier", "generator", *(("executor",) if with_executor else ()))
    async with working(settings, ScriptedModel(plan), *services):
        ann = Person(bus, session_id)
        await ann.says("Keep notes", "execution_plan")
        yield ann


async def completed(ann: Person) -> Session:
    session = await ann.phase("resting", "failed", "awaiting_input")
    assert session.plan
    assert (session.phase, session.plan.status) == ("resting", "completed"), session.answer.text
    return session


async def file_text(bus: Bus, session: Session, name: str) -> str:
    stored = await bus.fetch(object_name(session.id, session.files[name]))
    assert stored is not None
    return stored.decode()


async def test_a_plan_writes_and_reads_a_file_and_deletes_it_after_approval(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    steps = (WRITE, read(), delete(after=["s2"]))
    async with session_with_plan(settings, bus, session_id, *steps) as ann:
        await ann.approves()
        waiting = await ann.awaits_decision()
        (action,) = undecided_actions(waiting.turn)
        assert (action.spec.arguments, action.spec.effect) == ({"name": "notes/tea.md"}, "write")
        assert waiting.turn
        assert waiting.turn.actions[1].result == {
            "name": "notes/tea.md",
            "text": "Green",
            "characters": 5,
            "next_offset": None,
        }
        assert await file_text(bus, waiting, "notes/tea.md") == "Green"
        await ann.allows()
        session = await completed(ann)
        assert session.files == {}
        changes = [
            outcome.files
            for event in await ann.events()
            if isinstance(event, facts.ActionsFinished)
            for outcome in event.outcomes
        ]
        assert changes == [waiting.files, {}, {"notes/tea.md": None}]


async def test_writes_of_one_name_in_one_batch_run_in_order(settings: Settings, bus: Bus, session_id: str) -> None:
    steps = (append(1), append(2), append(3))
    async with session_with_plan(settings, bus, session_id, *steps) as ann:
        await ann.approves()
        session = await completed(ann)
        started = [event for event in await ann.events() if isinstance(event, facts.ActionsStarted)]
        assert [len(event.actions) for event in started] == [3]
        assert await file_text(bus, session, "log") == "1" * 30_000 + "2" * 30_000 + "3" * 30_000


@pytest.mark.parametrize("stored_part", ["C", "M"], ids=["chunk stored", "whole object stored"])
@pytest.mark.races
@pytest.mark.redelivers
async def test_a_text_is_appended_once_even_if_the_executor_is_killed(
    settings: Settings, bus: Bus, session_id: str, stored_part: str
) -> None:
    """The executor is killed before it records the outcome; the next one writes a whole new object for the file."""
    written = asyncio.Event()

    async def stored(_: str, __: bytes) -> None:
        written.set()

    victim = await executor(settings)
    try:
        async with (
            running_plan_store(settings),
            session_with_plan(settings, bus, session_id, append(1), append(2, "s1"), with_executor=False) as ann,
        ):
            await bus.subscribe(f"$O.ARTEFACTS.{stored_part}.>", stored)
            await ann.approves()
            async with asyncio.timeout(WAIT_TIMEOUT):
                await written.wait()
            victim.kill()
            async with working(settings, ScriptedModel(), "executor"):
                session = await completed(ann)
            assert await file_text(bus, session, "log") == "1" * 30_000 + "2" * 30_000
            assert "action.uncertain" not in [event.type for event in await ann.events()]
    finally:
        with suppress(ProcessLookupError):
            victim.kill()
        await victim.wait()


@asynccontextmanager
async def gateway(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """Ann's HTTP client of a gateway that loads sessions from plan_store."""
    keys = {"parley_auth": "keys", "parley_api_keys": "ann=ka", "parley_secret": "s" * 40}
    async with (
        serving_gateway(settings, **keys) as address,
        http_client(
            base_url=f"http://{address}/api/sessions", headers={"Authorization": "Bearer ka"}, timeout=60
        ) as http,
    ):
        yield http


async def test_a_fork_keeps_its_files_when_its_parent_is_purged(settings: Settings, bus: Bus, session_id: str) -> None:
    async with session_with_plan(settings, bus, session_id, WRITE) as ann, gateway(settings) as http:
        await ann.approves()
        parent = await completed(ann)
        (ref,) = parent.files.values()
        assert (await http.get(f"/{session_id}/files/notes/tea.md")).text == "Green"
        answer = await http.post(f"/{session_id}/messages", json={"type": "fork"})
        assert answer.status_code == 200, answer.text
        child = answer.json()["fork_id"]
        assert (await http.delete(f"/{session_id}")).status_code == 200
        assert await bus.fetch(object_name(session_id, ref)) is None
        assert (await http.get(f"/{session_id}/files/notes/tea.md")).status_code == 404
        assert (await http.get(f"/{child}/files/notes/tea.md")).text == "Green"
        assert (await http.delete(f"/{child}")).status_code == 200
        assert await bus.fetch(object_name(child, ref)) is None
