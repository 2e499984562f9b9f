"""Keeps one MCP server connected: starts it, lists its tools, refreshes the list on notice, and restarts it.

One task opens and closes the connection, because the library's cancel scopes belong to the task that opened them.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

import anyio
import structlog
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.types import CONNECTION_CLOSED, Implementation, ToolListChangedNotification
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import JsonValue, ValidationError
from pydantic_core import to_json

from parley.protocol.tools import ToolSpec
from services.executor.mcp.config import McpServerConfig
from services.executor.mcp.raw_results import raw_result
from services.executor.mcp.results import McpOutcome, lost_outcome, outcome_of, quoted, refused_outcome
from services.executor.mcp.specs import MAX_TOOLS, ServerOffer, build_offer
from services.executor.mcp.transport import open_transport
from shared.logging import conceal, excerpt_of

START_TIMEOUT = 60.0  # seconds for each reply during start: some servers are downloaded first
FIRST_DELAY, LONGEST_DELAY = 0.5, 60.0  # seconds before a restart
STEADY_AFTER = 60.0  # seconds after which a connection counts as stable, and the delay is reset
LIST_INTERVAL = 0.2  # seconds between two refreshes, however often the server announces changes
MAX_PAGES = 50
MAX_LIST = 16 * 1024 * 1024  # bytes of JSON after which no further page is requested
ENDED = "it ended; what it wrote on stderr is in the executor's log"

log = structlog.get_logger("executor.mcp")
MESSAGE_BYTES = 32 * 1024 * 1024


class Server:
    """One server. `offer` is its latest list of tools, kept while it is disconnected.

    `trouble` is the reason why it is disconnected, "" if it is connected.
    """

    def __init__(self, config: McpServerConfig, changed: Callable[[], None], *, message_bytes: int) -> None:
        self.config, self._changed, self._message_bytes = config, changed, message_bytes
        self.offer = ServerOffer()
        self.trouble = "it is being started"
        self._client: Client | None = None
        self._ended_event = anyio.Event()  # of the current connection
        self._end_reason = ""  # why this side ended the connection
        self._list_changed = anyio.Event()
        self._mode = "auto"  # of the next connection; “legacy” begins with “initialize”
        self._noise_logged = False  # invalid output on stdout is logged once
        self._scope: anyio.CancelScope | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._scope = anyio.CancelScope()
        self._task = asyncio.create_task(self._keep(self._scope), name=f"MCP server {self.config.name}")

    async def stop(self) -> None:
        """Stop the server. Cancels the scope rather than the task, so that the child process's end is awaited."""
        if self._scope and self._task:
            self._scope.cancel()
            await self._task

    async def call(self, tool: str, arguments: Mapping[str, JsonValue], *, limit: float) -> McpOutcome:
        """Call a tool. `limit` is in seconds. Raises only for the caller's own cancellation."""
        name, client = self.config.name, self._client
        if client is None or self._ended_event.is_set():
            again = "It restarts by itself: try again later."
            return McpOutcome(False, error=f"The MCP server “{name}” is unavailable ({self.trouble or ENDED}). {again}")
        try:
            with anyio.fail_after(limit):
                result = await client.call_tool(tool, dict(arguments), read_timeout_seconds=limit)
                return outcome_of(raw_result(result.meta))
        except MCPError as error:
            outcome = lost_outcome(name, self._end_reason) if self._end_reason else refused_outcome(name, error)
        except TimeoutError:
            outcome = lost_outcome(name, f"nothing within {limit:g} s")
        except (RuntimeError, ValueError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            outcome = lost_outcome(name, self._end_reason or _in_words(error))
        self._list_changed.set()  # refreshing the list shows whether the session is still valid
        return outcome

    async def _keep(self, scope: anyio.CancelScope) -> None:
        delay = FIRST_DELAY
        with scope:
            while True:
                began = time.monotonic()
                reason = await self._connection()
                delay = FIRST_DELAY if time.monotonic() - began > STEADY_AFTER else delay
                log.warning("mcp_server_away", server=self.config.name, reason=reason, again_in=delay)
                self._set_trouble(reason)
                await anyio.sleep(delay)
                delay = min(delay * 2, LONGEST_DELAY)

    async def _connection(self) -> str:
        """Run one connection to its end, and return why it ended."""
        self._ended_event, self._end_reason, self._list_changed = anyio.Event(), "", anyio.Event()
        try:
            async with self._connected() as client, anyio.create_task_group() as tasks:
                tasks.start_soon(self._refresh, client)
                if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    tasks.start_soon(self._listen, client)
                await self._ended_event.wait()
                tasks.cancel_scope.cancel()
        except Exception as error:  # only this server is lost; the others keep working
            return self._end_reason or _in_words(error)
        return self._end_reason or ENDED

    def _ended(self, reason: str) -> None:
        self._end_reason = self._end_reason or reason
        self._ended_event.set()

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        """Connects and lists the tools, which can be called until the block ends."""
        mode = self._mode
        client = Client(
            open_transport(self.config, message_bytes=self._message_bytes, ended=self._ended),
            read_timeout_seconds=START_TIMEOUT,
            message_handler=self._on_message,
            client_info=Implementation(name="parley", version="1"),
            cache=None,
            mode=mode,
        )
        if self.config.command:  # until this one works: some servers end if the first message is not “initialize”
            self._mode = "legacy" if mode == "auto" else "auto"
        async with client:
            self._mode = mode
            await self._list(client)
            self._client = client
            log.info("mcp_server_ready", server=self.config.name, tools=len(self.offer.specs))
            self._set_trouble("")
            try:
                yield client
            finally:
                self._client = None

    async def _refresh(self, client: Client) -> None:
        while True:
            await self._list_changed.wait()
            self._list_changed = anyio.Event()
            await self._list(client)
            self._set_trouble("")
            await anyio.sleep(LIST_INTERVAL)

    async def _listen(self, client: Client) -> None:
        """Listen for list changes, which newer servers send only to listeners. Ignores servers without this feature."""
        with contextlib.suppress(MCPError, TimeoutError):
            while True:
                async with client.listen(tools_list_changed=True) as changes:
                    self._list_changed.set()  # changes before this were missed
                    async for _ in changes:
                        self._list_changed.set()
                await anyio.sleep(FIRST_DELAY)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._list_changed.set()
        elif isinstance(message, Exception) and not self._noise_logged:
            self._noise_logged = True
            log.warning("mcp_server_invalid_output", server=self.config.name, line=excerpt_of(str(message), 300))

    async def _list(self, client: Client) -> None:
        """Read the list of tools. A page that cannot be read ends it, unless it is the first one."""
        tools: list[JsonValue] = []
        size, cursors, trouble = 0, [""], ""
        for _ in range(MAX_PAGES if client.server_capabilities.tools else 0):
            try:
                page = await client.list_tools(cursor=cursors[-1] or None, cache_mode="refresh")
            except (MCPError, ValidationError) as error:
                if not tools:
                    raise
                trouble = f"Its list of tools breaks off after {len(tools)} ({_in_words(error)})."
                break
            listed = conceal(raw_result(page.meta).get("tools"))
            if not isinstance(listed, list):
                trouble = "It answers the request for its tools without a list."
                break
            tools += listed
            size += len(to_json(listed))
            if not page.next_cursor or len(tools) > MAX_TOOLS or size > MAX_LIST:
                break
            if page.next_cursor in cursors:
                trouble = f"Its list of tools begins again after {len(tools)}, so it is read no further."
                break
            cursors.append(page.next_cursor)
        offer = build_offer(self.config, tools, self.offer.pinned)
        self.offer = offer._replace(left_out=(*filter(None, [trouble]), *offer.left_out))

    def _set_trouble(self, trouble: str) -> None:
        self.trouble = trouble
        self._changed()


def _in_words(error: BaseException) -> str:
    """The reason in one line; the first one of an exception group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SubscriptionLost) or (isinstance(error, MCPError) and error.code == CONNECTION_CLOSED):
        return ENDED
    first = next(iter(quoted(str(error)).splitlines()), "")
    return f"{type(error).__name__}: {first}"[:300] if first else type(error).__name__


class McpTools:
    """The configured servers. `start()` returns before they are connected.

    `version` grows whenever tools or troubles may have changed. A message of a server has at most `message_bytes`.
    """

    def __init__(
        self,
        config: Sequence[McpServerConfig],
        *,
        message_bytes: int = MESSAGE_BYTES,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.version = 0
        self._on_change = changed
        self._servers = {server.name: Server(server, self._changed, message_bytes=message_bytes) for server in config}

    async def start(self) -> None:
        for server in self._servers.values():
            server.start()

    async def stop(self) -> None:
        """Close every connection and end every child, by a kill if it does not exit within seconds."""
        await asyncio.gather(*(server.stop() for server in self._servers.values()))

    def _changed(self) -> None:
        self.version += 1
        self._on_change()

    def specs(self) -> tuple[ToolSpec, ...]:
        """All tools, sorted by name. Those of a disconnected server stay: it is being restarted."""
        specs = [spec for server in self._servers.values() for spec in server.offer.specs.values()]
        return tuple(sorted(specs, key=lambda spec: spec.name))

    def troubles(self) -> tuple[str, ...]:
        """Which servers are disconnected and why, and which of their tools were left out."""
        lines: list[str] = []
        for name, server in self._servers.items():
            if server.trouble:
                lines.append(f"The MCP server “{name}” is unavailable: {server.trouble}.")
            lines += [f"The MCP server “{name}”: {line}" for line in server.offer.left_out]
        return tuple(lines)

    async def call(self, name: str, arguments: Mapping[str, JsonValue], *, timeout: float | None = None) -> McpOutcome:  # noqa: ASYNC109
        """Call the tool with this name in `specs`, once. `timeout` is in seconds, and at most the server's own."""
        server = self._servers.get(name.partition(".")[0])
        tool = server.offer.server_names.get(name) if server else None
        if server is None or tool is None:
            return McpOutcome(False, error=f"There is no tool “{name}”, or it was removed: list the tools again.")
        limit = min(timeout or server.config.timeout, server.config.timeout)
        return await server.call(tool, arguments, limit=limit)
