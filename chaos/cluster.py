"""Real nats-servers on loopback, one or a cluster of three, that can be killed, stopped and paused."""

import asyncio
import json
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Self

import httpx2

from chaos.process import PausableProcess
from cli.operate.nats_server import find_binary
from cli.operate.ports import free_port
from shared.bus import Bus, BusUnavailable
from shared.bus.users import USERS, server_configuration
from shared.services import OPERATOR
from shared.settings import Settings

HOST = "127.0.0.1"
START_TIMEOUT = 60.0  # seconds for a server to listen, and for a cluster to agree, on a busy machine
POLL_INTERVAL = 0.05  # seconds
DEFAULT_MAX_STORE = "10GB"
_ATTEMPTS = 3  # to start: another program may take a chosen port first


class Unhealthy(Exception):
    """A server or the cluster did not become healthy. The message shows the end of its log."""


class NatsNode(PausableProcess):
    """One nats-server. It keeps its ports and its store across restarts."""

    def __init__(self, folder: Path, name: str, cluster: "Cluster") -> None:
        self.name, self.folder = name, folder / name
        super().__init__(self.folder / "server.log")
        self.port, self.route_port, self.monitoring_port = free_port(HOST), free_port(HOST), free_port(HOST)
        self._cluster = cluster

    def url_of(self, user: str) -> str:
        return f"nats://{user}:{self._cluster.passwords[user]}@{HOST}:{self.port}"

    async def start(self) -> None:
        """Start or resume it. A start applies the cluster's current settings. On return it listens, but may still be
        catching up.
        """
        await self.resume()
        if self.is_running:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "nats.conf"
        config.write_text(self._cluster.configuration(self))
        await self._spawn(str(find_binary()[0]), "-c", str(config))
        async with asyncio.timeout(START_TIMEOUT):
            while not await self.is_healthy("?js-enabled-only=true"):
                if not self.is_running:
                    raise Unhealthy(f"{self.name} ended while it started:\n{self.end_of_log(2000)}")
                await asyncio.sleep(POLL_INTERVAL)

    def end_of_log(self, length: int) -> str:
        """The last characters of its log, across restarts."""
        return self.output.read_text(errors="replace")[-length:] if self.output.exists() else ""

    async def is_healthy(self, question: str = "") -> bool:
        """Whether its health check passes. Without a query, that includes having caught up with all its streams."""
        answer = await self._get(f"/healthz{question}")
        return answer is not None and answer.status_code == 200

    async def jetstream(self) -> dict[str, Any]:
        """What it knows of streams and their leaders; empty if it does not answer."""
        answer = await self._get("/jsz?streams=true")
        info: dict[str, Any] = answer.json() if answer and answer.status_code == 200 else {}
        return info

    async def _get(self, path: str) -> httpx2.Response | None:
        """The response of its monitoring server; None if there is none."""
        if self.is_running and not self.is_paused:
            with suppress(httpx2.HTTPError):
                # Loading certificates, which plain HTTP does not need, would block the suite for 50 ms.
                async with httpx2.AsyncClient(timeout=2, trust_env=False, verify=False) as http:
                    return await http.get(f"http://{HOST}:{self.monitoring_port}{path}")
        return None

    async def kill(self) -> None:
        """End it as a crash would."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """End it as an administrator would."""
        await self._end(signal.SIGTERM)

    async def _end(self, how: signal.Signals) -> None:
        if self._process is None or not self.is_running:
            return
        self._signal(how)
        await self.resume()
        try:
            async with asyncio.timeout(10):
                await self._process.wait()
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await self._process.wait()


class Cluster:
    """`nodes` servers in `folder` with a user for each service, healthy when the block begins.

    A change of `max_file_store` takes effect at a node's next start. Every acknowledged message is on disk
    (`sync_interval: always`).
    """

    def __init__(self, folder: Path, *, nodes: int = 3) -> None:
        self.folder, self.max_file_store = folder.resolve(), DEFAULT_MAX_STORE
        self.passwords = {user: token_hex(8) for user in USERS}
        self._count = nodes
        self.nodes: list[NatsNode] = []

    @property
    def url(self) -> str:
        """NATS_URL of the operator, with every node."""
        return self.url_of(OPERATOR)

    def url_of(self, user: str) -> str:
        """NATS_URL of a service, with every node."""
        return ",".join(node.url_of(user) for node in self.nodes)

    @property
    def replicas(self) -> int:
        """The value for NATS_REPLICAS."""
        return self._count

    def configuration(self, node: NatsNode) -> str:
        """The node's configuration file."""
        store = json.dumps(str(node.folder / "store"))
        routes = ", ".join(f'"nats://{HOST}:{peer.route_port}"' for peer in self.nodes)
        cluster = f'cluster {{ name: parley, listen: "{HOST}:{node.route_port}", routes: [{routes}] }}\n'
        return (
            f'server_name: {node.name}\nlisten: "{HOST}:{node.port}"\nhttp: "{HOST}:{node.monitoring_port}"\n'
            "max_payload: 4MB\n"
            f"jetstream {{ store_dir: {store}, sync_interval: always, max_file_store: {self.max_file_store} }}\n"
            f"{cluster if self._count > 1 else ''}{server_configuration(self.passwords)}\n"
        )

    async def __aenter__(self) -> Self:
        for attempt in range(1, _ATTEMPTS + 1):
            self.nodes = [NatsNode(self.folder, f"n{number}", self) for number in range(1, self._count + 1)]
            try:
                await asyncio.gather(*(node.start() for node in self.nodes))
                await self.wait_until_healthy()
                return self
            except (Unhealthy, TimeoutError):
                await self.__aexit__()
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(node.kill() for node in self.nodes))

    async def wait_until_healthy(self, *, seconds: float = START_TIMEOUT) -> None:
        """Wait until every running node has caught up. Raises Unhealthy."""
        running = [node for node in self.nodes if node.is_running and not node.is_paused]
        try:
            async with asyncio.timeout(seconds):
                while not all(await asyncio.gather(*(node.is_healthy() for node in running))):  # noqa: ASYNC110
                    await asyncio.sleep(POLL_INTERVAL)  # servers send no notification
        except TimeoutError:
            logs = "\n".join(f"{node.name}:\n{node.end_of_log(1000)}" for node in running)
            raise Unhealthy(f"The servers have not caught up after {seconds:g} s.\n{logs}") from None

    async def leader(
        self, stream: str = "SESSIONS", *, other_than: str = "", seconds: float = START_TIMEOUT
    ) -> NatsNode:
        """The stream's leader as the majority of nodes sees it. Waits for one. Raises Unhealthy."""
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            states = [_stream_state(await node.jetstream(), stream) for node in self.nodes]
            if self._count == 1 and states[0]:
                return self.nodes[0]
            votes = Counter(state.get("cluster", {}).get("leader") for state in states)
            leader = next((state for state in self.nodes if votes[state.name] > self._count // 2), None)
            if leader and leader.is_running and not leader.is_paused and leader.name != other_than:
                return leader
            await asyncio.sleep(POLL_INTERVAL)
        raise Unhealthy(f"No node leads the stream {stream}.")

    async def wait_until_replicated(self, stream: str = "SESSIONS", *, seconds: float = START_TIMEOUT) -> int:
        """Wait until all nodes have the same messages of an idle stream. Returns their number. Raises Unhealthy."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            states = [_stream_state(await node.jetstream(), stream).get("state", {}) for node in self.nodes]
            seen_states = {(state.get("messages"), state.get("last_seq")) for state in states}
            if len(seen_states) == 1 and states[0]:
                return int(states[0]["messages"])
            if asyncio.get_running_loop().time() > deadline:
                raise Unhealthy(f"The nodes have different messages of {stream} (count, last sequence): {seen_states}")
            await asyncio.sleep(POLL_INTERVAL)

    async def step_down(self, stream: str = "SESSIONS") -> None:
        """The stream's leader hands over to another; no process ends. Raises BusUnavailable."""
        before = await self.leader(stream)
        bus = Bus(Settings(nats_url=self.url), "chaos-cluster")
        await bus.connect()
        try:
            response = json.loads(await bus.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}", b"{}"))
        finally:
            await bus.stop()
        if error := response.get("error"):
            raise BusUnavailable(f"{stream} has not stepped down: {error.get('description')}")
        await self.leader(stream, other_than=before.name)


def _stream_state(jetstream: dict[str, Any], stream: str) -> dict[str, Any]:
    """The stream's state as one node sees it; empty if the node does not know the stream."""
    streams = (
        detail for account in jetstream.get("account_details") or [] for detail in account.get("stream_detail") or []
    )
    return next((detail for detail in streams if detail["name"] == stream), {})
