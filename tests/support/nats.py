"""What a test does to its nats-server."""

import os
import signal

from cli.nats_server import NatsServer


def kill9(server: NatsServer) -> None:
    """End it as a crash would."""
    os.kill(server.pid, signal.SIGKILL)
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)  # `server` itself reaps it
