"""The tools of the pack `http` as the executor calls them, with a fake resolver."""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from packs.http.exchange import ExchangeLimits
from packs.http.pack import HttpPack
from services.executor.sources.packs import PackSource
from services.executor.tools import Registry, ToolInvocation, ToolResult
from shared.domain.kernel.session import Session
from shared.settings import Settings
from tests.support.http_server import HttpServer

SESSION = Session("s", owner="ann")
KEY = "s/4/1.1/1"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
LIMITS = ExchangeLimits(timeout=60, max_bytes=100_000)


class Names:
    """A resolver of these host names; `asked` records its queries."""

    def __init__(self, **addresses: str) -> None:
        self._addresses = {name.replace("_", "."): value.split() for name, value in addresses.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, _: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self._addresses:
            raise OSError(f"{host} is not known")
        return self._addresses[host]


async def tools(*entries: dict[str, Any], **more: Any) -> Registry:
    pack = HttpPack(**({"limits": LIMITS} | more))
    await pack.open(Settings(parley_http_allow=json.dumps(entries)))
    return Registry(PackSource((pack,)))


async def call(registry: Registry, method: str, url: str, **arguments: JsonValue) -> ToolResult:
    tool = registry.find("fetch_url" if method in ("GET", "HEAD") else "send_request")
    assert tool
    return await tool.run(ToolInvocation(SESSION, KEY, {"url": url, "method": method, **arguments}))


async def asked(server: HttpServer, method: str = "GET", path: str = "/x", **more: Any) -> ToolResult:
    """One call of this server; its address is on the allow list with all methods."""
    registry = await tools({"origin": server.url(""), "methods": METHODS}, **more)
    return await call(registry, method, server.url(path))
