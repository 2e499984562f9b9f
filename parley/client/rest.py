"""REST requests to one gateway, repeated while it is unavailable."""

import asyncio
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import httpx2
from pydantic import BaseModel, ValidationError

from parley.client.endpoint import TRANSIENT, Backoff, Endpoint, retry_after, status_error, unreachable_error
from parley.client.errors import NotAllowed, ParleyUnavailable, RequestRefused

REQUEST_TIMEOUT = 30.0  # seconds


class Rest:
    """REST requests. While the gateway is unavailable they are repeated for `timeout` seconds."""

    def __init__(self, endpoint: Endpoint, *, timeout: float) -> None:
        self._endpoint, self._timeout = endpoint, timeout

    @cached_property
    def _http(self) -> httpx2.AsyncClient:
        """Created on first use: loading certificates takes a while."""
        to = self._endpoint
        return httpx2.AsyncClient(
            base_url=to.url, headers=to.headers, timeout=REQUEST_TIMEOUT, trust_env=not to.is_local
        )

    async def close(self) -> None:
        if "_http" in self.__dict__:
            await self._http.aclose()

    async def get[M: BaseModel](self, kind: type[M], path: str, **params: Any) -> M:
        """The response as this model. Raises ParleyError."""
        return self._read(kind, await self.ask("GET", path, params=params))

    async def send[M: BaseModel](self, kind: type[M], method: str, path: str, body: object = None) -> M:
        """The response to this body as this model. Raises ParleyError."""
        return self._read(kind, await self.ask(method, path, body=body))

    def _read[M: BaseModel](self, kind: type[M], answer: object) -> M:
        try:
            return kind.model_validate(answer)
        except ValidationError as error:
            words = f"The Parley at {self._endpoint.url} gave an answer that cannot be read."
            raise NotAllowed(words, "Is it of another version?", code="not_parley") from error

    async def ask(self, method: str, path: str, *, body: object = None, params: Mapping[str, Any] | None = None) -> Any:
        """The response's JSON. The request must be idempotent: it may be sent twice. Raises ParleyError."""
        answer = await self._answer(method, path, body=body, params=params)
        try:
            return answer.json()
        except ValueError:
            url = self._endpoint.url
            raise NotAllowed(f"What answers at {url} is not a Parley: it sent no JSON.", code="not_parley") from None

    async def text(self, path: str, **params: Any) -> str:
        """The response as text. Raises ParleyError."""
        return (await self._answer("GET", path, body=None, params=params)).text

    async def _answer(
        self, method: str, path: str, *, body: object, params: Mapping[str, Any] | None
    ) -> httpx2.Response:
        backoff = Backoff(self._timeout)
        while True:
            try:
                return self._check_status(await self._http.request(method, path, json=body, params=params))
            except httpx2.TransportError as error:
                pause = backoff.next(unreachable_error(self._endpoint.url, error))
            except ParleyUnavailable as error:
                pause = backoff.next(error)
            await asyncio.sleep(pause)

    def _check_status(self, answer: httpx2.Response) -> httpx2.Response:
        url = self._endpoint.url
        if answer.is_success:
            return answer
        try:
            problem = answer.json()
            code, message, hint = problem["code"], problem["message"], problem.get("hint", "")
        except (ValueError, KeyError, TypeError):
            raise status_error(url, answer.status_code, answer.headers) from None
        if code in TRANSIENT:
            raise ParleyUnavailable(message, hint, code=code, retry_after=retry_after(answer.headers))
        if code == "unauthorized":
            raise status_error(url, answer.status_code, answer.headers)
        raise RequestRefused(code, message, hint)


def to_json(value: Any) -> Any:
    """A pydantic value as JSON data, with only the fields that were set."""
    return json.loads(value.model_dump_json(exclude_unset=True, by_alias=True))
