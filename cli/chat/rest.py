"""What the chat asks the gateway besides the conversation: tools, previews, what waits, what is remembered."""

from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from shared.protocol.server import ActionView
from shared.store_api import LibraryPage, MemoryPage, SessionPage
from shared.tools import Preview, ToolPage

BEST = 5  # tools that are shown for some words
PATIENCE = 12.0  # seconds: a little longer than the gateway itself waits for the executor


class Unanswered(Exception):
    """There is no answer; the message says why."""


class Asks(Protocol):
    """See `Rest`."""

    async def tools(self, words: str) -> ToolPage: ...
    async def inbox(self) -> SessionPage: ...
    async def memories(self, words: str) -> MemoryPage: ...
    async def library(self, words: str) -> LibraryPage: ...
    async def preview(self, session_id: str, action: ActionView) -> Preview: ...


class Rest:
    """The gateway of this WebSocket, over HTTP. Every method raises Unanswered."""

    def __init__(self, url: str, token: str = "") -> None:
        place = urlsplit(url)
        scheme = "https" if place.scheme == "wss" else "http"
        self._base = f"{scheme}://{place.netloc}{place.path.removesuffix('/ws')}/api"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def tools(self, words: str) -> ToolPage:
        return await self._get("/tools", ToolPage, q=words, **({"limit": BEST} if words else {}))

    async def inbox(self) -> SessionPage:
        return await self._get("/inbox", SessionPage)

    async def memories(self, words: str) -> MemoryPage:
        return await self._get("/memories", MemoryPage, q=words)

    async def library(self, words: str) -> LibraryPage:
        return await self._get("/library", LibraryPage, q=words)

    async def preview(self, session_id: str, action: ActionView) -> Preview:
        """What an action that waits would change if it ran now."""
        return await self._get(f"/sessions/{session_id}/actions/{quote(action.action_id, safe='')}/preview", Preview)

    async def _get[A: BaseModel](self, path: str, answer: type[A], **query: Any) -> A:
        try:
            async with httpx2.AsyncClient(headers=self._headers, timeout=PATIENCE) as http:
                got = await http.get(f"{self._base}{path}", params=query)
        except (httpx2.HTTPError, OSError) as error:
            raise Unanswered(f"The gateway does not answer: {error!r}") from error
        if got.status_code != httpx2.codes.OK:
            raise Unanswered(_why(got))
        try:
            return answer.model_validate_json(got.content)
        except ValidationError as strange:
            raise Unanswered("The gateway's answer cannot be read: is it of another version?") from strange


def _why(got: httpx2.Response) -> str:
    try:
        return str(got.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"The gateway answers with HTTP {got.status_code}."
