"""The gateway's bus, log and plan_store: interfaces, for the real ones and the tests' fakes, and requests to them."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from typing import NamedTuple, Protocol

from pydantic import ValidationError

from parley.events.values import Artefact, FileRef
from parley.protocol.server import Delta
from services.gateway.access.users import session_not_found
from services.gateway.api_errors import HINTS, UNAVAILABLE, ApiError
from shared.bus import Subscription
from shared.bus.errors import BusUnavailable, MessageTooLarge
from shared.domain.kernel.session import Session
from shared.domain.turn.files import object_name
from shared.log import (
    ReplicatedLog,
    SessionAtPosition,
)
from shared.retry import retry_while_unavailable
from shared.store import StoreReader, StoreRefused
from shared.store_api import StoreMessage, Verb

LOG_TIMEOUT = 5.0  # seconds that a client waits for a log that does not answer
ELECTION_TIMEOUT = 12.0  # seconds; a replicated log takes 7 to 9 to elect a new leader
DRAFT_WAIT = 0.15  # seconds that a snapshot waits for the current draft
ERROR_CODES = {
    "unknown": "not_found",
    "purged": "not_found",
    "busy": "not_now",
    "full": "not_now",
    "stale": "stale_version",
    "bad_request": "invalid",
}


class GatewayBus(Protocol):
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


def _unmetered(_: int) -> AbstractContextManager[None]:
    return nullcontext()


class Core(NamedTuple):
    """The backends of the gateway."""

    bus: GatewayBus
    store: StoreReader
    log: ReplicatedLog
    id_key: bytes = b""  # HMAC key of session ids, so that a user cannot predict another user's
    storing: Callable[[int], AbstractContextManager[None]] = (
        _unmetered  # wraps the storing of so many bytes for the user
    )

    @property
    def log_timeout(self) -> float:
        return ELECTION_TIMEOUT if self.log.clustered else LOG_TIMEOUT

    async def read_through_election[T](self, read: Callable[[], Awaitable[T]]) -> T:
        """The result of `read`, which is retried while a replicated log elects a leader. Raises as `read` does."""
        return await (_through_an_election(read) if self.log.clustered else read())


@retry_while_unavailable(*UNAVAILABLE, longest=1, timeout=ELECTION_TIMEOUT)
async def _through_an_election[T](read: Callable[[], Awaitable[T]]) -> T:
    return await read()


async def query[Q: StoreMessage, A: StoreMessage](store: StoreReader, verb: Verb[Q, A], request: Q) -> A:
    """Send one typed request to plan_store. Raises ApiError if it refuses, StoreUnavailable if it does not answer."""
    try:
        answer = await store.ask(verb.name, **request.model_dump(mode="json"))
    except StoreRefused as refused:
        raise store_error(refused) from refused
    return verb.answer.model_validate(answer, extra="allow")  # a newer plan_store may send more fields


async def load(core: Core, session_id: str, *, version: int | None = None) -> SessionAtPosition:
    """The session as it is now, or was at `version`. Raises ApiError if plan_store refuses."""
    try:
        return await core.read_through_election(lambda: core.store.load(session_id, version=version))
    except StoreRefused as refused:
        raise (session_not_found(session_id) if refused.code == "purged" else store_error(refused)) from refused


async def request_draft(core: Core, session_id: str, *, seconds: float = DRAFT_WAIT) -> Delta | None:
    """The draft that a service is writing for this session; None if none answers within these seconds."""
    try:
        return Delta.model_validate_json(await core.bus.request(f"draft.get.{session_id}", b"", timeout=seconds))
    except (BusUnavailable, MessageTooLarge, ValidationError):
        return None


def store_error(refused: StoreRefused) -> ApiError:
    """A refusal by plan_store as an ApiError."""
    is_refusal = refused.code not in ("behind", "failed")
    code = ERROR_CODES.get(refused.code, refused.code) if is_refusal else "unavailable"
    return ApiError(code, str(refused), HINTS["upgrade_needed"] if code == "upgrade_needed" else "")


async def file_bytes(session: Session, name: str, core: Core) -> bytes:
    """The file's content. Raises ApiError(not_found), BusUnavailable."""
    ref = session.files.get(name)
    data = await _fetch_verified(session.id, ref, core) if ref else None
    if data is None:
        raise ApiError("not_found", f"The session has no file {name[:200]}.")
    return data


async def copy_files(parent: Session, fork_id: str, core: Core) -> None:
    """Copy the parent's files to the fork, so that they survive a purge of the parent.

    Copying again is cheap. Raises ApiError, BusUnavailable.
    """
    refs = {ref.sha256: ref for ref in parent.files.values()}
    with core.storing(sum(ref.size for ref in refs.values())):
        for ref in refs.values():
            data = await _fetch_verified(parent.id, ref, core)
            if data is None:
                raise ApiError("not_found", "The session's files are no longer there: it cannot be forked with them.")
            await core.bus.keep(object_name(fork_id, ref), data)


async def _fetch_verified(session_id: str, ref: FileRef, core: Core) -> bytes | None:
    """The stored bytes; None if they are missing or their hash differs from the log's."""
    data = await core.bus.fetch(object_name(session_id, ref))
    return data if data is not None and sha256(data).hexdigest() == ref.sha256 else None
