"""The tools that the prompts of a request show."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from parley.protocol.tools import CheckCalls, ToolPage, ToolSpec

MAX_FOUND = 6  # tools that one search adds, beside those in use


class ToolLookup(Protocol):
    """What the planner asks the executor. `only`: names of the tools that are allowed; empty: all."""

    async def listed(self, words: str, only: tuple[str, ...] = ()) -> ToolPage:
        """As many tools as a prompt shows, those that match the words best, by name."""
        ...

    async def search(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
        """The tools in use, then those that match the words."""
        ...

    async def check(self, ask: CheckCalls) -> tuple[str, ...]: ...


class ToolChoice(NamedTuple):
    """The tools of one request's prompts.

    `page` depends on the request alone, so that all prompts of it begin alike and are cached. `found` are shown after
    the conversation: tools in use, and those that match later messages or the model's own search. `found_rules` are
    the rules that only these have.
    """

    page: ToolPage
    found: tuple[ToolSpec, ...] = ()
    found_rules: tuple[str, ...] = ()

    @property
    def all_tools(self) -> ToolPage:
        """The page with the tools found since; its `rules` and `others` stay as they were."""
        return self.page.model_copy(update={"tools": (*self.page.tools, *self.found)})

    async def with_named(self, lookup: ToolLookup, names: Iterable[str], only: tuple[str, ...] = ()) -> "ToolChoice":
        """The choice with these tools shown whole, if the page only names them: a tool that is named can be called."""
        shown = {spec.name for spec in self.all_tools.tools}
        wanted = tuple(name for name in dict.fromkeys(names) if name in self.page.others and name not in shown)
        # without words, the search finds just these
        return await self.with_matching(lookup, "", wanted, only) if wanted else self

    async def with_matching(
        self, lookup: ToolLookup, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()
    ) -> "ToolChoice":
        """The choice with the tools that fit these words, and those in use, if any are not shown yet."""
        if not self.page.others:  # it shows all tools
            return self
        results = await lookup.search(words, used, only)
        shown = {spec.name for spec in self.all_tools.tools}
        fresh = [spec for spec in results.tools if spec.name not in shown]
        fresh = fresh[: MAX_FOUND + sum(spec.name in used for spec in fresh)]
        if not fresh:
            return self
        known = {*self.page.rules, *self.found_rules}
        rules = (rule for rule in results.rules if rule not in known)
        return self._replace(found=(*self.found, *fresh), found_rules=(*self.found_rules, *rules))


async def choose(
    lookup: ToolLookup, request: str, later: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()
) -> ToolChoice:
    """The tools that fit the request; then those in use, and those that fit the words said later."""
    choice = ToolChoice(await lookup.listed(request, only))
    return await choice.with_matching(lookup, later, used, only) if later or used else choice
