"""Ends a test's nats-server as a crash would."""

import os
import signal

from cli.nats_server import NatsServer


def kill9(server: NatsServer) -> None:
    """Kill the process and wait for its end."""
    os.kill(server.pid, signal.SIGKILL)
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)  # WNOWAIT: `server` reaps it
