"""Packs: a tool's declarations reach the executor, and a broken pack does not affect others."""

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, JsonValue

import packs
from parley import Context, Failed, Pack, PastCall, Preview, Refused, Tool, ToolUnavailable, tool
from parley.events.values import SessionSettings
from services.executor.sources.loading import LoadedPacks, open_plugins
from services.executor.sources.packs import LoadedPackSource, PackSource
from services.executor.tools import Registry, ToolInvocation, ToolResult
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Code
from shared.settings import Settings
from shared.story import finish_action
from tests.support.timeouts import WAIT_TIMEOUT
from tests.unit.domain.spec import act, given, request, turn

SESSION = Session("s", owner="ann")
SHIPPED = sorted(path.parent.name for path in Path(packs.__file__).parent.glob("*/pack.py"))


class Amount(BaseModel):
    """How much of what."""

    title: str = Field("tea", description="Of what.")
    number: int = Field(description="How many.")


class Receipt(BaseModel):
    total: Decimal
    on: date


@tool(effect="write", seconds=5)
async def order(amount: Amount, context: Context) -> Receipt:
    """Order something.

    It is delivered at once.
    """
    if amount.number > 99:
        raise Refused("so many are not there")
    return Receipt(total=Decimal("2.50") * amount.number, on=date(2030, 1, 2))


def called(tool: Tool[Any], session: Session = SESSION, **arguments: JsonValue) -> Any:
    """What the executor gets for a call of this tool."""
    registered = Registry(PackSource((Pack("shop", [tool]),))).find(tool.name)
    assert registered
    return registered.run(ToolInvocation(session, "s/1/1.1/1", arguments))


def returning(value: object, **more: Any) -> Tool[Any]:
    async def run(_: Amount, __: Context) -> object:
        if isinstance(value, Exception):
            raise value
        return value

    return Tool(name="give", arguments=Amount, run=run, **more)


# --- a tool


def test_a_function_is_a_tool() -> None:
    spec = order.spec("shop")
    assert (spec.name, spec.effect, spec.origin) == ("order", "write", "shop")
    assert spec.description == "Order something.\n\nIt is delivered at once."
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "title": {"default": "tea", "description": "Of what.", "type": "string"},
            "number": {"description": "How many.", "type": "integer"},
        },
        "required": ["number"],
        "additionalProperties": False,
    }
    assert order.returns is Receipt


def test_names_of_packs_and_tools_must_be_ones_that_a_model_can_write() -> None:
    for name in ("", "a b", "a.b", "x" * 65):
        with pytest.raises(ValueError, match="no name for a pack or a tool"):
            Pack(name)
        with pytest.raises(ValueError, match="no name for a pack or a tool"):
            Pack("shop", [replace(order, name=name)])


async def test_a_call_gets_its_parsed_arguments_and_its_context() -> None:
    observed: list[tuple[Amount, Context]] = []

    @tool()
    async def look(amount: Amount, context: Context) -> None:
        """Look."""
        observed.append((amount, context))

    approved = Code(4, 1, 2, "print(1)\n", "", "generator", "approved")
    with_code = replace(SESSION, code=approved, settings=SessionSettings(world="own"))
    for session in (SESSION, with_code, replace(with_code, code=replace(approved, status="review"))):
        assert await called(look, session, number="3") == ToolResult(ok=True)
    assert [amount for amount, _ in observed] == [Amount(number=3)] * 3
    contexts = [context for _, context in observed]
    assert [(context.session_id, context.user, context.key) for context in contexts] == [("s", "ann", "s/1/1.1/1")] * 3
    assert [context.world for context in contexts] == ["shared", "session:s", "session:s"]
    programs = [context.program for context in contexts]
    assert programs[1]
    assert (programs[1].code, programs[1].hash) == (approved.code, approved.hash)
    assert (programs[0], programs[2]) == (None, None)


async def test_invalid_arguments_never_reach_the_function() -> None:
    assert await called(order, number="many") == ToolResult(
        ok=False, error="Error: number: Input should be a valid integer, unable to parse string as an integer"
    )


async def test_a_refusal_or_failure_keeps_the_tool_s_message() -> None:
    assert await called(order, number=100) == ToolResult(ok=False, error="Error: so many are not there")
    failed = returning(Failed("The line is busy.", result={"tries": 2}, unknown=True), effect="write")
    assert await called(failed, number=1) == ToolResult(False, {"tries": 2}, "The line is busy.", unknown=True)


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Receipt(total=Decimal("2.50"), on=date(2030, 1, 2)), {"total": "2.50", "on": "2030-01-02"}),
        ({"when": date(2030, 1, 2), 3: Decimal("1.10")}, {"when": "2030-01-02", "3": "1.10"}),
        ([{1}, (2, 3), Point(4)], [[1], [2, 3], {"x": 4}]),
    ],
    ids=["model", "dates and numbers", "sets, tuples and dataclasses"],
)
async def test_a_result_becomes_json(value: object, expected: JsonValue) -> None:
    result = await called(returning(value), number=1)
    assert (result.ok, result.value) == (True, expected)
    assert json.loads(json.dumps(result.value)) == expected


@pytest.mark.parametrize("value", [object(), b"\xff", [...]], ids=["object", "bytes", "ellipsis"])
async def test_a_result_that_json_cannot_represent_fails_a_read_but_not_a_write(value: object) -> None:
    """The write has happened already; if it were reported as failed, it would be repeated."""
    for effect, ok in (("read", False), ("write", True)):
        result = await called(returning(value, effect=effect, confirms=lambda *_: True), number=1)
        assert (result.ok, result.value, result.unknown) == (ok, None, False)
        assert result.error.startswith("The result cannot be kept: ")


async def test_a_call_to_an_unavailable_tool_is_retried_only_if_it_is_keyed() -> None:
    tries: list[str] = []

    async def run(_: Amount, context: Context) -> str:
        tries.append(context.key)
        if len(tries) < 3:
            raise ToolUnavailable("the database is away")
        return "there"

    lend = Tool(name="lend", arguments=Amount, run=run, effect="write")
    assert await called(replace(lend, keyed=True), number=1) == ToolResult(ok=True, value="there")
    assert tries == ["s/1/1.1/1"] * 3
    tries.clear()
    with pytest.raises(ToolUnavailable):
        await called(lend, number=1)


# --- checks, confirmations and previews of a pack


def only_once(amount: Amount, past: Sequence[PastCall]) -> Iterable[str]:
    if any(call.status != "failed" for call in past):
        yield "once is enough"


async def test_an_outcome_has_its_pack_s_confirmation_and_violation() -> None:
    plain = await called(returning(7), number=1)
    assert (plain.confirmed, plain.violation, plain.handed_over) == (None, "", False)
    checked_tool = returning(
        {"n": 7}, effect="write", check=only_once, confirms=lambda amount, it: it == {"n": amount.number}
    )
    assert (await called(checked_tool, number=7)).confirmed is True
    assert (await called(checked_tool, number=8)).confirmed is False

    def after(name: str) -> Session:
        return given(request("agentflow"), turn(act("1.1", tool=name)), c.Start(), finish_action(result=7)).session

    assert (await called(checked_tool, after("give"), number=7)).violation == "give: once is enough"
    assert (await called(checked_tool, after("mail"), number=7)).violation == "", (
        "a check applies to its own pack's calls only"
    )
    assert (await called(returning(1, hands_over=True), number=1)).handed_over


async def test_an_error_in_a_check_or_confirmation_does_not_change_the_outcome() -> None:
    def breaks(*_: object) -> Any:
        raise KeyError("n")

    result = await called(returning(7, effect="write", check=breaks, confirms=breaks), number=1)
    assert (result.ok, result.value, result.confirmed, result.violation) == (True, 7, None, "")


async def test_a_preview_validates_its_arguments_too() -> None:
    async def looks(amount: Amount, _: Context) -> Preview:
        if amount.number > 99:
            raise Refused("so many are not there")
        return Preview(known=True)

    registered = Registry(PackSource((Pack("shop", [replace(order, preview=looks)]),))).find("order")
    assert registered
    assert registered.preview
    assert await registered.preview(SESSION, {"number": 1}) == Preview(known=True)
    assert (await registered.preview(SESSION, {"number": 100})).error == "Error: so many are not there"
    assert "valid integer" in (await registered.preview(SESSION, {"number": "x"})).error


# --- the registry


class Counted(PackSource):
    """Packs that count how often their tools are read."""

    reads = 0

    def tools(self) -> Any:
        self.reads += 1
        return super().tools()


def test_the_registry_is_built_again_only_when_a_source_has_changed() -> None:
    source, other = Counted((Pack("shop", [order]),)), Counted((Pack("gifts", [returning(1)]),))
    registry = Registry(source, other)
    assert list(registry.all()) == ["give", "order"]
    assert registry.find("order") is registry.all()["order"]
    assert registry.find("none") is None
    assert (source.reads, other.reads) == (1, 1)
    before = registry.all()
    other.version += 1
    assert registry.all() is not before
    assert (source.reads, other.reads, registry.version) == (2, 2, 1)


# --- where packs are found

PACK = """
from pydantic import BaseModel
import packs
from parley import Context, Pack, ToolUnavailable, tool

class Nothing(BaseModel): ...

@tool()
async def {tool}(_: Nothing, context: Context) -> str:
    "Say something."
    return "said"

class Opened(Pack):
    async def open(self, settings):
        {opens}

pack = Opened("{name}", [{tool}])
"""


NO_CONTEXT = PACK.format(name="more", tool="say", opens="pass").replace(", context: Context", "")


async def opened(folder: Path | None) -> LoadedPacks:
    loaded = LoadedPacks(folder)
    async with AsyncExitStack() as stack:
        await loaded.open(Settings(parley_home=Path("/nonexistent"), retail_database_url="sqlite://"), stack)
    return loaded


async def test_packs_in_the_packs_folder_are_loaded_beside_those_that_ship(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(PACK.format(name="one", tool="say", opens="self.opened = settings"))
    package = tmp_path / "two"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import pack\n")
    (package / "inner.py").write_text(PACK.format(name="two", tool="tell", opens="pass"))
    (tmp_path / "notes.txt").write_text("no pack")
    loaded = await opened(tmp_path)
    assert list(loaded.packs) == [*SHIPPED, "one", "two"]
    assert loaded.troubles == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("x = 1", "it has no pack"),
        (NO_CONTEXT, "say must take an annotated pydantic model of its arguments, and the context"),
        (PACK.format(name="retail", tool="say", opens="pass"), "there is a pack retail already"),
        (PACK.format(name="more", tool="think", opens="pass"), "the pack retail has a tool think already"),
        (PACK.format(name="more", tool="say", opens="raise OSError('no disk')"), "OSError: no disk"),
        (PACK.format(name="more", tool="say", opens="raise SystemExit('no')"), "SystemExit: no"),
        (PACK.format(name="more", tool="say", opens="raise ToolUnavailable('no disk')"), "no disk. Its tools are back"),
    ],
    ids=["import", "exit", "none", "no context", "name", "tool", "open", "open exits", "open is unavailable"],
)
async def test_a_broken_pack_is_reported_and_the_others_work(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "broken.py").write_text(text)
    (tmp_path / "whole.py").write_text(PACK.format(name="whole", tool="tell", opens="pass"))
    loaded = await opened(tmp_path)
    assert list(loaded.packs) == [*SHIPPED, "whole"]
    (trouble,) = loaded.troubles
    assert why in trouble


async def test_a_slow_pack_holds_up_no_other_and_is_there_once_it_has_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    go, reports = asyncio.Event(), []

    class Slow(Pack):
        async def open(self, settings: object) -> None:
            await go.wait()

    monkeypatch.setattr("services.executor.sources.loading.OPEN_TIMEOUT", 0.05)
    async with AsyncExitStack() as stack, asyncio.timeout(WAIT_TIMEOUT):
        opened = asyncio.Event()

        def report(name: str, error: BaseException | None) -> None:
            reports.append((name, str(error)))
            if name == "slow" and error is None:
                opened.set()

        await open_plugins({"slow": Slow("slow"), "quick": Pack("quick")}, Settings(), stack, report)
        assert reports == [("quick", "None"), ("slow", "it has not opened within 0.05 s")]
        go.set()
        await opened.wait()


@pytest.mark.parametrize("damage", ["not a database", "malformed", "other data"])
async def test_a_damaged_store_takes_only_its_own_tools_away_until_it_is_mended(tmp_path: Path, damage: str) -> None:
    url, file = f"sqlite+aiosqlite:///{tmp_path / 'retail.db'}", tmp_path / "retail.db"
    settings = Settings(parley_home=tmp_path, retail_database_url=url)
    async with AsyncExitStack() as stack:
        await LoadedPacks().open(settings, stack)
    whole = file.read_bytes()
    match damage:
        case "not a database":
            file.write_bytes(os.urandom(200) + whole[200:])
        case "malformed":
            file.write_bytes(whole[:4096])
        case _:
            with closing(sqlite3.connect(file)) as db:
                db.execute("update retail_base set fingerprint = 'x'")
                db.commit()
    loaded = LoadedPacks()
    registry = Registry(LoadedPackSource(loaded))
    async with AsyncExitStack() as stack, asyncio.timeout(WAIT_TIMEOUT):
        await loaded.open(settings, stack)
        (trouble,) = registry.troubles()
        assert trouble.startswith("The pack retail cannot be opened")
        assert registry.find("get_order_details") is None
        assert registry.find("run_program") is not None
        if damage == "other data":
            assert "name another database for this data, or remove the old one" in trouble
            return
        assert str(file) in trouble
        assert "restore it from a backup, or move it away" in trouble
        file.unlink()  # moved away
        while registry.find("get_order_details") is None:  # noqa: ASYNC110  the registry has no event for a change
            await asyncio.sleep(0.02)
        assert registry.troubles() == ()
