"""The client against every fault of the rehearsal model: bounded tries end in success or in the right error."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx2
import pytest

from parley.events.values import ModelCall
from parley.reply import Reply
from rehearsal.app import build
from rehearsal.faults import FAULTS
from services.planner.conversation_prompt import PlanDraft
from shared.llm import Message, ModelFailed, ModelUnreachable
from shared.llm.client import OpenAIModel
from shared.settings import Settings
from tests.support.serving import serving


class TextPlan(Reply):
    reply: PlanDraft


MESSAGES: list[Message] = [
    {"role": "system", "content": "Role: planner\nTask: text_plan\nYou plan for Parley."},
    {"role": "user", "content": "<request>\nHelp me create a simple calculator\n</request>"},
]


class Asker:
    """A client with its bookkeeping."""

    def __init__(self, url: str, **settings: Any) -> None:
        given: dict[str, Any] = {
            "openai_base_url": f"{url}/v1",
            "model_timeout": 5,
            "openai_model": "rehearsal",
        } | settings
        self.model = OpenAIModel(Settings(**given), first_wait=0.01)
        self.calls: list[ModelCall] = []
        self.partials: list[Mapping[str, Any]] = []
        self.growing = asyncio.Event()

    async def ask(self) -> TextPlan:
        return await self.model.ask("planner", MESSAGES, TextPlan, on_call=self._called, on_partial=self._grown)

    async def _called(self, call: ModelCall) -> None:
        self.calls.append(call)

    async def _grown(self, partial: Mapping[str, Any]) -> None:
        self.partials.append(partial)
        self.growing.set()

    def outcomes(self) -> list[str]:
        return [call.outcome for call in self.calls]


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with serving(build(pace=0.002)) as address:
        yield address


@pytest.fixture
async def asking(url: str) -> AsyncIterator[Callable[..., Asker]]:
    """Makes clients of the rehearsal model, or of another address, and closes them."""
    made: list[Asker] = []

    def make(address: str = url, **settings: Any) -> Asker:
        made.append(Asker(address, **settings))
        return made[-1]

    yield make
    for asker in made:
        await asker.model.aclose()


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
FOR_EVER = {
    "429": (3, "429"),
    "500": (3, "500"),
    "timeout": (3, "in time"),
    "cut": (3, "cut off"),
    "garbled": (3, "broken"),
    "truncated": (3, "length limit"),
    "invented": (3, "confidence_level"),
    "html": (3, "page"),
    "error200": (3, "status 200"),
    "midstream": (3, "mid-sentence"),
}


def test_every_fault_is_covered() -> None:
    assert set(ONE_FAULT) == set(FAULTS) == set(FOR_EVER) | {"refuse_schema", "refuse_format"}


@pytest.mark.parametrize("fault", FAULTS)
async def test_one_fault_is_survived(asking: Callable[..., Asker], fault: str) -> None:
    impatient = {"model_timeout": 1.5} if fault == "timeout" else {}  # no other fault is about time
    asker = asking(openai_model=f"rehearsal?fault={fault}&times=1", **impatient)
    reply = await asker.ask()
    assert reply.reply.steps
    assert asker.outcomes() == ONE_FAULT[fault]
    assert [call.attempt for call in asker.calls] == [1, 2]
    assert asker.partials[-1] == reply.model_dump()


@pytest.mark.parametrize("fault", FOR_EVER)
async def test_a_lasting_fault_ends_in_an_honest_error(asking: Callable[..., Asker], fault: str) -> None:
    tries, reason = FOR_EVER[fault]
    asker = asking(openai_model=f"rehearsal?fault={fault}", model_timeout=0.4)
    with pytest.raises(ModelFailed, match=reason) as failed:
        await asker.ask()
    assert len(asker.calls) == tries
    assert failed.value.retryable
    if fault in ("cut", "garbled", "truncated", "invented", "midstream"):
        assert "goal" in failed.value.raw


@pytest.mark.parametrize(("fault", "tries"), [("refuse_schema", 2), ("refuse_format", 3)])
async def test_what_a_server_cannot_do_is_asked_for_once(asking: Callable[..., Asker], fault: str, tries: int) -> None:
    asker = asking(openai_model=f"rehearsal?fault={fault}")
    await asker.ask()
    assert len(asker.calls) == tries
    await asker.ask()
    assert len(asker.calls) == tries + 1


async def test_the_wait_a_server_asks_for_is_honoured(asking: Callable[..., Asker]) -> None:
    asker = asking(openai_model="rehearsal?fault=429&times=1&retry_after=0.5")
    began = time.monotonic()
    await asker.ask()
    assert time.monotonic() - began >= 0.5


async def test_a_plan_is_seen_to_grow(asking: Callable[..., Asker]) -> None:
    asker = asking(openai_model="rehearsal?token_delay=0.02")
    reply = await asker.ask()
    assert len(asker.partials) > 3
    assert asker.partials[0] != asker.partials[-1] == reply.model_dump()
    lengths = [len(str(partial)) for partial in asker.partials]
    assert lengths == sorted(lengths)
    [call] = asker.calls
    assert (call.model, call.role, call.outcome, call.estimated) == (
        "rehearsal?token_delay=0.02",
        "planner",
        "ok",
        False,
    )
    assert call.latency > 0.02


async def test_a_slow_stream_is_stopped_at_the_total_time(asking: Callable[..., Asker]) -> None:
    asker = asking(openai_model="rehearsal?token_delay=0.15", model_timeout=0.5, model_max_attempts=1)
    began = time.monotonic()
    with pytest.raises(ModelFailed, match="in time"):
        await asker.ask()
    assert time.monotonic() - began < 3
    assert asker.calls[0].estimated
    assert asker.calls[0].completion_tokens > 0


async def test_a_model_that_falls_silent_is_given_up_and_a_slow_one_is_not(
    url: str, asking: Callable[..., Asker]
) -> None:
    slow = asking(openai_model="rehearsal?token_delay=0.05", model_silence_timeout=1.5)
    assert (await slow.ask()).reply.steps
    assert slow.calls[0].latency > 1.5, "it took longer than the silence that is allowed"
    silent = asking(openai_model="rehearsal?pause=true", model_silence_timeout=0.4, model_max_attempts=1)
    with pytest.raises(ModelFailed, match="nothing came for"):
        await silent.ask()


async def test_cancelling_reports_the_call_and_closes_it(url: str, asking: Callable[..., Asker]) -> None:
    asker = asking(openai_model="rehearsal?token_delay=0.05")
    task = asyncio.create_task(asker.ask())
    async with asyncio.timeout(15):
        await asker.growing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [call] = asker.calls
    assert (call.outcome, call.estimated) == ("cancelled", True)
    assert call.prompt_tokens == -(-sum(len(message["content"]) for message in MESSAGES) // 4)
    assert call.completion_tokens > 0
    async with httpx2.AsyncClient() as client, asyncio.timeout(15):
        while (noted := (await client.get(f"{url}/calls")).json())[0]["outcome"] == "running":
            pass  # the server notices the closed connection in its own time
    assert [entry["outcome"] for entry in noted] == ["cancelled"]


async def test_calls_wait_for_a_slot_and_a_cancelled_wait_is_no_call(asking: Callable[..., Asker]) -> None:
    asker = asking(openai_model="rehearsal?token_delay=0.02", model_concurrency=1)
    first, second = asyncio.create_task(asker.ask()), asyncio.create_task(asker.ask())
    async with asyncio.timeout(15):
        await asker.growing.wait()
    second.cancel()
    await first
    with pytest.raises(asyncio.CancelledError):
        await second
    assert asker.outcomes() == ["ok"]


async def test_without_a_model_name_the_first_one_listed_is_used(asking: Callable[..., Asker]) -> None:
    asker = asking(openai_model="", parley_models={"verifier": "other"})
    await asker.ask()
    assert asker.calls[0].model == "rehearsal"


async def test_nobody_at_the_endpoint(asking: Callable[..., Asker]) -> None:
    async with serving(build()) as address:
        pass
    for named in ("rehearsal", ""):
        asker = asking(address, openai_model=named)
        with pytest.raises(ModelUnreachable) as unreachable:
            await asker.ask()
        assert unreachable.value.retryable
        assert asker.outcomes() == (["failed"] if named else [])
        assert all(call.prompt_tokens == 0 for call in asker.calls)
