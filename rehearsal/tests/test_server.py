"""The rehearsal model over HTTP, on a real socket."""

import asyncio
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from openai import AsyncOpenAI, NotFoundError
from openai.types.chat import ChatCompletionChunk

from rehearsal.app import build
from rehearsal.tests.contract import section
from rehearsal.tests.flow_fixtures import PAGE

SYSTEM = "Role: planner\nTask: text_plan\nYou plan for Parley."
USER = section("request", "Help me create a simple calculator, please")
MESSAGES: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]


@asynccontextmanager
async def serving(ledger: Path | None = None) -> AsyncIterator[str]:
    """The server on a free local port."""
    config = uvicorn.Config(
        build(pace=0, ledger=ledger), log_config=None, access_log=False, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:  # queues connections until the server is up
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with serving() as url, httpx2.AsyncClient(base_url=url, timeout=60) as client:
        yield client


@pytest.fixture
async def openai(http: httpx2.AsyncClient) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{http.base_url}/v1", api_key="none", max_retries=0) as client:
        yield client


async def complete(http: httpx2.AsyncClient, **fields: Any) -> httpx2.Response:
    return await http.post("/v1/chat/completions", json={"model": "rehearsal", "messages": MESSAGES} | fields)


async def outcomes(http: httpx2.AsyncClient) -> list[str]:
    return [call["outcome"] for call in (await http.get("/calls")).json()]


async def test_the_server_says_that_it_is_no_language_model(http: httpx2.AsyncClient, openai: AsyncOpenAI) -> None:
    assert (await http.get("/healthz")).json() == {"status": "ok"}
    [model] = (await openai.models.list()).data
    assert (model.id, model.owned_by) == ("rehearsal", "parley")
    assert "no language model" in str(model.model_dump()["description"])


async def test_a_request_for_embeddings_is_refused_with_the_setting_to_use(openai: AsyncOpenAI) -> None:
    with pytest.raises(NotFoundError, match="no embeddings: set PARLEY_EMBEDDING_MODEL"):
        await openai.embeddings.create(model="rehearsal", input="a calculator")


async def test_a_streamed_reply_equals_a_whole_one(openai: AsyncOpenAI) -> None:
    shape: Any = {"type": "json_object"}
    whole = await openai.chat.completions.create(model="rehearsal", messages=MESSAGES, response_format=shape)
    stream = await openai.chat.completions.create(
        model="rehearsal", messages=MESSAGES, response_format=shape, stream=True, stream_options={"include_usage": True}
    )
    chunks: list[ChatCompletionChunk] = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert json.loads(text)["reply"]["goal"] == "Write a simple calculator in Python."
    assert 3 < len(chunks) <= 44
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage
    assert whole.usage
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens == -(-len(text) // 4)


async def test_tokens_are_counted_by_the_documented_rule(http: httpx2.AsyncClient) -> None:
    first = (await complete(http)).json()["usage"]
    assert first["prompt_tokens"] == -(-len(SYSTEM) // 4) + -(-len(USER) // 4)
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    again = (await complete(http)).json()["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert again == first["prompt_tokens"] // 16 * 16
    longer = [*MESSAGES[:1], {"role": "user", "content": "é" * 100}]
    usage = (await complete(http, messages=longer)).json()["usage"]
    assert usage["prompt_tokens"] == -(-len(SYSTEM) // 4) + 50
    assert usage["prompt_tokens_details"]["cached_tokens"] == -(-(len(SYSTEM) + 1) // 4) // 16 * 16


async def test_without_a_response_format_the_json_is_in_prose(http: httpx2.AsyncClient) -> None:
    text = (await complete(http)).json()["choices"][0]["message"]["content"]
    assert text.startswith("Here is")
    assert "```json\n{" in text


async def test_multi_part_messages_and_unknown_prompts(http: httpx2.AsyncClient) -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "Who are you?"}, {"type": "image_url"}]}]
    assert "no language model" in (await complete(http, messages=parts)).text


@pytest.mark.parametrize("body", [{"messages": []}, {"messages": "hi"}, {"model": "rehearsal?fault=unheard-of"}])
async def test_bad_requests_are_refused(http: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    assert (await complete(http, **body)).status_code in (400, 422)


async def test_a_fault_in_the_model_name_occurs_as_often_as_it_says(http: httpx2.AsyncClient) -> None:
    model = "rehearsal?fault=429&times=2"
    answers = [await complete(http, model=model) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [429, 429, 200]
    assert float(answers[0].headers["retry-after"]) > 0
    assert await outcomes(http) == ["429", "429", "ok"]


async def test_faults_set_over_http_apply_to_their_task_and_to_any_model(http: httpx2.AsyncClient) -> None:
    assert (await http.post("/faults", json={"fault": "cat"})).status_code == 422
    await http.post("/faults", json={"task": "code", "fault": "500"})
    await http.post("/faults", json={"task": "text_plan", "fault": "html", "times": 1})
    first, second = await complete(http, model="any"), await complete(http, model="any")
    assert first.headers["content-type"].startswith("text/html")
    assert second.status_code == 200
    code = [{"role": "system", "content": "Role: generator\nTask: code"}, MESSAGES[1]]
    assert (await complete(http, messages=code)).status_code == 500
    assert (await http.delete("/faults")).status_code == 204
    assert (await complete(http, messages=code)).status_code == 200
    calls = (await http.get("/calls")).json()
    assert [(call["role"], call["task"]) for call in calls[-2:]] == [("generator", "code")] * 2
    assert calls == sorted(calls, key=lambda call: call["at"])


async def test_the_ledger_has_every_request_with_its_outcome(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    for fault in (None, "500"):  # the server starts once for each
        async with serving(ledger) as url, httpx2.AsyncClient(base_url=url, timeout=60) as http:
            if fault:
                await http.post("/faults", json={"fault": fault})
            reply = await complete(http)
            used = reply.json().get("usage", {})
            calls = (await http.get("/calls")).json()
        lines = [json.loads(line) for line in ledger.read_text().splitlines()]
        assert calls == [lines[-1]]
        tokens = (lines[-1]["prompt_tokens"], lines[-1]["completion_tokens"])
        assert tokens == (used.get("prompt_tokens"), used.get("completion_tokens"))
        assert lines[-1]["outcome"] == (fault or "ok")
    assert len({line["id"] for line in lines}) == 2


async def test_the_nonsense_fault_affects_only_paths(http: httpx2.AsyncClient) -> None:
    await http.post("/faults", json={"fault": "nonsense"})
    flows = "\n".join(map(json.dumps, PAGE))
    user = f"{section('request', 'How many users are there?')}\n\n{section('flows', flows)}"
    messages = [{"role": "system", "content": "Role: planner\nTask: path"}, {"role": "user", "content": user}]

    async def nodes() -> Any:
        body = (await complete(http, messages=messages, response_format={"type": "json_object"})).json()
        reply = json.loads(body["choices"][0]["message"]["content"])
        return reply["reply"]["paths"][0]["nodes"] if "reply" in reply else reply["message"]

    nonsense = [await nodes() for _ in range(4)]
    assert "calculator" in (await complete(http)).text
    await http.delete("/faults")
    usual_nodes = await nodes()
    assert usual_nodes[0] == "classify_prompt"
    assert usual_nodes not in nonsense


async def test_a_client_that_leaves_during_a_stream_is_recorded(http: httpx2.AsyncClient) -> None:
    body = {"model": "rehearsal?token_delay=30", "messages": MESSAGES, "stream": True}
    async with http.stream("POST", "/v1/chat/completions", json=body) as response:
        await anext(response.aiter_lines())
        assert await outcomes(http) == ["running"]
    async with asyncio.timeout(150):
        while await outcomes(http) == ["running"]:
            pass  # the server notices the closed connection in its own time
    assert await outcomes(http) == ["cancelled"]


@pytest.mark.parametrize(
    ("model", "outcome"), [("rehearsal?latency=60", "cancelled"), ("rehearsal?fault=timeout", "timeout")]
)
async def test_a_client_that_leaves_before_the_reply_is_recorded(
    http: httpx2.AsyncClient, model: str, outcome: str
) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        await http.post("/v1/chat/completions", json={"model": model, "messages": MESSAGES}, timeout=0.2)
    async with asyncio.timeout(150):
        while await outcomes(http) == ["running"]:
            pass  # the server notices the closed connection in its own time
    assert await outcomes(http) == [outcome]


async def test_the_process_serves_and_ends_at_sigterm() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rehearsal.app"),
        env={"REHEARSAL_PORT": str(port), "PATH": "/usr/bin:/bin"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr
        async with asyncio.timeout(150):
            while b"running on" not in (line := await process.stderr.readline()):
                assert line, "the server ended before it was ready"
        async with httpx2.AsyncClient(timeout=60) as client:
            assert (await client.get(f"http://127.0.0.1:{port}/healthz")).status_code == 200
        process.send_signal(signal.SIGTERM)
        output, _ = await asyncio.wait_for(process.communicate(), 150)
        assert output == b""
        assert process.returncode in (0, -signal.SIGTERM)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
