"""The wait that a model's server asks for: how it says so, how long it is kept, and who is told."""

import asyncio
import time
from datetime import UTC, datetime
from email.utils import format_datetime, formatdate
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.llm import ModelFailed, ModelRequest, client
from shared.llm.client import OpenAIModel
from shared.llm.retry_after import asked_wait, duration_text
from tests.support.timeouts import WAIT_TIMEOUT
from tests.unit.test_llm_client import GOOD, MESSAGES, Answer, ScriptedClient, error, sse

NOW = datetime(2050, 11, 6, 8, 49, 37, tzinfo=UTC)  # by the server's clock
AHEAD = NOW.timestamp() + 90


def status_error(body: object = None, **headers: str) -> openai.APIStatusError:
    """The error of an answer with these headers, underscores for hyphens."""
    response = httpx2.Response(
        429,
        headers={"date": format_datetime(NOW, usegmt=True)}
        | {name.replace("_", "-"): value for name, value in headers.items()},
        request=httpx2.Request("POST", "http://model/v1"),
    )
    return openai.APIStatusError("no", response=response, body=body)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "90"}, 90),
        ({"retry_after": " 0.5 "}, 0.5),
        ({"retry_after": "1m30s"}, 90),
        ({"retry_after_ms": "2500"}, 2.5),
        ({"retry_after": formatdate(AHEAD, usegmt=True)}, 90),
        ({"retry_after": "Sunday, 06-Nov-50 08:49:57 GMT"}, 20),
        ({"retry_after": "2050-11-06T08:49:57Z"}, 20),
        ({"retry_after": f"{AHEAD:.0f}"}, 90),
        ({"retry_after": "30, 30"}, 30),  # sent by the server and by its gateway
        ({"retry_after": "30; comment"}, 30),
        ({"x_retry_after": "30"}, 30),
        ({"x_ms_retry_after_ms": "1500"}, 1.5),
        ({"retry_after": "0"}, None),
        ({"retry_after": "-3"}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "inf"}, None),
        ({"retry_after": "9" * 400}, None),
        ({"retry_after": "Mon, 01 Jan 99999 00:00:00 GMT"}, None),
        ({"retry_after": "Thu, 26 Nov 2020 00:00:00 GMT"}, None),
        ({"retry_after": "99999999"}, None),  # more than a year
        ({"x_ratelimit_reset": "24"}, 24),
        ({"x_ratelimit_reset": f"{AHEAD:.0f}"}, 90),
        ({"x_ratelimit_reset": f"{AHEAD * 1000:.0f}"}, 90),
        ({"ratelimit_reset": "7"}, 7),
        (
            {
                "x_ratelimit_remaining_requests": "14370",
                "x_ratelimit_reset_requests": "2m59.56s",
                "x_ratelimit_remaining_tokens": "0",
                "x_ratelimit_reset_tokens": "7.66s",
            },
            7.66,
        ),
        (
            {
                "anthropic_ratelimit_requests_remaining": "0",
                "anthropic_ratelimit_requests_reset": "2050-11-06T08:49:57Z",
            },
            20,
        ),
        ({"x_ratelimit_reset_requests": "1s", "x_ratelimit_reset_tokens": "6m0s"}, None),  # which one is exhausted?
        ({"x_ratelimit_remaining": "3", "x_ratelimit_reset": "60"}, None),
        ({"x_rate_limit_reset": f"{AHEAD:.0f}"}, 90),
        ({"x_rate_limit_remaining": "0", "x_rate_limit_reset": "60"}, 60),
        ({"ratelimit": '"default";r=0;t=50'}, 50),
        ({"ratelimit": '"minute";r=5;t=3, "day";r=0;t=50'}, 50),
        ({"ratelimit": "limit=100, remaining=0, reset=50"}, 50),
        ({"ratelimit": '"default";r=10;t=50'}, None),
        ({}, None),
    ],
)
def test_waits_in_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(status_error(**headers)) == (None if seconds is None else pytest.approx(seconds))


GEMINI = [
    {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota.\nPlease retry in 34.074824224s.",
            "details": [
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaValue": "10"}]},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
            ],
        }
    }
]


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        (GEMINI, 34),
        ({"retry_delay": {"seconds": 34, "nanos": 5}}, 34),
        ({"message": "Slow down", "retry_after": 12}, 12),
        ({"message": "Slow down", "metadata": {"retryAfterMs": "1500"}}, 1.5),
        ({"metadata": {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{AHEAD * 1000:.0f}"}}}, 90),
        ({"message": "Rate limit reached: Limit 7000, Requested 7895. Please try again in 20s. Visit …"}, 20),
        ("Please try again in 1m30s.", 90),
        ("please try again in 250ms", 0.25),
        ("Please try again in 1h2m3.5s", 3723.5),
        ("Please retry after 26 seconds.", 26),
        ("Rate limit of 10 per 60s exceeded. Please wait 54 seconds before retrying.", 54),
        ("please try again after 1 seconds", 1),
        ("Try again in 2 minutes and 5 seconds.", 125),
        ("Your quota will reset after 26s.", 26),
        ('<html>busy: "retryDelay": "3s"</html>', 3),
        ("Rate limited, retry_after: 30", 30),
        ("Rate limited (retryAfterMs=1500).", 1.5),
        ('busy: {"retry-after": "30"}', 30),
        ("Retry your request after 30 seconds", 30),
        ({"type": "usage_limit_reached", "resets_in_seconds": 30}, 30),
        ({"type": "usage_limit_reached", "resets_at": round(AHEAD)}, 90),
        ("Limit 60s exceeded", None),
        ("Connection reset after 30s", None),
        ("It did not try again. After 30 s it was cancelled.", None),
        ("Try again in a while", None),
        ("try against 5 s", None),
        ({"retry_after": True}, None),
        ({"retry_after": None, "message": 5}, None),
        (None, None),
    ],
)
def test_waits_in_error_bodies(body: object, seconds: float | None) -> None:
    assert asked_wait(status_error(body)) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize("inner", ["Rate limit exceeded", {"message": "Too many requests"}])
def test_a_wait_beside_the_error(inner: object) -> None:
    """The openai package passes on only what is under `error`."""
    request = httpx2.Request("POST", "http://model/v1")
    response = httpx2.Response(429, json={"error": inner, "retry_after": 30}, request=request)
    assert asked_wait(openai.APIStatusError("no", response=response, body=inner)) == 30


def test_a_wait_in_an_error_within_a_stream() -> None:
    request = httpx2.Request("POST", "http://model/v1")
    assert asked_wait(openai.APIError("no", request=request, body={"message": "Try again in 4s."})) == 4


def test_a_date_is_read_by_this_machine_s_clock_if_the_server_does_not_tell_its_own() -> None:
    date = formatdate(time.time() + 10_000, usegmt=True)
    assert asked_wait(status_error(retry_after=date, date="")) == pytest.approx(10_000, abs=60)


def test_a_header_is_believed_before_the_words() -> None:
    assert asked_wait(status_error("Please try again in 90s", retry_after="5")) == 5
    assert asked_wait(TimeoutError()) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.just("retry in 5s"),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["retry_after", "retryDelay", "seconds"]), inner),
)


@given(JSON, st.text(alphabet=st.characters(max_codepoint=126, min_codepoint=32)))
def test_any_answer_asks_for_a_wait_of_at_most_a_year_or_none(body: object, header: str) -> None:
    wait = asked_wait(status_error(body, retry_after=header))
    assert wait is None or 0 < wait < 367 * 86_400


def test_a_huge_body_is_searched_in_part() -> None:
    assert asked_wait(status_error([[["retry " * 100_000]]] * 100_000)) is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (90, "90 s"), (300, "5 min"), (10_000, "3 h"), (200_000, "3 days")]
)
def test_a_duration_in_words(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


# --- the client


class Waiting:
    """A request whose waits are recorded; `began` is set by the first one."""

    def __init__(self, model: OpenAIModel) -> None:
        self.waits: list[float] = []
        self.began = asyncio.Event()
        self._model = model

    async def ask(self) -> Answer:
        return await self._model.ask(
            ModelRequest("planner", MESSAGES, Answer, on_call=self._ignore, on_wait=self._on_wait)
        )

    async def _ignore(self, _: Any) -> None: ...

    async def _on_wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.began.set()


async def test_a_wait_is_reported_before_it_begins_and_ends_at_once_when_it_is_cancelled() -> None:
    waiting = Waiting(ScriptedClient(error(429, retry_after="90")).model)
    task = asyncio.create_task(waiting.ask())
    await asyncio.wait_for(waiting.began.wait(), WAIT_TIMEOUT)
    assert waiting.waits == [90]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, WAIT_TIMEOUT)


async def test_the_end_of_a_wait_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SHOWN_WAIT", 0.01)
    waiting = Waiting(ScriptedClient(error(429, retry_after="0.02"), error(503, retry_after_ms="9"), sse(GOOD)).model)
    assert await waiting.ask() == Answer(text="it is 42", number=42)
    assert waiting.waits == [0.02, 0]  # not the second one: it is short


@pytest.mark.parametrize("attempts", [1, 3])
async def test_a_wait_beyond_the_limit_fails_at_once_with_the_server_s_words(attempts: int) -> None:
    scripted = ScriptedClient(error(429, "Out of tokens for today.", retry_after="9000"), model_max_attempts=attempts)
    with pytest.raises(ModelFailed) as failed:
        await scripted.ask()
    reason = failed.value.reason
    assert "Out of tokens for today." in reason
    assert reason.endswith(
        "It asks to wait 3 h, and MODEL_MAX_WAIT allows 5 min: retry after that time, raise MODEL_MAX_WAIT, "
        "or use another model"
    )
    assert failed.value.retryable
