"""The MCP client over real processes and real HTTP: servers that are slow, die, hang, change, or send too much.

A server needs 1.5 seconds of CPU to start, so tests that do not disturb it share one of each kind.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
import structlog

from cli.operate.ports import free_port, is_free
from services.executor.mcp import McpOutcome, McpServerConfig, McpTools, results, server, transport
from tests.support.timeouts import WAIT_TIMEOUT

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROOT = Path(__file__).parents[2]
SOURCE = (sys.executable, "-m", "tests.support.mcp_server")
KINDS = ("stdio", "stdio, old protocol", "http", "http, old protocol")


@pytest.fixture(scope="module", autouse=True)
def short_delays() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "FIRST_DELAY", 0.05)
        patch.setattr(server, "LONGEST_DELAY", 0.4)
        yield


def child(folder: Path, *options: str, **more: Any) -> McpServerConfig:
    args = (*SOURCE[1:], str(folder), *options)
    return McpServerConfig(name="shop", command=SOURCE[0], args=args, cwd=ROOT, **more)


def shell(script: str) -> McpServerConfig:
    return McpServerConfig(name="slow", command="sh", args=("-c", script), cwd=ROOT)


class McpTrial:
    """An MCP client's tools; a test can wait until they satisfy a condition."""

    def __init__(self, *config: McpServerConfig) -> None:
        self._changed = asyncio.Event()
        self.tools = McpTools(config, changed=self._changed.set)

    async def until(self, condition: Callable[[McpTools], bool]) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not condition(self.tools):
                self._changed.clear()
                await self._changed.wait()

    async def ready(self) -> None:
        await self.until(lambda tools: not tools.troubles())

    async def call(self, tool: str, *, timeout: float = 15, **arguments: Any) -> McpOutcome:  # noqa: ASYNC109
        return await self.tools.call(f"shop.{tool}", arguments, timeout=timeout)


@asynccontextmanager
async def using(*config: McpServerConfig) -> AsyncIterator[McpTrial]:
    trial = McpTrial(*config)
    await trial.tools.start()
    try:
        yield trial
    finally:
        await trial.tools.stop()


@asynccontextmanager
async def http_server(folder: Path, port: int, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start the test server on HTTP as a separate process, without waiting until it listens."""
    process = await asyncio.create_subprocess_exec(*SOURCE, str(folder), "--http", str(port), *options, cwd=ROOT)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Shop(NamedTuple):
    """A server that several tests share; its tools write into `folder`."""

    trial: McpTrial
    folder: Path
    config: McpServerConfig


def of_kind(kind: str) -> pytest.MarkDecorator:
    """Use only this kind of server: the tested behaviour does not depend on it."""
    return pytest.mark.parametrize("shop", [kind], indirect=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    folder, port = tmp_path_factory.mktemp("shop"), free_port()
    old = ("--old",) if "old" in request.param else ()
    async with AsyncExitStack() as opened:
        opened.enter_context(pytest.MonkeyPatch.context()).setenv("OPENAI_API_KEY", "sk-secret")
        if request.param.startswith("stdio"):
            config = child(folder, *old, policy="always", env={"SHOP_KEY": "its own"})
        else:
            await opened.enter_async_context(http_server(folder, port, *old))
            config = McpServerConfig(name="shop", url=f"http://127.0.0.1:{port}/mcp", policy="always")
        trial = await opened.enter_async_context(using(config))
        await trial.ready()
        yield Shop(trial, folder, config)


async def until_listening(port: int) -> None:
    """Wait until a server listens on the port."""
    while is_free("127.0.0.1", port):  # noqa: ASYNC110  a separate process sends no event
        await asyncio.sleep(0.02)


def notes(folder: Path) -> list[str]:
    path = folder / "notes"
    return path.read_text().split() if path.exists() else []


def pids(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "pids").read_text().split()]


async def wait_until_gone(pid: int) -> None:
    """Wait until there is no such process."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while Path(f"/proc/{pid}").exists():  # noqa: ASYNC110, ASYNC240  not a child of this process
            await asyncio.sleep(0.02)


# --- a working server


async def test_tools_are_offered_and_called(shop: Shop) -> None:
    trial = shop.trial
    specs = {spec.name: spec for spec in trial.tools.specs()}
    assert specs["shop.add"].effect == "read"
    assert specs["shop.note"].effect == "write"
    assert specs["shop.note_and_die"].effect == "irreversible"
    assert {(spec.origin, spec.policy, spec.keyed) for spec in specs.values()} == {("shop", "always", False)}
    assert specs["shop.add"].parameters["required"] == ["a", "b"]
    returns = specs["shop.add"].returns
    assert returns
    assert returns["properties"] == {"result": {"title": "Result", "type": "integer"}}
    assert specs["shop.words"].returns is None
    assert await trial.call("add", a=1, b=2) == McpOutcome(True, {"result": 3})
    assert await trial.call("words", text="so many") == McpOutcome(True, "so\nmany")
    assert (await trial.call("picture")).value == [{"type": "image", "mimeType": "image/png", "bytes": 68}]
    assert await trial.call("note", text="once") == McpOutcome(True, {"result": "noted"})
    assert notes(shop.folder).count("once") == 1


async def test_a_changed_list_is_read_again(shop: Shop) -> None:
    trial = shop.trial
    assert (await trial.call("learn", name="sing")).ok
    await trial.until(lambda tools: "shop.sing" in {spec.name for spec in tools.specs()})
    assert await trial.call("sing") == McpOutcome(True, "I am sing")


async def test_a_megabyte_arrives_and_more_than_the_limit_is_cut(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is sent twice, as text and as data: more than the mebibyte that the library accepts by default."""
    size = 700_000
    assert (await shop.trial.call("big", size=size)).value == {"result": "x" * size}
    monkeypatch.setattr(results, "MAX_RESULT", size)
    value = (await shop.trial.call("big", size=size)).value
    assert isinstance(value, dict)
    assert (value["type"], value["bytes"]) == ("cut", size + 13)


@of_kind("http")
async def test_a_result_over_the_limit_is_cut_and_not_lost(shop: Shop) -> None:
    value = (await shop.trial.call("big", size=results.MAX_RESULT)).value
    assert isinstance(value, dict)
    assert value["type"] == "cut"


@of_kind("stdio")
async def test_a_tools_refusal_is_a_known_outcome(shop: Shop) -> None:
    refused = await shop.trial.call("fail", reason="we are closed")
    assert (refused.ok, refused.unknown) == (False, False)
    assert "we are closed" in refused.error
    wrong = await shop.trial.call("add", a="one")
    assert (wrong.ok, wrong.unknown) == (False, False)
    unknown_tool = await shop.trial.call("nothing")
    assert unknown_tool.error.startswith("There is no tool “shop.nothing”")


@of_kind("stdio")
async def test_a_child_process_does_not_get_parleys_secrets(shop: Shop) -> None:
    assert os.environ["OPENAI_API_KEY"] == "sk-secret"
    assert (await shop.trial.call("environment", name="OPENAI_API_KEY")).value == {"result": ""}
    assert (await shop.trial.call("environment", name="SHOP_KEY")).value == {"result": "its own"}


# --- slow, hanging and dying servers


@pytest.mark.races
async def test_a_hanging_call_times_out_without_blocking_others(shop: Shop) -> None:
    trial = shop.trial
    hanging = asyncio.create_task(trial.call("note_and_hang", text="hanging", timeout=1))
    assert [(await trial.call("add", a=n, b=n)).value for n in range(5)] == [{"result": 2 * n} for n in range(5)]
    outcome = await hanging
    assert (outcome.ok, outcome.unknown) == (False, True)
    assert "nothing within 1 s" in outcome.error
    assert notes(shop.folder).count("hanging") == 1
    assert (await trial.call("add", a=1, b=1)).ok


@of_kind("http")
async def test_the_servers_timeout_limits_the_calls_timeout(shop: Shop) -> None:
    async with using(shop.config.model_copy(update={"timeout": 0.5})) as trial:
        await trial.ready()
        assert "nothing within 0.5 s" in (await trial.call("note_and_hang", text="x", timeout=50)).error


@pytest.mark.parametrize("kind", ["stdio", "stdio, old protocol"])
@pytest.mark.races
async def test_a_server_process_that_dies_in_a_call_is_restarted(tmp_path: Path, kind: str) -> None:
    async with using(child(tmp_path, *(["--old"] if "old" in kind else []))) as trial:
        await trial.ready()
        dead = await trial.call("note_and_die", text="last")
        assert (dead.ok, dead.unknown) == (False, True)
        assert notes(tmp_path) == ["last"]
        call_meanwhile = await trial.call("add", a=1, b=2)
        assert (call_meanwhile.ok, call_meanwhile.unknown) == (False, False)
        assert "is unavailable" in call_meanwhile.error
        await trial.until(lambda tools: bool(tools.troubles()))
        assert "shop.add" in {spec.name for spec in trial.tools.specs()}
        await trial.ready()
        assert await trial.call("add", a=1, b=2) == McpOutcome(True, {"result": 3})
        assert len(pids(tmp_path)) == 2


@pytest.mark.races
async def test_the_client_reconnects_to_an_http_server_that_was_restarted(tmp_path: Path) -> None:
    """The server restarts after it died in a call, then between two calls. Calls fail until the client reconnects."""
    port = free_port()
    async with using(McpServerConfig(name="shop", url=f"http://127.0.0.1:{port}/mcp")) as trial:
        async with http_server(tmp_path, port):
            await trial.ready()
            dead = await trial.call("note_and_die", text="last")
            assert (dead.ok, dead.unknown) == (False, True)
        call_meanwhile = await trial.call("add", a=1, b=2)
        assert not call_meanwhile.ok
        async with http_server(tmp_path, port), asyncio.timeout(WAIT_TIMEOUT):
            while not (await trial.call("add", a=1, b=2)).ok:
                await trial.until(lambda tools: bool(tools.troubles()))
                await trial.ready()
        assert notes(tmp_path) == ["last"]
        async with http_server(tmp_path, port), asyncio.timeout(WAIT_TIMEOUT):
            await until_listening(port)
            while not (await trial.call("add", a=1, b=2)).ok:
                await trial.ready()
                await asyncio.sleep(0.05)
            assert await trial.call("add", a=1, b=2) == McpOutcome(True, {"result": 3})


@of_kind("http")
@pytest.mark.races
async def test_a_slow_start_does_not_delay_other_servers(shop: Shop, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    slow = shell(f"cat {gate}; exec {' '.join(SOURCE)} {tmp_path}")
    async with using(slow, shop.config) as trial:
        await trial.until(lambda tools: "shop.add" in {spec.name for spec in tools.specs()})
        assert (await trial.call("add", a=1, b=2)).ok
        assert trial.tools.troubles() == ("The MCP server “slow” is unavailable: it is being started.",)
        await asyncio.to_thread(gate.write_text, "open")
        await trial.ready()
        assert (await trial.tools.call("slow.add", {"a": 1, "b": 2})).ok


async def test_a_server_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    missing = McpServerConfig(name="missing", command=str(tmp_path / "nothing"))
    not_a_server = McpServerConfig(
        name="dumb", command=sys.executable, args=("-c", "for n in range(99): print('hello, I am no server', n)")
    )
    unreachable = McpServerConfig(name="nobody", url=f"http://127.0.0.1:{free_port()}/mcp")
    with structlog.testing.capture_logs() as logs:
        async with using(missing, not_a_server, unreachable) as trial:
            await trial.until(lambda tools: "being started" not in " ".join(tools.troubles()))
            result = dict(zip(("missing", "dumb", "nobody"), trial.tools.troubles(), strict=True))
    assert "No such file" in result["missing"]
    assert "it ended" in result["dumb"]
    assert "ConnectError" in result["nobody"]
    assert trial.tools.specs() == ()
    noise = [entry for entry in logs if entry["event"] == "mcp_server_invalid_output"]
    assert {entry["server"] for entry in noise} == {"dumb"}
    assert len(noise) == 1


async def test_stderr_is_logged_up_to_a_limit(tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as logs:
        async with using(child(tmp_path)) as trial:
            await trial.ready()
            assert (await trial.call("complain", lines=500)).ok
    lines = [entry["line"] for entry in logs if entry["event"] == "mcp_stderr"]
    assert len(lines) == transport.LINES
    assert lines[0].startswith("complaint 0 yyy")
    assert max(map(len, lines)) == transport.LINE
    (dropped,) = [entry for entry in logs if entry["event"] == "mcp_stderr_dropped"]
    assert dropped["lines"] == 500 - transport.LINES


@pytest.mark.races
async def test_stop_ends_all_child_processes_also_one_that_is_still_starting(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    slow = shell(f"echo $$ >> {tmp_path}/pids; exec cat {gate}")
    async with using(slow, child(tmp_path)) as trial:
        await trial.until(lambda tools: len(tools.troubles()) == 1)
    started = pids(tmp_path)
    assert len(started) == 2
    for pid in started:
        await wait_until_gone(pid)


@pytest.mark.races
async def test_children_end_with_an_executor_that_is_killed(tmp_path: Path) -> None:
    """The client runs under uvloop, as in the executor."""
    program = """if True:
        import asyncio, sys, uvloop
        from services.executor.mcp import McpTools, McpServerConfig
        async def main():
            ready = asyncio.Event()
            args = ("-m", "tests.support.mcp_server", sys.argv[1])
            tools = McpTools([McpServerConfig(name="shop", command=sys.executable, args=args)], changed=ready.set)
            await tools.start()
            await ready.wait()
            print((await tools.call("shop.add", {"a": 1, "b": 2})).value, flush=True)
            await asyncio.Event().wait()
        uvloop.run(main())
    """
    executor = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(tmp_path), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert executor.stdout
        while await executor.stdout.readline() != b"{'result': 3}\n":
            assert not executor.stdout.at_eof()
    finally:
        executor.send_signal(signal.SIGKILL)
        await executor.communicate()
    (pid,) = pids(tmp_path)
    await wait_until_gone(pid)


async def test_the_time_reference_server_works() -> None:
    """The MCP project's time server, as published on PyPI."""
    async with using(McpServerConfig(name="time", command=sys.executable, args=("-m", "mcp_server_time"))) as trial:
        await trial.ready()
        assert {(spec.name, spec.effect) for spec in trial.tools.specs()} == {
            ("time.get_current_time", "read"),
            ("time.convert_time", "read"),
        }
        arguments = {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Kolkata"}
        outcome = await trial.tools.call("time.convert_time", arguments)
        assert outcome.ok
        assert isinstance(outcome.value, dict)
        assert isinstance(target := outcome.value["target"], dict)
        assert target["timezone"] == "Asia/Kolkata"
        assert not (await trial.tools.call("time.get_current_time", {"timezone": "Nowhere/None"})).ok
