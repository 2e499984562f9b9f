"""The deployment under test: nats-servers, a database, the rehearsal model and every service, as real processes.

They listen on free ports of loopback, use a folder of their own and end with this process, even if it is killed. A
process that ends is restarted. Faults address processes by pid.
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
from chaos.postgres import PostgresProcess
from chaos.process import ProcessExit, ServiceProcess, load_factor
from cli.ports import free_port
from shared.bus import Bus, BusUnavailable
from shared.bus.provision import ProvisionError, provision
from shared.bus.users import USERS, server_configuration
from shared.environment import child_environment
from shared.services import OPERATOR, SERVICES
from shared.settings import Settings

GRACE_SECONDS = 5.0  # for a service to finish its work
ACK_WAIT = 2.0
START_TIMEOUT = 90.0  # seconds, on a busy machine
HOST = "127.0.0.1"
ROOT = Path(__file__).parents[1]

# Timeouts are short, so that many of them fit into a minute. Other settings are as in production.
SERVICE_TIMES = {
    "ACK_WAIT": f"{ACK_WAIT:g}",
    "STUCK_WORK_TIMEOUT": "20",
    "GRACEFUL_TIMEOUT": f"{GRACE_SECONDS:g}",
    "MODEL_TIMEOUT": "8",
    "MODEL_OUTAGE_TIMEOUT": "60",
    "WATCHDOG_TIMEOUT": "3",  # shorter than a pause fault: a frozen service must not be reported
}


class DeploymentShape(NamedTuple):
    """The size of the deployment."""

    nodes: int = 1
    replicas: int = 1
    gateways: int = 2
    postgres: bool = False


class Deployment:
    """Started by `async with deployment(folder, shape)`. Faults hit its `processes`, `cluster` and `postgres`."""

    def __init__(
        self,
        folder: Path,
        shape: DeploymentShape,
        cluster: Cluster,
        postgres: PostgresProcess | None,
        passwords: Mapping[str, str],
    ) -> None:
        self.folder, self.shape, self.cluster, self.postgres = folder, shape, cluster, postgres
        self.database = postgres.url if postgres else ""
        self._passwords = passwords
        self.rehearsal_port = free_port(HOST)
        self.gateway_ports = [free_port(HOST) for _ in range(shape.gateways)]
        self.processes: list[ServiceProcess] = []
        self.bus = Bus(self.settings, "chaos")

    # --- addresses

    @property
    def settings(self) -> Settings:
        """The settings of an operator."""
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
    def exits(self) -> list[ProcessExit]:
        return [process_exit for process in self.processes for process_exit in process.exits]

    def replicas_of(self, service: str) -> list[ServiceProcess]:
        """The replicas of a service."""
        return [process for process in self.processes if process.service == service]

    # --- start and stop

    async def start(self) -> None:
        """Start everything and wait until it answers. Raises RuntimeError with what does not."""
        await self.repair()
        await self.bus.connect()
        (self.folder / "mcp.json").write_text(self._mcp_config())
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        self.processes = [self._process("rehearsal", "rehearsal-1", logs)]
        for service in SERVICES:
            count = self.shape.gateways if service == "gateway" else self.shape.replicas
            self.processes += [self._process(service, f"{service}-{n + 1}", logs) for n in range(count)]
        for process in self.processes:
            await process.start()
        if missing := await self.wait_for_missing(START_TIMEOUT):
            raise RuntimeError(f"not up after {START_TIMEOUT:g} s: {', '.join(missing)}; see {logs}")

    async def stop(self) -> None:
        """Stop the services as an operator would, and kill those that do not exit in time."""
        await asyncio.gather(
            *(process.stop(kill_after=(GRACE_SECONDS + 10) * load_factor()) for process in self.processes)
        )
        await self.bus.stop()

    async def wait_for_missing(self, seconds: float) -> list[str]:
        """Wait until everything answers. Returns the URLs that still do not after this time."""
        deadline = time.monotonic() + seconds
        urls = [f"{url}/readyz" for url in self.gateway_urls] + [f"{self.rehearsal_url}/healthz"]
        async with httpx2.AsyncClient(timeout=3, trust_env=False) as http:
            while True:
                missing = [url for url in urls if not await _is_up(http, url)]
                if not missing or time.monotonic() > deadline:
                    return missing
                await asyncio.sleep(0.2)

    async def repair(self, seconds: float = 60) -> list[str]:
        """Run `parley provision` until it succeeds. Returns what it changed."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return await provision(self.settings)
            except (BusUnavailable, ProvisionError, TimeoutError, OSError):
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.5)

    async def arm_model_fault(self, **fault: object) -> None:
        """Arm a fault of the model, or disarm all if none is named. Does nothing while the model is down."""
        async with httpx2.AsyncClient(timeout=3, trust_env=False) as http:
            with suppress(httpx2.HTTPError):
                url = f"{self.rehearsal_url}/faults"
                await (http.post(url, json=fault) if fault else http.delete(url))

    def crash_file(self, service: str) -> Path:
        """The file with the service's crash point. The crashing process removes it."""
        return self.folder / f"cut-{service}"

    def _process(self, service: str, name: str, logs: Path) -> ServiceProcess:
        """The rehearsal model has faults of its own, and no crash points."""
        cut = (sys.executable, "-m", "chaos.crashing_service", service, str(self.crash_file(service)))
        model = (sys.executable, "-m", "rehearsal.app")
        return ServiceProcess(name, model if service == "rehearsal" else cut, self.environment(name), logs)

    def environment(self, name: str) -> dict[str, str]:
        """The whole environment of one process."""
        service, _, number = name.rpartition("-")
        port = self.gateway_ports[int(number) - 1] if service == "gateway" else self.gateway_ports[0]
        unset = dict.fromkeys(("OPENAI_API_KEY", "INTERNLM_API_URL", "INTERNLM_API_KEY", "RETAIL_DATABASE_URL"), "")
        return child_environment(
            **unset,
            **SERVICE_TIMES,
            NATS_URL=self.cluster.url_as(f"{service}:{self._passwords[service]}") if service in USERS else "",
            NATS_REPLICAS=str(self.cluster.replicas),
            DATABASE_URL=self.database,
            PARLEY_HOME=str(self.folder),
            PARLEY_AUTH="none",
            MAX_SOCKETS_PER_USER="0",  # all simulated users are the same user
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
            REHEARSAL_LEDGER=str(self.served_file),
        )

    @property
    def served_file(self) -> Path:
        """The model's ledger of requests, kept across its restarts."""
        return self.folder / "served.jsonl"

    @property
    def notes_file(self) -> Path:
        """The file that the tool without idempotency keys writes."""
        return self.folder / "notes"

    def _mcp_config(self) -> str:
        """An MCP server whose write tool knows no idempotency keys, so that its outcome may stay unknown."""
        server = {
            "command": sys.executable,
            "args": ["-m", "chaos.notes_server", str(self.notes_file)],
            "cwd": str(ROOT),
        }
        return json.dumps({"mcpServers": {"trial": server}})


@asynccontextmanager
async def deployment(
    folder: Path, shape: DeploymentShape, kind: type[Deployment] = Deployment
) -> AsyncIterator[Deployment]:
    """Run a deployment in this folder until the block ends. Its files remain."""
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(PostgresProcess()) if shape.postgres else None
        passwords = {user: token_hex(8) for user in USERS}
        cluster = Cluster(folder / "nats", nodes=shape.nodes, extra=server_configuration(passwords))
        cluster.user = f"{OPERATOR}:{passwords[OPERATOR]}"
        await stack.enter_async_context(cluster)
        running = kind(folder, shape, cluster, postgres, passwords)
        stack.push_async_callback(running.stop)
        await running.start()
        yield running


async def _is_up(http: httpx2.AsyncClient, url: str) -> bool:
    try:
        return (await http.get(url)).status_code == 200
    except httpx2.HTTPError:
        return False
