"""The model client against the recorded answers in `tests/model_servers`, over HTTP: whole and in pieces of 3 bytes.

Each file says what the client makes of its answer. See `tests/model_servers/README.md`.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

import shared.llm
from parley.events.values import ModelCall
from parley.reply import Kind, Reply
from shared.llm import Message, ModelError, ModelRequest
from shared.llm.client import OpenAIModel
from shared.settings import Settings
from tests.support.http_client import http_client

FOLDER = Path(__file__).parents[1] / "model_servers"
RECORDINGS = sorted(FOLDER.glob("*/*.http"))
KEY = "sk-very-secret-key"
MESSAGES: list[Message] = [{"role": "system", "content": "You plan."}, {"role": "user", "content": "Make tea"}]
MODES = ("json_schema", "json_object", "text")
GOOD = '{"reply": {"kind": "plan", "goal": "Good", "steps": []}}'


class Plan(Kind):
    kind: Literal["plan"] = "plan"
    goal: str
    steps: list[str]


class PlanReply(Reply):
    reply: Plan


@dataclass(frozen=True)
class Recording:
    """An answer of a server: `then` is what the client does next, `shows` the words that people see if it lasts."""

    then: str
    shows: tuple[str, ...]
    answer: bytes

    @classmethod
    def read(cls, path: Path) -> "Recording":
        notes, status, answer = path.read_bytes().partition(b"HTTP/1.1 ")
        lines = [line.removeprefix("# ").split(": ", 1) for line in notes.decode().splitlines()]
        head, _, body = answer.partition(b"\n\n")
        raw = status + head.replace(b"\n", b"\r\n") + b"\r\nConnection: close\r\n\r\n" + body
        [then] = [text for name, text in lines if name == "then"]
        assert [text for name, text in lines if name == "source"], "the file says where the answer was seen"
        return cls(then, tuple(text for name, text in lines if name == "shows"), raw)


@dataclass
class RecordedServer:
    """Gives the recorded answer `times` times, in pieces of `size` bytes, and then a good reply."""

    recording: Recording
    size: int
    times: int
    requests: list[dict[str, Any]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        body = await reader.readexactly(int(head.partition("content-length:")[2].split("\r\n")[0]))
        self.requests.append(json.loads(body))
        answer = self.recording.answer if len(self.requests) <= self.times else _good()
        try:
            for start in range(0, len(answer), self.size):
                writer.write(answer[start : start + self.size])
                await writer.drain()
                await asyncio.sleep(0)  # the client reads in between
            writer.close()
        except ConnectionError:  # the client has read enough
            pass


def _good() -> bytes:
    message = {"role": "assistant", "content": GOOD}
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + body


class RecordedClient:
    """A client of such a server, and all that it reports."""

    def __init__(self, url: str) -> None:
        settings = {"openai_base_url": url, "openai_api_key": KEY, "openai_model": "m", "model_timeout": 60}
        self.model = OpenAIModel(
            Settings.model_validate(settings | {"parley_temperatures": {"planner": 0.3}}),
            http_client=http_client(),
            first_wait=0.001,
        )
        self.calls: list[ModelCall] = []
        self.partials: list[Any] = []

    async def ask(self) -> Plan:
        request = ModelRequest("planner", MESSAGES, PlanReply, on_call=self._call, on_partial=self._partial)
        return (await self.model.ask(request)).reply

    async def _call(self, call: ModelCall) -> None:
        self.calls.append(call)

    async def _partial(self, partial: Any) -> None:
        self.partials.append(partial)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may ask to wait for longer than a test should take."""
    sleep = asyncio.sleep

    async def paused(seconds: float, *_: Any) -> None:
        await sleep(min(seconds, 0.01))

    monkeypatch.setattr("shared.llm.client.asyncio.sleep", paused)


@asynccontextmanager
async def client_of(server: RecordedServer) -> AsyncIterator[RecordedClient]:
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
        client = RecordedClient(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1")
        yield client
        await client.model.aclose()


@pytest.mark.parametrize("size", [1 << 20, 3], ids=["whole", "pieces"])
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
async def test_a_recorded_answer_is_understood(path: Path, size: int) -> None:
    recording = Recording.read(path)
    what, _, argument = recording.then.partition(" ")
    server = RecordedServer(recording, size, times=1)
    async with client_of(server) as client:
        if what == "fails":
            with pytest.raises(getattr(shared.llm, argument)):
                await client.ask()
            assert len(server.requests) == 1
            return
        plan = await client.ask()
    assert plan.goal == (argument if what == "reply" else "Good")
    assert "Wrong" not in str(client.partials[-1])
    first, second = server.requests[0], server.requests[-1]
    match what:
        case "reply":
            assert [call.outcome for call in client.calls] == ["ok"]
        case "retry":
            assert second == first
            assert [call.outcome for call in client.calls] == ["failed", "ok"]
        case "repair":
            assert mode(second) == mode(first)
            assert second["messages"][:2] == first["messages"]
            assert [call.outcome for call in client.calls] == ["invalid", "ok"]
        case "without":
            assert mode(second) == mode(first)
            left_out = second.keys() ^ first.keys()
            assert left_out == set() if argument == "system" else left_out == {argument}
            assert all(message["role"] != "system" for message in second["messages"]) is (argument == "system")
        case _:
            assert mode(second) == what
            assert len(server.requests) == 2


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
async def test_the_words_of_an_answer_that_lasts_reach_the_person_without_the_key(path: Path) -> None:
    recording = Recording.read(path)
    if recording.then.startswith("reply"):
        assert not recording.shows
        return
    async with client_of(RecordedServer(recording, size=1 << 20, times=100)) as client:
        with pytest.raises(ModelError) as failed:
            await client.ask()
    for words in recording.shows:
        assert words in failed.value.reason
    assert KEY not in f"{failed.value.reason} {failed.value.raw}"


def mode(request: dict[str, Any]) -> str:
    return str(request.get("response_format", {"type": "text"})["type"])
