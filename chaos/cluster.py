"""Real nats-servers to break: one, or a cluster of three, on loopback, each of which can be killed or paused."""

import asyncio
import json
import os
import signal
from collections import Counter
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Self

from cli.nats_server import find_binary
from cli.ports import free_port
from cli.spawn import tied
from shared.bus import Bus, BusDown
from shared.settings import Settings

HOST = "127.0.0.1"
START = 20.0  # seconds that a server may take to listen, and a cluster to agree
LOOK = 0.05  # seconds between two looks: a server tells nobody that it is up
ROOM = "10GB"
_ATTEMPTS = 3  # another program may take a chosen port before the server does


class Unhealthy(Exception):
    """A server, or the cluster, did not come up; the message shows the end of its log."""


class Node:
    """One nats-server; its ports and its store stay the same however often it is ended and started."""

    def __init__(self, folder: Path, name: str, cluster: "Cluster") -> None:
        self.name, self.folder = name, folder / name
        self.port, self.route_port, self.monitoring_port = free_port(HOST), free_port(HOST), free_port(HOST)
        self.paused = False
        self._cluster = cluster
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"nats://{HOST}:{self.port}"

    @property
    def monitoring_url(self) -> str:
        """Its HTTP server: /varz, /jsz, /healthz."""
        return f"http://{HOST}:{self.monitoring_port}"

    @property
    def alive(self) -> bool:
        """Whether it has a process; a paused one has."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def log(self) -> str:
        """All that it has said, of all its lives."""
        path = self.folder / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    async def start(self) -> None:
        """Run it, with the cluster's settings as they are now; it listens on return, and may still be catching up."""
        if self.alive:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "nats.conf"
        config.write_text(self._cluster.configuration(self))
        with (self.folder / "server.log").open("ab") as output:
            command = tied(str(find_binary()[0]), "-c", str(config))
            self._process = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output)
        self.paused = False
        async with asyncio.timeout(START):
            while not await self.is_healthy("?js-enabled-only=true"):
                if not self.alive:
                    raise Unhealthy(f"{self.name} ended while it started:\n{self.log[-2000:]}")
                await asyncio.sleep(LOOK)

    async def is_healthy(self, question: str = "") -> bool:
        """Whether it answers that it is; with no question: that it has caught up with everything it keeps, too."""
        return (await self._asked(f"/healthz{question}"))[0] == 200

    async def jetstream(self) -> dict[str, Any]:
        """What it knows of streams and their leaders; empty where it does not answer."""
        status, body = await self._asked("/jsz?streams=true")
        found: dict[str, Any] = json.loads(body) if status == 200 else {}
        return found

    async def _asked(self, path: str) -> tuple[int, bytes]:
        """Status and body of its monitoring server's answer; (0, b"") where there is none."""
        if not self.alive or self.paused:
            return 0, b""
        return await asyncio.to_thread(_get, self.monitoring_port, path)

    async def kill(self) -> None:
        """As a crash would end it."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """As an administrator would end it."""
        await self._end(signal.SIGTERM)

    async def pause(self) -> None:
        """It says and hears nothing until `go_on`; its connections stay open."""
        self._signal(signal.SIGSTOP)
        self.paused = True

    async def go_on(self) -> None:
        self._signal(signal.SIGCONT)
        self.paused = False

    async def _end(self, how: signal.Signals) -> None:
        if self._process is None or not self.alive:
            return
        self._signal(how)
        if self.paused:
            await self.go_on()
        try:
            async with asyncio.timeout(10):
                await self._process.wait()
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await self._process.wait()

    def _signal(self, which: signal.Signals) -> None:
        if self._process and self.alive:
            os.kill(self._process.pid, which)  # asyncio's would take the exit code away from who waits for it


class Cluster:
    """`nodes` servers in `folder`, up and agreed inside the block.

    `extra` is more text for every server's configuration, `room` its max_file_store; both count from a node's next
    start. Every acknowledged message is on the disk (`sync_interval: always`).
    """

    def __init__(self, folder: Path, *, nodes: int = 3, extra: str = "", room: str = ROOM) -> None:
        self.folder, self.extra, self.room = folder.resolve(), extra, room
        self.user = ""  # "name:password" (or a token) put into `url`, where `extra` asks for one
        self._count = nodes
        self.nodes: list[Node] = []

    @property
    def url(self) -> str:
        """NATS_URL, with every node in it."""
        return self.url_as(self.user)

    def url_as(self, user: str) -> str:
        """NATS_URL for this "name:password"."""
        who = f"{user}@" if user else ""
        return ",".join(f"nats://{who}{HOST}:{node.port}" for node in self.nodes)

    @property
    def replicas(self) -> int:
        """What NATS_REPLICAS should be."""
        return self._count

    def configuration(self, node: Node) -> str:
        """The node's configuration file."""
        store = json.dumps(str(node.folder / "store"))
        routes = ", ".join(f'"nats://{HOST}:{one.route_port}"' for one in self.nodes)
        cluster = f'cluster {{ name: parley, listen: "{HOST}:{node.route_port}", routes: [{routes}] }}\n'
        return (
            f'server_name: {node.name}\nlisten: "{HOST}:{node.port}"\nhttp: "{HOST}:{node.monitoring_port}"\n'
            "max_payload: 4MB\n"
            f"jetstream {{ store_dir: {store}, sync_interval: always, max_file_store: {self.room} }}\n"
            f"{cluster if self._count > 1 else ''}{self.extra}\n"
        )

    async def __aenter__(self) -> Self:
        for attempt in range(1, _ATTEMPTS + 1):
            self.nodes = [Node(self.folder, f"n{number}", self) for number in range(1, self._count + 1)]
            try:
                await asyncio.gather(*(node.start() for node in self.nodes))
                await self.healthy()
                return self
            except (Unhealthy, TimeoutError):
                await self.__aexit__()
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(node.kill() for node in self.nodes))

    async def healthy(self, *, seconds: float = START) -> None:
        """Wait until every node that runs has caught up. Raises Unhealthy."""
        running = [node for node in self.nodes if node.alive and not node.paused]
        try:
            async with asyncio.timeout(seconds):
                while not all(await asyncio.gather(*(node.is_healthy() for node in running))):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK)  # a server tells nobody
        except TimeoutError:
            logs = "\n".join(f"{node.name}:\n{node.log[-1000:]}" for node in running)
            raise Unhealthy(f"The servers have not caught up after {seconds:g} s.\n{logs}") from None

    async def leader(self, stream: str = "SESSIONS", *, other_than: str = "", seconds: float = START) -> Node:
        """The node that leads this stream, as most of those see it that run; waits for one. Raises Unhealthy."""
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            known = [_stream(await node.jetstream(), stream) for node in self.nodes]
            if self._count == 1 and known[0]:
                return self.nodes[0]
            seen = Counter(one.get("cluster", {}).get("leader") for one in known)
            led = next((one for one in self.nodes if seen[one.name] > self._count // 2), None)
            if led and led.alive and not led.paused and led.name != other_than:
                return led
            await asyncio.sleep(LOOK)
        raise Unhealthy(f"No node leads the stream {stream}.")

    async def agreed(self, stream: str = "SESSIONS", *, seconds: float = START) -> int:
        """Wait until all nodes keep the same messages of a quiet stream; how many. Raises Unhealthy."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            known = [_stream(await node.jetstream(), stream).get("state", {}) for node in self.nodes]
            said = {(one.get("messages"), one.get("last_seq")) for one in known}
            if len(said) == 1 and known[0]:
                return int(known[0]["messages"])
            if asyncio.get_running_loop().time() > deadline:
                raise Unhealthy(f"The nodes keep different messages of {stream} (how many, the last): {said}")
            await asyncio.sleep(LOOK)

    async def step_down(self, stream: str = "SESSIONS") -> None:
        """The stream's leader hands over to another; no process ends. Raises BusDown."""
        before = await self.leader(stream)
        bus = Bus(Settings(nats_url=self.url), "chaos-cluster")
        await bus.connect()
        try:
            said = json.loads(await bus.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}", b"{}"))
        finally:
            await bus.stop()
        if error := said.get("error"):
            raise BusDown(f"{stream} has not stepped down: {error.get('description')}")
        await self.leader(stream, other_than=before.name)


def _get(port: int, path: str) -> tuple[int, bytes]:
    with closing(HTTPConnection(HOST, port, timeout=2)) as client:
        try:
            client.request("GET", path)
            answer = client.getresponse()
            return answer.status, answer.read()
        except (OSError, HTTPException):
            return 0, b""


def _stream(jetstream: dict[str, Any], wanted: str) -> dict[str, Any]:
    """This stream as one node knows it; empty where it knows none."""
    streams = (one for account in jetstream.get("account_details") or [] for one in account.get("stream_detail") or [])
    return next((one for one in streams if one["name"] == wanted), {})
