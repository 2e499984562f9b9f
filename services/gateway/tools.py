"""The executor's tools, asked over the bus; and a person's own actions with them, made ready for the domain."""

import difflib
import json
from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ValidationError

from parley.events.values import ActionSpec
from parley.protocol.bounds import OwnAction
from parley.protocol.tools import TOOLS_LIST, TOOLS_PREVIEW, ListTools, Preview, PreviewCall, ToolPage, ToolSpec
from services.gateway.ports import Bus
from services.gateway.trouble import Trouble
from shared.bus.errors import BusDown
from shared.domain.errors import Invalid
from shared.domain.policy import policy_of
from shared.domain.session import Session
from shared.repair import repair

PATIENCE = 10.0  # seconds for the executor's answer
HINT_COST = 200_000  # letters compared for a hint: a tenth of a second; foreign servers choose how many and how long
SHOWN = 1_000  # characters of arguments in a refusal

Tools = Mapping[str, ToolSpec]


async def tool_page(bus: Bus, wanted: ListTools) -> ToolPage:
    """Raises Trouble(unavailable) while no executor answers."""
    return await ask(bus, TOOLS_LIST, wanted, ToolPage)


async def preview(bus: Bus, call: PreviewCall) -> Preview:
    """What the call would change. Raises Trouble(unavailable) while no executor answers."""
    return await ask(bus, TOOLS_PREVIEW, call, Preview)


async def tools_by_name(bus: Bus, wanted: ListTools | None = None) -> Tools:
    """All tools, or those that are `wanted`. Raises Trouble(unavailable) while no executor answers."""
    return {spec.name: spec for spec in (await tool_page(bus, wanted or ListTools())).tools}


async def ask[A: BaseModel](
    bus: Bus, subject: str, request: BaseModel, answer: type[A], *, patience: float = PATIENCE
) -> A:
    """One typed request to the executor. Raises Trouble(unavailable)."""
    try:
        body = await bus.request(subject, request.model_dump_json().encode(), timeout=patience)
        return answer.model_validate_json(body, extra="allow")  # a newer executor may say more
    except BusDown as down:
        message = f"The executor, which has the {subject.partition('.')[0]}, does not answer."
        raise Trouble("unavailable", message, "Try again in a few seconds: it may be starting.") from down
    except ValidationError as strange:
        message = "The executor's answer cannot be read."
        raise Trouble("unavailable", message, "Do all services run the same version?") from strange


def own_actions(asked: Iterable[OwnAction], session: Session, tools: Tools) -> tuple[ActionSpec, ...]:
    """What a person does is done exactly as they sent it, or refused: effect and policy are the tool's. Raises Invalid.

    No approval is asked for: to send it was to approve of it.
    """
    asked = tuple(asked)
    taken = {action.id for action in asked}
    free = (f"{session.counts.turns + 1}.{number}" for number in range(1, 1_000))
    unused = (each for each in free if each not in taken)
    return tuple(_spec(action, action.id or next(unused), session, tools) for action in asked)


def known(name: str, tools: Tools) -> ToolSpec:
    """The tool of this name. Raises Invalid, with the names that are nearest, where there are not too many."""
    if name in tools:
        return tools[name]
    cheap = len(name) * sum(map(len, tools)) <= HINT_COST
    near = difflib.get_close_matches(name, tools, n=3) if cheap else []
    hint = f" Do you mean {' or '.join(near)}?" if near else ""
    raise Invalid(f"There is no tool {name}.{hint}")


def _spec(action: OwnAction, action_id: str, session: Session, tools: Tools) -> ActionSpec:
    tool = known(action.tool, tools)
    read = repair(action.arguments, tool.parameters)
    if read.problems:
        raise Invalid(f"These are no arguments for {tool.name}: {'; '.join(read.problems[:3])}.")
    if read.repairs:  # a person's own call is done as it was sent, or not at all
        better = json.dumps(read.arguments, ensure_ascii=False)[:SHOWN]
        fields = ", ".join(dict.fromkeys(fix.field or "arguments" for fix in read.fixes))
        raise Invalid(f"{tool.name} does not take these arguments ({fields}). If you mean {better}, send that.")
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
