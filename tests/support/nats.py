"""Ends a test's nats-server as a crash would, or freezes it."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from cli.nats_server import NatsServer


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
