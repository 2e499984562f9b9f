"""The command line itself: help, usage errors, and what starting it costs."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.gateway import find_gateway
from cli.home import Running, announce, hold
from cli.main import app
from cli.rebuild import rebuild
from cli.sessions import ago
from shared.settings import Settings

COMMANDS = ("up", "doctor", "provision", "rebuild", "chat", "tail", "publish", "sessions", "dead")


def test_help_names_every_command_and_version_the_version() -> None:
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert all(f"\n  {name} " in shown.output for name in COMMANDS)
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


def test_a_wrong_setting_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_PORT", "secretly")
    shown = CliRunner().invoke(app, ["sessions"])
    assert shown.exit_code == 2
    assert "AGENT_PORT" in shown.stderr
    assert "secretly" not in shown.stderr


def test_starting_imports_nothing_heavy() -> None:
    heavy = "rich.console prompt_toolkit pydantic nats faststream websockets sqlalchemy"
    program = f"import sys, cli.main; print(*set('{heavy}'.split()) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("words", "where"), [(["sessions"], "NATS"), (["dead"], "NATS"), (["tail"], "NATS"), (["chat", "hi"], "Parley")]
)
def test_what_is_not_there_is_said_with_a_place_and_a_remedy(
    words: list[str], where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PARLEY_HOME", str(tmp_path))
    monkeypatch.setenv("NATS_URL", "nats://user:hidden@127.0.0.1:9")
    monkeypatch.setenv("AGENT_PORT", "9")
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 1
    assert f"No {where} answers at" in shown.stderr
    assert "127.0.0.1:9" in shown.stderr
    assert "make up" in shown.stderr
    assert "hidden" not in shown.stderr


def test_the_gateway_is_that_of_the_running_parley_unless_another_is_named(tmp_path: Path) -> None:
    here = Running(pid=1, page="http://127.0.0.1:8123/?token=abc", nats_url="nats://127.0.0.1:1")
    settings = Settings(parley_home=tmp_path)
    assert find_gateway(settings) == ("ws://127.0.0.1:8001/ws", "")
    with hold(tmp_path), announce(tmp_path, here):
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
def test_ages_are_told_in_one_unit(seconds: int, words: str) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert ago(now - timedelta(seconds=seconds), now) == words
