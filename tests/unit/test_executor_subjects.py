"""Whom a call is about: what a pack tells reaches the outcome, whatever runs the call and however it ends."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, JsonValue

from packs.retail.pack import Retail
from packs.waiting.pack import pack as waiting
from parley import Context, Failed, Pack, Refused, tool
from parley.events.values import Step, Waiting, content_hash
from parley.protocol.flows import FlowPage
from parley.protocol.tools import ListTools, PollNow, PollResult, ToolPage
from services.executor.poll_requests import PollRequests
from services.executor.sources.packs import MAX_SUBJECT, PackSource
from services.executor.step_executors import StepExecutors
from services.executor.tool_requests import ToolRequests
from services.executor.tools import RegisteredTool, Registry, ToolInvocation, ToolResult, call_with_timeout
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from tests.support.flow_walk import Walk
from tests.support.outside import installed
from tests.unit.domain.spec import approve

LONG = "x" * (MAX_SUBJECT + 1)


class Person(BaseModel):
    name: str


@tool(seconds=0.05)
async def read_file(person: Person, context: Context) -> dict[str, str]:
    """Read somebody's file."""
    match person.name:
        case "nobody":
            raise Refused("There is nobody.")
        case "half":
            raise Failed("Only a half.", result={"name": "half"})
        case "broken":
            raise ValueError("broken")
        case "slow":
            await asyncio.Event().wait()
    return {"name": person.name}


class Files(Pack):
    def subject(self, tool: str, arguments: Mapping[str, JsonValue], result: JsonValue) -> str:
        assert (tool, result) == ("read_file", dict(arguments))
        if arguments["name"] == "odd":
            raise ValueError("odd")
        return str(arguments["name"]) if arguments["name"] != "all" else ""


FILES = Files("files", [read_file])
PLAIN = Pack("plain", [read_file])


def registered(pack: Pack = FILES) -> RegisteredTool:
    found = Registry(PackSource((pack,))).find("read_file")
    assert found
    return found


async def called(read: RegisteredTool, call: ToolInvocation) -> ToolResult:
    return await call_with_timeout(read, lambda: read.run(call))


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("ann", "files:ann"),
        ("all", ""),
        (LONG, f"files:{content_hash(LONG)}"),
        *((name, "") for name in ("odd", "nobody", "half", "broken", "slow")),
    ],
)
async def test_a_call_tells_whom_it_was_about(name: str, subject: str) -> None:
    call = ToolInvocation(Session("s"), "key", {"name": name})
    assert (await called(registered(), call)).subject == subject
    assert (await called(registered(PLAIN), call)).subject is None


async def page(pack: Pack, *only: str, tells: bool = False) -> ToolPage:
    requests = ToolRequests(Registry(PackSource((pack, waiting))), InMemoryStore(InMemoryLog()), tells_subjects=tells)
    ask = ListTools(query="nothing that fits", limit=1, only=only)
    return ToolPage.model_validate_json(await requests.list("", ask.model_dump_json().encode()))


async def test_a_page_says_whether_a_tool_tells_be_it_shown_or_not() -> None:
    assert [(await page(pack)).tells_subjects for pack in (FILES, PLAIN)] == [True, False]
    assert (await page(FILES, "ask_person")).tells_subjects is False
    assert (await page(PLAIN, tells=True)).tells_subjects is True, "its pack is not open yet"


FLOW = """
name: records
description: Reads files.
nodes:
  read:
    description: Reads a file, and another.
    inputs: [request]
    tool:
      - {tool: read_file, arguments: {name: nobody}}
      - {tool: read_file, arguments: {name: $request}}
    outputs: {file: any}
    next: [say]
  say:
    description: Says so.
    set: {answer: done}
"""


@pytest.mark.parametrize(("pack", "subject", "subjects"), [(FILES, "files:ann", "possible"), (PLAIN, "", "none")])
async def test_a_node_tells_whom_its_calls_were_about(tmp_path: Path, pack: Pack, subject: str, subjects: str) -> None:
    (tmp_path / "records.yaml").write_text(FLOW)
    walk = Walk(tools=(registered(pack),), folder=tmp_path)
    flows = FlowPage.model_validate_json(await walk.guide.list("", b"{}") or b"")
    assert [flow.tells_subjects for flow in flows.flows if flow.name == "records"] == [pack is FILES]
    session = await walk.begins("ann", "records.read", "records.say")
    assert (session.subject, session.subjects) == (subject, subjects)


EXECUTOR = """
    from parley.step_executor import Result, StepExecutor

    class Own(StepExecutor):
        tools = ("read_file",)

        async def run(self, step, resolved, key, context):
            ran = await context.run_tool() if resolved["name"] == "bob" else Result(resolved)
            return Result(resolved, ran.ok)
"""


@pytest.mark.parametrize("name", ["ann", "bob"])
async def test_a_step_executor_tells_too(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, {"own_steps": EXECUTOR}, {"parley.step_executors": {"own": "own_steps:Own"}})
    step = Step(id="s1", tool="read_file", arguments={"name": name}, text="Read", effect="read")
    session = Story().apply(
        c.Say(text="read", workflow="execution_plan"),
        c.DraftPlan(goal="Read", steps=(step,), kind="execution"),
        approve,
    )
    assert session.turn
    read = StepExecutors(["own"]).override({"read_file": registered()})["read_file"]
    call = ToolInvocation(session, "key", {"name": name}, action=session.turn.actions[0])
    assert (await called(read, call)).subject == f"files:{name}"


async def test_a_poll_tells_too() -> None:
    arguments: dict[str, Any] = {"tool": "read_file", "arguments": {"name": "ann"}, "condition": 'name == "ann"'}
    step = Step(text="x", tool="poll_until", id="s1", effect="read", waits_for="condition", arguments=arguments)
    story = Story(log=(log := InMemoryLog()))
    await story.commit(c.Say(text="x", workflow="execution_plan"))
    await story.commit(c.DraftPlan(goal="x", steps=(step,), kind="execution"), approve)
    waits = Waiting(action_id="t2.s1", until=datetime.now(UTC) + timedelta(hours=1), every=60)
    await story.commit(c.Wait(actions=(waits,)))
    polls = PollRequests(Registry(PackSource((waiting, FILES))), InMemoryStore(log))
    ask = PollNow(session_id=story.id, action_id="t2.s1")
    answer = PollResult.model_validate_json(await polls.poll("", ask.model_dump_json().encode()) or b"")
    assert answer == PollResult(value={"name": "ann"}, met=True, subject="files:ann")


@pytest.mark.parametrize(
    ("tool_name", "arguments", "result", "subject"),
    [
        ("find_user_id_by_email", {"email": "a@b.c"}, "ann_lee_1", "ann_lee_1"),
        ("find_user_id_by_name_zip", {"zip": "1"}, "ann_lee_1", "ann_lee_1"),
        ("get_user_details", {"user_id": "ann_lee_1"}, {"email": "a@b.c"}, "ann_lee_1"),
        ("get_order_details", {"order_id": "#W1"}, {"user_id": "ann_lee_1"}, "ann_lee_1"),
        ("cancel_pending_order", {"order_id": "#W1"}, {"user_id": "ann_lee_1"}, "ann_lee_1"),
        ("modify_user_address", {"user_id": "ann_lee_1"}, {"email": "a@b.c"}, "ann_lee_1"),
        ("get_product_details", {"product_id": "1"}, {"name": "Lamp"}, ""),
        ("calculate", {"expression": "1 + 1"}, "2.0", ""),
        ("transfer_to_human_agents", {"summary": "Ann"}, "Transfer successful", ""),
    ],
)
def test_the_sample_store_tells_of_its_customers(
    tool_name: str, arguments: dict[str, JsonValue], result: JsonValue, subject: str
) -> None:
    assert Retail().subject(tool_name, arguments, result) == subject
