"""Large answers over REST: sent no faster than the client reads them, and counted as long as it has not."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.access.quota import MESSAGE_BYTES, Quota
from services.gateway.rest import refusals
from services.gateway.trouble import Trouble


class Answers:
    """Around the application. The server waits for a slow client before it takes the next part of an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                await answer.start(message, scope, receive)
            else:
                await answer.go_on(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            answer.overflow()


class _Answer:
    """One answer; a quota's Buffer, where it is large and its user is known."""

    def __init__(self, send: Send) -> None:
        self.size = 0
        self._send = send
        self._quota: Quota | None = None
        self._dropped = False

    async def start(self, message: Message, scope: Scope, receive: Receive) -> None:
        size = int(Headers(raw=message["headers"]).get("content-length", 0))
        quota: Quota | None = scope.get("state", {}).get("quota")
        if quota is None:
            await self._send(message)
            return
        quota.answered(size)
        try:
            if size > MESSAGE_BYTES:
                quota.may_hold(size)
                self.size, self._quota = size, quota
                quota.hold(self, size)
        except Trouble as trouble:
            self._dropped = True
            await refusals.answer(trouble)(scope, receive, self._send)
        else:
            await self._send(message)

    async def go_on(self, message: Message) -> None:
        body, more = message.get("body", b""), message.get("more_body", False)
        for start in range(0, len(body) - MESSAGE_BYTES, MESSAGE_BYTES):
            if not self._dropped:
                part = body[start : start + MESSAGE_BYTES]
                await self._send({"type": "http.response.body", "body": part, "more_body": True})
        last = (len(body) - 1) // MESSAGE_BYTES * MESSAGE_BYTES if body else 0
        if not self._dropped:
            await self._send({"type": "http.response.body", "body": body[last:], "more_body": more})

    def overflow(self) -> None:
        """Send no more of it, and count it no longer."""
        self._dropped = True
        size, self.size = self.size, 0
        if self._quota:
            self._quota.release(self, size)
