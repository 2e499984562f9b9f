"""Tools of packs as the executor runs them: arguments parsed, results as JSON, outcomes judged by their pack."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import structlog
from pydantic import JsonValue, ValidationError

from parley import Context, Failed, Pack, PastCall, Program, Tool, Unavailable
from parley.events.values import FileRef
from parley.protocol.tools import Preview, past_calls
from services.executor.keeping import with_value
from services.executor.session_files import Objects, SessionFiles
from services.executor.tools import Arguments, Call, RegisteredTool, Result
from shared.domain.memory import history
from shared.domain.session import Session
from shared.retry import retry_while_unavailable

log = structlog.get_logger("executor")
type _Returned = tuple[object, Mapping[str, FileRef | None]]


class Packs:
    """A source of tools: all packs that are open. `troubles`: the packs that are not, and why.

    `objects`: where the bytes of files lie; without it calls find no files.
    """

    version = 0

    def __init__(self, packs: Sequence[Pack], troubles: Iterable[str] = (), objects: Objects | None = None) -> None:
        self._packs = packs
        self._troubles = tuple(troubles)
        self._tools = tuple(tool for pack in packs for tool in _registered(pack, objects))

    def tools(self) -> Iterable[RegisteredTool]:
        return self._tools

    def troubles(self) -> Iterable[str]:
        return self._troubles


def _registered(pack: Pack, objects: Objects | None) -> Iterator[RegisteredTool]:
    names = frozenset(tool.name for tool in pack.tools)
    return (registered(tool, pack.name, names, objects) for tool in pack.tools)


def registered(
    tool: Tool[Any], origin: str, names: frozenset[str] = frozenset(), objects: Objects | None = None
) -> RegisteredTool:
    """The tool, bound to the way in which the executor calls it. `names`: all tools of its pack."""
    return RegisteredTool(
        tool.spec(origin),
        partial(_run, tool, names, objects),
        preview=partial(_preview, tool, objects) if tool.preview else None,
        check=partial(_check, tool, names) if tool.check else None,
        seconds=tool.seconds,
        largest=tool.largest,
    )


async def _run(tool: Tool[Any], names: frozenset[str], objects: Objects | None, call: Call) -> Result:
    try:
        arguments = tool.parsed(call.arguments)
    except ValidationError as error:
        return Result(ok=False, error=f"Error: {_problem(error)}")
    violations = _judged(tool, names, arguments, _past(call.session)) if tool.check else ()
    try:
        returned, files = await _called(tool, arguments, call, objects)
    except Failed as error:
        return with_value(Result(ok=False, error=str(error), unknown=error.unknown), error.result, tool.effect)
    result = with_value(Result(ok=True), returned, tool.effect)
    if not result.ok:
        return result
    return result._replace(
        confirmed=_confirmed(tool, arguments, result.value),
        violation=" ".join(violations),
        handed_over=tool.hands_over,
        files=files,
    )


async def _called(tool: Tool[Any], arguments: Any, call: Call, objects: Objects | None) -> _Returned:
    """While what the pack needs is away, a call waits that may be made again whatever became of it."""
    if tool.keyed or tool.effect == "read":
        return await retry_while_unavailable(Unavailable)(_call)(tool, arguments, call, objects)
    return await _call(tool, arguments, call, objects)


async def _call(tool: Tool[Any], arguments: Any, call: Call, objects: Objects | None) -> _Returned:
    """What the tool returned, and what it changed of the files; each try begins with those that the session has."""
    context = context_of(call.session, call.key, objects)
    returned = await tool.run(arguments, context)
    return returned, context.files.changes if isinstance(context.files, SessionFiles) else {}


async def _preview(tool: Tool[Any], objects: Objects | None, session: Session, arguments: Arguments) -> Preview:
    if tool.preview is None:
        return Preview(known=False)
    try:
        return await tool.preview(tool.parsed(arguments), context_of(session, objects=objects))
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


def context_of(session: Session, key: str = "", objects: Objects | None = None) -> Context:
    """What a call may know of its session."""
    code = session.code
    approved = Program(code.code, code.hash, code.version) if code and code.status == "approved" else None
    world = own_world(session.id) if session.settings.world == "own" else "shared"
    files = SessionFiles(session, objects) if objects else None
    return Context(session.id, user=session.owner, world=world, key=key, program=approved, files=files)


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
