"""nats-servers with a lower max_payload: large messages are read in parts or refused, never waited for."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tests.support.nats
from cli.operate.doctor import check_nats
from cli.operate.nats_server import NatsInstance, prepare
from parley.events.values import ActionSpec, SessionSettings
from shared.bus import Bus, MessageTooLarge
from shared.bus.provision import ProvisionError, provision
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import SESSION
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.story import finish_action
from tests.support.gateway import client
from tests.support.http_client import http_client
from tests.support.nats import NatsServer, nats_server
from tests.support.stack import serving_gateway
from tests.support.stories import Conversation
from tests.support.timeouts import WAIT_TIMEOUT

DEFAULT, RESULTS = "1MB", 25


@pytest.fixture
def max_payload(request: pytest.FixtureRequest) -> str:
    return str(getattr(request, "param", DEFAULT))


@pytest.fixture
def nats(tmp_path: Path, max_payload: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[NatsServer]:
    def prepare_with_max_payload(home: Path, **options: Any) -> NatsInstance:
        instance = prepare(home, **options)
        text = instance.config.read_text()
        instance.config.write_text(text.replace("max_payload: 4MB", f"max_payload: {max_payload}"))
        return instance

    monkeypatch.setattr(tests.support.nats, "prepare", prepare_with_max_payload)
    with nats_server(tmp_path) as server:
        yield server


async def large_session(bus: Bus) -> Conversation:
    """A working session whose state exceeds 1 MB."""
    story = Conversation(bus.log, "large", "local")
    await story.commit(c.Say(text="x", workflow="agentflow", settings=SessionSettings(approval="never")))
    actions = tuple(ActionSpec(id=f"1.{n}", tool="read_file") for n in range(1, RESULTS + 2))
    await story.commit(c.PlanTurn(sub_goal="read", actions=actions))
    await story.commit(c.Start())
    for action in actions[:RESULTS]:
        await story.commit(finish_action(action.id, result=action.id + "y" * 47_000))
    return story


async def test_a_session_larger_than_a_message_is_loaded_stopped_and_exported(settings: Settings, bus: Bus) -> None:
    story = await large_session(bus)
    expected = await story.load_at_position()
    assert len(SESSION.dump_json(expected.session)) > 1024 * 1024 == bus.max_payload
    async with serving_gateway(settings) as address:
        assert await PlanStoreClient(bus).load("large") == expected
        first = await PlanStoreClient(bus).load("large", version=5)
        assert first.session.version == 5
        async with client(address) as browser:
            await browser.send("stop", session_id="large", id="m1")
            await browser.event("session.stopped")
        async with http_client(base_url=f"http://{address}") as http:
            exported = await http.get("/api/sessions/large/export", params={"format": "json"})
        assert exported.status_code == 200
        assert len(exported.json()["journal"]) == expected.session.version + 1


async def test_an_oversized_answer_is_an_immediate_error(bus: Bus) -> None:
    async def answers(_: str, body: bytes) -> bytes:
        return body * 2

    await bus.answer("twice", answers)
    await bus.client.flush()
    half = b"x" * 512 * 1024
    assert await bus.request("twice", half) == half * 2
    async with asyncio.timeout(WAIT_TIMEOUT):
        with pytest.raises(MessageTooLarge, match="The answer on twice has 1048578 bytes: the server's max_payload"):
            await bus.request("twice", half + b"x")
        with pytest.raises(MessageTooLarge, match="The request on twice"):
            await bus.request("twice", half * 3)


def test_the_doctor_advises_the_max_payload_setting(settings: Settings) -> None:
    check = check_nats(Settings(nats_url=settings.nats_url), is_up=True)
    assert (check.outcome, check.advice) == ("warn", "`max_payload: 4MB` in its configuration")


@pytest.mark.parametrize("max_payload", ["400KB"], indirect=True)
async def test_a_server_with_a_max_payload_below_an_event_is_refused(
    nats: NatsServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(nats_url=nats.url, parley_home=tmp_path)
    with pytest.raises(ProvisionError, match="set `max_payload: 4MB` in the configuration of nats-server"):
        await provision(settings)
    connecting = asyncio.create_task(Bus(settings, "test").connect())
    async with asyncio.timeout(WAIT_TIMEOUT):
        while "max_payload is 409600 bytes" not in caplog.text:  # noqa: ASYNC110  a log line sets no event
            await asyncio.sleep(0.02)
    assert not connecting.done()
    connecting.cancel()
