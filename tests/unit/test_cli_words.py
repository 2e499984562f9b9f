"""What the commands say where something is missing: the right place, and within eighty columns."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cli.checks import Check, table
from cli.command import Unreachable
from cli.doctor import check_nats
from cli.gateway import PROTOCOL_HINTS
from cli.home import Running, announce, hold
from cli.main import app
from cli.running import bus
from services.gateway.access.users import missing
from services.gateway.trouble import HINTS
from shared.settings import Settings

NOBODY = "nats://127.0.0.1:9"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and no settings of this machine."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("PARLEY_HOME", str(tmp_path))
    return tmp_path


def test_passwords_are_for_containers_only_and_without_any_nothing_is_written(home: Path) -> None:
    told = CliRunner().invoke(app, ["secrets"])
    assert told.exit_code == 1
    assert "there is no group" in told.output
    assert "Traceback" not in told.output
    assert list(home.iterdir()) == []


def test_the_address_is_that_of_the_parley_that_runs_here(home: Path) -> None:
    page = "http://127.0.0.1:5/?token=secret"
    assert CliRunner().invoke(app, ["url"]).output == "http://127.0.0.1:8001/\n"
    with hold(home), announce(home, Running(pid=os.getpid(), page=page, nats_url=NOBODY)):
        assert CliRunner().invoke(app, ["url"]).output == f"{page}\n"


async def test_where_nats_was_looked_for_and_why(home: Path) -> None:
    with (
        hold(home),
        announce(home, Running(pid=os.getpid(), page="", nats_url=NOBODY)),
        pytest.raises(Unreachable, match=f"because of PARLEY_HOME={home}"),
    ):
        async with bus(Settings()):
            pass
    with pytest.raises(Unreachable, match="because of NATS_URL"):
        async with bus(Settings(nats_url=NOBODY)):
            pass
    assert "nats.log" in check_nats(Settings(nats_url=NOBODY), is_up=True).advice
    assert "unset NATS_URL" in check_nats(Settings(nats_url=NOBODY), is_up=False).advice


def test_a_terminal_of_eighty_columns_is_enough_for_addresses() -> None:
    address, todo = "postgresql://parley@database.example.org:5432/parley", "start it, or look at DATABASE_URL"
    shown = io.StringIO()
    Console(file=shown, width=80).print(table([Check("retail store", "fail", f"[{address}]", todo)]))
    lines = shown.getvalue().splitlines()
    assert any(f"[{address}]" in line for line in lines), lines
    assert any(line.strip() == f"→ {todo}" for line in lines), lines


def test_hints_for_those_who_write_messages_are_the_gateways_own() -> None:
    """What a terminal leaves out is what the gateway says: another wording would be shown again."""
    said = {*HINTS.values(), missing("x").hint}
    assert said >= PROTOCOL_HINTS
