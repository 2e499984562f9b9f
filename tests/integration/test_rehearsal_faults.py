"""The model client with a slow, a silent and a busy model over HTTP, and calls that are cancelled."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from parley.events.values import ModelCall
from parley.reply import Reply
from rehearsal.app import build
from services.planner.conversation import PlanDraft
from shared.llm import Message, ModelFailed, ModelRequest
from shared.llm.client import OpenAIModel
from shared.llm.sections import section
from shared.settings import Settings
from tests.support.http_client import http_client
from tests.support.serving import serving
from tests.support.timeouts import WAIT_TIMEOUT


class TextPlan(Reply):
    reply: PlanDraft


MESSAGES: list[Message] = [
    {"role": "system", "content": "Role: planner\nTask: text_plan\nYou plan for Parley."},
    {"role": "user", "content": section("request", "Help me create a simple calculator")},
]


class RecordingClient:
    """A model client that records its calls."""

    def __init__(self, url: str, **settings: Any) -> None:
        fields: dict[str, Any] = {
            "openai_base_url": f"{url}/v1",
            "model_timeout": 5,
            "openai_model": "rehearsal",
        } | settings
        self.model = OpenAIModel(Settings(**fields), first_wait=0.01)
        self.calls: list[ModelCall] = []
        self.partials: list[Mapping[str, Any]] = []
        self.partial_received = asyncio.Event()

    async def ask(self) -> TextPlan:
        return await self.model.ask(
            ModelRequest("planner", MESSAGES, TextPlan, on_call=self._record_call, on_partial=self._record_partial)
        )

    async def _record_call(self, call: ModelCall) -> None:
        self.calls.append(call)

    async def _record_partial(self, partial: Mapping[str, Any]) -> None:
        self.partials.append(partial)
        self.partial_received.set()

    def outcomes(self) -> list[str]:
        return [call.outcome for call in self.calls]


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with serving(build(pace=0.002)) as address:
        yield address


@pytest.fixture
async def make_client(url: str) -> AsyncIterator[Callable[..., RecordingClient]]:
    """A factory for clients of the rehearsal model or another address. Closes them at the end."""
    clients: list[RecordingClient] = []

    def make(address: str = url, **settings: Any) -> RecordingClient:
        clients.append(RecordingClient(address, **settings))
        return clients[-1]

    yield make
    for client in clients:
        await client.model.aclose()


async def test_a_silent_model_times_out_and_a_slow_one_does_not(
    url: str, make_client: Callable[..., RecordingClient]
) -> None:
    slow = make_client(openai_model="rehearsal?token_delay=0.1", model_silence_timeout=3)
    assert (await slow.ask()).reply.steps
    assert slow.calls[0].latency > 3, "the call took longer than the allowed silence"
    silent = make_client(openai_model="rehearsal?pause=true", model_silence_timeout=0.4, model_max_attempts=1)
    with pytest.raises(ModelFailed, match="nothing came for"):
        await silent.ask()


async def test_a_cancelled_call_is_reported_and_its_connection_closed(
    url: str, make_client: Callable[..., RecordingClient]
) -> None:
    client = make_client(openai_model="rehearsal?token_delay=0.05")
    task = asyncio.create_task(client.ask())
    async with asyncio.timeout(WAIT_TIMEOUT):
        await client.partial_received.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [call] = client.calls
    assert (call.outcome, call.estimated) == ("cancelled", True)
    assert call.prompt_tokens == -(-sum(len(message["content"]) for message in MESSAGES) // 4)
    assert call.completion_tokens > 0
    async with http_client() as http, asyncio.timeout(WAIT_TIMEOUT):
        while (server_calls := (await http.get(f"{url}/calls")).json())[0]["outcome"] == "running":
            pass  # the server notices the closed connection after a while
    assert [entry["outcome"] for entry in server_calls] == ["cancelled"]


async def test_calls_wait_for_a_slot_and_a_cancelled_wait_makes_no_call(
    make_client: Callable[..., RecordingClient],
) -> None:
    client = make_client(openai_model="rehearsal?token_delay=0.02", model_concurrency=1)
    first, second = asyncio.create_task(client.ask()), asyncio.create_task(client.ask())
    async with asyncio.timeout(WAIT_TIMEOUT):
        await client.partial_received.wait()
    second.cancel()
    await first
    with pytest.raises(asyncio.CancelledError):
        await second
    assert client.outcomes() == ["ok"]
