"""A pack: tools with their rules and prompt, and the resources that they share."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import JsonValue

from parley.tool import Tool

NAME_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what model APIs accept as a function's name


class Pack:
    """Tools under a name that no other pack of the executor has.

    `rules` are sentences that apply whenever one of the tools is used; the planner sees them. `prompt` tells the
    planner what the tools are for and how they work together.

    If the tools share a resource, such as a database, subclass `Pack`. The executor calls `open` before the first tool
    call and `close` after the last one, and a tool may wrap a bound method of the pack.
    """

    fingerprint = ""  # of the data that the pack starts with, if any: test tasks record which data they were made for

    def __init__(
        self, name: str, tools: Iterable[Tool[Any]] = (), *, rules: Iterable[str] = (), prompt: str = ""
    ) -> None:
        self.name = name
        self.tools = tuple(tools)
        names = (name, *(tool.name for tool in self.tools))
        if invalid := [candidate for candidate in names if not NAME_PATTERN.fullmatch(candidate)]:
            raise ValueError(f"{invalid[0]!r} is no name for a pack or a tool: use 1 to 64 letters, digits, - and _.")
        self.rules = tuple(rules)
        self.prompt = prompt

    @property
    def tells_subjects(self) -> bool:
        """Whether this pack overrides `subject`."""
        return type(self).subject is not Pack.subject

    def subject(self, tool: str, arguments: Mapping[str, JsonValue], result: JsonValue) -> str:
        """Whom this successful call was about, such as a customer's id; "" if the call does not tell.

        Override it if the tools work on people's records. What came of a request is then recalled only in sessions
        about the same subject; and never, if no call of its session tells whom it is about, or calls tell of several.
        """
        return ""

    async def open(self, settings: Any) -> None:
        """Open what the tools share. `settings` are Parley's; load your own from wherever you like.

        The executor goes on without this pack while this lasts longer than half a minute or raises
        `parley.ToolUnavailable`, after which it tries again. Any other error disables this pack until the executor is
        started again. The operator reads why.
        """

    async def close(self) -> None:
        """Release what `open` opened. Called only after `open` has succeeded, so a failing `open` must clean up."""
