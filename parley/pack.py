"""A pack: tools with the rules and words that belong to them, and what they need while they run."""

import re
from collections.abc import Iterable
from typing import Any

from parley.tool import Tool

NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")


class Pack:
    """Tools under one name, which no other pack has.

    `rules` are sentences that hold whenever one of the tools is used; the planner sees them. `prompt` tells the planner
    what the tools are for as a whole, and how they go together.

    A pack whose tools share something that must be opened, such as a database, is a subclass: `open` and `close` run
    once in the executor, around all calls, and tools may be bound methods.
    """

    fingerprint = ""  # tells two sets of initial data apart, for packs that have some

    def __init__(
        self, name: str, tools: Iterable[Tool[Any]] = (), *, rules: Iterable[str] = (), prompt: str = ""
    ) -> None:
        self.name = name
        self.tools = tuple(tools)
        if wrong := [one for one in (name, *(tool.name for tool in self.tools)) if not NAME.match(one)]:
            raise ValueError(f"{wrong[0]!r} is no name for a pack or a tool: use 1 to 64 letters, digits, - and _.")
        self.rules = tuple(rules)
        self.prompt = prompt

    async def open(self, settings: Any) -> None:
        """Make ready for calls. `settings` are Parley's own (shared.settings); read yours from where you like.

        It is tried again while it raises `Unavailable`. Any other exception takes away this pack alone, and the
        operator is told; SystemExit ends the executor, for what only a person can put right.
        """

    async def close(self) -> None:
        """Release what `open` opened. Not called if `open` raised."""
