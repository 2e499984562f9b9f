"""A pack: tools with their rules and prompt, and the resources that they share."""

import re
from collections.abc import Iterable
from typing import Any

from parley.tool import Tool

NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")


class Pack:
    """Tools under one unique name.

    `rules` are sentences that apply whenever one of the tools is used; the planner sees them. `prompt` tells the
    planner what the tools are for and how they work together.

    If the tools share a resource that must be opened, such as a database, subclass `Pack`: the executor calls `open`
    and `close` once, around all calls, and tools may be bound methods.
    """

    fingerprint = ""  # identifies the initial data, for packs that have some

    def __init__(
        self, name: str, tools: Iterable[Tool[Any]] = (), *, rules: Iterable[str] = (), prompt: str = ""
    ) -> None:
        self.name = name
        self.tools = tuple(tools)
        if wrong := [
            candidate for candidate in (name, *(tool.name for tool in self.tools)) if not NAME.match(candidate)
        ]:
            raise ValueError(f"{wrong[0]!r} is no name for a pack or a tool: use 1 to 64 letters, digits, - and _.")
        self.rules = tuple(rules)
        self.prompt = prompt

    async def open(self, settings: Any) -> None:
        """Prepare for calls. `settings` are Parley's own (shared.settings); read yours from where you like.

        The executor retries it while it raises `Unavailable`. Any other exception disables this pack alone and is
        reported to the operator. SystemExit ends the executor, for problems that only the operator can fix.
        """

    async def close(self) -> None:
        """Release what `open` opened. Not called if `open` raised."""
