"""The tools that the prompts of a request show."""

from typing import NamedTuple, Protocol

from parley.protocol.tools import CheckCalls, ToolPage, ToolSpec


class ToolLookup(Protocol):
    async def matching(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage: ...

    async def check(self, ask: CheckCalls) -> tuple[str, ...]: ...


class ToolChoice(NamedTuple):
    """`page`: chosen by the request alone, so that all its prompts begin alike. `found`: shown after the conversation,
    because they are in use, or fit what was said since or what the model asked for.
    """

    page: ToolPage
    found: tuple[ToolSpec, ...] = ()

    @property
    def all_tools(self) -> ToolPage:
        """All tools that may be called."""
        return self.page.model_copy(update={"tools": (*self.page.tools, *self.found)})

    @property
    def others(self) -> int:
        """The number of tools that are not on the page."""
        return self.page.total - len(self.page.tools)

    async def with_matching(
        self, lookup: ToolLookup, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()
    ) -> "ToolChoice":
        """The choice with the tools that fit these words, and those in use, if any are not shown yet."""
        if not self.others:
            return self
        known = {spec.name for spec in self.all_tools.tools}
        more = (await lookup.matching(words, used, only)).tools
        return self._replace(found=(*self.found, *(spec for spec in more if spec.name not in known)))


async def choose(
    lookup: ToolLookup, request: str, messages: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()
) -> ToolChoice:
    """The tools that fit the request, then those that fit what was said since, and those in use."""
    choice = ToolChoice(await lookup.matching(request, (), only))
    return await choice.with_matching(lookup, messages, used, only) if messages or used else choice
