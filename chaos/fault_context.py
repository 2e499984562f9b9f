"""What fault injectors work on: the deployment and its simulated users."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from chaos.deployment import Deployment
from chaos.load import Load
from chaos.socket_recorder import SocketRecord


@dataclass
class FaultContext:
    """Shared by all injectors. The locks allow one fault at a time, so that a majority of servers comes back."""

    deployment: Deployment
    load: Load
    socket_records: list[SocketRecord] = field(default_factory=list)  # of the sockets of reconnect storms
    nats_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    database_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    crash_locks: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))  # by service
    repair_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
