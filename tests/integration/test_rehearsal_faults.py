"""The model client against every fault of the rehearsal model: it retries, then succeeds or raises the right error."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from parley.events.values import ModelCall
from parley.reply import Reply
from rehearsal.app import build
from rehearsal.faults import FAULTS
from services.planner.conversation import PlanDraft
from shared.llm import Message, ModelFailed, ModelRequest, ModelUnreachable
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


ONE_FAULT = {
    "429": ["failed", "ok"],
    "500": ["failed", "ok"],
    "timeout": ["failed", "ok"],
    "cut": ["failed", "ok"],
    "garbled": ["invalid", "ok"],
    "truncated": ["invalid", "ok"],
    "invented": ["invalid", "ok"],
    "html": ["failed", "ok"],
    "error200": ["failed", "ok"],
    "midstream": ["failed", "ok"],
    "refuse_schema": ["failed", "ok"],
    "refuse_format": ["failed", "ok"],
}
LASTING_FAULT = {
    "429": (3, "429"),
    "500": (3, "500"),
    "timeout": (3, "in time"),
    "cut": (3, "cut off"),
    "garbled": (3, "in the middle of its JSON"),
    "truncated": (3, "length limit"),
    "invented": (3, "confidence_level"),
    "html": (3, "page"),
    "error200": (3, "status 200"),
    "midstream": (3, "mid-sentence"),
}


def test_every_fault_is_covered() -> None:
    assert set(ONE_FAULT) == set(FAULTS) == set(LASTING_FAULT) | {"refuse_schema", "refuse_format"}


def timeout_for(fault: str, seconds: float) -> dict[str, float]:
    """The settings of a client: only this fault waits for the timeout, and a busy server is late, too."""
    return {"model_timeout": seconds} if fault == "timeout" else {}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_single_fault_is_retried(make_client: Callable[..., RecordingClient], fault: str) -> None:
    client = make_client(openai_model=f"rehearsal?fault={fault}&times=1", **timeout_for(fault, 5))
    reply = await client.ask()
    assert reply.reply.steps
    assert client.outcomes() == ONE_FAULT[fault]
    assert [call.attempt for call in client.calls] == [1, 2]
    assert client.partials[-1] == reply.model_dump()


@pytest.mark.parametrize("fault", LASTING_FAULT)
async def test_a_lasting_fault_raises_the_right_error(make_client: Callable[..., RecordingClient], fault: str) -> None:
    tries, reason = LASTING_FAULT[fault]
    client = make_client(openai_model=f"rehearsal?fault={fault}", **timeout_for(fault, 0.4))
    with pytest.raises(ModelFailed, match=reason) as failed:
        await client.ask()
    assert len(client.calls) == tries
    assert failed.value.retryable
    if fault in ("cut", "garbled", "truncated", "invented", "midstream"):
        assert "goal" in failed.value.raw


@pytest.mark.parametrize(("fault", "tries"), [("refuse_schema", 2), ("refuse_format", 3)])
async def test_an_unsupported_response_format_is_tried_only_on_the_first_call(
    make_client: Callable[..., RecordingClient], fault: str, tries: int
) -> None:
    client = make_client(openai_model=f"rehearsal?fault={fault}")
    await client.ask()
    assert len(client.calls) == tries
    await client.ask()
    assert len(client.calls) == tries + 1


async def test_retry_after_is_honoured(make_client: Callable[..., RecordingClient]) -> None:
    client = make_client(openai_model="rehearsal?fault=429&times=1&retry_after=0.5")
    began = time.monotonic()
    await client.ask()
    assert time.monotonic() - began >= 0.5


async def test_a_streamed_plan_is_reported_as_it_grows(make_client: Callable[..., RecordingClient]) -> None:
    client = make_client(openai_model="rehearsal?token_delay=0.02")
    reply = await client.ask()
    assert len(client.partials) > 3
    assert client.partials[0] != client.partials[-1] == reply.model_dump()
    lengths = [len(str(partial)) for partial in client.partials]
    assert lengths == sorted(lengths)
    [call] = client.calls
    assert (call.model, call.role, call.outcome, call.estimated) == (
        "rehearsal?token_delay=0.02",
        "planner",
        "ok",
        False,
    )
    assert call.latency > 0.02


async def test_a_slow_stream_is_stopped_at_the_total_timeout(make_client: Callable[..., RecordingClient]) -> None:
    client = make_client(openai_model="rehearsal?token_delay=0.5", model_timeout=3, model_max_attempts=1)
    with pytest.raises(ModelFailed, match="in time"):
        await client.ask()
    assert client.calls[0].estimated
    assert client.calls[0].completion_tokens > 0


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


async def test_without_a_model_name_the_first_one_listed_is_used(make_client: Callable[..., RecordingClient]) -> None:
    client = make_client(openai_model="", parley_models={"verifier": "other"})
    await client.ask()
    assert client.calls[0].model == "rehearsal"


async def test_an_unreachable_endpoint_raises_model_unreachable(make_client: Callable[..., RecordingClient]) -> None:
    async with serving(build()) as address:
        pass
    for model_name in ("rehearsal", ""):
        client = make_client(address, openai_model=model_name)
        with pytest.raises(ModelUnreachable) as unreachable:
            await client.ask()
        assert unreachable.value.retryable
        assert client.outcomes() == (["failed"] if model_name else [])
        assert all(call.prompt_tokens == 0 for call in client.calls)
