"""Looks of steps that poll: one call of the tool that reads, and whether the step's condition holds for its result.

The keeper asks for each look. What is called comes from the session alone, and is held against the registry each time:
a tool that no longer only reads, or that is denied by now, is not called.
"""

from collections.abc import Mapping

from pydantic import JsonValue, ValidationError
from pydantic_core import to_json

from parley.polling import MOST_VALUE, Polling, holds
from parley.protocol.tools import Looked, LookNow, past_calls
from services.executor.calling import bounded
from services.executor.keeping import parsed
from services.executor.sources.nodes import ORIGIN
from services.executor.tools import Call, RegisteredTool, Registry
from shared.domain.errors import Refused
from shared.domain.memory import history
from shared.domain.plan_steps import step_of
from shared.domain.polling import polling as polls
from shared.domain.session import Session
from shared.domain.state import Action
from shared.domain.waves import find
from shared.llm import ModelError
from shared.logging import conceal
from shared.store import Loads, StoreDown

LONGEST_LOOK = 45.0  # seconds: who asks for a look waits a little longer for its answer


class CannotPoll(Exception):
    """The step cannot poll now; the text says why."""


async def polling_of(registry: Registry, session: Session, action: Action) -> Polling:
    """What the step polls, as its tool says. Raises CannotPoll."""
    spec, step = action.spec, step_of(session, action.spec.id)
    tool = registry.find(spec.tool)
    if tool is None or tool.spec.waits_for != "condition":
        raise CannotPoll(f"There is no tool “{spec.tool}” that waits for a condition.")
    if step and (step.arguments or {}).get("condition") != spec.arguments.get("condition"):
        raise CannotPoll("condition is evaluated as it is written: no reference may stand in it.")
    result = await bounded(tool, lambda: tool.run(Call(session, "", spec.arguments, action=action)))
    if not result.ok:
        raise CannotPoll(result.error)
    try:
        return Polling.model_validate(result.value)
    except ValidationError as error:
        raise CannotPoll(f"{spec.tool} does not say what is polled: {error.errors()[0]['msg']}") from error


def polled_tool(registry: Registry, session: Session, polling: Polling) -> RegisteredTool:
    """The tool that is called at each look. Raises CannotPoll where it may not be called, or not like this."""
    tool = registry.find(polling.tool)
    if tool is None or tool.spec.origin.startswith(ORIGIN):  # a node of a flow needs its path
        raise CannotPoll(f"There is no tool “{polling.tool}”.")
    if tool.spec.effect != "read" or tool.spec.waits_for:
        raise CannotPoll(f"{polling.tool} does more than read: it cannot be polled.")
    if tool.policy(session) == "deny":
        raise CannotPoll(f"{polling.tool} must not be used here.")
    past = past_calls(history(session.memory, session.turn))
    if tool.check and (forbidden := tool.check(polling.arguments, past)):
        raise CannotPoll(" ".join(forbidden))
    return tool


class LookRequests:
    """Answers TOOLS_LOOK."""

    def __init__(self, registry: Registry, store: Loads) -> None:
        self._registry = registry
        self._store = store

    async def look(self, _: str, data: bytes) -> bytes | None:
        """What cannot be looked at is answered with the reason. None where the session cannot be loaded now."""
        try:
            seen = await self._look(LookNow.model_validate_json(data))
        except ValidationError as error:
            seen = Looked(error=f"This is no look: {error.errors()[0]['msg']}")
        except StoreDown:
            return None
        except (CannotPoll, Refused, ModelError) as error:
            seen = Looked(error=str(error)[:2_000])
        told = {"value": conceal(seen.value), "error": conceal(seen.error)}  # what is recorded is for ever
        return seen.model_copy(update=told).model_dump_json().encode()

    async def _look(self, ask: LookNow) -> Looked:
        session = (await self._store.load(ask.session_id)).session
        action = find(session, ask.action_id)
        if action is None or ask.action_id not in polls(session):
            raise CannotPoll(f"{ask.action_id} does not poll now.")
        polling = await polling_of(self._registry, session, action)
        tool = polled_tool(self._registry, session, polling)
        value = await _read(tool, session, action, polling.arguments)
        return Looked(value=value, met=holds(polling.condition, value))


async def _read(
    tool: RegisteredTool, session: Session, action: Action, arguments: Mapping[str, JsonValue]
) -> JsonValue:
    """What the tool gives. Raises CannotPoll."""
    brief = tool._replace(seconds=min(tool.seconds, LONGEST_LOOK))
    key = f"{session.id}/{action.spec.id}/{action.attempt}"
    result = await bounded(brief, lambda: tool.run(Call(session, key, arguments, action=action)))
    if not result.ok:
        raise CannotPoll(result.error or f"{tool.spec.name} failed.")
    value = parsed(result.value)
    if (size := len(to_json(value))) > MOST_VALUE:
        raise CannotPoll(f"{tool.spec.name} gives {size:,} bytes, and {MOST_VALUE:,} can be looked at: ask for less.")
    return value
