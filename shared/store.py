"""The client of plan_store, over NATS request and reply."""

import asyncio
import json
import time
from base64 import b64decode
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from shared.bus import Bus, BusUnavailable, MessageTooLarge
from shared.domain.kernel.session import SESSION, Session
from shared.log import SessionAtPosition, UpgradeNeeded, require_readable
from shared.retry import retry_while_unavailable
from shared.telemetry import tracing
from shared.unavailable import Unavailable

NO_CONNECTION_TIMEOUT = 3.0  # seconds; without a connection a longer wait is pointless
FIRST_TIMEOUT = 2.0  # seconds for the first reply; doubled for each retry


class StoreUnavailable(Unavailable):
    """plan_store does not reply, or cannot reach its database or the log."""


class StoreRefused(Exception):
    """plan_store refuses the request; `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SessionLoader(Protocol):
    """Loads sessions: all that a worker needs of the store."""

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        """The session, read at least up to position `at_least`, or as it was at `version`.

        A session that does not exist is `SessionAtPosition(Session(session_id), 0)`. Raises StoreUnavailable,
        StoreRefused, and UpgradeNeeded if plan_store or this release cannot fold all of it.
        """
        ...


class StoreReader(SessionLoader, Protocol):
    """Sends any request to the store."""

    async def ask(self, verb: str, **arguments: Any) -> Any:
        """One request; its answer as JSON data. Raises StoreUnavailable, StoreRefused."""
        ...


class _LoadReply(BaseModel):
    """The reply to a load; a newer plan_store may add fields. Parsed in one pass, because sessions are large."""

    model_config = ConfigDict(defer_build=True)

    session: Session
    position: int


class PlanStoreClient:
    """Requests to `plan_store.<entity>.<verb>`.

    Retries for `wait` seconds: a store that is killed loses its pending requests and restarts in a moment.
    """

    def __init__(self, bus: Bus, *, wait: float = 10) -> None:
        self._bus = bus
        self._wait = wait

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        request = {"session_id": session_id, "at_least": at_least, "version": version}
        try:
            return _parse_load_reply(await self._answer("session.load", **request))
        except StoreRefused as refused:
            if refused.code == "upgrade_needed":
                raise UpgradeNeeded(session_id) from refused
            if refused.code != "too_large":
                raise
            return await self._load_in_parts(request)

    async def _load_in_parts(self, request: dict[str, Any]) -> SessionAtPosition:
        """Loads a session that is larger than a message, in parts of one version."""
        first = part = await self.ask("session.part", **request)
        body = b64decode(first["data"])
        while len(body) < first["size"]:
            next_part = {"session_id": request["session_id"], "version": first["version"], "offset": len(body)}
            part = await self.ask("session.part", **next_part)
            if part["digest"] != first["digest"]:
                raise StoreUnavailable("The session was written by two versions of the plan store.")
            body += b64decode(part["data"])
        session = json.loads(body)
        require_readable(session)
        return SessionAtPosition(SESSION.validate_python(session), int(first["position"]))

    async def ask(self, verb: str, **arguments: Any) -> Any:
        """One request; its answer as JSON data. Raises StoreUnavailable, StoreRefused."""
        return _parse_reply(await self._answer(verb, **arguments))

    async def _answer(self, verb: str, **arguments: Any) -> bytes:
        subject = f"plan_store.{verb}"
        attributes = {tracing.RPC: tracing.NATS, tracing.RPC_METHOD: subject}
        with tracing.child_span(subject, kind="client", attributes=attributes):
            return await self._reply(subject, json.dumps(arguments).encode())

    async def _reply(self, subject: str, request: bytes) -> bytes:
        started = time.monotonic()
        deadline = started + self._wait
        timeout, pause = FIRST_TIMEOUT, 0.05
        while True:
            if not self._bus.ready:
                deadline = min(deadline, started + NO_CONNECTION_TIMEOUT)
            remaining = deadline - time.monotonic()
            try:
                return await self._bus.request(subject, request, timeout=max(min(timeout, remaining), 0.05))
            except MessageTooLarge as error:
                raise StoreRefused("too_large", f"{error} Ask for less.") from error
            except BusUnavailable as error:
                if deadline - time.monotonic() <= pause:
                    raise StoreUnavailable("The plan store does not answer.") from error
            await asyncio.sleep(pause)
            timeout, pause = timeout * 2, min(pause * 2, 0.5)


def _parse_load_reply(answer: bytes) -> SessionAtPosition:
    """Raises StoreUnavailable, StoreRefused, UpgradeNeeded."""
    try:
        loaded = _LoadReply.model_validate_json(answer)
    except ValidationError:
        require_readable(_parse_reply(answer)["session"])
        raise
    require_readable(vars(loaded.session))
    return SessionAtPosition(loaded.session, loaded.position)


def _parse_reply(answer: bytes) -> Any:
    """The reply as JSON data. Raises StoreUnavailable, StoreRefused."""
    data = json.loads(answer)
    if isinstance(data, dict) and (error := data.get("error")):
        if str(error["code"]).endswith("_down"):
            raise StoreUnavailable(error["message"])
        raise StoreRefused(error["code"], error["message"])
    return data


@retry_while_unavailable(StoreUnavailable, longest=3)
async def load_when_available(store: SessionLoader, session_id: str, *, at_least: int) -> SessionAtPosition:
    """Loads the session, retrying until the store is available. The caller's heartbeats keep its message alive."""
    return await store.load(session_id, at_least=at_least)
