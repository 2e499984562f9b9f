"""The tools that the prompts of a request show, and what the planner asks the executor."""

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple, Protocol

from pydantic import BaseModel

from parley.protocol.flows import FLOWS_LIST, FlowPage, ListFlows
from parley.protocol.tools import TOOLS_CHECK, TOOLS_LIST, CheckCalls, ListTools, ToolPage, ToolSpec, Violations
from shared.bus import Bus, BusUnavailable
from shared.retry import retry_while_unavailable

MAX_FOUND = 6  # tools that one search adds, beside those in use
TIMEOUT = 5.0  # seconds
MAX_SHOWN = 32
MAX_SHOWN_CALLS = 10  # turns come one after the other: what is missing here is found for a later one
MAX_QUERY = 5_000  # characters


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


@retry_while_unavailable(BusUnavailable)
async def ask_executor[Reply: BaseModel](bus: Bus, subject: str, request: BaseModel, reply: type[Reply]) -> Reply:
    """The executor's reply. Retries without a limit while the executor is unavailable."""
    answer = await bus.request(subject, request.model_dump_json().encode(), timeout=TIMEOUT)
    return reply.model_validate_json(answer, extra="allow")  # a newer executor may send more fields


class ToolClient:
    """Requests tools from the executor. `calls_only` leaves out tools that can only be steps of a plan."""

    def __init__(self, bus: Bus, *, calls_only: bool = False) -> None:
        self._bus = bus
        self._calls_only = calls_only

    async def listed(self, words: str, only: tuple[str, ...] = ()) -> ToolPage:
        """The tools of a prompt, those that match the words best, by name. `only` these, if it names any."""
        limit = MAX_SHOWN_CALLS if self._calls_only else MAX_SHOWN
        page = await self._offered(ListTools(query=words[:MAX_QUERY], limit=limit, only=only))
        # by name: providers keep what prompts begin with, also from one request to the next
        return page.model_copy(update={"tools": tuple(sorted(page.tools, key=attrgetter("name")))})

    async def search(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
        """The tools in use, and those that match the words. `only` these, if it names any."""
        limit = MAX_SHOWN + len(used)
        ask = {"query": words[:MAX_QUERY], "limit": limit, "names": used, "matching": True}
        return await self._offered(ListTools(only=only, **ask))

    async def all(self, only: tuple[str, ...] = ()) -> ToolPage:
        return await self._list(ListTools(only=only))

    async def check(self, ask: CheckCalls) -> tuple[str, ...]:
        """The reasons why these calls are forbidden; empty if they are allowed."""
        return (await ask_executor(self._bus, TOOLS_CHECK, ask, Violations)).violations

    async def _offered(self, ask: ListTools) -> ToolPage:
        return await self._list(ask.model_copy(update={"calls_only": self._calls_only, "offered": True}))

    async def _list(self, ask: ListTools) -> ToolPage:
        return await ask_executor(self._bus, TOOLS_LIST, ask, ToolPage)


class FlowClient:
    """Requests flows from the executor."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def page(self, session_id: str) -> FlowPage:
        return await ask_executor(self._bus, FLOWS_LIST, ListFlows(session_id=session_id), FlowPage)
