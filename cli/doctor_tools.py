"""Doctor checks of tools: the configured MCP servers, and the retail store."""

import asyncio
from pathlib import Path

from sqlalchemy import Connection, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine

from cli.bus_client import connect_bus
from cli.command import Unreachable
from cli.doctor_check import DoctorCheck, first_line
from cli.nats_server import without_secrets
from packs.retail.data import fingerprint, load
from packs.retail.generate import generate
from packs.retail.tables import bases
from parley.protocol.tools import TOOLS_LIST, ListTools, ToolPage
from shared.bus import BusUnavailable
from shared.documents import decode, read_json
from shared.settings import Settings

REQUEST_TIMEOUT = 5.0  # seconds


async def check_mcp(settings: Settings, *, is_up: bool) -> DoctorCheck:
    """Whether the file of MCP servers is valid, and whether the running executor has connected to them."""
    if settings.parley_mcp_config is None:
        return DoctorCheck("MCP", "ok", "no servers are configured (PARLEY_MCP_CONFIG)")
    try:
        names = await asyncio.to_thread(_servers, settings.parley_mcp_config)
    except (OSError, ValueError) as error:
        return DoctorCheck(
            "MCP",
            "fail",
            f"{settings.parley_mcp_config}: {first_line(error)}",
            "mend the file, or unset PARLEY_MCP_CONFIG",
        )
    finding = f"{', '.join(names) or 'no server'} in {settings.parley_mcp_config}"
    if not is_up:
        return DoctorCheck("MCP", "ok", f"{finding}; not asked: nothing runs")
    try:
        async with connect_bus(settings) as bus:
            answer = await bus.request(
                TOOLS_LIST, ListTools(limit=1).model_dump_json().encode(), timeout=REQUEST_TIMEOUT
            )
    except (Unreachable, BusUnavailable):
        return DoctorCheck("MCP", "warn", f"{finding}; no executor answers", "start it: it is who connects to them")
    troubles = ToolPage.model_validate_json(answer).troubles
    if troubles:
        return DoctorCheck(
            "MCP", "warn", f"{finding}; {troubles[0]}"[:400], "its tools are missing until that is mended"
        )
    return DoctorCheck("MCP", "ok", f"{finding}; all connected")


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
        return DoctorCheck("retail store", "fail", first_line(error), "look at PARLEY_RETAIL_DATA_DIR")
    file = Path(settings.retail_url.partition(":///")[2] if settings.retail_url.startswith("sqlite") else "")
    if file.name and not await asyncio.to_thread(file.exists):
        return DoctorCheck("retail store", "ok", f"{address} (will be made)")
    engine = create_async_engine(settings.retail_url)
    try:
        async with asyncio.timeout(REQUEST_TIMEOUT), engine.connect() as connection:
            stored = await connection.run_sync(_stored_fingerprint)
    except (OSError, SQLAlchemyError) as error:
        return DoctorCheck(
            "retail store", "fail", f"{address}: {first_line(error)}", "start it, or look at RETAIL_DATABASE_URL"
        )
    finally:
        await engine.dispose()
    if stored and stored != configured:
        advice = "set PARLEY_RETAIL_DATA_DIR as before, or name another RETAIL_DATABASE_URL"
        return DoctorCheck("retail store", "fail", f"{address} was begun with other data", advice)
    return DoctorCheck("retail store", "ok", address if stored else f"{address} (will be filled)")


def _stored_fingerprint(connection: Connection) -> str | None:
    """The fingerprint of the data that the store was created from; None if it is empty."""
    return connection.scalar(select(bases.c.fingerprint)) if inspect(connection).has_table(bases.name) else None
