"""Error messages of commands: they name the right address and advice, and fit into eighty columns."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cli.bus_client import connect_bus
from cli.command import Unreachable
from cli.gateway import PROTOCOL_HINTS
from cli.main import app
from cli.operate.doctor import DoctorCheck, check_nats, check_table
from cli.operate.home import RunningParley, announce, lock_home
from services.gateway.access.users import session_not_found
from services.gateway.api_errors import HINTS
from shared.settings import Settings

UNUSED_URL = "nats://127.0.0.1:9"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, without settings from the environment."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("PARLEY_HOME", str(tmp_path))
    return tmp_path


def test_without_containers_no_passwords_are_written(home: Path) -> None:
    result = CliRunner().invoke(app, ["secrets"])
    assert result.exit_code == 1
    assert "there is no group" in result.output
    assert "Traceback" not in result.output
    assert list(home.iterdir()) == []


def test_the_printed_url_is_that_of_the_running_parley(home: Path) -> None:
    page = "http://127.0.0.1:5/?token=secret"
    assert CliRunner().invoke(app, ["url"]).output == "http://127.0.0.1:8001/\n"
    with lock_home(home), announce(home, RunningParley(pid=os.getpid(), page=page, nats_url=UNUSED_URL)):
        assert CliRunner().invoke(app, ["url"]).output == f"{page}\n"


async def test_an_unreachable_nats_is_reported_with_its_address_and_its_origin(home: Path) -> None:
    with (
        lock_home(home),
        announce(home, RunningParley(pid=os.getpid(), page="", nats_url=UNUSED_URL)),
        pytest.raises(Unreachable, match=f"because of PARLEY_HOME={home}"),
    ):
        async with connect_bus(Settings()):
            pass
    with pytest.raises(Unreachable, match="because of NATS_URL"):
        async with connect_bus(Settings(nats_url=UNUSED_URL)):
            pass
    assert "nats.log" in check_nats(Settings(nats_url=UNUSED_URL), is_up=True).advice
    assert "unset NATS_URL" in check_nats(Settings(nats_url=UNUSED_URL), is_up=False).advice


def test_a_terminal_of_eighty_columns_is_enough_for_addresses() -> None:
    address, todo = "postgresql://parley@database.example.org:5432/parley", "start it, or look at DATABASE_URL"
    output = io.StringIO()
    Console(file=output, width=80).print(check_table([DoctorCheck("retail store", "fail", f"[{address}]", todo)]))
    lines = output.getvalue().splitlines()
    assert any(f"[{address}]" in line for line in lines), lines
    assert any(line.strip() == f"→ {todo}" for line in lines), lines


def test_hints_for_client_authors_match_those_of_the_gateway() -> None:
    """The terminal hides these hints by their text, so both texts must match."""
    gateway_hints = {*HINTS.values(), session_not_found("x").hint}
    assert gateway_hints >= PROTOCOL_HINTS
