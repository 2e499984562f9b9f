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
from typing import NamedTuple

import httpx2

from chaos.cluster import HOST, Cluster
from chaos.postgres import PostgresProcess
from chaos.process import ROOT, ProcessExit, ServiceProcess, load_factor
from cli.operate.ports import free_port
from cli.operate.programs import REHEARSAL_MODEL, http_get, program_specs
from cli.operate.supervisor import ProcessSpec
from shared.bus import Bus, BusUnavailable
from shared.bus.provision import ProvisionError, provision
from shared.retry import retry_while_unavailable
from shared.services import CONSUMERS, SERVICES
from shared.settings import Settings

GRACE_SECONDS = 5.0  # for a service to finish its work
ACK_WAIT = 2.0
HEALTHY_TIMEOUT = 120.0  # seconds for the servers to catch up
START_TIMEOUT = 90.0  # seconds, on a busy machine
DRAIN_TIMEOUT = 90.0

# Timeouts are short, so that many of them fit into a minute. Other settings are as in production.
ENVIRONMENT = {
    "STUCK_WORK_TIMEOUT": "20",
    "MODEL_TIMEOUT": "8",
    "MODEL_OUTAGE_TIMEOUT": "60",
    "WATCHDOG_TIMEOUT": "3",  # shorter than a pause fault: a frozen service must not be reported
    "MAX_SOCKETS_PER_USER": "0",  # all simulated users are the same user
    "MAX_RUNNING_SESSIONS_PER_USER": "0",
    **dict.fromkeys(("OPENAI_API_KEY", "INTERNLM_API_URL", "INTERNLM_API_KEY", "RETAIL_DATABASE_URL"), ""),
    **dict.fromkeys(("PARLEY_SQL_DATABASE_URL", "PARLEY_FLOWS_DIR", "PARLEY_PACKS_DIR"), ""),
}


class DeploymentShape(NamedTuple):
    """The size of the deployment. `environment`: further variables of its processes."""

    nodes: int = 1
    replicas: int = 1
    gateways: int = 2
    postgres: bool = False
    ack_wait: float = ACK_WAIT
    environment: Mapping[str, str] = {}


class Deployment:
    """Started by `async with deployment(folder, shape)`. Faults hit its `processes`, `cluster` and `postgres`."""

    def __init__(
        self, folder: Path, shape: DeploymentShape, cluster: Cluster, postgres: PostgresProcess | None
    ) -> None:
        self.folder, self.shape, self.cluster, self.postgres = folder, shape, cluster, postgres
        self.rehearsal_port = free_port(HOST)
        self.gateway_ports = [free_port(HOST) for _ in range(shape.gateways)]
        self.processes: list[ServiceProcess] = []
        self.settings = Settings(
            nats_url=cluster.url,
            nats_replicas=cluster.replicas,
            parley_home=folder,
            parley_auth="none",
            database_url=postgres.url if postgres else "",
            ack_wait=shape.ack_wait,
            graceful_timeout=GRACE_SECONDS,
            agent_host=HOST,
            agent_port=self.gateway_ports[0],
            rehearsal_port=self.rehearsal_port,
            openai_base_url=f"{self.rehearsal_url}/v1",
            openai_model=REHEARSAL_MODEL,
        )  # of an operator
        self.bus = Bus(self.settings, "chaos")

    # --- addresses

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
        counts = dict.fromkeys(SERVICES, self.shape.replicas) | {"gateway": self.shape.gateways}
        self.processes = [
            self._process(program, number, logs)
            for program in program_specs(self.settings, rehearsal=True, nats_url_of=self.cluster.url_of)
            for number in range(counts.get(program.name, 1))
        ]
        for process in self.processes:
            await process.start()
        if missing := await self.wait_for_missing(START_TIMEOUT):
            raise RuntimeError(f"not up after {START_TIMEOUT:g} s: {', '.join(missing)}; see {logs}")

    async def restore(self) -> None:
        """Resume and start everything, disarm model faults and repair streams and consumers."""
        for process in self.processes:
            await process.resume()
        for node in self.cluster.nodes:
            await node.start()
        await self.cluster.wait_until_healthy(seconds=HEALTHY_TIMEOUT)
        if self.postgres:
            await self.postgres.start()
        await self.arm_model_fault()
        await self.repair()

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
        while True:
            missing = [url for url in urls if (await asyncio.to_thread(http_get, url)).status != 200]
            if not missing or time.monotonic() > deadline:
                return missing
            await asyncio.sleep(0.2)

    async def outstanding(self) -> dict[str, int]:
        """The number of messages that each consumer still has to handle."""
        return {name: await self.bus.outstanding(name, stream) for stream, name, _ in CONSUMERS if stream != "TIMERS"}

    async def wait_until_drained(self) -> None:
        """Wait until no consumer has an outstanding message, but not for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_TIMEOUT * load_factor()):
                while any((await self.outstanding()).values()):  # noqa: ASYNC110  the broker sends no notification
                    await asyncio.sleep(0.2)

    @retry_while_unavailable(BusUnavailable, ProvisionError, TimeoutError, OSError, longest=0.5, timeout=60)
    async def repair(self) -> list[str]:
        """Run `parley provision` until it succeeds. Returns what it changed."""
        return await provision(self.settings)

    async def arm_model_fault(self, **fault: object) -> None:
        """Arm a fault of the model, or disarm all if none is named. Does nothing while the model is down."""
        async with httpx2.AsyncClient(timeout=3, trust_env=False) as http:
            with suppress(httpx2.HTTPError):
                url = f"{self.rehearsal_url}/faults"
                await (http.post(url, json=fault) if fault else http.delete(url))

    def crash_file(self, service: str) -> Path:
        """The file with the service's crash point. The crashing process removes it."""
        return self.folder / f"cut-{service}"

    def _process(self, program: ProcessSpec, number: int, logs: Path) -> ServiceProcess:
        """A replica of the program. The model has faults of its own, and no crash points."""
        name, command = program.name, program.argv
        if name != REHEARSAL_MODEL:
            command = (sys.executable, "-m", "chaos.crashing_service", name, str(self.crash_file(name)))
        environment = {
            **program.env,
            **ENVIRONMENT,
            "ACK_WAIT": f"{self.shape.ack_wait:g}",
            "NATS_REPLICAS": str(self.cluster.replicas),
            "PARLEY_MCP_CONFIG": str(self.folder / "mcp.json"),
            "REHEARSAL_LEDGER": str(self.served_file),
            **({"AGENT_PORT": str(self.gateway_ports[number])} if name == "gateway" else {}),
            **self.shape.environment,
        }
        return ServiceProcess(f"{name}-{number + 1}", command, environment, logs)

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
async def deployment(folder: Path, shape: DeploymentShape) -> AsyncIterator[Deployment]:
    """Run a deployment in this folder until the block ends. Its files remain."""
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(PostgresProcess()) if shape.postgres else None
        cluster = await stack.enter_async_context(Cluster(folder / "nats", nodes=shape.nodes))
        running = Deployment(folder, shape, cluster, postgres)
        stack.push_async_callback(running.stop)
        await running.start()
        yield running
