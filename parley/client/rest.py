"""One gateway over HTTP. Requests are repeated while it is away."""

import asyncio
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import httpx2
from pydantic import BaseModel, ValidationError

from parley.client.endpoint import TRANSIENT, Backoff, Endpoint, retry_after, unanswered, unreachable
from parley.client.errors import NotAllowed, ParleyDown, Refused

TIMEOUT = 30.0  # seconds for one answer


class Rest:
    """`patience`: for how many seconds a gateway that is away is tried again before ParleyDown is raised."""

    def __init__(self, endpoint: Endpoint, *, patience: float) -> None:
        self._endpoint, self._patience = endpoint, patience

    @cached_property
    def _http(self) -> httpx2.AsyncClient:
        """Made with the first request: loading certificates takes a while."""
        to = self._endpoint
        return httpx2.AsyncClient(base_url=to.url, headers=to.headers, timeout=TIMEOUT, trust_env=not to.is_local)

    async def close(self) -> None:
        if "_http" in self.__dict__:
            await self._http.aclose()

    async def get[M: BaseModel](self, kind: type[M], path: str, **params: Any) -> M:
        """The answer as this model. Raises ParleyError."""
        answer = await self.ask("GET", path, params=params)
        try:
            return kind.model_validate(answer)
        except ValidationError as error:
            words = f"The Parley at {self._endpoint.url} gave an answer that cannot be read."
            raise NotAllowed(words, "Is it of another version?", code="not_parley") from error

    async def ask(self, method: str, path: str, *, body: object = None, params: Mapping[str, Any] | None = None) -> Any:
        """The answer's JSON. The request must be idempotent: it may be sent twice. Raises ParleyError."""
        answer = await self._answer(method, path, body=body, params=params)
        try:
            return answer.json()
        except ValueError:
            url = self._endpoint.url
            raise NotAllowed(f"What answers at {url} is no Parley: it sent no JSON.", code="not_parley") from None

    async def text(self, path: str, **params: Any) -> str:
        """The answer as text. Raises ParleyError."""
        return (await self._answer("GET", path, body=None, params=params)).text

    async def _answer(
        self, method: str, path: str, *, body: object, params: Mapping[str, Any] | None
    ) -> httpx2.Response:
        backoff = Backoff(self._patience)
        while True:
            try:
                return self._accepted(await self._http.request(method, path, json=body, params=params))
            except httpx2.TransportError as error:
                pause = backoff.next(unreachable(self._endpoint.url, error))
            except ParleyDown as error:
                pause = backoff.next(error)
            await asyncio.sleep(pause)

    def _accepted(self, answer: httpx2.Response) -> httpx2.Response:
        url = self._endpoint.url
        if answer.is_success:
            return answer
        try:
            problem = answer.json()
            code, message, hint = problem["code"], problem["message"], problem.get("hint", "")
        except (ValueError, KeyError, TypeError):
            raise unanswered(url, answer.status_code, answer.headers) from None
        if code in TRANSIENT:
            raise ParleyDown(message, hint, code=code, retry_after=retry_after(answer.headers))
        if code == "unauthorized":
            raise unanswered(url, answer.status_code, answer.headers)
        raise Refused(code, message, hint)


def plain(value: Any) -> Any:
    """A pydantic value as JSON that carries only what was set."""
    return json.loads(value.model_dump_json(exclude_unset=True, by_alias=True))
