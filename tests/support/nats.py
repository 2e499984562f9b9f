"""A nats-server for tests, which can also be ended as a crash would, or frozen."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from cli.operate.nats_server import NatsMissing, find_binary, monitoring_url, prepare, probe

POLL_INTERVAL = 0.01  # seconds
ATTEMPTS = 3  # another program may take the chosen port first


class NatsServer:
    """A server in `home`, with a blocking API. It is not durable: a test must not wait for a slow disk."""

    def __init__(self, home: Path) -> None:
        self._home, self._binary = home, find_binary()[0]
        for attempt in range(1, ATTEMPTS + 1):
            self._place = prepare(home, durable=False)
            try:
                self._process = self._start()
                return
            except NatsMissing:
                if attempt == ATTEMPTS:
                    raise

    @property
    def url(self) -> str:
        """The URL of the operator, who has all rights. The same after a restart."""
        return self._place.url

    def url_of(self, user: str) -> str:
        """The URL of a service, with the rights of that service."""
        return self._place.url_of(user)

    @property
    def monitoring_url(self) -> str:
        """The URL of the server's monitoring; a different one after a restart."""
        if not (url := _poll(lambda: monitoring_url(self._place.folder), seconds=5)):
            raise NatsMissing("nats-server did not open its monitoring.")
        return url

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        return self._process.pid

    def stop(self) -> None:
        """Terminate the server and wait for its end."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def restart(self) -> None:
        """Restart the server on the same port and store. It is ready on return."""
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
            process = subprocess.Popen(self._place.command(self._binary), stdout=output, stderr=output)
        _poll(lambda: process.poll() is not None or self._answers(), seconds=10)
        if process.poll() is None and self._answers():
            return process
        process.kill()
        process.wait()
        raise NatsMissing(f"nats-server did not start:\n{log.read_text()[-2000:]}")

    def _answers(self) -> bool:
        with suppress(OSError):
            return probe(self._place.url).jetstream
        return False


def _poll[T](look: Callable[[], T], seconds: float) -> T:
    """What `look` gives, asked again until it is true: a nats-server announces neither its start nor its ports."""
    deadline = time.monotonic() + seconds
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(POLL_INTERVAL)
    return seen


@contextmanager
def nats_server(home: Path) -> Iterator[NatsServer]:
    """A running server on the store in `home` (0.15 s to start). It is stopped at the end; the store stays."""
    with NatsServer(home) as server:
        yield server


def kill9(server: NatsServer) -> None:
    """Kill the process and wait for its end."""
    os.kill(server.pid, signal.SIGKILL)
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)  # WNOWAIT: `server` reaps it


@contextmanager
def frozen(server: NatsServer) -> Iterator[None]:
    """Stop the process for the duration of the block. `kill` returns before the process has stopped: wait for that."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, server.pid, os.WSTOPPED)
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)
