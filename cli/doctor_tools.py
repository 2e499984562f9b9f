"""What the doctor says of tools: the configured MCP servers, and the retail store."""

import asyncio
import json
from pathlib import Path

from sqlalchemy import Connection, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine

from cli.checks import Check, said
from cli.command import Unreachable
from cli.nats_server import without_secrets
from cli.running import bus
from packs.retail.data import fingerprint, load
from packs.retail.generate import generate
from packs.retail.tables import bases
from parley.protocol.tools import TOOLS_LIST, ListTools, ToolPage
from shared.bus import BusDown
from shared.settings import Settings

PATIENCE = 5.0  # seconds


async def check_mcp(settings: Settings, *, is_up: bool) -> Check:
    """Is the file with MCP servers one, and what does the executor that runs say of them?"""
    if settings.parley_mcp_config is None:
        return Check("MCP", "ok", "no servers are configured (PARLEY_MCP_CONFIG)")
    try:
        names = await asyncio.to_thread(_servers, settings.parley_mcp_config)
    except (OSError, ValueError) as error:
        return Check(
            "MCP", "fail", f"{settings.parley_mcp_config}: {said(error)}", "mend the file, or unset PARLEY_MCP_CONFIG"
        )
    told = f"{', '.join(names) or 'no server'} in {settings.parley_mcp_config}"
    if not is_up:
        return Check("MCP", "ok", f"{told}; not asked: nothing runs")
    try:
        async with bus(settings) as found:
            answer = await found.request(TOOLS_LIST, ListTools(limit=1).model_dump_json().encode(), timeout=PATIENCE)
    except (Unreachable, BusDown):
        return Check("MCP", "warn", f"{told}; no executor answers", "start it: it is who connects to them")
    troubles = ToolPage.model_validate_json(answer).troubles
    if troubles:
        return Check("MCP", "warn", f"{told}; {troubles[0]}"[:400], "its tools are missing until that is mended")
    return Check("MCP", "ok", f"{told}; all connected")


def _servers(path: Path) -> list[str]:
    """Their names. Raises OSError, ValueError; what else the file must be, the executor says."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    servers = found.get("mcpServers") if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        raise ValueError("mcpServers is missing")
    return sorted(servers)


async def check_retail(settings: Settings) -> Check:
    """Can the store be reached, and was it begun with the data that are configured?"""
    shown = without_secrets(settings.retail_url)
    folder = settings.parley_retail_data_dir
    try:
        wanted = fingerprint(await asyncio.to_thread(load, folder) if folder else generate())
    except ValueError as error:
        return Check("retail store", "fail", said(error), "look at PARLEY_RETAIL_DATA_DIR")
    file = Path(settings.retail_url.partition(":///")[2] if settings.retail_url.startswith("sqlite") else "")
    if file.name and not await asyncio.to_thread(file.exists):
        return Check("retail store", "ok", f"{shown} (will be made)")
    engine = create_async_engine(settings.retail_url)
    try:
        async with asyncio.timeout(PATIENCE), engine.connect() as connection:
            found = await connection.run_sync(_base)
    except (OSError, SQLAlchemyError) as error:
        return Check("retail store", "fail", f"{shown}: {said(error)}", "start it, or look at RETAIL_DATABASE_URL")
    finally:
        await engine.dispose()
    if found and found != wanted:
        advice = "set PARLEY_RETAIL_DATA_DIR as before, or name another RETAIL_DATABASE_URL"
        return Check("retail store", "fail", f"{shown} was begun with other data", advice)
    return Check("retail store", "ok", shown if found else f"{shown} (will be filled)")


def _base(connection: Connection) -> str | None:
    """The fingerprint of the data it was begun with; None: it is empty."""
    return connection.scalar(select(bases.c.fingerprint)) if inspect(connection).has_table(bases.name) else None
