"""One MCP server, kept connected: started, listed, listed again when it says so, started again when it ends.

A task of its own enters and leaves the connection: the library's cancel scopes belong to the task that opened them.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping

import anyio
import structlog
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.types import CONNECTION_CLOSED, Implementation, Tool, ToolListChangedNotification
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import JsonValue, ValidationError
from pydantic_core import to_json

from services.executor.mcp.config import ServerConfig
from services.executor.mcp.results import Outcome, clean, lost, outcome_of, refusal
from services.executor.mcp.specs import MOST, Offer, offer
from services.executor.mcp.transport import transport

START = 60.0  # seconds that a server may take for each word of its start: some are downloaded first
FIRST_DELAY, LONGEST_DELAY = 0.5, 60.0  # before it is started again
STEADY = 60.0  # seconds after which a connection counts as a good one, and the delay as forgotten
PAUSE = 0.2  # seconds between two lists: a server that cries change all the time is not asked all the time
PAGES = 50
LIST = 16 * 1024 * 1024  # bytes of JSON after which no further page is asked for
ENDED = "it ended; what it wrote on stderr is in the executor's log"

log = structlog.get_logger("executor.mcp")


class Server:
    """`offer` is its newest list of tools, kept while it is away; `trouble` tells why it is away, "" when it is not."""

    def __init__(self, config: ServerConfig, changed: Callable[[], None], *, message_bytes: int) -> None:
        self.config, self._changed, self._message_bytes = config, changed, message_bytes
        self.offer = Offer()
        self.trouble = "it is being started"
        self._client: Client | None = None
        self._over = anyio.Event()  # of the present connection
        self._broken = ""  # why we ended it
        self._list_changed = anyio.Event()
        self._babbled = False  # it writes what is none of the protocol's on its stdout; told once
        self._scope: anyio.CancelScope | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._scope = anyio.CancelScope()
        self._task = asyncio.create_task(self._keep(self._scope), name=f"MCP server {self.config.name}")

    async def stop(self) -> None:
        """Through the scope and not the task: so a child's end is waited for."""
        if self._scope and self._task:
            self._scope.cancel()
            await self._task

    async def call(self, tool: str, arguments: Mapping[str, JsonValue], *, limit: float) -> Outcome:
        """Never raises but for the caller's own cancellation. `limit` in seconds."""
        name, client = self.config.name, self._client
        if client is None or self._over.is_set():
            again = "It is started again by itself: try again later."
            return Outcome(False, error=f"The MCP server “{name}” is away ({self.trouble or ENDED}). {again}")
        try:
            with anyio.fail_after(limit):
                return outcome_of(await client.call_tool(tool, dict(arguments), read_timeout_seconds=limit))
        except MCPError as error:
            outcome = lost(name, self._broken) if self._broken else refusal(name, error)
        except TimeoutError:
            outcome = lost(name, f"nothing within {limit:g} s")
        except (RuntimeError, ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            outcome = lost(name, self._broken or _in_words(error))
        self._list_changed.set()  # does it still know us? Asked for its list, it says so, or we begin anew
        return outcome

    async def _keep(self, scope: anyio.CancelScope) -> None:
        delay = FIRST_DELAY
        with scope:
            while True:
                began = time.monotonic()
                reason = await self._connection()
                delay = FIRST_DELAY if time.monotonic() - began > STEADY else delay
                log.warning("mcp_server_away", server=self.config.name, reason=reason, again_in=delay)
                self._tell(reason)
                await anyio.sleep(delay)
                delay = min(delay * 2, LONGEST_DELAY)

    async def _connection(self) -> str:
        """One connection from its beginning to its end; why it ended."""
        self._over, self._broken, self._list_changed = anyio.Event(), "", anyio.Event()
        try:
            async with self._connected() as client, anyio.create_task_group() as tasks:
                tasks.start_soon(self._refresh, client)
                if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    tasks.start_soon(self._listen, client)
                await self._over.wait()
                tasks.cancel_scope.cancel()
        except Exception as error:  # whatever it is: this server is away, and the others and we go on
            return self._broken or _in_words(error)
        return self._broken or ENDED

    def _ended(self, reason: str) -> None:
        self._broken = self._broken or reason
        self._over.set()

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        """The server's tools are listed, and can be called until the block ends."""
        client = Client(
            transport(self.config, message_bytes=self._message_bytes, ended=self._ended),
            read_timeout_seconds=START,
            message_handler=self._heard,
            client_info=Implementation(name="parley", version="1"),
            cache=None,
        )
        async with client:
            await self._list(client)
            self._client = client
            log.info("mcp_server_ready", server=self.config.name, tools=len(self.offer.specs))
            self._tell("")
            try:
                yield client
            finally:
                self._client = None

    async def _refresh(self, client: Client) -> None:
        while True:
            await self._list_changed.wait()
            self._list_changed = anyio.Event()
            await self._list(client)
            self._tell("")
            await anyio.sleep(PAUSE)

    async def _listen(self, client: Client) -> None:
        """Newer servers tell of a new list only to those who listen; one that offers nothing to hear is fine, too."""
        with contextlib.suppress(MCPError, TimeoutError):
            while True:
                async with client.listen(tools_list_changed=True) as changes:
                    self._list_changed.set()  # until now nobody listened
                    async for _ in changes:
                        self._list_changed.set()
                await anyio.sleep(FIRST_DELAY)

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._list_changed.set()
        elif isinstance(message, Exception) and not self._babbled:
            self._babbled = True
            log.warning("mcp_server_babbles", server=self.config.name, said=str(message)[:300])

    async def _list(self, client: Client) -> None:
        tools: list[Tool] = []
        size = 0
        cursor: str | None = None
        for _ in range(PAGES if client.server_capabilities.tools else 0):
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            tools += page.tools
            cursor = page.next_cursor
            size += len(to_json(page.tools))
            if not cursor or len(tools) > MOST or size > LIST:
                break
        self.offer = offer(self.config, tools, self.offer.settled)

    def _tell(self, trouble: str) -> None:
        self.trouble = trouble
        self._changed()


def _in_words(error: BaseException) -> str:
    """The innermost reason, in one line; of a bundle the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SubscriptionLost) or (isinstance(error, MCPError) and error.code == CONNECTION_CLOSED):
        return ENDED
    first = next(iter(clean(str(error)).splitlines()), "")
    return f"{type(error).__name__}: {first}"[:300] if first else type(error).__name__
