"""The command line: help, usage errors, imports at the start, and the addresses that commands use."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.gateway import find_gateway
from cli.main import app
from cli.operate.home import RunningParley, announce, lock_home
from cli.operate.provision import rebuild
from cli.talk.sessions import ago
from shared.settings import Settings

COMMANDS = ("up", "doctor", "provision", "rebuild", "chat", "tail", "publish", "sessions", "dead")


def test_help_names_every_command_and_version_the_version() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert all(f"\n  {name} " in result.output for name in COMMANDS)
    assert CliRunner().invoke(app, ["--version"]).output.startswith("parley ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["publish"],
        ["publish", "--text", "a", "--file", "b"],
        ["publish", "--raw", "session.a.b.c"],
        ["publish", "--text", "a", "--workflow", "dance"],
        ["sessions", "show"],
        ["sessions", "--limit", "0"],
        ["tail", "--no-follow"],
    ],
)
def test_wrong_usage_is_exit_code_2(words: list[str]) -> None:
    assert CliRunner().invoke(app, words).exit_code == 2


def test_an_invalid_setting_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_PORT", "secretly")
    result = CliRunner().invoke(app, ["sessions"])
    assert result.exit_code == 2
    assert "AGENT_PORT" in result.stderr
    assert "secretly" not in result.stderr


def test_starting_imports_nothing_heavy() -> None:
    heavy = "rich.console prompt_toolkit pydantic nats faststream websockets sqlalchemy"
    program = f"import sys, cli.main; print(*set('{heavy}'.split()) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("words", "server"), [(["sessions"], "NATS"), (["dead"], "NATS"), (["tail"], "NATS"), (["chat", "hi"], "Parley")]
)
def test_an_unreachable_service_is_reported_with_its_address_and_advice(
    words: list[str], server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PARLEY_HOME", str(tmp_path))
    monkeypatch.setenv("NATS_URL", "nats://user:hidden@127.0.0.1:9")
    monkeypatch.setenv("AGENT_PORT", "9")
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    assert f"No {server} answers at" in result.stderr
    assert "127.0.0.1:9" in result.stderr
    assert "make up" in result.stderr
    assert "hidden" not in result.stderr


def test_commands_use_the_running_gateway_unless_another_is_given(tmp_path: Path) -> None:
    running = RunningParley(pid=1, page="http://127.0.0.1:8123/?token=abc", nats_url="nats://127.0.0.1:1")
    settings = Settings(parley_home=tmp_path)
    assert find_gateway(settings) == ("ws://127.0.0.1:8001/ws", "")
    with lock_home(tmp_path), announce(tmp_path, running):
        assert find_gateway(settings) == ("ws://127.0.0.1:8123/ws", "abc")
        assert find_gateway(settings, "ws://127.0.0.1:8123/ws") == ("ws://127.0.0.1:8123/ws", "abc")
        assert find_gateway(settings, "wss://elsewhere/ws") == ("wss://elsewhere/ws", "")
        assert find_gateway(Settings(parley_home=tmp_path, agent_port=0)).url == "ws://127.0.0.1:8123/ws"
        assert find_gateway(settings.model_copy(update={})) == ("ws://127.0.0.1:8123/ws", "abc")
        assert find_gateway(Settings(parley_home=tmp_path, agent_port=9000)).url == "ws://127.0.0.1:9000/ws"


def test_rebuild_passes_the_exit_code_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert rebuild(Settings(parley_home=tmp_path), module="no_such_module") == 1
    assert "no_such_module" in capfd.readouterr().err
    assert rebuild(Settings(parley_home=tmp_path), module="this") == 0


@pytest.mark.parametrize(
    ("seconds", "words"), [(5, "just now"), (120, "2 min ago"), (7200, "2 h ago"), (200_000, "2 d ago")]
)
def test_ages_have_one_unit(seconds: int, words: str) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert ago(now - timedelta(seconds=seconds), now) == words
