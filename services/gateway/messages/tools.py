"""Requests to the executor about its tools, and checks of a user's own actions."""

import difflib
import json
from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ValidationError

from parley.events.values import ActionSpec
from parley.protocol.bounds import OwnAction
from parley.protocol.tools import TOOLS_LIST, TOOLS_PREVIEW, ListTools, Preview, PreviewCall, ToolPage, ToolSpec
from services.gateway.api_errors import ApiError
from services.gateway.ports import GatewayBus
from shared.bus.errors import BusUnavailable
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.session import Session
from shared.domain.plan.policy import policy_of
from shared.domain.turn.action_ids import ActionId
from shared.repair import repair

TOOLS_TIMEOUT = 10.0  # seconds for the executor's answer
MAX_HINT_COST = (
    200_000  # characters compared for a suggestion, about 0.1 s: MCP servers choose the number and length of names
)
MAX_SHOWN_CHARS = 1_000  # of arguments in an error

Tools = Mapping[str, ToolSpec]


async def tool_page(bus: GatewayBus, request: ListTools) -> ToolPage:
    """The tools that fit the request. Raises ApiError(unavailable) while no executor answers."""
    return await ask_executor(bus, TOOLS_LIST, request, ToolPage)


async def preview(bus: GatewayBus, call: PreviewCall) -> Preview:
    """What the call would change. Raises ApiError(unavailable) while no executor answers."""
    return await ask_executor(bus, TOOLS_PREVIEW, call, Preview)


async def tools_by_name(bus: GatewayBus, request: ListTools | None = None) -> Tools:
    """All tools, or those that `request` asks for. Raises ApiError(unavailable) while no executor answers."""
    return {spec.name: spec for spec in (await tool_page(bus, request or ListTools())).tools}


async def ask_executor[A: BaseModel](
    bus: GatewayBus,
    subject: str,
    request: BaseModel,
    answer: type[A],
    *,
    timeout: float = TOOLS_TIMEOUT,  # noqa: ASYNC109
) -> A:
    """Send one typed request to the executor. Raises ApiError(unavailable)."""
    try:
        body = await bus.request(subject, request.model_dump_json().encode(), timeout=timeout)
        return answer.model_validate_json(body, extra="allow")  # a newer executor may send more fields
    except BusUnavailable as down:
        message = f"The executor, which has the {subject.partition('.')[0]}, does not answer."
        raise ApiError("unavailable", message, "Try again in a few seconds: it may be starting.") from down
    except ValidationError as strange:
        message = "The executor's answer cannot be read."
        raise ApiError("unavailable", message, "Do all services run the same version?") from strange


def own_actions(actions: Iterable[OwnAction], session: Session, tools: Tools) -> tuple[ActionSpec, ...]:
    """A user's actions as action specs, with ids, and the effect and policy of their tools. Raises Invalid.

    Arguments are never repaired: they run as sent, or are refused. Sending them counts as approval.
    """
    actions = tuple(actions)
    taken = {action.id for action in actions}
    free = (ActionId.of_turn(session.counts.turns + 1, number) for number in range(1, 1_000))
    unused = (each for each in free if each not in taken)
    return tuple(_action_spec(action, action.id or next(unused), session, tools) for action in actions)


def known_tool(name: str, tools: Tools) -> ToolSpec:
    """The tool with this name. Raises Invalid, which suggests similar names unless there are too many to compare."""
    if name in tools:
        return tools[name]
    is_cheap = len(name) * sum(map(len, tools)) <= MAX_HINT_COST
    similar = difflib.get_close_matches(name, tools, n=3) if is_cheap else []
    hint = f" Do you mean {' or '.join(similar)}?" if similar else ""
    raise Invalid(f"There is no tool {name}.{hint}")


def _action_spec(action: OwnAction, action_id: str, session: Session, tools: Tools) -> ActionSpec:
    tool = known_tool(action.tool, tools)
    repaired = repair(action.arguments, tool.parameters)
    if repaired.problems:
        raise Invalid(f"These arguments do not fit {tool.name}: {'; '.join(repaired.problems[:3])}.")
    if repaired.repairs:  # a user's own call runs as sent, or not at all
        suggestion = json.dumps(repaired.arguments, ensure_ascii=False)[:MAX_SHOWN_CHARS]
        fields = ", ".join(dict.fromkeys(fix.field or "arguments" for fix in repaired.fixes))
        raise Invalid(f"{tool.name} does not take these arguments ({fields}). If you mean {suggestion}, send that.")
    spec = ActionSpec(
        id=action_id,
        tool=tool.name,
        arguments=action.arguments,
        description=action.text,
        effect=tool.effect,
        depends_on=action.depends_on,
        policy=tool.policy,
        quiet=tool.quiet,
    )
    if policy_of(session, spec) == "deny":
        raise Invalid(f"The tool {tool.name} must not be used here.")
    return spec
