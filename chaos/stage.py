"""Where faults are played: the world, the people in it, and what more is seen on the way."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from chaos.load import Load
from chaos.recorder import Shown
from chaos.world import World


@dataclass
class Stage:
    """Where faults are played. One thing at a time is done to servers and database: a majority must come back."""

    world: World
    load: Load
    shown: list[Shown] = field(default_factory=list)  # by the sockets of reconnect storms
    nats: asyncio.Lock = field(default_factory=asyncio.Lock)
    database: asyncio.Lock = field(default_factory=asyncio.Lock)
    cutting: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))  # by service
    mending: asyncio.Lock = field(default_factory=asyncio.Lock)
