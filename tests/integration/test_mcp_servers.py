"""The MCP client over real processes and real HTTP: servers that are slow, die, hang, change, or say too much."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from cli.ports import free_port, is_free
from services.executor.mcp import McpTools, Outcome, ServerConfig, server, transport

ROOT = Path(__file__).parents[2]
SOURCE = (sys.executable, "-m", "tests.support.mcp_server")
KINDS = ("stdio", "stdio of old", "http", "http of old")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FIRST_DELAY", 0.05)


def child(folder: Path, *options: str, name: str = "shop", **more: Any) -> ServerConfig:
    args = (*SOURCE[1:], str(folder), *options)
    return ServerConfig(name=name, command=SOURCE[0], args=args, cwd=ROOT, **more)


class Trial:
    """The client's tools, and a way to wait for what they become."""

    def __init__(self, *config: ServerConfig) -> None:
        self._changed = asyncio.Event()
        self.tools = McpTools(config, changed=self._changed.set)

    async def until(self, wanted: Callable[[McpTools], bool]) -> None:
        async with asyncio.timeout(20):
            while not wanted(self.tools):
                self._changed.clear()
                await self._changed.wait()

    async def ready(self) -> None:
        await self.until(lambda tools: not tools.troubles())

    async def call(self, tool: str, *, timeout: float = 15, **arguments: Any) -> Outcome:  # noqa: ASYNC109
        return await self.tools.call(f"shop.{tool}", arguments, timeout=timeout)


@asynccontextmanager
async def using(*config: ServerConfig) -> AsyncIterator[Trial]:
    trial = Trial(*config)
    await trial.tools.start()
    try:
        yield trial
    finally:
        await trial.tools.stop()


@asynccontextmanager
async def listening(folder: Path, port: int, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The test server on HTTP, as somebody else's process; nothing waits for it to be up."""
    process = await asyncio.create_subprocess_exec(*SOURCE, str(folder), "--http", str(port), *options, cwd=ROOT)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def shop(kind: str, folder: Path, **more: Any) -> AsyncIterator[Trial]:
    old = ("--old",) if kind.endswith("old") else ()
    if kind.startswith("stdio"):
        async with using(child(folder, *old, **more)) as trial:
            await trial.ready()
            yield trial
        return
    port = free_port()
    config = ServerConfig(name="shop", url=f"http://127.0.0.1:{port}/mcp", **more)
    async with listening(folder, port, *old), using(config) as trial:
        await trial.ready()
        yield trial


async def up(port: int) -> None:
    """Until somebody listens there."""
    while is_free("127.0.0.1", port):  # noqa: ASYNC110  somebody else's process: nothing tells of it
        await asyncio.sleep(0.02)


def notes(folder: Path) -> list[str]:
    path = folder / "notes"
    return path.read_text().split() if path.exists() else []


def pids(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "pids").read_text().split()]


async def gone(pid: int) -> None:
    """Until there is no such process."""
    async with asyncio.timeout(10):
        while Path(f"/proc/{pid}").exists():  # noqa: ASYNC110, ASYNC240  somebody else's child: nothing tells of its end
            await asyncio.sleep(0.02)


# --- what works


@pytest.mark.parametrize("kind", KINDS)
async def test_tools_are_offered_and_called(tmp_path: Path, kind: str) -> None:
    async with shop(kind, tmp_path, policy="always") as trial:
        specs = {spec.name: spec for spec in trial.tools.specs()}
        assert specs["shop.add"].effect == "read"
        assert specs["shop.note"].effect == "write"
        assert specs["shop.note_and_die"].effect == "irreversible"
        assert {(spec.origin, spec.policy, spec.keyed) for spec in specs.values()} == {("shop", "always", False)}
        assert specs["shop.add"].parameters["required"] == ["a", "b"]
        assert await trial.call("add", a=1, b=2) == Outcome(True, {"result": 3})
        assert await trial.call("words", text="so many") == Outcome(True, "so\nmany")
        assert (await trial.call("picture")).value == [{"type": "image", "mimeType": "image/png", "bytes": 68}]
        assert await trial.call("note", text="once") == Outcome(True, {"result": "noted"})
        assert notes(tmp_path) == ["once"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_changed_list_is_read_again(tmp_path: Path, kind: str) -> None:
    async with shop(kind, tmp_path) as trial:
        assert (await trial.call("learn", name="sing")).ok
        await trial.until(lambda tools: "shop.sing" in {spec.name for spec in tools.specs()})
        assert await trial.call("sing") == Outcome(True, "I am sing")


@pytest.mark.parametrize("kind", KINDS)
async def test_megabytes_arrive_and_more_is_cut(tmp_path: Path, kind: str) -> None:
    async with shop(kind, tmp_path) as trial:
        assert (await trial.call("big", size=3_000_000)).value == {"result": "x" * 3_000_000}
        value = (await trial.call("big", size=9_000_000)).value
        assert isinstance(value, dict)
        assert (value["type"], value["bytes"]) == ("cut", 9_000_013)


async def test_what_a_tool_refuses_is_an_answer(tmp_path: Path) -> None:
    async with shop("stdio", tmp_path) as trial:
        refused = await trial.call("fail", reason="we are closed")
        assert (refused.ok, refused.unknown) == (False, False)
        assert "we are closed" in refused.error
        wrong = await trial.call("add", a="one")
        assert (wrong.ok, wrong.unknown) == (False, False)
        stranger = await trial.call("nothing")
        assert stranger.error.startswith("There is no tool “shop.nothing”")


# --- trouble


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_that_hangs_ends_and_hinders_nobody(tmp_path: Path, kind: str) -> None:
    async with shop(kind, tmp_path) as trial:
        hanging = asyncio.create_task(trial.call("note_and_hang", text="hanging", timeout=1))
        assert [(await trial.call("add", a=n, b=n)).value for n in range(5)] == [{"result": 2 * n} for n in range(5)]
        outcome = await hanging
        assert (outcome.ok, outcome.unknown) == (False, True)
        assert "nothing within 1 s" in outcome.error
        assert notes(tmp_path) == ["hanging"]
        assert (await trial.call("add", a=1, b=1)).ok


async def test_the_servers_own_limit_is_the_most(tmp_path: Path) -> None:
    async with shop("stdio", tmp_path, timeout=0.5) as trial:
        assert "nothing within 0.5 s" in (await trial.call("note_and_hang", text="x", timeout=50)).error


@pytest.mark.parametrize("kind", ["stdio", "stdio of old"])
async def test_one_that_dies_in_a_call_is_started_again(tmp_path: Path, kind: str) -> None:
    async with shop(kind, tmp_path) as trial:
        dead = await trial.call("note_and_die", text="last")
        assert (dead.ok, dead.unknown) == (False, True)
        assert notes(tmp_path) == ["last"]
        away = await trial.call("add", a=1, b=2)
        assert (away.ok, away.unknown) == (False, False)
        assert "is away" in away.error
        await trial.until(lambda tools: bool(tools.troubles()))
        assert "shop.add" in {spec.name for spec in trial.tools.specs()}
        await trial.ready()
        assert await trial.call("add", a=1, b=2) == Outcome(True, {"result": 3})
        assert len(pids(tmp_path)) == 2


@pytest.mark.parametrize("kind", ["http", "http of old"])
async def test_one_on_http_that_dies_and_comes_back(tmp_path: Path, kind: str) -> None:
    port, old = free_port(), ("--old",) if kind.endswith("old") else ()
    async with using(ServerConfig(name="shop", url=f"http://127.0.0.1:{port}/mcp")) as trial:
        async with listening(tmp_path, port, *old):
            await trial.ready()
            dead = await trial.call("note_and_die", text="last")
            assert (dead.ok, dead.unknown) == (False, True)
        away = await trial.call("add", a=1, b=2)
        assert not away.ok
        async with listening(tmp_path, port, *old):
            async with asyncio.timeout(20):
                while not (await trial.call("add", a=1, b=2)).ok:
                    await trial.until(lambda tools: bool(tools.troubles()))
                    await trial.ready()
        assert notes(tmp_path) == ["last"]


@pytest.mark.parametrize("kind", ["http", "http of old"])
async def test_one_on_http_that_has_forgotten_us(tmp_path: Path, kind: str) -> None:
    """It was started again between two calls: a call fails, and then they work again."""
    port, old = free_port(), ("--old",) if kind.endswith("old") else ()
    async with using(ServerConfig(name="shop", url=f"http://127.0.0.1:{port}/mcp")) as trial:
        async with listening(tmp_path, port, *old):
            await trial.ready()
        async with listening(tmp_path, port, *old), asyncio.timeout(20):
            await up(port)
            while not (await trial.call("add", a=1, b=2)).ok:
                await trial.ready()
                await asyncio.sleep(0.05)
            assert await trial.call("add", a=1, b=2) == Outcome(True, {"result": 3})


async def test_a_slow_start_delays_nobody(tmp_path: Path) -> None:
    gate, quick_ = tmp_path / "gate", tmp_path / "quick"
    os.mkfifo(gate)
    quick_.mkdir()
    slow = child(tmp_path, "--behind", str(gate), name="slow")
    async with using(slow, child(quick_)) as trial:
        await trial.until(lambda tools: "shop.add" in {spec.name for spec in tools.specs()})
        assert (await trial.call("add", a=1, b=2)).ok
        assert trial.tools.troubles() == ("The MCP server “slow” is away: it is being started.",)
        await asyncio.to_thread(gate.write_text, "open")
        await trial.ready()
        assert (await trial.tools.call("slow.add", {"a": 1, "b": 2})).ok


async def test_one_that_cannot_be_started_is_told_of(tmp_path: Path) -> None:
    missing = ServerConfig(name="missing", command=str(tmp_path / "nothing"))
    dumb = ServerConfig(
        name="dumb", command=sys.executable, args=("-c", "for n in range(99): print('hello, I am no server', n)")
    )
    nobody = ServerConfig(name="nobody", url=f"http://127.0.0.1:{free_port()}/mcp")
    with structlog.testing.capture_logs() as logs:
        async with using(missing, dumb, nobody) as trial:
            await trial.until(lambda tools: "being started" not in " ".join(tools.troubles()))
            told = dict(zip(("missing", "dumb", "nobody"), trial.tools.troubles(), strict=True))
    assert "No such file" in told["missing"]
    assert "it ended" in told["dumb"]
    assert "ConnectError" in told["nobody"]
    assert trial.tools.specs() == ()
    babble = [entry for entry in logs if entry["event"] == "mcp_server_babbles"]
    assert {entry["server"] for entry in babble} == {"dumb"}
    assert len(babble) == 1


async def test_stderr_goes_to_the_log_and_not_without_end(tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as logs:
        async with shop("stdio", tmp_path) as trial:
            assert (await trial.call("complain", lines=500)).ok
    lines = [entry["line"] for entry in logs if entry["event"] == "mcp_stderr"]
    assert len(lines) == transport.LINES
    assert lines[0].startswith("complaint 0 yyy")
    assert max(map(len, lines)) == transport.LINE
    (dropped,) = [entry for entry in logs if entry["event"] == "mcp_stderr_dropped"]
    assert dropped["lines"] == 500 - transport.LINES


async def test_a_child_is_not_given_our_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    async with shop("stdio", tmp_path, env={"SHOP_KEY": "its own"}) as trial:
        assert (await trial.call("environment", name="OPENAI_API_KEY")).value == {"result": ""}
        assert (await trial.call("environment", name="SHOP_KEY")).value == {"result": "its own"}


async def test_stopping_ends_the_children_also_one_that_is_being_started(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with using(child(tmp_path, "--behind", str(gate), name="slow"), child(tmp_path)) as trial:
        await trial.until(lambda tools: len(tools.troubles()) == 1)
    started = pids(tmp_path)
    assert started
    for pid in started:
        await gone(pid)


async def test_children_end_with_an_executor_that_is_killed(tmp_path: Path) -> None:
    """As the executor runs it: under uvloop."""
    program = """if True:
        import asyncio, sys, uvloop
        from services.executor.mcp import McpTools, ServerConfig
        async def main():
            there = asyncio.Event()
            args = ("-m", "tests.support.mcp_server", sys.argv[1])
            tools = McpTools([ServerConfig(name="shop", command=sys.executable, args=args)], changed=there.set)
            await tools.start()
            await there.wait()
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
    await gone(pid)


async def test_a_reference_server() -> None:
    """The protocol's own time server, as it comes from the registry."""
    async with using(ServerConfig(name="time", command=sys.executable, args=("-m", "mcp_server_time"))) as trial:
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
