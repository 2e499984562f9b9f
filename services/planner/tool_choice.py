"""The tools that the prompts of a request show."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from parley.protocol.tools import CheckCalls, ToolPage, ToolSpec

MAX_FOUND = 6  # by one search; tools in use come first


class ToolLookup(Protocol):
    async def listed(self, words: str, only: tuple[str, ...] = ()) -> ToolPage: ...

    async def search(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage: ...

    async def check(self, ask: CheckCalls) -> tuple[str, ...]: ...


class ToolChoice(NamedTuple):
    """`page`: chosen by the request alone, so that all its prompts begin alike. `found`: shown after the conversation,
    because they are in use, or fit what was said since or what the model asked for; `found_rules` go with them.
    """

    page: ToolPage
    found: tuple[ToolSpec, ...] = ()
    found_rules: tuple[str, ...] = ()

    @property
    def all_tools(self) -> ToolPage:
        """All tools that may be called."""
        return self.page.model_copy(update={"tools": (*self.page.tools, *self.found)})

    async def with_named(self, lookup: ToolLookup, names: Iterable[str], only: tuple[str, ...] = ()) -> "ToolChoice":
        """The choice with those of the named tools that were only named so far: they can be called all the same."""
        known = {spec.name for spec in self.all_tools.tools}
        wanted = tuple(name for name in dict.fromkeys(names) if name in self.page.others and name not in known)
        return await self.with_matching(lookup, "", wanted, only) if wanted else self

    async def with_matching(
        self, lookup: ToolLookup, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()
    ) -> "ToolChoice":
        """The choice with the tools that fit these words, and those in use, if any are not shown yet."""
        if not self.page.others:
            return self
        more = await lookup.search(words, used, only)
        tools = {spec.name for spec in self.all_tools.tools}
        rules = {*self.page.rules, *self.found_rules}
        fresh = [spec for spec in more.tools if spec.name not in tools]
        found = fresh[: MAX_FOUND + sum(spec.name in used for spec in fresh)]
        return self._replace(
            found=(*self.found, *found),
            found_rules=(*self.found_rules, *(rule for rule in more.rules if found and rule not in rules)),
        )


async def choose(
    lookup: ToolLookup, request: str, messages: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()
) -> ToolChoice:
    """The tools that fit the request, then those in use and those that fit what was said since."""
    choice = ToolChoice(await lookup.listed(request, only))
    return await choice.with_matching(lookup, messages, used, only) if messages or used else choice
