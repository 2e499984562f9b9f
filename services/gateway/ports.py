"""What the gateway needs of the bus and of plan_store: the real ones fit, and so do the fakes of its tests."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

from parley.events.values import Artefact
from services.gateway.access.users import missing
from services.gateway.trouble import AWAY, HINTS, Trouble
from shared.log import ReplicatedLog, SessionAtPosition
from shared.retry import retry_while_unavailable
from shared.store import StoreRefused
from shared.store_api import Message, Verb

PATIENCE = 5.0  # seconds that a client waits for a log that does not answer
ELECTION = 12.0  # where the log has replicas: one that lost its leader needs 7 to 9 for another one
REFUSED = {
    "unknown": "not_found",
    "purged": "not_found",
    "busy": "not_now",
    "full": "not_now",
    "stale": "stale_version",
    "bad_request": "invalid",
}


class Subscription(Protocol):
    async def stop(self) -> None: ...


class Bus(Protocol):
    """See shared.bus.Bus."""

    @property
    def ready(self) -> bool: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None: ...
    async def keep(self, name: str, data: bytes) -> Artefact: ...
    async def fetch(self, name: str) -> bytes | None: ...
    async def redeem(self, ticket_id: str) -> bool: ...
    async def end_login(self, login_id: str) -> None: ...
    async def ended_logins(self) -> set[str]: ...
    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes: ...  # noqa: ASYNC109
    async def subscribe(self, subject: str, handler: Callable[[str, bytes], Awaitable[None]]) -> Subscription: ...


class Store(Protocol):
    """See shared.store.Store."""

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition: ...
    async def ask(self, verb: str, **arguments: Any) -> Any: ...


def _unmetered(_: int) -> AbstractContextManager[None]:
    return nullcontext()


class Core(NamedTuple):
    """Everything behind the gateway."""

    bus: Bus
    store: Store
    log: ReplicatedLog
    id_key: bytes = b""  # makes ids of sessions that nobody can foresee for another user's message
    storing: Callable[[int], AbstractContextManager[None]] = _unmetered  # around storing so many bytes for its user

    @property
    def patience(self) -> float:
        return ELECTION if self.log.clustered else PATIENCE

    async def patiently[T](self, read: Callable[[], Awaitable[T]]) -> T:
        """What `read` finds. A log with replicas is read again while they elect a leader; raises as `read` does."""
        return await (_through_an_election(read) if self.log.clustered else read())


@retry_while_unavailable(*AWAY, longest=1, patience=ELECTION)
async def _through_an_election[T](read: Callable[[], Awaitable[T]]) -> T:
    return await read()


async def query[Q: Message, A: Message](store: Store, verb: Verb[Q, A], request: Q) -> A:
    """One typed request to plan_store. Raises Trouble where it refuses, StoreDown where it does not answer."""
    try:
        answer = await store.ask(verb.name, **request.model_dump(mode="json"))
    except StoreRefused as refused:
        raise refusal(refused) from refused
    return verb.answer.model_validate(answer, extra="allow")  # a newer plan_store may say more


async def load(core: Core, session_id: str, *, version: int | None = None) -> SessionAtPosition:
    """The session as it is now (or was at `version`). Raises Trouble where plan_store refuses."""
    try:
        return await core.patiently(lambda: core.store.load(session_id, version=version))
    except StoreRefused as refused:
        raise (missing(session_id) if refused.code == "purged" else refusal(refused)) from refused


def refusal(refused: StoreRefused) -> Trouble:
    """plan_store's reason in the gateway's words."""
    known = refused.code not in ("behind", "failed")
    code = REFUSED.get(refused.code, refused.code) if known else "unavailable"
    return Trouble(code, str(refused), HINTS["upgrade_needed"] if code == "upgrade_needed" else "")
