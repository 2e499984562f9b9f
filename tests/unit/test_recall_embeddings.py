"""The embeddings client: its requests, and that a bad response gives no vectors and no exception."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from shared.llm import embeddings as module
from shared.llm.embeddings import Embeddings
from shared.settings import Settings
from tests.support.timeouts import WAIT_TIMEOUT


class Endpoint:
    """An endpoint that gives the answers in order, and then repeats the last one."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self.answers = list(answers)
        self.sent: list[httpx2.Request] = []

    def respond(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, **settings: Any) -> Embeddings:
        expected = {"openai_base_url": "http://model.test/v1", "parley_embedding_model": "vectors"} | settings
        return Embeddings(Settings(**expected), httpx2.AsyncClient(transport=httpx2.MockTransport(self.respond)))


def vector_list(*vectors: Any) -> httpx2.Response:
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    body = {"object": "list", "model": "vectors", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return httpx2.Response(200, text=json.dumps(body), headers={"content-type": "application/json"})


async def test_a_vector_for_each_text_in_order() -> None:
    endpoint = Endpoint(vector_list([1.0, 0.5], [0.0, 2.0]))
    client = endpoint.client(openai_api_key="sk-1")
    assert await client.embed(["one", ""]) == [[1.0, 0.5], [0.0, 2.0]]
    request = endpoint.sent[0]
    assert (request.url.path, request.headers["authorization"]) == ("/v1/embeddings", "Bearer sk-1")
    assert json.loads(request.content) == {"model": "vectors", "input": ["one", " "], "encoding_format": "float"}
    await client.aclose()


@pytest.mark.parametrize("settings", [{"parley_embedding_model": ""}, {"openai_base_url": ""}], ids=["model", "url"])
async def test_without_a_model_or_url_there_are_no_requests(settings: dict[str, str]) -> None:
    endpoint = Endpoint(vector_list([1.0]))
    client = endpoint.client(**settings)
    assert (client.is_available, await client.embed(["one"])) == (False, None)
    assert endpoint.sent == []


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_an_endpoint_without_embeddings_gets_only_one_request(status: int) -> None:
    endpoint = Endpoint(httpx2.Response(status))
    client = endpoint.client()
    assert [await client.embed(["one"]) for _ in range(3)] == [None] * 3
    assert (len(endpoint.sent), client.is_available) == (1, False)


@pytest.mark.parametrize(
    "failure",
    [
        httpx2.Response(500),
        httpx2.Response(429),
        httpx2.Response(401),
        httpx2.ConnectError("refused"),
        httpx2.Response(200, text="<html>"),
        vector_list(),
        vector_list([1.0], [1.0]),
        vector_list([]),
        vector_list([float("nan")]),
        vector_list(["one"]),
    ],
    ids=["500", "429", "401", "unreachable", "page", "none", "too many", "empty", "nan", "words"],
)
async def test_after_another_failure_the_next_request_is_tried(failure: httpx2.Response | Exception) -> None:
    endpoint = Endpoint(failure, vector_list([1.0]))
    client = endpoint.client()
    assert await client.embed(["one"]) is None
    assert await client.embed(["one"]) == [[1.0]]


async def test_a_hanging_endpoint_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(module, "EMBEDDING_TIMEOUT", 0.3)
    settings = Settings(openai_base_url="http://model.test/v1", parley_embedding_model="vectors")
    client = Embeddings(settings, httpx2.AsyncClient(transport=httpx2.MockTransport(hang)))
    assert await asyncio.wait_for(client.embed(["one"]), WAIT_TIMEOUT) is None
    assert client.is_available, "a later request is tried"
