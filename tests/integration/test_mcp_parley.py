"""`parley mcp`, called by the MCP SDK's client, against a real gateway. tests/e2e covers it with all services."""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from cli.command import Declined
from cli.gateway import GatewayAddress
from cli.mcp import server as module
from cli.operate.ports import free_port
from parley.events.values import ActionSpec
from shared.domain.kernel import commands as c
from shared.log import SessionAtPosition
from shared.settings import Settings
from tests.e2e.parley_process import ROOT
from tests.support.gateway import SECRET, TOKEN, World, serving
from tests.support.http_client import http_client
from tests.support.stories import CODE

READ_PLANS = ("list_plans", "get_plan_by_task_id", "get_plan_status", "format_execution_plan")
REQUEST = "Help me create a simple calculator"
Json = dict[str, Any]


@asynccontextmanager
async def assistant(world: World, token: str = "") -> AsyncIterator[Client]:
    """An MCP client connected to this gateway."""
    async with serving(world.app) as address:
        server = module.build_server(lambda: GatewayAddress(f"ws://{address}/ws", token))
        async with Client(server) as client:
            yield client


async def says(client: Client, tool: str, **arguments: Any) -> Json:
    """The result of a tool, which must not be an error."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    content: Json = result.structured_content or {}
    return content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The message of a tool's error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    (block,) = result.content
    assert block.type == "text"
    return block.text


async def test_the_tools_have_descriptions_and_hints(world: World) -> None:
    async with assistant(world) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == {
        *("start_session", "read_session", "list_sessions", "wait"),
        *("approve", "reject", "feedback", "answer_question", "decide_offer"),
        *("generate_execution_plan", "store_plan", "modify_execution_plan", "approve_execution_plan", "execute_plan"),
        *("skip_plan_step", "cancel_plan", "delete_plan", *READ_PLANS),
    }
    assert all(tool.description and tool.annotations and tool.output_schema for tool in tools.values())
    reads = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
    assert reads == {"read_session", "list_sessions", "wait", *READ_PLANS}
    approve = tools["approve"]
    assert approve.annotations
    assert approve.annotations.destructive_hint
    assert set(approve.input_schema["required"]) == {"session_id", "version", "hash"}


async def test_a_request_is_planned_coded_and_approved_by_tools(world: World) -> None:
    async with assistant(world) as client:
        started = await says(client, "start_session", request=REQUEST)
        story = world.story(started["session_id"])
        assert (started["waits_for"], started["request"], started["plan"]) == ("work", REQUEST, None)
        waiting = asyncio.create_task(says(client, "wait", session_id=story.id, seconds=20))
        await story.drafts()
        state = await waiting
        assert state["waits_for"] == "plan_approval"
        plan = state["plan"]
        assert plan["text"].startswith("Goal: A calculator")
        reviewed = (await story.load()).plan
        assert reviewed
        assert plan["hash"] == reviewed.hash

        changed = await says(client, "feedback", session_id=story.id, text="For fractions, please")
        assert changed["waits_for"] == "work"
        await story.drafts("A calculator for fractions")
        stale = await refused(client, "approve", session_id=story.id, version=plan["version"], hash=plan["hash"])
        assert stale.endswith("[stale_version]")
        state = await says(client, "wait", session_id=story.id)
        plan = state["plan"]
        wrong = await refused(client, "approve", session_id=story.id, version=plan["version"], hash="0" * 64)
        assert wrong.endswith("[stale_version]")
        state = await says(client, "approve", session_id=story.id, version=plan["version"], hash=plan["hash"])
        assert (state["waits_for"], state["plan"]["status"]) == ("work", "approved")

        await story.codes()
        state = await says(client, "wait", session_id=story.id)
        code = state["code"]
        assert (state["waits_for"], code["code"]) == ("code_approval", CODE)
        no = await says(client, "reject", session_id=story.id, version=code["version"])
        assert no["waits_for"] == "feedback"
        await says(client, "feedback", session_id=story.id, text="Shorter")
        await story.codes("print(3.5)\n")
        code = (await says(client, "wait", session_id=story.id))["code"]
        done = await says(client, "approve", session_id=story.id, version=code["version"], hash=code["hash"])
        assert (done["waits_for"], done["code"]["status"]) == ("rest", "approved")


async def test_actions_that_await_approval_show_their_arguments_and_are_decided(world: World) -> None:
    async with assistant(world) as client:
        started = await says(client, "start_session", request="Cancel my order", workflow="agentflow")
        story = world.story(started["session_id"])
        write = ActionSpec(
            id="a1",
            tool="cancel",
            arguments={"order_id": "#W1"},
            effect="write",
            approval_reason="It changes an order.",
        )
        second_write = write.model_copy(update={"id": "a2", "arguments": {"order_id": "#W2"}})
        await story.commit(c.PlanTurn(sub_goal="Cancel", actions=(write, second_write)))
        state = await says(client, "wait", session_id=story.id)
        assert state["waits_for"] == "action_approval"
        first, second = state["actions"]
        assert (first["tool"], first["arguments"], first["effect"]) == ("cancel", {"order_id": "#W1"}, "write")
        version_in_review = {"session_id": story.id, "version": state["version"]}
        assert (first["action_id"], second["action_id"]) == ("1.1", "1.2")
        assert "differ" in await refused(client, "approve", **version_in_review, action_id="1.1", hash=second["hash"])
        state = await says(client, "approve", **version_in_review, action_id="1.1", hash=first["hash"])
        assert [action["action_id"] for action in state["actions"]] == ["1.2"]
        state = await says(client, "reject", **version_in_review, action_id="1.2", reason="Not that one")
        assert (state["waits_for"], state["actions"]) == ("work", [])
        denied = next(a for a in (await story.load()).turn.actions if a.spec.id == "1.2")  # type: ignore[union-attr]
        assert denied.status == "denied"


async def test_a_message_withdraws_nothing_and_an_offer_is_decided_on(world: World) -> None:
    async with assistant(world) as client:
        started = await says(client, "start_session", request="Cancel my order", workflow="agentflow")
        story = world.story(started["session_id"])
        write = ActionSpec(id="a1", tool="cancel", effect="write", approval_reason="It changes an order.")
        await story.commit(c.PlanTurn(sub_goal="Cancel", actions=(write,)))
        asked = await says(client, "feedback", session_id=story.id, text="No, return it")
        assert (asked["waits_for"], [action["tool"] for action in asked["actions"]]) == ("work", ["cancel"])
        other = write.model_copy(update={"tool": "return"})
        await story.commit(c.PlanTurn(sub_goal="Return it", actions=(other,)))
        state = await says(client, "wait", session_id=story.id)
        assert (state["waits_for"], state["offer"]["draft"]["sub_goal"]) == ("offer", "Return it")
        decision = {"session_id": story.id, "version": state["offer"]["version"]}
        kept = await says(client, "decide_offer", **decision, take=False)
        assert (kept["waits_for"], kept["offer"]) == ("action_approval", None)
        assert [action["tool"] for action in kept["actions"]] == ["cancel"]
        assert (await refused(client, "decide_offer", **decision, take=True)).endswith("[not_now]")


async def test_a_wait_ends_after_its_seconds(world: World) -> None:
    async with assistant(world) as client:
        started = await says(client, "start_session", request=REQUEST)
        state = await says(client, "wait", session_id=started["session_id"], seconds=0.3)
        assert state["waits_for"] == "work"
        assert "60" in await refused(client, "wait", session_id=started["session_id"], seconds=600)


async def test_refusals_are_those_of_the_gateway(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GATEWAY_TIMEOUT", 0.1)
    async with assistant(world) as client:
        assert (await refused(client, "read_session", session_id="nothing")).endswith("[not_found]")
        assert "session_id" in await refused(client, "read_session", session_id="a/../b")
        world.store.down = True
        assert "/readyz" in await refused(client, "start_session", request=REQUEST)
    server = module.build_server(lambda: GatewayAddress(f"ws://127.0.0.1:{free_port()}/ws", ""))
    async with Client(server) as client:
        assert "parley up" in await refused(client, "read_session", session_id="nothing")


async def test_a_message_sent_again_after_an_outage_is_applied_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client keeps the message's id when it sends it again."""
    monkeypatch.setattr(module, "GATEWAY_TIMEOUT", 30)
    async with assistant(world) as client:
        started = await says(client, "start_session", request=REQUEST)
        story = world.story(started["session_id"])
        await story.drafts()
        load, load_attempted = world.store.load, asyncio.Event()

        async def signalling_load(session_id: str, **options: Any) -> SessionAtPosition:
            load_attempted.set()
            return await load(session_id, **options)

        monkeypatch.setattr(world.store, "load", signalling_load)
        world.store.down = True
        feedback = asyncio.create_task(says(client, "feedback", session_id=story.id, text="For fractions"))
        for _ in range(3):
            load_attempted.clear()
            await load_attempted.wait()
        assert not feedback.done()
        world.store.down = False
        assert (await feedback)["waits_for"] == "work"
        assert (await story.load()).version == 3


async def test_a_gateway_with_a_token_requires_it() -> None:
    world = World(parley_auth="token", parley_token=TOKEN, parley_secret=SECRET)
    async with assistant(world) as client:
        assert (await refused(client, "start_session", request=REQUEST)).endswith("[unauthorized]")
    world = World(parley_auth="token", parley_token=TOKEN, parley_secret=SECRET)
    async with assistant(world, TOKEN) as client:
        assert (await says(client, "start_session", request=REQUEST))["waits_for"] == "work"


# --- as a process


def program(home: Path, *words: str, **environment: str) -> StdioServerParameters:
    """The parameters with which an assistant's configuration starts `parley mcp`."""
    args = ["-m", "cli.main", "mcp", *words]
    return StdioServerParameters(
        command=sys.executable, args=args, cwd=ROOT, env={"PARLEY_HOME": str(home), **environment}
    )


async def test_only_the_protocol_is_on_stdout(world: World, tmp_path: Path) -> None:
    async with serving(world.app) as address:
        parameters = program(tmp_path, "--url", f"ws://{address}/ws")
        process = await asyncio.create_subprocess_exec(
            parameters.command,
            *parameters.args,
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(b'{"jsonrpc": "2.0", "id": 1, "method": "nonsense"}\nrubbish\n')
    assert process.returncode == 0, err.decode()
    assert out.startswith(b'{"jsonrpc":"2.0","id":1,"error":')
    assert all(line.startswith(b'{"jsonrpc":"2.0"') for line in out.splitlines())


async def test_an_interrupt_ends_the_mcp_server(tmp_path: Path) -> None:
    parameters = program(tmp_path)
    process = await asyncio.create_subprocess_exec(
        parameters.command, *parameters.args, cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "nonsense"}\n')
    assert await process.stdout.readline()
    process.send_signal(signal.SIGINT)
    await process.communicate()
    assert process.returncode == -signal.SIGINT


async def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Declined, match="is in use"):
        await module.serve(Settings(parley_home=tmp_path), port=taken.getsockname()[1])


async def test_http_requires_the_gateways_token(tmp_path: Path) -> None:
    world = World(parley_auth="token", parley_token=TOKEN, parley_secret=SECRET)
    port = free_port()
    async with serving(world.app) as address:
        parameters = program(tmp_path, "--http", str(port), "--url", f"ws://{address}/ws")
        process = await asyncio.create_subprocess_exec(
            parameters.command, *parameters.args, cwd=ROOT, env={**(parameters.env or {}), "PARLEY_TOKEN": TOKEN}
        )
        try:
            endpoint = f"http://127.0.0.1:{port}/mcp"
            await _refused_without_a_token(endpoint)
            async with (
                http_client(headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False) as http,
                Client(streamable_http_client(endpoint, http_client=http)) as client,
            ):
                assert (await says(client, "start_session", request=REQUEST))["waits_for"] == "work"
        finally:
            process.terminate()
            await process.wait()


async def _refused_without_a_token(endpoint: str) -> None:
    async with http_client(trust_env=False) as http:
        while True:
            try:
                assert (await http.get(endpoint)).status_code == 401
            except httpx2.TransportError:
                await asyncio.sleep(0.05)
            else:
                return
