"""`parley doctor`: checks what Parley needs on this machine, and says what to do about problems."""

import asyncio
import importlib
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from cli.bus_client import connect_bus, query_store
from cli.command import Declined, Unreachable
from cli.gateway import page_url
from cli.operate.home import find_running, use_running_nats
from cli.operate.nats_server import MINIMUM, NatsMissing, find_binary, probe, version_of, without_secrets
from cli.operate.ports import is_free, who_listens
from cli.operate.programs import http_get
from cli.text import visible
from packs.retail.generate import generate
from packs.retail.records import fingerprint, load
from packs.retail.relations import bases
from parley.protocol.tools import TOOLS_LIST, ListTools, ToolPage
from shared.bus import BusUnavailable
from shared.documents import decode, read_json
from shared.log import LogUnavailable
from shared.sandbox import available
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.store_api import HEALTH, Health
from shared.unavailable import DAMAGED, database_advice

_DISK_ENOUGH, _DISK_MINIMUM = 1_000_000_000, 100_000_000  # bytes of disk
_PAYLOAD = 4 * 1024 * 1024  # bytes of a message that Parley's own servers accept
_REQUEST_TIMEOUT = 5.0  # seconds for a server to answer
_STORE_WAIT = 3  # seconds for plan_store's answer
_ELECTION_TIMEOUT = 25.0  # seconds, enough for a cluster that has just lost a server
_PAGE = Path(__file__).parents[2] / "services" / "gateway" / "page" / "index.html"


Outcome = Literal["ok", "warn", "fail"]
_COLOUR: dict[Outcome, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


class DoctorCheck(NamedTuple):
    """One row of the report: what was checked, the outcome, the finding, and what to do about it."""

    name: str
    outcome: Outcome
    finding: str
    advice: str = ""


def ok(name: str, finding: str, advice: str = "") -> DoctorCheck:
    return DoctorCheck(name, "ok", finding, advice)


def warn(name: str, finding: str, advice: str = "") -> DoctorCheck:
    return DoctorCheck(name, "warn", finding, advice)


def fail(name: str, finding: str, advice: str) -> DoctorCheck:
    return DoctorCheck(name, "fail", finding, advice)


def check_table(checks: Sequence[DoctorCheck]) -> Table:
    """The report. Advice goes below the finding: two columns would be too narrow for URLs and paths."""
    report = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "check", "found, and → what to do"):
        report.add_column(heading, overflow="fold")
    for check in checks:
        text = Text(visible(check.finding))
        if check.advice:
            text.append(f"\n→ {check.advice}", style="bold")
        report.add_row(Text(check.outcome, style=_COLOUR[check.outcome]), Text(check.name), text)
    return report


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 160 characters."""
    return (str(error) or type(error).__name__).strip().splitlines()[0][:160]


def doctor(settings: Settings) -> int:
    """Run all checks and print a table. Exit code 1 if any check fails."""
    checks = asyncio.run(run_checks(settings))
    Console().print(check_table(checks))
    return int(any(check.outcome == "fail" for check in checks))


async def run_checks(settings: Settings) -> list[DoctorCheck]:
    """Run all checks, in the order of their dependencies."""
    up = await asyncio.to_thread(find_running, settings.parley_home)
    reached = await asyncio.to_thread(use_running_nats, settings)
    broker = await asyncio.to_thread(check_nats, reached, is_up=up is not None and reached is not settings)
    return [
        check_python(),
        check_home(settings),
        check_disk(settings),
        check_binary(settings),
        broker,
        await check_streams(reached, broker),
        *await check_store(reached, broker),
        await check_database(settings),
        await asyncio.to_thread(check_model, reached),
        check_prices(reached),
        await check_mcp(reached, is_up=broker.outcome == "ok" and "nats_url" in reached.model_fields_set),
        await check_retail(settings),
        await asyncio.to_thread(check_sandbox),
        check_page(),
        check_port(settings, up=up.pid if up else 0),
    ]


def check_python() -> DoctorCheck:
    """The Python interpreter in use."""
    return ok("Python", f"{sys.version.split()[0]} at {sys.executable}")


def check_home(settings: Settings) -> DoctorCheck:
    """Whether PARLEY_HOME is writable and private. Not checked if no state is local, as in containers."""
    home = settings.parley_home.resolve()
    if not _uses_home(settings):
        return ok("PARLEY_HOME", "not needed: NATS and the databases are elsewhere")
    parent = next(folder for folder in (home, *home.parents) if folder.exists())
    if not parent.is_dir() or not _writable(parent):
        return fail("PARLEY_HOME", f"{parent} cannot be written", "set PARLEY_HOME to a folder of yours")
    if parent == home and home.stat().st_mode & 0o077:
        return warn("PARLEY_HOME", f"{home} is open to other accounts", f"chmod 700 {home}")
    return ok("PARLEY_HOME", str(home) if parent == home else f"{home} (will be made)")


def _uses_home(settings: Settings) -> bool:
    """Whether Parley's own NATS or SQLite writes to PARLEY_HOME."""
    home = settings.parley_home.resolve()
    files = map(_sqlite_file, (settings.sql_url, settings.retail_url))
    is_local = any(file.resolve().is_relative_to(home) for file in files if file)
    return is_local or "nats_url" not in settings.model_fields_set


def _writable(folder: Path) -> bool:
    probe_file = folder / ".parley-doctor"
    try:
        probe_file.touch()
        probe_file.unlink()
    except OSError:
        return False
    return True


def check_disk(settings: Settings) -> DoctorCheck:
    """Whether the disk has room for the log. A full disk stops every append."""
    home = settings.parley_home.resolve()
    free = shutil.disk_usage(next(folder for folder in (home, *home.parents) if folder.is_dir())).free
    finding, advice = f"{free / 1e9:.1f} GB free", "make room: the log only grows"
    if free >= _DISK_ENOUGH or not _uses_home(settings):
        return ok("disk", finding)
    return (warn if free >= _DISK_MINIMUM else fail)("disk", finding, advice)


def check_binary(settings: Settings) -> DoctorCheck:
    """Whether there is a nats-server for `parley up` to run."""
    try:
        binary, origin = find_binary()
    except NatsMissing as error:
        if "nats_url" in settings.model_fields_set:
            return ok("nats-server", str(error))
        return fail("nats-server", str(error), "install it, or set NATS_URL")
    return ok("nats-server", f"{binary} ({origin})")


def check_nats(settings: Settings, *, is_up: bool) -> DoctorCheck:
    """Whether the configured or running NATS server answers, is new enough and has JetStream."""
    address = without_secrets(settings.nats_url)
    if "nats_url" not in settings.model_fields_set:
        return ok("NATS", "not running")
    try:
        info = probe(settings.nats_url)
    except OSError as error:
        todo = "see logs/nats.log in PARLEY_HOME" if is_up else "start it, or unset NATS_URL for our own"
        return fail("NATS", f"{address} does not answer: {error}", todo)
    if version_of(info.version) < MINIMUM:
        return fail("NATS", f"{info.version} at {address}", f"needs {'.'.join(map(str, MINIMUM))} or newer")
    if not info.jetstream:
        return fail("NATS", f"{address} has no JetStream", "switch it on: `jetstream {}` in its configuration")
    if 0 < info.max_payload < _PAYLOAD:
        finding = f"{address} takes {info.max_payload} bytes a message: long lists are refused, large sessions slow"
        return warn("NATS", finding, "`max_payload: 4MB` in its configuration")
    return ok("NATS", f"{info.version} at {address}, with JetStream")


async def check_streams(settings: Settings, broker: DoctorCheck) -> DoctorCheck:
    """Whether streams and consumers match this release. `broker` is the result of `check_nats`."""
    if broker.outcome != "ok":
        return warn("streams", "not looked at", "see NATS")
    if "nats_url" not in settings.model_fields_set:
        return ok("streams", "made by parley up")
    try:
        async with asyncio.timeout(_ELECTION_TIMEOUT):
            finding: list[str] = await importlib.import_module("shared.bus.provision").check(settings)
    except Exception as error:  # any error is reported, and the next check follows
        return fail("streams", f"could not be looked at: {first_line(error)}", "look at NATS_URL, and at its servers")
    if finding:
        return warn("streams", "; ".join(finding), "parley up, or parley provision, puts it right")
    return ok("streams", "as they should be")


async def check_database(settings: Settings) -> DoctorCheck:
    """Whether the database can be reached. plan_store creates a local one that does not exist yet."""
    address = without_secrets(settings.sql_url)
    file = _sqlite_file(settings.sql_url)
    if file and not await asyncio.to_thread(file.exists):
        return ok("database", f"{address} (will be made)")
    try:
        async with _connection(settings.sql_url) as connection:
            # SQLite opens the file only when a statement needs it.
            finding = await connection.scalar(text("pragma quick_check(1)" if file else "select 'ok'"))
    except (OSError, SQLAlchemyError) as error:
        advice = database_advice(str(error)) or "start it, or look at DATABASE_URL"
        return fail("database", f"{address}: {first_line(error)}", advice)
    if finding != "ok":
        return fail("database", f"{address}: {finding}", DAMAGED)
    return ok("database", address)


def _sqlite_file(url: str) -> Path | None:
    return Path(url.partition(":///")[2]) if url.startswith("sqlite") else None


@asynccontextmanager
async def _connection(url: str) -> AsyncIterator[AsyncConnection]:
    """A connection to the database. Raises OSError, SQLAlchemyError."""
    engine = create_async_engine(url)
    try:
        async with asyncio.timeout(_REQUEST_TIMEOUT), engine.connect() as connection:
            yield connection
    finally:
        await engine.dispose()


def check_model(settings: Settings) -> DoctorCheck:
    """Whether the configured endpoint lists its models."""
    if not settings.model_url:
        return warn("model", "none: parley up starts the rehearsal model (rules)", "set OPENAI_BASE_URL for an LLM")
    address = without_secrets(settings.model_url)
    url = f"{settings.model_url.rstrip('/')}/models"
    reply = http_get(url, timeout=_REQUEST_TIMEOUT, headers={"Authorization": f"Bearer {settings.model_key}"})
    if reply.status == 200:
        return ok("model", f"{settings.openai_model or 'models'} at {address}")
    if reply.status in (401, 403):
        return fail("model", f"{address} refuses the key ({reply.status})", "look at OPENAI_API_KEY")
    if reply.status:  # a server that does not list its models may still work
        return warn(
            "model",
            f"{address} answers {reply.status} to GET /models",
            "look at OPENAI_BASE_URL (with its /v1)",
        )
    return fail("model", f"{address} cannot be reached: {reply.text}", "start it, or look at OPENAI_BASE_URL")


def check_prices(settings: Settings) -> DoctorCheck:
    """Whether each configured model has a price. Calls without one count as free, so cost budgets ignore them."""
    if not settings.model_url:
        return ok("prices", "not needed: the rehearsal model costs nothing")
    priced = settings.parley_prices
    if missing := sorted({settings.openai_model, *settings.parley_models.values()} - priced.keys() - {""}):
        finding = f"none for {', '.join(missing)}: its calls cost $0, and a cost_budget never triggers"
    elif not priced:
        finding = "none: calls cost $0, and a cost_budget never triggers"
    else:
        return ok("prices", f"of {', '.join(sorted(priced))}")
    return warn("prices", finding, "set PARLEY_PRICES, or limit tokens with a token_budget")


def check_sandbox() -> DoctorCheck:
    """Whether the sandbox works. Without it, code that a model wrote is not run."""
    if problem := available():
        return warn("sandbox", problem, "code is shown but not run")
    return ok("sandbox", "available")


def check_page() -> DoctorCheck:
    """Whether the web page has been built."""
    if _PAGE.is_file():
        return ok("page", "built")
    return warn("page", "not built", "make page (the terminal works without: parley chat)")


def check_port(settings: Settings, *, up: int) -> DoctorCheck:
    """Whether the gateway's port is free. `up` is the process of the running `parley up`, or 0."""
    where = f"{settings.agent_host}:{settings.agent_port}"
    try:
        if is_free(settings.agent_host, settings.agent_port):
            return ok("port", f"{where} is free")
    except OSError as error:
        return fail("port", f"{where}: {error.strerror}", "AGENT_HOST must be an address of this machine")
    if up:
        return ok("port", f"{where} is in use by this home's parley up (process {up})")
    if "nats_url" in settings.model_fields_set and _is_a_gateway(settings):
        return ok("port", f"{where} is in use by a gateway, as it should be where services run one by one")
    who = who_listens(settings.agent_port) or "another program"
    return fail("port", f"{where} is taken by {who}", "stop it, or set AGENT_PORT")


def _is_a_gateway(settings: Settings) -> bool:
    url = f"{page_url(settings, with_token=False)}healthz"
    return http_get(url, timeout=_REQUEST_TIMEOUT).text == '{"alive":true}'


async def check_store(settings: Settings, broker: DoctorCheck) -> list[DoctorCheck]:
    """Checks of NATS' storage and of sessions that wait for a newer release, and one for each problem of plan_store.

    `broker` is the result of `check_nats`.
    """
    if broker.outcome != "ok" or "nats_url" not in settings.model_fields_set:
        return [ok("upgrade", "not looked at: Parley is not running")]
    storage = ok("storage", "NATS stores events")
    try:
        async with connect_bus(settings) as bus:
            try:
                await bus.log.check_writable()
            except LogUnavailable as error:
                advice = "make room, then restart nats-server (parley up restarts its own)"
                storage = fail("storage", str(error), advice)
            report = await query_store(PlanStoreClient(bus, wait=_STORE_WAIT), HEALTH, Health())
    except (Unreachable, Declined) as error:
        why = str(error).splitlines()[0]
        advice = database_advice(str(error)) or "start it, or see its log"
        upgrade = warn("upgrade", f"not looked at: {why}", "see plan_store")
        return [storage, fail("plan_store", why, advice), upgrade]
    upgrade = ok("upgrade", "no session waits for a newer release")
    if waiting := report.waiting_for_upgrade:
        finding = f"{waiting} sessions were continued by a newer release, and wait for it"
        upgrade = fail("upgrade", finding, "upgrade all services; nothing is lost meanwhile")
    problems = [(name, *problem.partition(": ")) for name, problem in report.problems.items()]
    return [storage, *(fail(name, finding, advice) for name, finding, _, advice in problems), upgrade]


async def check_mcp(settings: Settings, *, is_up: bool) -> DoctorCheck:
    """Whether the file of MCP servers is valid, and whether the running executor has connected to them."""
    if settings.parley_mcp_config is None:
        return ok("MCP", "no servers are configured (PARLEY_MCP_CONFIG)")
    try:
        names = await asyncio.to_thread(_servers, settings.parley_mcp_config)
    except (OSError, ValueError) as error:
        return fail(
            "MCP",
            f"{settings.parley_mcp_config}: {first_line(error)}",
            "mend the file, or unset PARLEY_MCP_CONFIG",
        )
    finding = f"{', '.join(names) or 'no server'} in {settings.parley_mcp_config}"
    if not is_up:
        return ok("MCP", f"{finding}; not asked: nothing runs")
    try:
        async with connect_bus(settings) as bus:
            answer = await bus.request(
                TOOLS_LIST, ListTools(limit=1).model_dump_json().encode(), timeout=_REQUEST_TIMEOUT
            )
    except (Unreachable, BusUnavailable):
        return warn("MCP", f"{finding}; no executor answers", "start it: it is who connects to them")
    troubles = ToolPage.model_validate_json(answer).troubles
    if troubles:
        return warn("MCP", f"{finding}; {troubles[0]}"[:400], "its tools are missing until that is mended")
    return ok("MCP", f"{finding}; all connected")


def _servers(path: Path) -> list[str]:
    """The names of the servers. Raises OSError, ValueError. The executor validates the rest of the file."""
    document = read_json(decode(path.read_bytes()))
    servers = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise ValueError("mcpServers is missing")
    return sorted(servers)


async def check_retail(settings: Settings) -> DoctorCheck:
    """Whether the retail store can be reached and was created from the configured data."""
    address = without_secrets(settings.retail_url)
    folder = settings.parley_retail_data_dir
    try:
        configured = fingerprint(await asyncio.to_thread(load, folder) if folder else generate())
    except ValueError as error:
        return fail("retail store", first_line(error), "look at PARLEY_RETAIL_DATA_DIR")
    file = _sqlite_file(settings.retail_url)
    if file and not await asyncio.to_thread(file.exists):
        return ok("retail store", f"{address} (will be made)")
    try:
        async with _connection(settings.retail_url) as connection:
            stored = await connection.run_sync(_stored_fingerprint)
    except (OSError, SQLAlchemyError) as error:
        advice = "start it, or look at RETAIL_DATABASE_URL"
        return fail("retail store", f"{address}: {first_line(error)}", advice)
    if stored and stored != configured:
        advice = "set PARLEY_RETAIL_DATA_DIR as before, or name another RETAIL_DATABASE_URL"
        return fail("retail store", f"{address} was begun with other data", advice)
    return ok("retail store", address if stored else f"{address} (will be filled)")


def _stored_fingerprint(connection: Connection) -> str | None:
    """The fingerprint of the data that the store was created from; None if it is empty."""
    return connection.scalar(select(bases.c.fingerprint)) if inspect(connection).has_table(bases.name) else None
