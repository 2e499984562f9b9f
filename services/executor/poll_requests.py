"""Polling steps: call the polled tool once and evaluate the step's condition on its result.

The plan store requests each poll. Tool and arguments come from the session alone. The registry is checked each time: a
tool that no longer only reads, that is denied by now, or whose calls ask by now without an approval, is not called.
"""

from collections.abc import Mapping

from pydantic import JsonValue, ValidationError
from pydantic_core import to_json

from parley.events.values import ToolRule
from parley.polling import MAX_VALUE, Polling, holds
from parley.protocol.tools import PollNow, PollResult, past_calls
from services.executor.sources.nodes import ORIGIN
from services.executor.tools import RegisteredTool, Registry, ToolInvocation, call_with_timeout
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.plan.policy import stricter_ruling, strictest
from shared.domain.steps.plan_steps import step_of
from shared.domain.steps.polling import polls_by_action as polls
from shared.domain.transcript.memory import action_history
from shared.domain.turn.batches import find_action
from shared.llm import ModelError
from shared.logging import conceal
from shared.repair.values import decoded
from shared.store import SessionLoader, StoreUnavailable

POLL_DEADLINE = 45.0  # seconds; the plan store waits a little longer for the answer


class CannotPoll(Exception):
    """The step cannot poll now; the text says why."""


async def polling_of(registry: Registry, session: Session, action: Action) -> Polling:
    """What the step polls, as its own tool says. Raises CannotPoll."""
    spec, step = action.spec, step_of(session, action.spec.id)
    tool = registry.find(spec.tool)
    if tool is None or tool.spec.waits_for != "condition":
        raise CannotPoll(f"There is no tool “{spec.tool}” that waits for a condition.")
    if step and (step.arguments or {}).get("condition") != spec.arguments.get("condition"):
        raise CannotPoll("condition is evaluated as it is written: no reference may stand in it.")
    result = await call_with_timeout(tool, lambda: tool.run(ToolInvocation(session, "", spec.arguments, action=action)))
    if not result.ok:
        raise CannotPoll(result.error)
    try:
        return Polling.model_validate(result.value)
    except ValidationError as error:
        raise CannotPoll(f"{spec.tool} does not say what is polled: {error.errors()[0]['msg']}") from error


def polled_tool(registry: Registry, session: Session, polling: Polling) -> RegisteredTool:
    """The tool to call at each poll. Raises CannotPoll if it may not be called with these arguments."""
    tool = registry.find(polling.tool)
    if tool is None or tool.spec.origin.startswith(ORIGIN):  # a flow's node needs its path
        raise CannotPoll(f"There is no tool “{polling.tool}”.")
    if tool.spec.effect != "read" or tool.spec.waits_for:
        raise CannotPoll(f"{polling.tool} does more than read: it cannot be polled.")
    if tool.policy(session) == "deny":
        raise CannotPoll(f"{polling.tool} must not be used here.")
    past = past_calls(action_history(session.memory, session.turn))
    if forbidden := tool.objections(polling.arguments, past):
        raise CannotPoll(" ".join(forbidden))
    return tool


def poll_rule(registry: Registry, session: Session, action: Action, polled: RegisteredTool) -> ToolRule | None:
    """The rule for the polls of this step: that of its own tool, with the stricter policy of both tools."""
    own = registry.find(action.spec.tool)
    rule = own.rule(session) if own else None
    return rule.model_copy(update={"policy": strictest(rule.policy, polled.policy(session))}) if rule else None


class PollRequests:
    """Answers TOOLS_POLL."""

    def __init__(self, registry: Registry, store: SessionLoader) -> None:
        self._registry = registry
        self._store = store

    async def poll(self, _: str, data: bytes) -> bytes | None:
        """The result of one poll, or the reason why the step cannot poll. None if the session cannot be loaded now."""
        try:
            polled = await self._poll(PollNow.model_validate_json(data))
        except ValidationError as error:
            polled = PollResult(error=f"This is no poll: {error.errors()[0]['msg']}")
        except StoreUnavailable:
            return None
        except (CannotPoll, CommandRefused, ModelError) as error:
            polled = PollResult(error=str(error)[:2_000])
        fields = {"value": conceal(polled.value), "error": conceal(polled.error)}  # it will be recorded permanently
        return polled.model_copy(update=fields).model_dump_json().encode()

    async def _poll(self, ask: PollNow) -> PollResult:
        session = (await self._store.load(ask.session_id)).session
        action = find_action(session, ask.action_id)
        if action is None or ask.action_id not in polls(session):
            raise CannotPoll(f"{ask.action_id} does not poll now.")
        polling = await polling_of(self._registry, session, action)
        tool = polled_tool(self._registry, session, polling)
        if stricter_ruling(session, action, poll_rule(self._registry, session, action, tool)):
            raise CannotPoll(f"{polling.tool} asks before each call by now: stop the plan and retry it to be asked.")
        value = await _read(tool, session, action, polling.arguments)
        subject = tool.subject(polling.arguments, value) if tool.subject else None
        return PollResult(value=value, met=holds(polling.condition, value), subject=subject)


async def _read(
    tool: RegisteredTool, session: Session, action: Action, arguments: Mapping[str, JsonValue]
) -> JsonValue:
    """The tool's result. Raises CannotPoll."""
    limited = tool._replace(timeout=min(tool.timeout, POLL_DEADLINE))
    key = f"{session.id}/{action.spec.id}/{action.attempt}"
    result = await call_with_timeout(limited, lambda: tool.run(ToolInvocation(session, key, arguments, action=action)))
    if not result.ok:
        raise CannotPoll(result.error or f"{tool.spec.name} failed.")
    value = decoded(result.value)
    if (size := len(to_json(value))) > MAX_VALUE:
        raise CannotPoll(f"{tool.spec.name} gives {size:,} bytes, and {MAX_VALUE:,} can be looked at: ask for less.")
    return value
