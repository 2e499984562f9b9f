"""A whole Parley to break: nats-servers, a database, the rehearsal model and every service, as real processes.

All of it listens on loopback, on free ports, lives in a folder of its own and ends with this process, however that
ends. Whatever ends on the way is started again; what is done to it is done by pid.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import httpx2

from chaos.cluster import Cluster
from chaos.postgres import Postgres
from chaos.process import Exit, Process, crowd
from cli.ports import free_port
from shared.bus import Bus, BusDown
from shared.bus.provision import ProvisionError, provision
from shared.bus.users import USERS, configuration
from shared.environment import child_environment
from shared.services import OPERATOR, SERVICES
from shared.settings import Settings

GRACE = 5.0  # seconds that a service has to finish what it does
ACK_WAIT = 2.0
STARTING = 90.0  # seconds for everything to be up on a busy machine
HOST = "127.0.0.1"
ROOT = Path(__file__).parents[1]

# Times are short so that a minute holds many of them; nothing else differs from what people run.
TIMES = {
    "ACK_WAIT": f"{ACK_WAIT:g}",
    "STUCK_WORK_TIMEOUT": "20",
    "GRACEFUL_TIMEOUT": f"{GRACE:g}",
    "MODEL_TIMEOUT": "8",
    "MODEL_OUTAGE_TIMEOUT": "60",
    "WATCHDOG_TIMEOUT": "3",  # less than a service may be frozen for: that must not count
}


class Shape(NamedTuple):
    """How large the world is."""

    nodes: int = 1
    replicas: int = 1
    gateways: int = 2
    postgres: bool = False


class World:
    """`async with world(folder, shape) as it` starts it; what may be broken are its `processes` and its `cluster`."""

    def __init__(
        self, folder: Path, shape: Shape, cluster: Cluster, postgres: Postgres | None, passwords: Mapping[str, str]
    ) -> None:
        self.folder, self.shape, self.cluster, self.postgres = folder, shape, cluster, postgres
        self.database = postgres.url if postgres else ""
        self._passwords = passwords
        self.rehearsal_port = free_port(HOST)
        self.gateway_ports = [free_port(HOST) for _ in range(shape.gateways)]
        self.processes: list[Process] = []
        self.bus = Bus(self.settings, "chaos")

    # --- where things are

    @property
    def settings(self) -> Settings:
        """The settings of an operator of this world."""
        return Settings(
            nats_url=self.cluster.url,
            nats_replicas=self.cluster.replicas,
            parley_home=self.folder,
            database_url=self.database,
            ack_wait=ACK_WAIT,
        )

    @property
    def rehearsal_url(self) -> str:
        return f"http://{HOST}:{self.rehearsal_port}"

    @property
    def gateway_urls(self) -> list[str]:
        return [f"http://{HOST}:{port}" for port in self.gateway_ports]

    @property
    def exits(self) -> list[Exit]:
        return [one for process in self.processes for one in process.exits]

    def of(self, service: str) -> list[Process]:
        """The replicas of a service."""
        return [process for process in self.processes if process.service == service]

    # --- life

    async def start(self) -> None:
        """Everything up and answering. Raises RuntimeError with what is missing."""
        await self.mend()
        await self.bus.connect()
        (self.folder / "mcp.json").write_text(self._tools())
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        self.processes = [self._process("rehearsal", "rehearsal-1", logs)]
        for service in SERVICES:
            count = self.shape.gateways if service == "gateway" else self.shape.replicas
            self.processes += [self._process(service, f"{service}-{n + 1}", logs) for n in range(count)]
        for process in self.processes:
            await process.start()
        if missing := await self.missing(STARTING):
            raise RuntimeError(f"not up after {STARTING:g} s: {', '.join(missing)}; see {logs}")

    async def stop(self) -> None:
        """End the services as an operator would: what does not leave in time is killed, and told by its exit."""
        await asyncio.gather(*(process.stop(patience=(GRACE + 10) * crowd()) for process in self.processes))
        await self.bus.stop()

    async def missing(self, seconds: float) -> list[str]:
        """What does not answer though it was waited for."""
        deadline = time.monotonic() + seconds
        urls = [f"{url}/readyz" for url in self.gateway_urls] + [f"{self.rehearsal_url}/healthz"]
        async with httpx2.AsyncClient(timeout=3, trust_env=False) as http:
            while True:
                away = [url for url in urls if not await _answers(http, url)]
                if not away or time.monotonic() > deadline:
                    return away
                await asyncio.sleep(0.2)

    async def mend(self, seconds: float = 60) -> list[str]:
        """`parley provision` as an operator runs it, until it works; what it changed."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return await provision(self.settings)
            except (BusDown, ProvisionError, TimeoutError, OSError):
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.5)

    async def fault(self, **fault: object) -> None:
        """Arm a fault of the model's; without one, disarm all. While it is away there is nothing to arm."""
        async with httpx2.AsyncClient(timeout=3, trust_env=False) as http:
            with suppress(httpx2.HTTPError):
                url = f"{self.rehearsal_url}/faults"
                await (http.post(url, json=fault) if fault else http.delete(url))

    def armed(self, service: str) -> Path:
        """The file that says at which append a process of the service ends; gone when one has."""
        return self.folder / f"cut-{service}"

    def _process(self, service: str, name: str, logs: Path) -> Process:
        """Nobody cuts the model: its own faults do that."""
        cut = (sys.executable, "-m", "chaos.cut_service", service, str(self.armed(service)))
        model = (sys.executable, "-m", "rehearsal.app")
        return Process(name, model if service == "rehearsal" else cut, self.environment(name), logs)

    def environment(self, name: str) -> dict[str, str]:
        """The whole environment of one process."""
        service, _, number = name.rpartition("-")
        port = self.gateway_ports[int(number) - 1] if service == "gateway" else self.gateway_ports[0]
        foreign = dict.fromkeys(("OPENAI_API_KEY", "INTERNLM_API_URL", "INTERNLM_API_KEY", "RETAIL_DATABASE_URL"), "")
        return child_environment(
            **foreign,
            **TIMES,
            NATS_URL=self.cluster.url_as(f"{service}:{self._passwords[service]}") if service in USERS else "",
            NATS_REPLICAS=str(self.cluster.replicas),
            DATABASE_URL=self.database,
            PARLEY_HOME=str(self.folder),
            PARLEY_AUTH="none",
            MAX_SOCKETS_PER_USER="0",  # everybody is one user here
            MAX_RUNNING_SESSIONS_PER_USER="0",
            PARLEY_MCP_CONFIG=str(self.folder / "mcp.json"),
            PARLEY_SQL_DATABASE_URL="",
            PARLEY_FLOWS_DIR="",
            PARLEY_PACKS_DIR="",
            AGENT_HOST=HOST,
            AGENT_PORT=str(port),
            REHEARSAL_PORT=str(self.rehearsal_port),
            OPENAI_BASE_URL=f"{self.rehearsal_url}/v1",
            OPENAI_MODEL="rehearsal",
            HEALTH_PORT="0",
            REHEARSAL_LEDGER=str(self.served),
        )

    @property
    def served(self) -> Path:
        """The file in which the model notes each request, also across its restarts."""
        return self.folder / "served.jsonl"

    @property
    def notes(self) -> Path:
        """The file that the tool without a key writes into."""
        return self.folder / "notes"

    def _tools(self) -> str:
        """An MCP server whose tool changes something and remembers no key: what became of it may stay unknown."""
        server = {"command": sys.executable, "args": ["-m", "chaos.notes", str(self.notes)], "cwd": str(ROOT)}
        return json.dumps({"mcpServers": {"trial": server}})


@asynccontextmanager
async def world(folder: Path, shape: Shape, kind: type[World] = World) -> AsyncIterator[World]:
    """A world in this folder until the block ends; its files stay."""
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(Postgres()) if shape.postgres else None
        passwords = {user: token_hex(8) for user in USERS}
        cluster = Cluster(folder / "nats", nodes=shape.nodes, extra=configuration(passwords))
        cluster.user = f"{OPERATOR}:{passwords[OPERATOR]}"
        await stack.enter_async_context(cluster)
        found = kind(folder, shape, cluster, postgres, passwords)
        stack.push_async_callback(found.stop)
        await found.start()
        yield found


async def _answers(http: httpx2.AsyncClient, url: str) -> bool:
    try:
        return (await http.get(url)).status_code == 200
    except httpx2.HTTPError:
        return False
