"""The client of plan_store: sessions as they are now, over NATS request and reply."""

import asyncio
import json
import time
from base64 import b64decode
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from shared.bus import Bus, BusDown, MessageTooLarge
from shared.domain.session import SESSION, Session
from shared.log import SessionAtPosition, UpgradeNeeded, require_readable
from shared.retry import retry_while_unavailable
from shared.telemetry import names, tracing

WITHOUT_NATS = 3.0  # seconds; while there is no connection at all, waiting longer tells nobody anything
FIRST_TRY = 2.0  # seconds for the first answer; twice as long for each further try


class StoreDown(Exception):
    """plan_store does not answer, or cannot reach its database or the log."""


class StoreRefused(Exception):
    """plan_store understood, and will not: `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Loads(Protocol):
    """What a worker needs of the store."""

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        """The session, its log read at least up to that position; with `version`, as it was then.

        A session that does not exist is `Loaded(Session(session_id), 0)`. Raises StoreDown, StoreRefused, and
        UpgradeNeeded where plan_store, or this release, cannot fold all of it.
        """
        ...


class Asks(Loads, Protocol):
    """What whoever has other questions needs of the store."""

    async def ask(self, verb: str, **arguments: Any) -> Any:
        """One request; its answer as JSON data. Raises StoreDown, StoreRefused."""
        ...


class _Answer(BaseModel):
    """To a load; a newer plan_store may say more. It is read in one go: a session is large."""

    model_config = ConfigDict(defer_build=True)

    session: Session
    position: int


class Store:
    """Requests to `plan_store.<entity>.<verb>`.

    For `wait` seconds a store that does not answer is asked again: one that is killed takes the requests it had in
    hand with it, and is back in a moment.
    """

    def __init__(self, bus: Bus, *, wait: float = 10) -> None:
        self._bus = bus
        self._wait = wait

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        wanted = {"session_id": session_id, "at_least": at_least, "version": version}
        try:
            return _loaded(await self._answer("session.load", **wanted))
        except StoreRefused as refused:
            if refused.code == "upgrade_needed":
                raise UpgradeNeeded(session_id) from refused
            if refused.code != "too_large":
                raise
            return await self._load_in_parts(wanted)

    async def _load_in_parts(self, wanted: dict[str, Any]) -> SessionAtPosition:
        """A session that is larger than a message. All parts are of the version that the first one is of."""
        first = part = await self.ask("session.part", **wanted)
        body = b64decode(first["data"])
        while len(body) < first["size"]:
            again = {"session_id": wanted["session_id"], "version": first["version"], "offset": len(body)}
            part = await self.ask("session.part", **again)
            if part["digest"] != first["digest"]:
                raise StoreDown("The session was written by two versions of the plan store.")
            body += b64decode(part["data"])
        session = json.loads(body)
        require_readable(session)
        return SessionAtPosition(SESSION.validate_python(session), int(first["position"]))

    async def ask(self, verb: str, **arguments: Any) -> Any:
        """One request; its answer as JSON data. Raises StoreDown, StoreRefused."""
        return _understood(await self._answer(verb, **arguments))

    async def _answer(self, verb: str, **arguments: Any) -> bytes:
        subject = f"plan_store.{verb}"
        attributes = {names.RPC: names.NATS, names.RPC_METHOD: subject}
        with tracing.within(subject, kind="client", attributes=attributes):
            return await self._reply(subject, json.dumps(arguments).encode())

    async def _reply(self, subject: str, request: bytes) -> bytes:
        began = time.monotonic()
        deadline = began + self._wait
        patience, pause = FIRST_TRY, 0.05
        while True:
            if not self._bus.ready:
                deadline = min(deadline, began + WITHOUT_NATS)
            left = deadline - time.monotonic()
            try:
                return await self._bus.request(subject, request, timeout=max(min(patience, left), 0.05))
            except MessageTooLarge as error:
                raise StoreRefused("too_large", f"{error} Ask for less.") from error
            except BusDown as error:
                if deadline - time.monotonic() <= pause:
                    raise StoreDown("The plan store does not answer.") from error
            await asyncio.sleep(pause)
            patience, pause = patience * 2, min(pause * 2, 0.5)


def _loaded(answer: bytes) -> SessionAtPosition:
    """Raises StoreDown, StoreRefused, UpgradeNeeded."""
    try:
        loaded = _Answer.model_validate_json(answer)
    except ValidationError:
        require_readable(_understood(answer)["session"])
        raise
    require_readable(vars(loaded.session))
    return SessionAtPosition(loaded.session, loaded.position)


def _understood(answer: bytes) -> Any:
    """As JSON data. Raises StoreDown, StoreRefused."""
    data = json.loads(answer)
    if isinstance(data, dict) and (refusal := data.get("error")):
        if str(refusal["code"]).endswith("_down"):
            raise StoreDown(refusal["message"])
        raise StoreRefused(refusal["code"], refusal["message"])
    return data


@retry_while_unavailable(StoreDown, longest=3)
async def load_when_available(store: Loads, session_id: str, *, at_least: int) -> SessionAtPosition:
    """Load, for as long as it takes: the caller's message is kept alive by heartbeats meanwhile."""
    return await store.load(session_id, at_least=at_least)
