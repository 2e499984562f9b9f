"""The embeddings client: its requests, and that no response can do harm."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from shared.llm import embeddings as module
from shared.llm.embeddings import Embeddings
from shared.settings import Settings


class Endpoint:
    """Gives the answers in order; the last one from then on."""

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


def listed(*vectors: Any) -> httpx2.Response:
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    body = {"object": "list", "model": "vectors", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return httpx2.Response(200, text=json.dumps(body), headers={"content-type": "application/json"})


async def test_a_vector_for_each_text_in_order() -> None:
    endpoint = Endpoint(listed([1.0, 0.5], [0.0, 2.0]))
    result = endpoint.client(openai_api_key="sk-1")
    assert await result.embed(["one", ""]) == [[1.0, 0.5], [0.0, 2.0]]
    request = endpoint.sent[0]
    assert (request.url.path, request.headers["authorization"]) == ("/v1/embeddings", "Bearer sk-1")
    assert json.loads(request.content) == {"model": "vectors", "input": ["one", " "], "encoding_format": "float"}
    await result.aclose()


@pytest.mark.parametrize("settings", [{"parley_embedding_model": ""}, {"openai_base_url": ""}], ids=["model", "url"])
async def test_it_is_off_where_nothing_is_configured(settings: dict[str, str]) -> None:
    endpoint = Endpoint(listed([1.0]))
    result = endpoint.client(**settings)
    assert (result.is_available, await result.embed(["one"])) == (False, None)
    assert endpoint.sent == []


async def test_no_texts_are_no_question() -> None:
    endpoint = Endpoint(listed([1.0]))
    assert await endpoint.client().embed([]) is None
    assert endpoint.sent == []


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_an_endpoint_that_has_none_is_asked_once(status: int) -> None:
    endpoint = Endpoint(httpx2.Response(status))
    result = endpoint.client()
    assert [await result.embed(["one"]) for _ in range(3)] == [None] * 3
    assert (len(endpoint.sent), result.is_available) == (1, False)


@pytest.mark.parametrize(
    "trouble",
    [
        httpx2.Response(500),
        httpx2.Response(429),
        httpx2.Response(401),
        httpx2.ConnectError("refused"),
        httpx2.Response(200, text="<html>"),
        listed(),
        listed([1.0], [1.0]),
        listed([]),
        listed([float("nan")]),
        listed(["one"]),
    ],
    ids=["500", "429", "401", "away", "page", "none", "too many", "empty", "nan", "words"],
)
async def test_other_trouble_is_none_for_now(trouble: httpx2.Response | Exception) -> None:
    endpoint = Endpoint(trouble, listed([1.0]))
    result = endpoint.client()
    assert await result.embed(["one"]) is None
    assert await result.embed(["one"]) == [[1.0]]


async def test_vectors_of_different_lengths_are_none() -> None:
    assert await Endpoint(listed([1.0], [1.0, 2.0])).client().embed(["one", "two"]) is None


async def test_an_endpoint_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(module, "EMBEDDING_TIMEOUT", 0.3)
    settings = Settings(openai_base_url="http://model.test/v1", parley_embedding_model="vectors")
    result = Embeddings(settings, httpx2.AsyncClient(transport=httpx2.MockTransport(hang)))
    assert await asyncio.wait_for(result.embed(["one"]), 5) is None
    assert result.is_available, "it may be well again later"
