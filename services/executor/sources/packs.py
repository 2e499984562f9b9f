"""Tools of packs as the executor runs them: parsed arguments, JSON results, and the pack's judgement of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import structlog
from pydantic import JsonValue, ValidationError

from parley import Context, Failed, Pack, PastCall, Program, Tool, ToolUnavailable
from parley.events.problems import problem_text
from parley.events.values import FileRef, content_hash
from parley.protocol.tools import Preview, past_calls
from services.executor.outcomes import with_json_value
from services.executor.session_files import CallFiles, ObjectStore
from services.executor.sources.loading import LoadedPacks
from services.executor.tools import Arguments, RegisteredTool, ToolInvocation, ToolResult
from shared.domain.kernel.session import Session
from shared.domain.transcript.memory import action_history
from shared.retry import retry_while_unavailable

log = structlog.get_logger("executor")
MAX_SUBJECT = 400  # characters; a longer name is hashed
type _Returned = tuple[object, Mapping[str, FileRef | None]]


class PackSource:
    """A source of tools: open packs. `objects` stores the bytes of session files; without it calls have no files."""

    version = 0

    def __init__(self, packs: Sequence[Pack], objects: ObjectStore | None = None) -> None:
        self._tools = tuple(tool for pack in packs for tool in _pack_tools(pack, objects))

    def tools(self) -> Iterable[RegisteredTool]:
        return self._tools

    def troubles(self) -> Iterable[str]:
        return ()


class LoadedPackSource:
    """A source of tools: all loaded packs, each while it is open."""

    def __init__(self, loaded: LoadedPacks, objects: ObjectStore | None = None) -> None:
        self._loaded = loaded
        self._objects = objects

    @property
    def version(self) -> int:
        return self._loaded.version

    def tools(self) -> Iterable[RegisteredTool]:
        return PackSource(tuple(self._loaded.packs.values()), self._objects).tools()

    def troubles(self) -> Iterable[str]:
        return self._loaded.troubles


def _pack_tools(pack: Pack, objects: ObjectStore | None) -> Iterator[RegisteredTool]:
    names = frozenset(tool.name for tool in pack.tools)
    tools = (register_tool(tool, pack.name, names, objects) for tool in pack.tools)
    return (_with_subject(pack, tool) if pack.tells_subjects else tool for tool in tools)


def _with_subject(pack: Pack, tool: RegisteredTool) -> RegisteredTool:
    """The tool, whose results name the subject of the call."""
    subject = partial(_subject, pack, tool.spec.name)

    async def run(call: ToolInvocation) -> ToolResult:
        result = await tool.run(call)
        return result._replace(subject=subject(call.arguments, result.value)) if result.ok else result

    return tool._replace(run=run, subject=subject, spec=tool.spec.model_copy(update={"tells_subjects": True}))


def _subject(pack: Pack, tool: str, arguments: Arguments, result: JsonValue) -> str:
    """Whom the call was about, named so that no other pack means somebody else by it; "" if the pack cannot tell."""
    try:
        subject = pack.subject(tool, arguments, result)
        return f"{pack.name}:{subject if len(subject) <= MAX_SUBJECT else content_hash(subject)}" if subject else ""
    except Exception:
        log.exception("subject_unknown", tool=tool)
        return ""


def register_tool(
    tool: Tool[Any], origin: str, names: frozenset[str] = frozenset(), objects: ObjectStore | None = None
) -> RegisteredTool:
    """The tool as the executor calls it. `names` are all tools of its pack."""
    return RegisteredTool(
        tool.spec(origin),
        partial(_run, tool, names, objects),
        preview=partial(_preview, tool, objects) if tool.preview else None,
        check=partial(_check, tool, names),
        timeout=tool.seconds,
        max_bytes=tool.largest,
    )


async def _run(tool: Tool[Any], names: frozenset[str], objects: ObjectStore | None, call: ToolInvocation) -> ToolResult:
    try:
        arguments = tool.parsed(call.arguments)
    except ValidationError as error:
        return ToolResult(ok=False, error=f"Error: {_problem(error)}")
    violations = _violations(tool, names, arguments, past_of(call.session)) if tool.check else ()
    try:
        returned, files = await _call_when_available(tool, arguments, call, objects)
    except Failed as error:
        return with_json_value(ToolResult(ok=False, error=str(error), unknown=error.unknown), error.result, tool.effect)
    result = with_json_value(ToolResult(ok=True), returned, tool.effect)
    if not result.ok:
        return result
    return result._replace(
        confirmed=_confirms_change(tool, arguments, result.value),
        violation=" ".join(violations),
        handed_over=tool.hands_over,
        files=files,
    )


async def _call_when_available(
    tool: Tool[Any], arguments: Any, call: ToolInvocation, objects: ObjectStore | None
) -> _Returned:
    """Call the tool; retry a repeatable call while the pack raises Unavailable."""
    if tool.keyed or tool.effect == "read":
        return await retry_while_unavailable(ToolUnavailable)(_call)(tool, arguments, call, objects)
    return await _call(tool, arguments, call, objects)


async def _call(tool: Tool[Any], arguments: Any, call: ToolInvocation, objects: ObjectStore | None) -> _Returned:
    """The tool's return value and its changes of files. Each attempt starts from the session's files."""
    context = context_of(call.session, call.key, objects)
    returned = await tool.run(arguments, context)
    return returned, context.files.changes if isinstance(context.files, CallFiles) else {}


async def _preview(tool: Tool[Any], objects: ObjectStore | None, session: Session, arguments: Arguments) -> Preview:
    if tool.preview is None:
        return Preview(known=False)
    try:
        return await tool.preview(tool.parsed(arguments), context_of(session, objects=objects))
    except ValidationError as error:
        return Preview(known=True, error=f"Error: {_problem(error)}")
    except Failed as error:
        return Preview(known=True, error=str(error))


def _check(tool: Tool[Any], names: frozenset[str], arguments: Arguments, past: Sequence[PastCall]) -> tuple[str, ...]:
    """Why the call must not be made: the tool cannot take its arguments, or the pack objects."""
    try:
        return _violations(tool, names, tool.parsed(arguments), past)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:5]
        wrong = (": ".join((*map(str, problem["loc"]), problem_text(problem))) for problem in problems)
        return (f"{tool.name}: {'; '.join(wrong)}.",)


def _violations(tool: Tool[Any], names: frozenset[str], arguments: Any, past: Sequence[PastCall]) -> tuple[str, ...]:
    """The pack's objections to the call. A check that raises forbids nothing; approval rules still apply."""
    if tool.check is None:
        return ()
    try:
        return tuple(
            f"{tool.name}: {why}" for why in tool.check(arguments, [call for call in past if call.tool in names])
        )
    except Exception:
        log.exception("check_failed", tool=tool.name)
        return ()


def _confirms_change(tool: Tool[Any], arguments: Any, result: JsonValue) -> bool | None:
    """Whether the result shows the intended change; None if the tool cannot tell."""
    if tool.confirms is None:
        return None
    try:
        return tool.confirms(arguments, result)
    except Exception:
        log.exception("confirmation_failed", tool=tool.name)
        return None


def own_world_name(session_id: str) -> str:
    """The name of a session's own world. The prefix keeps it distinct from shared worlds."""
    return f"session:{session_id}"


def context_of(session: Session, key: str = "", objects: ObjectStore | None = None) -> Context:
    """The call's view of its session."""
    code = session.code
    approved = Program(code.code, code.hash, code.version) if code and code.status == "approved" else None
    world = own_world_name(session.id) if session.settings.world == "own" else "shared"
    files = CallFiles(session, objects) if objects else None
    return Context(session.id, user=session.owner, world=world, key=key, program=approved, files=files)


def past_of(session: Session) -> tuple[PastCall, ...]:
    """The session's earlier calls, as far as its memory has them."""
    return past_calls((*session.memory.earlier, *action_history(session.memory, session.turn)))


def _problem(error: ValidationError) -> str:
    """The problems of the arguments, in one line, without the values."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)[:5]
    return "; ".join(": ".join(filter(None, (".".join(map(str, each["loc"])), each["msg"]))) for each in problems)
