"""`parley doctor`: what Parley needs on this machine, what is there, and what to do about the rest."""

import asyncio
import importlib
import shutil
import sys
from pathlib import Path

from rich.console import Console
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine

from cli.checks import Check, Outcome, said, table
from cli.doctor_tools import check_mcp, check_retail
from cli.doctor_upgrade import check_upgrade
from cli.home import attached, running
from cli.nats_server import MINIMUM, NatsMissing, find_binary, probe, version_of, without_secrets
from cli.ports import is_free, who_listens
from cli.readiness import get
from shared.sandbox import available
from shared.settings import Settings

_ROOMY, _TIGHT = 1_000_000_000, 100_000_000  # bytes of disk
_PAYLOAD = 4 * 1024 * 1024  # bytes of a message, as our own servers take them
_PATIENCE = 5.0  # seconds for a server to answer
_ELECTION = 25.0  # seconds for a cluster that has just lost a server, too
_PAGE = Path(__file__).parent.parent / "services" / "gateway" / "page" / "index.html"


def doctor(settings: Settings) -> int:
    """Look at everything and print a table; 1 if something fails that Parley cannot do without, else 0."""
    checks = asyncio.run(examine(settings))
    Console().print(table(checks))
    return int(any(check.outcome == "fail" for check in checks))


async def examine(settings: Settings) -> list[Check]:
    """All checks, in the order in which they depend on each other."""
    up = await asyncio.to_thread(running, settings.parley_home)
    reached = await asyncio.to_thread(attached, settings)
    broker = await asyncio.to_thread(check_nats, reached, is_up=up is not None and reached is not settings)
    return [
        check_python(),
        check_home(settings),
        check_disk(settings),
        check_binary(settings),
        broker,
        await check_streams(reached, broker),
        await check_upgrade(reached, broker),
        await check_database(settings),
        await asyncio.to_thread(check_model, reached),
        check_prices(reached),
        await check_mcp(reached, is_up=broker.outcome == "ok" and "nats_url" in reached.model_fields_set),
        await check_retail(settings),
        await asyncio.to_thread(check_sandbox),
        check_page(),
        check_port(settings, up=up.pid if up else 0),
    ]


def check_python() -> Check:
    """The interpreter that runs this."""
    return Check("Python", "ok", f"{sys.version.split()[0]} at {sys.executable}")


def check_home(settings: Settings) -> Check:
    """May we write where all local state is kept? Not asked where none is, as in containers."""
    home = settings.parley_home.resolve()
    if not _keeps_here(settings):
        return Check("PARLEY_HOME", "ok", "not needed: NATS and the databases are elsewhere")
    parent = next(folder for folder in (home, *home.parents) if folder.exists())
    if not parent.is_dir() or not _writable(parent):
        return Check("PARLEY_HOME", "fail", f"{parent} cannot be written", "set PARLEY_HOME to a folder of yours")
    if parent == home and home.stat().st_mode & 0o077:
        return Check("PARLEY_HOME", "warn", f"{home} is open to other accounts", f"chmod 700 {home}")
    return Check("PARLEY_HOME", "ok", str(home) if parent == home else f"{home} (will be made)")


def _keeps_here(settings: Settings) -> bool:
    """Whether anything is written to PARLEY_HOME: by a NATS of our own, or by SQLite."""
    home = settings.parley_home.resolve()
    urls = (settings.sql_url, settings.retail_url)
    files = [Path(url.partition(":///")[2]).resolve() for url in urls if url.startswith("sqlite")]
    return "nats_url" not in settings.model_fields_set or any(file.is_relative_to(home) for file in files)


def _writable(folder: Path) -> bool:
    probe_file = folder / ".parley-doctor"
    try:
        probe_file.touch()
        probe_file.unlink()
    except OSError:
        return False
    return True


def check_disk(settings: Settings) -> Check:
    """Is there room for the log? A full disk stops every append."""
    home = settings.parley_home.resolve()
    free = shutil.disk_usage(next(folder for folder in (home, *home.parents) if folder.is_dir())).free
    outcome: Outcome = "ok" if free >= _ROOMY or not _keeps_here(settings) else "warn" if free >= _TIGHT else "fail"
    return Check(
        "disk", outcome, f"{free / 1e9:.1f} GB free", "" if outcome == "ok" else "make room: the log only grows"
    )


def check_binary(settings: Settings) -> Check:
    """The nats-server that `parley up` would run."""
    try:
        binary, origin = find_binary()
    except NatsMissing as error:
        needed = "nats_url" not in settings.model_fields_set
        return Check(
            "nats-server", "fail" if needed else "ok", str(error), "install it, or set NATS_URL" if needed else ""
        )
    return Check("nats-server", "ok", f"{binary} ({origin})")


def check_nats(settings: Settings, *, is_up: bool) -> Check:
    """Does the server that is configured, or that runs for this home, answer, and with JetStream?"""
    shown = without_secrets(settings.nats_url)
    if "nats_url" not in settings.model_fields_set:
        return Check("NATS", "ok", "not running")
    try:
        info = probe(settings.nats_url)
    except OSError as error:
        todo = "see logs/nats.log in PARLEY_HOME" if is_up else "start it, or unset NATS_URL for our own"
        return Check("NATS", "fail", f"{shown} does not answer: {error}", todo)
    if version_of(info.version) < MINIMUM:
        return Check("NATS", "fail", f"{info.version} at {shown}", f"needs {'.'.join(map(str, MINIMUM))} or newer")
    if not info.jetstream:
        return Check("NATS", "fail", f"{shown} has no JetStream", "switch it on: `jetstream {}` in its configuration")
    if 0 < info.max_payload < _PAYLOAD:
        found = f"{shown} takes {info.max_payload} bytes a message: long lists are refused, large sessions slow"
        return Check("NATS", "warn", found, "`max_payload: 4MB` in its configuration")
    return Check("NATS", "ok", f"{info.version} at {shown}, with JetStream")


async def check_streams(settings: Settings, broker: Check) -> Check:
    """Are streams and consumers as this version of Parley wants them? `broker` is what was found out about NATS."""
    advice = "parley up, or parley provision, puts it right"
    if broker.outcome != "ok":
        return Check("streams", "warn", "not looked at", "see NATS")
    if "nats_url" not in settings.model_fields_set:
        return Check("streams", "ok", "made by parley up")
    try:
        async with asyncio.timeout(_ELECTION):
            found: list[str] = await importlib.import_module("shared.bus.provision").check(settings)
    except Exception as error:  # whatever the bus says: a doctor reports it and goes on
        return Check(
            "streams", "fail", f"could not be looked at: {said(error)}", "look at NATS_URL, and at its servers"
        )
    return Check("streams", "warn" if found else "ok", "; ".join(found) or "as they should be", advice if found else "")


async def check_database(settings: Settings) -> Check:
    """Can the database be reached? A local one that is not there yet is made by the plan_store."""
    shown = without_secrets(settings.sql_url)
    file = Path(settings.sql_url.partition(":///")[2] if settings.sql_url.startswith("sqlite") else "")
    if file.name and not await asyncio.to_thread(file.exists):
        return Check("database", "ok", f"{shown} (will be made)")
    engine = create_async_engine(settings.sql_url)
    try:
        async with asyncio.timeout(_PATIENCE), engine.connect() as connection:
            # SQLite looks into the file only when it has to.
            await connection.execute(text("pragma schema_version" if file.name else "select 1"))
    except (OSError, SQLAlchemyError) as error:
        return Check("database", "fail", f"{shown}: {said(error)}", "start it, or look at DATABASE_URL")
    finally:
        await engine.dispose()
    return Check("database", "ok", shown)


def check_model(settings: Settings) -> Check:
    """Does the configured endpoint list its models?"""
    if not settings.model_url:
        return Check(
            "model", "warn", "none: parley up starts the rehearsal model (rules)", "set OPENAI_BASE_URL for an LLM"
        )
    shown = without_secrets(settings.model_url)
    url = f"{settings.model_url.rstrip('/')}/models"
    reply = get(url, timeout=_PATIENCE, headers={"Authorization": f"Bearer {settings.model_key}"})
    if reply.status == 200:
        return Check("model", "ok", f"{settings.openai_model or 'models'} at {shown}")
    if reply.status in (401, 403):
        return Check("model", "fail", f"{shown} refuses the key ({reply.status})", "look at OPENAI_API_KEY")
    if reply.status:  # a server without a list of models can still be a good model
        return Check(
            "model", "warn", f"{shown} answers {reply.status} to GET /models", "look at OPENAI_BASE_URL (with its /v1)"
        )
    return Check("model", "fail", f"{shown} cannot be reached: {reply.text}", "start it, or look at OPENAI_BASE_URL")


def check_prices(settings: Settings) -> Check:
    """Does each model that is named have a price? A call without one costs nothing, and no cost budget notices it."""
    if not settings.model_url:
        return Check("prices", "ok", "not needed: the rehearsal model costs nothing")
    priced = settings.parley_prices
    if missing := sorted({settings.openai_model, *settings.parley_models.values()} - priced.keys() - {""}):
        told = f"none for {', '.join(missing)}: its calls cost $0, and a cost_budget never triggers"
    elif not priced:
        told = "none: calls cost $0, and a cost_budget never triggers"
    else:
        return Check("prices", "ok", f"of {', '.join(sorted(priced))}")
    return Check("prices", "warn", told, "set PARLEY_PRICES, or limit tokens with a token_budget")


def check_sandbox() -> Check:
    """Can code that a model wrote be run here? Without the sandbox it is not run at all."""
    why = available()
    return Check("sandbox", "warn" if why else "ok", why or "available", "code is shown but not run" if why else "")


def check_page() -> Check:
    """Has the page been built?"""
    if _PAGE.is_file():
        return Check("page", "ok", "built")
    return Check("page", "warn", "not built", "make page (the terminal works without: parley chat)")


def check_port(settings: Settings, *, up: int) -> Check:
    """Can the gateway listen where it should? `up` is the process that already does it for this home, or 0."""
    where = f"{settings.agent_host}:{settings.agent_port}"
    try:
        if is_free(settings.agent_host, settings.agent_port):
            return Check("port", "ok", f"{where} is free")
    except OSError as error:
        return Check("port", "fail", f"{where}: {error.strerror}", "AGENT_HOST must be an address of this machine")
    if up:
        return Check("port", "ok", f"{where} is in use by this home's parley up (process {up})")
    if "nats_url" in settings.model_fields_set and _is_a_gateway(settings):
        return Check("port", "ok", f"{where} is in use by a gateway, as it should be where services run one by one")
    who = who_listens(settings.agent_port) or "another program"
    return Check("port", "fail", f"{where} is taken by {who}", "stop it, or set AGENT_PORT")


def _is_a_gateway(settings: Settings) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.agent_host, settings.agent_host)  # noqa: S104  is it all?
    shown = f"[{host}]" if ":" in host else host
    return get(f"http://{shown}:{settings.agent_port}/healthz", timeout=_PATIENCE).text == '{"alive":true}'
