"""The executor: batches of calls, deadlines, stops, crashes, and large results."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from packs.program import pack as program
from packs.program.pack import MAX_OUTPUT
from parley import Pack
from parley.events import SessionEvent, facts, parse_event
from parley.events.values import ActionSpec, Artefact, Effect, SessionSettings, content_hash
from parley.protocol.tools import ListTools, Preview, PreviewCall, ToolPage, ToolSpec
from services.executor.handlers import Executor
from services.executor.result_limits import EXCERPT
from services.executor.sources.packs import register_tool
from services.executor.tool_requests import ToolRequests
from services.executor.tool_search import rank
from services.executor.tools import MAX_RESULT, RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared import sandbox
from shared.domain import commands as c
from shared.domain.commands import CommandMeta, Work
from shared.domain.session import Session, Words
from shared.domain.state import Action, Code, Turn
from shared.llm import ScriptedModel
from shared.log import SessionAtPosition, commit
from shared.settings import Settings
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps
from tests.support.needs import needs_landlock

CODE = Code(4, 1, 2, "print(1)\n", "", "generator", "approved")
SETTINGS = SessionSettings(approval="never")
SESSION = Session("s", version=4, workflow="agentflow", settings=SETTINGS, words=Words(request="Look"))
Run = Callable[[ToolInvocation], Awaitable[ToolResult]]


class ArtefactDict:
    """An object store in a dictionary. With `error`, every `keep` fails."""

    def __init__(self, error: str = "") -> None:
        self.kept: dict[str, bytes] = {}
        self._error = error

    async def keep(self, name: str, data: bytes) -> Artefact:
        if self._error:
            raise OSError(self._error)
        self.kept[name] = data
        return Artefact(name=name, size=len(data), sha256=content_hash(data.decode()))


def tool(name: str, run: Run, effect: Effect = "read", *, keyed: bool = False, seconds: float = 5) -> RegisteredTool:
    spec = ToolSpec(name=name, description=f"{name} things", parameters={}, effect=effect, keyed=keyed)
    return RegisteredTool(spec, run, timeout=seconds)


def act(name: str, number: int = 1, effect: Effect = "read", status: Any = "planned") -> Action:
    return Action(ActionSpec(id=f"1.{number}", tool=name, arguments={"n": number}, effect=effect), status)


class ExecutorBench:
    """An executor with these tools, a session with these actions, and their outcomes."""

    def __init__(
        self,
        *actions: Action,
        tools: tuple[RegisteredTool, ...] = (),
        artefacts: ArtefactDict | None = None,
        begin: Session = SESSION,
    ) -> None:
        self.log = InMemoryLog()
        self.shelf = artefacts or ArtefactDict()
        self.executor = Executor(Registry(StaticSource(*tools)), self.shelf)
        work = Work(service="executor", version=SESSION.version)
        session = replace(begin, phase="executing", work=work, turn=Turn(1, "look", actions, "planner"))
        deps = WorkerDeps("executor", InMemoryStore(self.log), self.log, ScriptedModel(), Drafts(None), Settings())
        self.desk = WorkContext(deps, SessionAtPosition(session, 0), cause="s:cause")

    async def run(self) -> list[SessionEvent]:
        await self.executor.run_batch(self.desk)
        return self.events

    @property
    def events(self) -> list[SessionEvent]:
        return [parse_event(raw.data) for raw in self.log.messages]

    def outcomes(self) -> dict[str, Any]:
        """The outcome or the `action.uncertain` event of each action, by action id."""
        result: dict[str, Any] = {}
        for event in self.events:
            if isinstance(event, facts.ActionsFinished):
                result |= {outcome.action_id: outcome for outcome in event.outcomes}
            elif isinstance(event, facts.ActionUncertain):
                result[event.action_id] = event
        return result


def returning(value: Any = "seen") -> Run:
    async def run(_: ToolInvocation) -> ToolResult:
        return ToolResult(ok=True, value=value)

    return run


def failing(error: Exception) -> Run:
    async def run(_: ToolInvocation) -> ToolResult:
        raise error

    return run


async def hanging(_: ToolInvocation) -> ToolResult:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


# --- outcomes


async def test_every_action_has_one_outcome() -> None:
    bench = ExecutorBench(
        act("good"),
        act("bad", 2),
        act("none", 3),
        tools=(tool("good", returning()), tool("bad", failing(OSError("full")))),
    )
    started, *ended = [event.type for event in await bench.run()]
    assert (started, set(ended)) == ("actions.started", {"actions.finished"})
    result = bench.outcomes()
    assert set(result) == {"1.1", "1.2", "1.3"}
    assert (result["1.1"].ok, result["1.1"].result) == (True, "seen")
    assert (result["1.2"].ok, result["1.2"].error) == (False, "OSError: full")
    assert result["1.3"].error == "There is no tool “none”."


async def test_reads_run_concurrently() -> None:
    barrier = asyncio.Barrier(3)

    async def meets(_: ToolInvocation) -> ToolResult:
        await asyncio.wait_for(barrier.wait(), 20)
        return ToolResult(ok=True)

    bench = ExecutorBench(*(act("meet", n) for n in (1, 2, 3)), tools=(tool("meet", meets),))
    await bench.run()
    assert all(outcome.ok for outcome in bench.outcomes().values())


async def test_writes_run_one_after_the_other_in_the_order_of_the_plan() -> None:
    order: list[Any] = []

    async def writes(call: ToolInvocation) -> ToolResult:
        order.append(("begins", call.arguments["n"]))
        await asyncio.sleep(0)
        order.append(("ends", call.arguments["n"]))
        return ToolResult(ok=True)

    bench = ExecutorBench(*(act("write", n, "write") for n in (1, 2)), tools=(tool("write", writes, "write"),))
    await bench.run()
    assert order == [("begins", 1), ("ends", 1), ("begins", 2), ("ends", 2)]


async def test_a_calls_key_names_session_turn_action_and_attempt() -> None:
    keys: list[str] = []

    async def notes(call: ToolInvocation) -> ToolResult:
        keys.append(call.key)
        return ToolResult(ok=True)

    await ExecutorBench(act("note", 1, "write"), tools=(tool("note", notes, "write", keyed=True),)).run()
    assert keys == ["s/1/1.1/1"]


async def test_the_key_stays_the_same_when_the_user_sends_another_request() -> None:
    """An action keeps its turn's key, even if the user stops and sends another request while it runs."""
    keys: list[str] = []

    async def moves_on(call: ToolInvocation) -> ToolResult:
        if not keys:
            loaded = SessionAtPosition(bench.desk.session, bench.log.last("s"))
            other = SessionSettings(recall=False)
            for command in (c.Stop(), c.Say(text="Something else", settings=other)):
                loaded, _ = await commit(
                    bench.log, loaded, command, CommandMeta("user:ann", datetime.now(UTC), command.__class__.__name__)
                )
        keys.append(call.key)
        return ToolResult(ok=True)

    bench = ExecutorBench(*(act("write", n, "write") for n in (1, 2)), tools=(tool("write", moves_on, "write"),))
    await bench.run()
    assert bench.desk.session.turn is None
    assert keys == ["s/1/1.1/1", "s/1/1.2/1"]
    assert list(bench.outcomes()) == ["1.1", "1.2"]


# --- deadlines and uncertain outcomes


@pytest.mark.parametrize(("effect", "kind"), [("read", "actions.finished"), ("write", "action.uncertain")])
async def test_a_tool_that_hangs_is_abandoned_at_its_deadline(effect: Effect, kind: str) -> None:
    bench = ExecutorBench(act("hang", 1, effect), tools=(tool("hang", hanging, effect, seconds=0.05),))
    assert (await bench.run())[-1].type == kind
    result = bench.outcomes()["1.1"]
    assert "did not answer within 0.05 seconds" in (result.error if kind == "actions.finished" else result.reason)


async def test_a_keyed_write_that_times_out_is_called_again_with_the_same_key() -> None:
    calls: list[str] = []

    async def slow_once(call: ToolInvocation) -> ToolResult:
        calls.append(call.key)
        if len(calls) == 1:
            await hanging(call)
        return ToolResult(ok=True, value="done")

    bench = ExecutorBench(
        act("keyed", 1, "write"), tools=(tool("keyed", slow_once, "write", keyed=True, seconds=0.05),)
    )
    await bench.run()
    assert calls == ["s/1/1.1/1"] * 2
    assert bench.outcomes()["1.1"].result == "done"


async def test_a_write_that_raises_is_uncertain() -> None:
    bench = ExecutorBench(act("write", 1, "write"), tools=(tool("write", failing(OSError("cut")), "write"),))
    assert (await bench.run())[-1].type == "action.uncertain"


@pytest.mark.parametrize(
    ("effect", "keyed", "kind"),
    [
        ("read", False, "actions.finished"),
        ("write", True, "actions.finished"),
        ("write", False, "action.uncertain"),
        ("irreversible", False, "action.uncertain"),
    ],
)
async def test_actions_that_were_running_when_the_executor_crashed(effect: Effect, keyed: bool, kind: str) -> None:
    """Reads and keyed writes run again. The outcome of other writes is uncertain."""
    ran: list[str] = []

    async def runs(call: ToolInvocation) -> ToolResult:
        ran.append(call.key)
        return ToolResult(ok=True, value=1)

    bench = ExecutorBench(act("run", 1, effect, "started"), tools=(tool("run", runs, effect, keyed=keyed),))
    assert [event.type for event in await bench.run()] == [kind]
    assert len(ran) == (kind == "actions.finished")


async def test_a_started_write_whose_tool_was_removed_is_uncertain() -> None:
    assert [event.type for event in await ExecutorBench(act("gone", 1, "write", "started")).run()] == [
        "action.uncertain"
    ]


# --- stop


async def test_a_stop_waits_for_the_running_write_and_reports_the_other_actions() -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def writes(_: ToolInvocation) -> ToolResult:
        started.set()
        await go.wait()
        return ToolResult(ok=True, value="written")

    writer = tool("write", writes, "write")
    bench = ExecutorBench(
        act("write", 1, "write"), act("write", 2, "write"), act("look", 3), tools=(writer, tool("look", hanging))
    )
    running = asyncio.create_task(bench.run())
    await started.wait()
    bench.desk.stopped = True
    running.cancel()
    while "1.3" not in bench.outcomes():  # noqa: ASYNC110  an in-memory log has no notifications
        await asyncio.sleep(0)
    assert not running.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    result = bench.outcomes()
    assert (result["1.1"].ok, result["1.1"].result) == (True, "written")
    assert (result["1.2"].ok, result["1.2"].error) == (False, "Stopped by the person before it was run.")
    assert (result["1.3"].ok, result["1.3"].error) == (False, "Stopped by the person.")


async def test_an_executor_that_shuts_down_reports_its_writes_and_leaves_keyed_ones() -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def writes(_: ToolInvocation) -> ToolResult:
        started.set()
        await go.wait()
        return ToolResult(ok=True)

    keyed = tool("keyed", returning("again"), "write", keyed=True)
    actions = (act("write", 1, "write"), act("write", 2, "write"), act("keyed", 3, "write"))
    bench = ExecutorBench(*actions, tools=(tool("write", writes, "write"), keyed))
    running = asyncio.create_task(bench.run())
    await started.wait()
    running.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert list(bench.outcomes()) == ["1.1", "1.2"], "the next executor may run the third again"


# --- size


async def test_a_large_result_is_stored_after_its_outcome() -> None:
    large = "é" * MAX_RESULT
    bench = ExecutorBench(act("talk"), tools=(tool("talk", returning(large)),))
    _, finished, stored = await bench.run()
    result = bench.outcomes()["1.1"]
    assert (result.ok, result.size, result.result) == (True, 2 * MAX_RESULT, "é" * EXCERPT + "…")
    assert (finished.type, bench.desk.session.phase) == ("actions.finished", "verifying")
    assert isinstance(stored, facts.ResultStored)
    assert (stored.artefact.name, stored.artefact.size) == ("s/1/1.1/1", 2 * MAX_RESULT)
    assert bench.shelf.kept["s/1/1.1/1"].decode() == large


async def test_a_large_result_that_cannot_be_stored_is_reported_as_lost() -> None:
    bench = ExecutorBench(
        act("talk"), tools=(tool("talk", returning("x" * 1_000_000)),), artefacts=ArtefactDict("no room")
    )
    _, _, lost = await bench.run()
    assert isinstance(lost, facts.ResultLost)
    assert lost.reason == "Only the beginning of its 1000000 bytes is here: no room"
    (action,) = bench.desk.session.turn.actions if bench.desk.session.turn else ()
    assert (action.status, action.artefact, action.error) == ("finished", None, lost.reason)


# --- answers about tools


SPECS = [
    ToolSpec(name="cancel_order", description="Cancel a pending order", parameters={}, effect="write"),
    ToolSpec(name="find_user", description="Find a customer by email", parameters={}, effect="read"),
    ToolSpec(name="weather", description="Tomorrow's weather", parameters={"properties": {"city": {}}}, effect="read"),
]


@pytest.mark.parametrize(
    ("words", "first"),
    [("please cancel my orders", "cancel_order"), ("customers' emails", "find_user"), ("which city?", "weather")],
)
def test_the_tools_that_fit_the_words_come_first(words: str, first: str) -> None:
    result = rank(SPECS, words)
    assert result[0].name == first
    assert len(result) == 3


def test_tools_are_sorted_by_name_if_no_word_fits() -> None:
    assert [spec.name for spec in rank(list(reversed(SPECS)), "zzz")] == ["cancel_order", "find_user", "weather"]
    assert rank([], "any") == []


async def listed(requests: ToolRequests, **ask: Any) -> ToolPage:
    return ToolPage.model_validate_json(await requests.list("", ListTools(**ask).model_dump_json().encode()))


async def test_a_list_has_the_named_tools_and_the_best_matches() -> None:
    registry = Registry(StaticSource(*(RegisteredTool(spec, returning()) for spec in SPECS)))
    pack = Pack("away", rules=["Be kind."])
    pack.fingerprint = "print"
    requests = ToolRequests(registry, InMemoryStore(InMemoryLog()), (pack,))
    page = await listed(requests, query="cancel", limit=2, names=("weather",))
    assert ([spec.name for spec in page.tools], page.total, page.world) == (["weather", "cancel_order"], 3, "print")
    assert page.rules == ()
    assert len((await listed(requests)).tools) == 3
    assert len(ToolPage.model_validate_json(await requests.list("", b"nonsense")).tools) == 3


async def test_a_preview_comes_from_the_tool_itself() -> None:
    async def looks(_: Session, arguments: Any) -> Preview:
        return Preview(known=True, error=f"no {arguments['n']}")

    tools = tuple(RegisteredTool(spec, returning(), looks if spec.name == "cancel_order" else None) for spec in SPECS)
    requests = ToolRequests(Registry(StaticSource(*tools)), InMemoryStore(InMemoryLog()))

    async def preview(name: str) -> Preview:
        ask = PreviewCall(session_id="s", tool=name, arguments={"n": 1})
        return Preview.model_validate_json(await requests.preview("", ask.model_dump_json().encode()))

    assert await preview("cancel_order") == Preview(known=True, error="no 1")
    assert await preview("weather") == Preview(known=True)
    assert "no tool" in (await preview("none")).error
    assert "no call" in Preview.model_validate_json(await requests.preview("", b"{}")).error


# --- run_code


def ask(code: Code | None, **arguments: Any) -> ToolInvocation:
    return ToolInvocation(replace(SESSION, code=code), "k", {"hash": CODE.hash} | arguments)


async def run_code(call: ToolInvocation) -> ToolResult:
    return await register_tool(program.run_code, "program").run(call)


async def test_only_the_approved_code_is_run() -> None:
    for code in (None, replace(CODE, status="review"), replace(CODE, code="print(2)\n")):
        result = await run_code(ask(code))
        assert not result.ok
        assert "not the one" in result.error


@needs_landlock
@pytest.mark.parametrize(
    ("code", "ok", "error"),
    [
        ("import sys\nprint(sys.argv[1:], input())\n", True, ""),
        ("raise SystemExit(3)\n", False, "The program ended with exit code 3."),
        ("import os\nos.kill(os.getpid(), 9)\n", False, "The program ended with killed."),
    ],
)
async def test_a_run_reports_how_it_ended(code: str, ok: bool, error: str) -> None:
    approved = replace(CODE, code=code)
    result = await run_code(ask(approved, hash=approved.hash, args=["a", 1], stdin="in"))
    assert isinstance(result.value, dict)
    assert (result.ok, result.error) == (ok, error)
    assert result.value["stdout"] == ("['a', '1'] in\n" if ok else "")


async def test_without_a_sandbox_the_error_explains_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unavailable(*_: Any, **__: Any) -> sandbox.RunResult:
        raise sandbox.SandboxUnavailable("The sandbox needs Linux")

    monkeypatch.setattr(sandbox, "run", unavailable)
    result = await run_code(ask(CODE))
    assert (result.ok, result.value) == (False, None)
    assert "needs Linux" in result.error
    assert "downloaded" in result.error


async def test_output_that_is_too_large_for_an_event_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    async def loud(*_: Any, **__: Any) -> sandbox.RunResult:
        output = "\x00" * 200_000
        return sandbox.RunResult(exit_code=0, stdout=output, stderr="é", duration=1, ended="exited", truncated=False)

    monkeypatch.setattr(sandbox, "run", loud)
    result = await run_code(ask(CODE))
    assert isinstance(result.value, dict)
    assert result.value["truncated"] is True
    assert result.value["stderr"] == "é"
    assert len(str(result.value["stdout"])) == MAX_OUTPUT // 6
