"""Tools of packs as the executor runs them: arguments parsed, results as JSON, outcomes judged by their pack."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import structlog
from pydantic import JsonValue, ValidationError

from parley import Context, Failed, Pack, PastCall, Program, Tool, Unavailable
from parley.protocol.tools import Preview, past_calls
from services.executor.keeping import with_value
from services.executor.tools import Arguments, Call, RegisteredTool, Result
from shared.domain.memory import history
from shared.domain.session import Session
from shared.retry import retry_while_unavailable

log = structlog.get_logger("executor")


class Packs:
    """A source of tools: all packs that are open. `troubles`: the packs that are not, and why."""

    version = 0

    def __init__(self, packs: Sequence[Pack], troubles: Iterable[str] = ()) -> None:
        self._packs = packs
        self._troubles = tuple(troubles)
        self._tools = tuple(tool for pack in packs for tool in _registered(pack))

    def tools(self) -> Iterable[RegisteredTool]:
        return self._tools

    def troubles(self) -> Iterable[str]:
        return self._troubles


def _registered(pack: Pack) -> Iterator[RegisteredTool]:
    names = frozenset(tool.name for tool in pack.tools)
    return (registered(tool, pack.name, names) for tool in pack.tools)


def registered(tool: Tool[Any], origin: str, names: frozenset[str] = frozenset()) -> RegisteredTool:
    """The tool, bound to the way in which the executor calls it. `names`: all tools of its pack."""
    return RegisteredTool(
        tool.spec(origin),
        partial(_run, tool, names),
        preview=partial(_preview, tool) if tool.preview else None,
        check=partial(_check, tool, names) if tool.check else None,
        seconds=tool.seconds,
        largest=tool.largest,
    )


async def _run(tool: Tool[Any], names: frozenset[str], call: Call) -> Result:
    try:
        arguments = tool.parsed(call.arguments)
    except ValidationError as error:
        return Result(ok=False, error=f"Error: {_problem(error)}")
    violations = _judged(tool, names, arguments, _past(call.session)) if tool.check else ()
    try:
        returned = await _called(tool, arguments, context_of(call.session, call.key))
    except Failed as error:
        return with_value(Result(ok=False, error=str(error), unknown=error.unknown), error.result, tool.effect)
    result = with_value(Result(ok=True), returned, tool.effect)
    if not result.ok:
        return result
    return result._replace(
        confirmed=_confirmed(tool, arguments, result.value),
        violation=" ".join(violations),
        handed_over=tool.hands_over,
    )


async def _called(tool: Tool[Any], arguments: Any, context: Context) -> object:
    """While what the pack needs is away, a call waits that may be made again whatever became of it."""
    if tool.keyed or tool.effect == "read":
        return await retry_while_unavailable(Unavailable)(_call)(tool, arguments, context)
    return await _call(tool, arguments, context)


async def _call(tool: Tool[Any], arguments: Any, context: Context) -> object:
    return await tool.run(arguments, context)


async def _preview(tool: Tool[Any], session: Session, arguments: Arguments) -> Preview:
    if tool.preview is None:
        return Preview(known=False)
    try:
        return await tool.preview(tool.parsed(arguments), context_of(session))
    except ValidationError as error:
        return Preview(known=True, error=f"Error: {_problem(error)}")
    except Failed as error:
        return Preview(known=True, error=str(error))


def _check(tool: Tool[Any], names: frozenset[str], arguments: Arguments, past: Sequence[PastCall]) -> tuple[str, ...]:
    try:
        return _judged(tool, names, tool.parsed(arguments), past)
    except ValidationError as error:
        return (f"{tool.name}: {_problem(error)}",)


def _judged(tool: Tool[Any], names: frozenset[str], arguments: Any, past: Sequence[PastCall]) -> tuple[str, ...]:
    """What its pack has against the call. A check that breaks down forbids nothing: a person may still be asked."""
    if tool.check is None:
        return ()
    try:
        return tuple(
            f"{tool.name}: {why}" for why in tool.check(arguments, [call for call in past if call.tool in names])
        )
    except Exception:
        log.exception("check_failed", tool=tool.name)
        return ()


def _confirmed(tool: Tool[Any], arguments: Any, result: JsonValue) -> bool | None:
    """None: the tool cannot tell."""
    if tool.confirms is None:
        return None
    try:
        return tool.confirms(arguments, result)
    except Exception:
        log.exception("confirmation_failed", tool=tool.name)
        return None


def own_world(session_id: str) -> str:
    """The name of a session's own world: no session's id makes it that of another world."""
    return f"session:{session_id}"


def context_of(session: Session, key: str = "") -> Context:
    """What a call may know of its session."""
    code = session.code
    approved = Program(code.code, code.hash, code.version) if code and code.status == "approved" else None
    world = own_world(session.id) if session.settings.world == "own" else "shared"
    return Context(session.id, user=session.owner, world=world, key=key, program=approved)


def _past(session: Session) -> tuple[PastCall, ...]:
    """The session's calls, as far as it remembers them."""
    return past_calls((*session.memory.earlier, *history(session.memory, session.turn)))


def _problem(error: ValidationError) -> str:
    """What is wrong with the arguments, in one line, without their values."""
    return "; ".join(_lines(error))


def _lines(error: ValidationError) -> Iterator[str]:
    for problem in error.errors(include_url=False, include_input=False, include_context=False)[:5]:
        where = ".".join(map(str, problem["loc"]))
        yield f"{where}: {problem['msg']}" if where else problem["msg"]
